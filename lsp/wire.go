package lsp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"go.lsp.dev/jsonrpc2"
)

// A message is what an editor sends. A request has an ID, a notification none.
type message struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params"`
	Result  json.RawMessage `json:"result"`
	Error   json.RawMessage `json:"error"`
}

// A response answers a request. Its ID is null where that of the request is not known.
type response struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Result  any             `json:"result"`
}

// A refusal is a response that says what was wrong.
type refusal struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Error   *jsonrpc2.Error `json:"error"`
}

// A notification is what an editor is told without having asked.
type notification struct {
	Version string `json:"jsonrpc"`
	Method  string `json:"method"`
	Params  any    `json:"params"`
}

const (
	headerName = "content-length:"
	maxHeader  = 4 << 10  // bytes of a line
	maxBody    = 64 << 20 // bytes, well above what a spec may have
)

// A wire carries messages of the Language Server Protocol: each is a header with
// the number of its bytes, an empty line, and JSON. Package jsonrpc2 has one, too,
// which ends with the first message that is malformed.
type wire struct {
	in  *bufio.Reader
	out *bufio.Writer // keeps its first error
}

func newWire(in io.Reader, out io.Writer) *wire {
	return &wire{bufio.NewReaderSize(in, maxHeader), bufio.NewWriter(out)}
}

// read returns the body of the next message. A *jsonrpc2.Error says that there is
// no body, or none that is read, and that another message may follow; any other
// error that there is no more, which is io.EOF if the last one is complete.
func (w *wire) read() ([]byte, error) {
	length, err := w.header()
	if err != nil {
		return nil, err
	}
	if length > maxBody {
		if _, err := io.CopyN(io.Discard, w.in, length); err != nil {
			return nil, cutOff(err)
		}
		return nil, jsonrpc2.Errorf(jsonrpc2.InvalidRequest, "a message of %d bytes is longer than %d", length, maxBody)
	}
	var body bytes.Buffer // grows with what comes, not with what is announced
	if _, err := io.CopyN(&body, w.in, length); err != nil {
		return nil, cutOff(err)
	}
	return body.Bytes(), nil
}

// cutOff is the end of the input within a message.
func cutOff(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// header reads up to the empty line and returns the length of the body. A length is
// found behind other text, too: after a body that was longer than announced the next
// header stands on the line of its rest.
func (w *wire) header() (int64, error) {
	lengths, begun := []string{}, false
	for {
		line, err := w.in.ReadSlice('\n')
		for errors.Is(err, bufio.ErrBufferFull) { // keep the end, where a header may be
			begun = true
			line, err = w.in.ReadSlice('\n')
		}
		if err != nil {
			if begun || len(line) > 0 {
				err = cutOff(err)
			}
			return 0, err
		}
		text := strings.TrimSpace(strings.ToLower(string(line)))
		if text == "" && begun {
			break
		}
		begun = begun || text != ""
		if i := strings.LastIndex(text, headerName); i >= 0 {
			lengths = append(lengths, strings.TrimSpace(text[i+len(headerName):]))
		}
	}
	if len(lengths) != 1 {
		return 0, jsonrpc2.Errorf(jsonrpc2.ParseError, "a header wants one Content-Length and has %d", len(lengths))
	}
	n, err := strconv.ParseInt(lengths[0], 10, 64)
	if err != nil || n < 0 {
		return 0, jsonrpc2.Errorf(jsonrpc2.ParseError, "Content-Length wants a number of bytes and is %q", lengths[0])
	}
	return n, nil
}

// write sends a message, and all that is sent before it.
func (w *wire) write(v any) {
	body, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("BUG: a message of the server: %v", err))
	}
	fmt.Fprintf(w.out, "Content-Length: %d\r\n\r\n%s", len(body), body)
	w.out.Flush() // an error stays, for err
}

// err is the first error of writing.
func (w *wire) err() error { return w.out.Flush() }

// notify tells the editor something.
func (w *wire) notify(method string, params any) {
	w.write(notification{jsonrpc2.Version, method, params})
}

// reply answers the request of an ID; nil is one that is not known.
func (w *wire) reply(id json.RawMessage, result any, err error) {
	if id == nil {
		id = json.RawMessage("null")
	}
	if err == nil {
		w.write(response{jsonrpc2.Version, id, result})
		return
	}
	answer := &jsonrpc2.Error{Code: jsonrpc2.InternalError, Message: err.Error()}
	if known := new(jsonrpc2.Error); errors.As(err, &known) {
		answer.Code = known.Code
	}
	w.write(refusal{jsonrpc2.Version, id, answer})
}

// decodeMessage reads a body. With an error the message has its ID, if that could be
// read.
func decodeMessage(body []byte) (m message, err error) {
	var shape *json.UnmarshalTypeError
	err = json.Unmarshal(body, &m)
	switch {
	case err != nil && !errors.As(err, &shape):
		return message{}, fmt.Errorf("%w: %w", jsonrpc2.ErrParse, err)
	case !isID(m.ID):
		m.ID = nil
		return m, fmt.Errorf("%w: an id is a number or a string", jsonrpc2.ErrInvalidRequest)
	case err != nil:
		return m, fmt.Errorf("%w: %w", jsonrpc2.ErrInvalidRequest, err)
	case m.Version != jsonrpc2.Version:
		return m, fmt.Errorf("%w: jsonrpc is %q, want %q", jsonrpc2.ErrInvalidRequest, m.Version, jsonrpc2.Version)
	case m.Method == "" && m.Result == nil && m.Error == nil:
		return m, fmt.Errorf("%w: there is no method", jsonrpc2.ErrInvalidRequest)
	}
	return m, nil
}

// isID reports whether JSON may be the ID of a request; nil is that of a notification.
func isID(id json.RawMessage) bool {
	return id == nil || id[0] == '"' || id[0] == '-' || '0' <= id[0] && id[0] <= '9'
}
