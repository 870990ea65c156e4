package lsp

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.lsp.dev/jsonrpc2"
	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"
)

// An editor is the other end of a connection.
type editor struct {
	t         *testing.T
	conn      jsonrpc2.Conn
	published chan protocol.PublishDiagnosticsParams
	served    chan error
	hangUp    func() error
}

// connect starts a server and an editor, connected by a pipe in memory.
func connect(t *testing.T) *editor {
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	t.Cleanup(cancel)
	here, there := net.Pipe()
	e := &editor{t: t, published: make(chan protocol.PublishDiagnosticsParams, 100), served: make(chan error, 1), hangUp: here.Close}
	go func() { e.served <- Serve(there, there) }()
	e.conn = jsonrpc2.NewConn(jsonrpc2.NewStream(here))
	e.conn.Go(ctx, func(ctx context.Context, reply jsonrpc2.Replier, req jsonrpc2.Request) error {
		if req.Method() != protocol.MethodTextDocumentPublishDiagnostics {
			return nil
		}
		var p protocol.PublishDiagnosticsParams
		if err := json.Unmarshal(req.Params(), &p); err != nil {
			return err
		}
		e.published <- p
		return reply(ctx, nil, nil)
	})
	t.Cleanup(func() { here.Close() })
	return e
}

func (e *editor) call(method string, params, result any) {
	e.t.Helper()
	if _, err := e.conn.Call(e.t.Context(), method, params, result); err != nil {
		e.t.Fatalf("%s: %v", method, err)
	}
}

func (e *editor) notify(method string, params any) {
	e.t.Helper()
	if err := e.conn.Notify(e.t.Context(), method, params); err != nil {
		e.t.Fatalf("%s: %v", method, err)
	}
}

// start initializes the server, with or without support for snippets.
func (e *editor) start(snippets bool) protocol.InitializeResult {
	var r protocol.InitializeResult
	e.call(protocol.MethodInitialize, &protocol.InitializeParams{Capabilities: protocol.ClientCapabilities{
		TextDocument: &protocol.TextDocumentClientCapabilities{Completion: &protocol.CompletionTextDocumentClientCapabilities{
			CompletionItem: &protocol.CompletionTextDocumentClientCapabilitiesItem{SnippetSupport: snippets}}},
	}}, &r)
	e.notify(protocol.MethodInitialized, &protocol.InitializedParams{})
	return r
}

func (e *editor) open(u uri.URI, text string) {
	e.t.Helper()
	e.notify(protocol.MethodTextDocumentDidOpen, &protocol.DidOpenTextDocumentParams{
		TextDocument: protocol.TextDocumentItem{URI: u, LanguageID: "arith", Version: 1, Text: text}})
}

func (e *editor) change(u uri.URI, version int32, text string) {
	e.t.Helper()
	e.notify(protocol.MethodTextDocumentDidChange, &protocol.DidChangeTextDocumentParams{
		TextDocument:   protocol.VersionedTextDocumentIdentifier{TextDocumentIdentifier: protocol.TextDocumentIdentifier{URI: u}, Version: version},
		ContentChanges: []protocol.TextDocumentContentChangeEvent{{Text: text}}})
}

// diagnostics waits for the next diagnostics of a file.
func (e *editor) diagnostics(u uri.URI) protocol.PublishDiagnosticsParams {
	e.t.Helper()
	for {
		select {
		case p := <-e.published:
			if p.URI == u {
				return p
			}
		case <-time.After(20 * time.Second):
			e.t.Fatalf("nothing is published about %s", u)
		}
	}
}

func point(u uri.URI, line, char uint32) protocol.TextDocumentPositionParams {
	return protocol.TextDocumentPositionParams{
		TextDocument: protocol.TextDocumentIdentifier{URI: u}, Position: protocol.Position{Line: line, Character: char}}
}

