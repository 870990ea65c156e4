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

// A message is a message from an editor. A request has an ID, a notification does not.
type message struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params"`
	Result  json.RawMessage `json:"result"`
	Error   json.RawMessage `json:"error"`
}

// A response answers a request. Its ID is null if the request's ID is not known.
type response struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Result  any             `json:"result"`
}

// A refusal is a response with an error.
type refusal struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Error   *jsonrpc2.Error `json:"error"`
}

// A notification is a message to the editor that answers no request.
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

// A wire carries messages of the Language Server Protocol. A message is a header with the
// length of its body, an empty line, and a body of JSON. Package jsonrpc2 has a reader as
// well, but it stops at the first malformed message.
type wire struct {
	in  *bufio.Reader
	out *bufio.Writer // keeps its first error
}

func newWire(in io.Reader, out io.Writer) *wire {
	return &wire{bufio.NewReaderSize(in, maxHeader), bufio.NewWriter(out)}
}

// read returns the body of the next message. A *jsonrpc2.Error means that this message has
// no usable body and that another may follow. Any other error ends the stream; it is io.EOF
// after a complete message.
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
	var body bytes.Buffer // grows with the input, not with the announced length
	if _, err := io.CopyN(&body, w.in, length); err != nil {
		return nil, cutOff(err)
	}
	return body.Bytes(), nil
}

// cutOff turns an end of input within a message into io.ErrUnexpectedEOF.
func cutOff(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// header reads up to the empty line and returns the length of the body. The length may
// follow other text on its line: after a body longer than announced, the next header begins
// on the body's last line.
func (w *wire) header() (int64, error) {
	lengths, begun := []string{}, false
	for {
		line, err := w.in.ReadSlice('\n')
		for errors.Is(err, bufio.ErrBufferFull) { // keep the end of the line, where a header may be
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

// write sends a message at once.
func (w *wire) write(v any) {
	body, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("BUG: a message of the server: %v", err))
	}
	fmt.Fprintf(w.out, "Content-Length: %d\r\n\r\n%s", len(body), body)
	w.out.Flush() // the writer keeps the error for err
}

// err returns the first error of writing.
func (w *wire) err() error { return w.out.Flush() }

// notify tells the editor something.
func (w *wire) notify(method string, params any) {
	w.write(notification{jsonrpc2.Version, method, params})
}

// reply answers the request with an ID; nil means that the ID is not known.
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

// decodeMessage decodes a body. Along with an error it returns the message's ID, if that is
// readable.
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

// isID reports whether JSON may be the ID of a message; nil means a notification.
func isID(id json.RawMessage) bool {
	return id == nil || id[0] == '"' || id[0] == '-' || '0' <= id[0] && id[0] <= '9'
}
