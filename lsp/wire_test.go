package lsp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"go.lsp.dev/jsonrpc2"
	"go.lsp.dev/protocol"
)

// framed returns a body with its header.
func framed(body string) string { return fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body), body) }

// request returns the frame of a request, or of a notification if id is "".
func request(id, method, params string) string {
	if id != "" {
		id = `,"id":` + id
	}
	if params != "" {
		params = `,"params":` + params
	}
	return framed(`{"jsonrpc":"2.0","method":"` + method + `"` + id + params + `}`)
}

// A said is a message of the server.
type said struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Error  *jsonrpc2.Error `json:"error"`
	Result json.RawMessage `json:"result"`
}

// String is what tests compare: the code and ID of an answer, or the content of a
// notification.
func (s said) String() string {
	switch {
	case s.Method == protocol.MethodWindowLogMessage:
		return "log"
	case s.Method != "":
		return "findings"
	case s.Error != nil:
		return fmt.Sprintf("%s:%d", s.ID, s.Error.Code)
	}
	return fmt.Sprintf("%s:ok", s.ID)
}

// frames splits a stream into messages.
func frames(t *testing.T, stream string) []said {
	t.Helper()
	var all []said
	for stream != "" {
		var n int
		head, rest, ok := strings.Cut(stream, "\r\n\r\n")
		if _, err := fmt.Sscanf(head, "Content-Length: %d", &n); !ok || err != nil || n > len(rest) {
			t.Fatalf("no message: %.100q", stream)
		}
		var s said
		if err := json.Unmarshal([]byte(rest[:n]), &s); err != nil {
			t.Fatalf("%v: %.100q", err, rest)
		}
		all = append(all, s)
		stream = rest[n:]
	}
	return all
}

// serve feeds a stream to a server and returns its messages.
func serve(t *testing.T, in io.Reader) ([]said, error) {
	t.Helper()
	var out bytes.Buffer
	err := Serve(in, &out)
	return frames(t, out.String()), err
}

var (
	hello   = request("0", "initialize", "{}")
	goodbye = request("99", "shutdown", "") + request("", "exit", "")
	open    = request("", "textDocument/didOpen", `{"textDocument":{"uri":"file:///s.arith","languageId":"arith","version":1,"text":"arith 2\n"}}`)
	where   = `"textDocument":{"uri":"file:///s.arith"},"position":{"line":0,"character":1}`
)