// TestSession types a spec with a mistake, corrects it, and requests hover and completion.
func TestSession(t *testing.T) {
	e := connect(t)
	caps := e.start(true).Capabilities
	if caps.HoverProvider != true || caps.DefinitionProvider != true || caps.DocumentFormattingProvider != true || caps.CompletionProvider == nil {
		t.Errorf("capabilities are %+v", caps)
	}
	u := uri.File(filepath.Join(t.TempDir(), "a b.arith"))
	e.open(u, prefix+"model { /* }\n")
	if d := e.diagnostics(u); len(d.Diagnostics) != 1 || d.Diagnostics[0].Code != "E0101" && d.Diagnostics[0].Code != "E0102" {
		t.Errorf("half a spec has %+v", d.Diagnostics)
	}
	e.change(u, 2, prefix+"// ü𝔸\nmodel { haeds = 4 }\n")
	d := e.diagnostics(u)
	if d.Version != 2 || len(d.Diagnostics) != 1 {
		t.Fatalf("published is %+v", d)
	}
	want := protocol.Range{Start: protocol.Position{Line: 4, Character: 8}, End: protocol.Position{Line: 4, Character: 13}}
	if x := d.Diagnostics[0]; x.Range != want || x.Code != "E0202" || x.Severity != protocol.DiagnosticSeverityError || !strings.Contains(x.Message, `did you mean "heads"?`) {
		t.Errorf("the slip is %+v", x)
	}
	e.change(u, 3, prefix+"// ü𝔸\nmodel { heads = 4 }\n")
	if d := e.diagnostics(u); d.Diagnostics == nil || len(d.Diagnostics) != 0 {
		t.Errorf("the mended spec has %+v", d.Diagnostics)
	}

	var hover protocol.Hover
	e.call(protocol.MethodTextDocumentHover, &protocol.HoverParams{TextDocumentPositionParams: point(u, 4, 9)}, &hover)
	if !strings.Contains(hover.Contents.Value, "attention heads") || hover.Range == nil || *hover.Range != want {
		t.Errorf("hover is %+v", hover)
	}
	var edits []protocol.TextEdit
	e.change(u, 4, prefix+"model   { heads=4 }")
	e.call(protocol.MethodTextDocumentFormatting, &protocol.DocumentFormattingParams{TextDocument: protocol.TextDocumentIdentifier{URI: u}}, &edits)
	if len(edits) != 1 || edits[0].NewText != prefix+"model { heads = 4 }\n" || edits[0].Range.End != (protocol.Position{Line: 3, Character: 19}) {
		t.Errorf("edits are %+v", edits)
	}
	e.change(u, 5, edits[0].NewText)
	e.call(protocol.MethodTextDocumentFormatting, &protocol.DocumentFormattingParams{TextDocument: protocol.TextDocumentIdentifier{URI: u}}, &edits)
	if len(edits) != 0 {
		t.Errorf("edits of what is formatted are %+v", edits)
	}
	e.call(protocol.MethodShutdown, nil, nil)
	e.notify(protocol.MethodExit, nil)
	if err := <-e.served; err != nil {
		t.Errorf("the server ends with %v", err)
	}
}