// TestHostileStreams sends malformed messages. The server must answer the next request.
func TestHostileStreams(t *testing.T) {
	hover := func(params string) string { return request("1", "textDocument/hover", params) }
	for name, c := range map[string]struct{ stream, want string }{
		"half a body":               {framed(`{"jsonrpc":"2.0","id":1,"method":`), "null:-32700"},
		"no JSON":                   {framed("arith 2"), "null:-32700"},
		"binary":                    {framed("\x00\xff\xfe"), "null:-32700"},
		"too deep":                  {framed(strings.Repeat("[", 1<<20)), "null:-32700"},
		"an empty body":             {framed(""), "null:-32700"},
		"a batch":                   {framed("[" + `{"jsonrpc":"2.0","id":1,"method":"shutdown"}` + "]"), "null:-32600"},
		"a number":                  {framed("5"), "null:-32600"},
		"no version":                {framed(`{"id":1,"method":"shutdown"}`), "1:-32600"},
		"no method":                 {framed(`{"jsonrpc":"2.0","id":1}`), "1:-32600"},
		"a method that is no text":  {framed(`{"jsonrpc":"2.0","id":1,"method":7}`), "1:-32600"},
		"an id that is none":        {framed(`{"jsonrpc":"2.0","id":{},"method":"shutdown"}`), "null:-32600"},
		"a response":                {framed(`{"jsonrpc":"2.0","id":1,"result":null}`), ""},
		"a large id":                {request("12345678901234567890", "x", ""), "12345678901234567890:-32601"},
		"an id in words":            {request(`"a"`, "x", ""), `"a":-32601`},
		"an unknown request":        {request("1", "textDocument/rename", "{}"), "1:-32601"},
		"an unknown notification":   {request("", "$/cancelRequest", `{"id":1}`), ""},
		"no params":                 {hover(""), "1:-32602"},
		"a list of params":          {hover("[1]"), "1:-32602"},
		"null":                      {hover("null"), "1:-32602"},
		"no URI":                    {hover(`{"position":{"line":0,"character":0}}`), "1:-32602"},
		"a line below 0":            {hover(`{"textDocument":{"uri":"file:///s.arith"},"position":{"line":-1,"character":0}}`), "1:-32602"},
		"a line far away":           {open + hover(`{"textDocument":{"uri":"file:///s.arith"},"position":{"line":4294967295,"character":4294967295}}`), "findings 1:ok"},
		"a malformed notification":  {request("", "textDocument/didOpen", "[]"), "log"},
		"a change of nothing":       {request("", "textDocument/didChange", `{"textDocument":{"uri":"file:///s.arith","version":1},"contentChanges":[]}`), "log"},
		"opened twice":              {open + open, "findings findings"},
		"initialized twice":         {request("1", "initialize", "{}"), "1:-32600"},
		"other case":                {strings.Replace(hover("{"+where+"}"), "Content-Length", "content-length", 1), "1:ok"},
		"another header":            {"Content-Type: text/plain\r\n" + hover("{"+where+"}"), "1:ok"},
		"bare line feeds":           {strings.ReplaceAll(hover("{"+where+"}"), "\r\n", "\n"), "1:ok"},
		"no header":                 {"Content-Type: x\r\n\r\n", "null:-32700"},
		"two headers":               {"Content-Length: 2\r\nContent-Length: 3\r\n\r\n", "null:-32700"},
		"a length below 0":          {"Content-Length: -5\r\n\r\n", "null:-32700"},
		"a length that is none":     {"Content-Length: many\r\n\r\n", "null:-32700"},
		"a length beyond all":       {"Content-Length: 99999999999999999999\r\n\r\n", "null:-32700"},
		"a body that is too long":   {fmt.Sprintf("Content-Length: %d\r\n\r\n", maxBody+1) + strings.Repeat(" ", maxBody+1), "null:-32600"},
		"more than was announced":   {framed("{}") + "}}}}", "null:-32600"},
		"an endless header":         {strings.Repeat("x", 3*maxHeader) + "\r\n\r\n", "null:-32700"},
		"a URI with a bad escape":   {hover(`{"textDocument":{"uri":"file:///%zz"},"position":{"line":0,"character":0}}`), "1:-32602"},
		"a URI without a path":      {hover(`{"textDocument":{"uri":"file://"},"position":{"line":0,"character":0}}`), "1:-32602"},
		"a URI of a relative path":  {hover(`{"textDocument":{"uri":"file:s.arith"},"position":{"line":0,"character":0}}`), "1:-32602"},
		"a URI without a scheme":    {hover(`{"textDocument":{"uri":"/s.arith"},"position":{"line":0,"character":0}}`), "1:-32602"},
		"a URI of a NUL":            {hover(`{"textDocument":{"uri":"file:///%00"},"position":{"line":0,"character":0}}`), "1:-32602"},
		"a URI that is open":        {open + hover("{"+where+"}"), "findings 1:ok"},
		"the same file by escapes":  {open + hover(`{"textDocument":{"uri":"file:///%73.arith"},"position":{"line":9,"character":1}}`), "findings 1:ok"},
		"a text that is in no file": {hover(`{"textDocument":{"uri":"untitled:Untitled-1"},"position":{"line":0,"character":0}}`), "1:ok"},
		"closing what is not open":  {request("", "textDocument/didClose", `{"textDocument":{"uri":"file:///s.arith"}}`), "findings"},
		"an included pipe":          {request("", "textDocument/didOpen", `{"textDocument":{"uri":"file:///s.arith","text":"arith 2\ninclude \"/dev/stdin\"\n"}}`), "findings"},
		"initialize without params": {request("1", "initialize", ""), "1:-32600"},
		"a request of a file":       {open + request("1", "textDocument/formatting", `{"textDocument":{"uri":"file:///s.arith"}}`), "findings 1:ok"},
	} {
		t.Run(name, func(t *testing.T) {
			all, err := serve(t, strings.NewReader(hello+c.stream+goodbye))
			var got []string
			for _, s := range all {
				got = append(got, s.String())
			}
			if want := strings.Fields("0:ok " + c.want + " 99:ok"); !slices.Equal(got, want) || err != nil {
				t.Errorf("says %v and ends with %v, want %v", got, err, want)
			}
		})
	}
}