// TestFiles follows a bias through an include that is open in the editor, and through a
// file on disk.
func TestFiles(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", dir)
	e := connect(t)
	e.start(false)
	disk, base, spec := filepath.Join(dir, "disk.arith"), uri.File(filepath.Join(dir, "base.arith")), uri.File(filepath.Join(dir, "spec.arith"))
	if err := os.WriteFile(disk, []byte(prefix), 0o644); err != nil {
		t.Fatal(err)
	}
	e.open(base, "arith 2\ninclude \"disk.arith\"\n\nbias near { value = -1 * abs(i - j) }\n")
	e.open(spec, "arith 2\ninclude \"base.arith\"\nmodel.decoder.self.bias = near\n")
	if d := e.diagnostics(spec); len(d.Diagnostics) != 0 {
		t.Errorf("the spec has %+v", d.Diagnostics)
	}
	var found []protocol.Location
	e.call(protocol.MethodTextDocumentDefinition, &protocol.DefinitionParams{TextDocumentPositionParams: point(spec, 2, 27)}, &found)
	want := protocol.Range{Start: protocol.Position{Line: 3, Character: 5}, End: protocol.Position{Line: 3, Character: 9}}
	if len(found) != 1 || found[0].URI != base || found[0].Range != want {
		t.Errorf("the bias is at %+v", found)
	}
	e.call(protocol.MethodTextDocumentDefinition, &protocol.DefinitionParams{TextDocumentPositionParams: point(base, 1, 12)}, &found)
	if len(found) != 1 || found[0].URI != uri.File(disk) {
		t.Errorf("the include is at %+v", found)
	}
	e.change(spec, 2, "arith 2\ninclude \"base.arith\"\nmodel.decoder.self.bias = near + alibi\n")
	if d := e.diagnostics(spec); len(d.Diagnostics) != 0 {
		t.Errorf("with a bias of the prelude the spec has %+v", d.Diagnostics)
	}
	e.call(protocol.MethodTextDocumentDefinition, &protocol.DefinitionParams{TextDocumentPositionParams: point(spec, 2, 35)}, &found)
	if len(found) != 1 {
		t.Fatalf("a bias of the prelude is at %+v", found)
	}
	text, err := os.ReadFile(found[0].URI.Filename())
	if line := newSource(string(text)).line(int(found[0].Range.Start.Line)); err != nil || !strings.HasPrefix(line, "bias alibi") {
		t.Errorf("a bias of the prelude is at %q: %v", line, err)
	}
	var list protocol.CompletionList
	e.call(protocol.MethodTextDocumentCompletion, &protocol.CompletionParams{TextDocumentPositionParams: point(spec, 2, 28)}, &list)
	n := 0
	for _, item := range list.Items {
		if strings.Contains(item.TextEdit.NewText, "$") {
			t.Errorf("%s is a snippet", item.Label)
		}
		if item.Label == "near" {
			n++
		}
	}
	if n != 1 {
		t.Errorf("%d of %d proposals are the bias", n, len(list.Items))
	}
	e.change(base, 2, "arith 2\ninclude \"disk.arith\"\n")
	if d := e.diagnostics(spec); len(d.Diagnostics) != 1 || d.Diagnostics[0].Code != "E0209" {
		t.Errorf("without the bias the spec has %+v", d.Diagnostics)
	}
	e.notify(protocol.MethodTextDocumentDidClose, &protocol.DidCloseTextDocumentParams{TextDocument: protocol.TextDocumentIdentifier{URI: spec}})
	if d := e.diagnostics(spec); len(d.Diagnostics) != 0 {
		t.Errorf("the closed spec has %+v", d.Diagnostics)
	}
	if err := e.hangUp(); err != nil {
		t.Fatal(err)
	}
	if err := <-e.served; err != nil && !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("the server ends with %v", err)
	}
}

// TestStrangeMessages wants answers as the protocol demands for requests that the server
// cannot answer.
func TestStrangeMessages(t *testing.T) {
	e := connect(t)
	e.start(true)
	e.notify("$/unknown", map[string]any{"a": 1})
	u := uri.URI("untitled:Untitled-1")
	for _, c := range []struct {
		method string
		params any
		code   jsonrpc2.Code
	}{
		{"textDocument/unknown", nil, jsonrpc2.MethodNotFound},
		{protocol.MethodTextDocumentHover, []int{1}, jsonrpc2.InvalidParams},
	} {
		_, err := e.conn.Call(t.Context(), c.method, c.params, nil)
		var wire *jsonrpc2.Error
		if !errors.As(err, &wire) || wire.Code != c.code {
			t.Errorf("%s: %v, want code %d", c.method, err, c.code)
		}
	}
	var hover *protocol.Hover
	e.call(protocol.MethodTextDocumentHover, &protocol.HoverParams{TextDocumentPositionParams: point(u, 0, 0)}, &hover)
	if hover != nil {
		t.Errorf("a file that is not open has %+v", hover)
	}
	e.open(u, prefix+"model.width = 8\n")
	if d := e.diagnostics(u); d.URI != u {
		t.Errorf("published is %+v", d)
	}
	e.call(protocol.MethodTextDocumentHover, &protocol.HoverParams{TextDocumentPositionParams: point(u, 99, 99)}, &hover)
	if hover != nil {
		t.Errorf("behind the end is %+v", hover)
	}
	e.notify(protocol.MethodExit, nil)
	if err := <-e.served; err == nil {
		t.Error("an exit without a shutdown is no error")
	}
}