// TestPhases checks the order of a connection.
func TestPhases(t *testing.T) {
	for name, c := range map[string]struct {
		stream, want string
		err          error
	}{
		"before initialize":       {request("1", "shutdown", "") + request("2", "x", "") + open + hello + goodbye, "1:-32002 2:-32002 log 0:ok 99:ok", nil},
		"a greeting that fails":   {request("1", "initialize", "[]") + hello + goodbye, "1:-32602 0:ok 99:ok", nil},
		"after shutdown":          {hello + request("1", "shutdown", "") + request("2", "shutdown", "") + open + request("", "exit", ""), "0:ok 1:ok 2:-32600 log", nil},
		"hung up":                 {hello, "0:ok", nil},
		"hung up in a header":     {hello + "Content-Le", "0:ok", io.ErrUnexpectedEOF},
		"hung up in a body":       {hello + "Content-Length: 9\r\n\r\n{", "0:ok", io.ErrUnexpectedEOF},
		"hung up before the body": {hello + "Content-Length: 9\r\n\r\n", "0:ok", io.ErrUnexpectedEOF},
		"nothing":                 {"", "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			for _, in := range []io.Reader{strings.NewReader(c.stream), iotest.OneByteReader(strings.NewReader(c.stream))} {
				all, err := serve(t, in)
				var got []string
				for _, s := range all {
					got = append(got, s.String())
				}
				if !slices.Equal(got, strings.Fields(c.want)) || !errors.Is(err, c.err) {
					t.Errorf("says %v and ends with %v, want %s and %v", got, err, c.want, c.err)
				}
			}
		})
	}
	if _, err := serve(t, strings.NewReader(hello+request("", "exit", ""))); err == nil {
		t.Error("an exit without a shutdown is no error")
	}
}

// TestPanicIsOneAnswer makes a check panic. That message fails, and the next one succeeds.
func TestPanicIsOneAnswer(t *testing.T) {
	var out bytes.Buffer
	s := &server{wire: newWire(strings.NewReader(""), &out), phase: ready, read: func(string) ([]byte, error) { panic("a slip") }}
	text := func(method, text string) string {
		_, body, _ := strings.Cut(request("1", method, `{"textDocument":{"uri":"file:///s.arith","text":"`+text+`"}}`), "\r\n\r\n")
		return body
	}
	s.handle([]byte(text("textDocument/didOpen", `arith 2\ninclude \"other.arith\"`)))
	s.handle([]byte(text("textDocument/formatting", "")))
	got := frames(t, out.String())
	if len(got) != 2 || got[0].String() != "1:-32603" || !strings.Contains(got[0].Error.Message, "a slip") || got[1].String() != "1:ok" {
		t.Errorf("says %v", got)
	}
}

// FuzzServe wants no panic for any stream.
func FuzzServe(f *testing.F) {
	f.Setenv("XDG_CACHE_HOME", f.TempDir())
	for _, m := range slices.Sorted(maps.Keys(methods)) {
		f.Add([]byte(hello + open + request("1", m, "{"+where+`,"contentChanges":[{"text":"arith 2\nmodel { width = 8 }"}]}`) + goodbye))
		f.Add([]byte(hello + request("", m, `{"textDocument":{"uri":"untitled:1","text":"arith 2\ntask successor {}\nmodel.decoder.self.bias = alibi"}}`)))
	}
	f.Add([]byte("Content-Length: 5\r\nContent-Length: 6\r\n\r\n{}" + hello))
	f.Fuzz(func(t *testing.T, stream []byte) {
		all, _ := serve(t, bytes.NewReader(stream))
		for _, s := range all {
			if s.Error != nil && s.Error.Code == jsonrpc2.InternalError || s.Method == protocol.MethodWindowLogMessage && bytes.Contains(s.Params, []byte("bug in mlc")) {
				t.Errorf("%s %s", s, s.Params)
			}
		}
	})
}
