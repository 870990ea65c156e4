// Package lsp is a language server for specs: live diagnostics, hover, completion, go to
// definition and formatting. The methods of view compute the answers from a text and a
// point. The server around them speaks the Language Server Protocol 3.16. Package check,
// whose results it shows, comes before it, and the command line, which starts it as mlc
// lsp, after it.
package lsp

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"go.lsp.dev/jsonrpc2"
	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"
)

// Serve answers the messages of one editor until it exits or closes the connection. It
// answers a malformed message with an error. Serve returns an error if the connection
// breaks or the editor leaves without a shutdown.
func Serve(in io.Reader, out io.Writer) error {
	s := &server{wire: newWire(in, out), read: readSpec}
	for s.phase != gone {
		body, err := s.wire.read()
		switch malformed := new(jsonrpc2.Error); {
		case errors.As(err, &malformed):
			s.reply(nil, nil, err)
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		default:
			s.handle(body)
		}
		if err := s.err(); err != nil {
			return err
		}
	}
	if !s.dismissed {
		return errors.New("the editor left without a shutdown")
	}
	return nil
}

// A server is the state of one connection.
type server struct {
	*wire
	read      func(string) ([]byte, error)
	phase     phase
	dismissed bool // the editor sent shutdown
	snippets  bool // the editor accepts completions with placeholders
	files     []*file
}

// A phase of a connection. Each follows the one before.
type phase uint8

const (
	fresh   phase = iota // waits for initialize
	ready                // answers
	leaving              // after shutdown, waits for exit
	gone
)

// errNotInitialized refuses requests before initialize.
var errNotInitialized = jsonrpc2.NewError(jsonrpc2.ServerNotInitialized, "initialize comes first")

// A method answers one kind of message.
type method func(s *server, params json.RawMessage) (any, error)

// methods lists the messages that a ready server understands, besides exit.
var methods = map[string]method{
	protocol.MethodInitialized:            func(*server, json.RawMessage) (any, error) { return nil, nil },
	protocol.MethodShutdown:               (*server).shutdown,
	protocol.MethodTextDocumentDidOpen:    onText((*server).didOpen, func(p *protocol.DidOpenTextDocumentParams) uri.URI { return p.TextDocument.URI }),
	protocol.MethodTextDocumentDidChange:  onText((*server).didChange, func(p *protocol.DidChangeTextDocumentParams) uri.URI { return p.TextDocument.URI }),
	protocol.MethodTextDocumentDidClose:   onText((*server).didClose, func(p *protocol.DidCloseTextDocumentParams) uri.URI { return p.TextDocument.URI }),
	protocol.MethodTextDocumentHover:      onText((*server).hover, func(p *protocol.HoverParams) uri.URI { return p.TextDocument.URI }),
	protocol.MethodTextDocumentCompletion: onText((*server).completion, func(p *protocol.CompletionParams) uri.URI { return p.TextDocument.URI }),
	protocol.MethodTextDocumentDefinition: onText((*server).definition, func(p *protocol.DefinitionParams) uri.URI { return p.TextDocument.URI }),
	protocol.MethodTextDocumentFormatting: onText((*server).formatting, func(p *protocol.DocumentFormattingParams) uri.URI { return p.TextDocument.URI }),
}

// onText makes a method of a function of decoded parameters and the path of their text.
func onText[P any](f func(*server, string, *P) (any, error), text func(*P) uri.URI) method {
	return func(s *server, params json.RawMessage) (any, error) {
		p := new(P)
		if err := decode(params, p); err != nil {
			return nil, err
		}
		path, err := pathOf(text(p))
		if err != nil {
			return nil, fmt.Errorf("%w: %w", jsonrpc2.ErrInvalidParams, err)
		}
		return f(s, path, p)
	}
}

func decode(params json.RawMessage, p any) error {
	if params == nil {
		return fmt.Errorf("%w: there are none", jsonrpc2.ErrInvalidParams)
	}
	if err := json.Unmarshal(params, p); err != nil {
		return fmt.Errorf("%w: %w", jsonrpc2.ErrInvalidParams, err)
	}
	return nil
}

// handle answers a message. The answer to a faulty request is its error; the error of a
// notification goes to the editor's log.
func (s *server) handle(body []byte) {
	m, err := decodeMessage(body)
	switch {
	case err != nil:
		s.reply(m.ID, nil, err)
		return
	case m.Method == "": // a response to no request
		return
	}
	result, err := s.answer(m)
	switch {
	case m.ID != nil:
		s.reply(m.ID, result, err)
	case err != nil:
		s.notify(protocol.MethodWindowLogMessage,
			protocol.LogMessageParams{Type: protocol.MessageTypeWarning, Message: fmt.Sprintf("%s is ignored: %v", m.Method, err)})
	}
}

// answer computes the result of a message. A panic, which is a bug in mlc, becomes an error
// of this message only.
func (s *server) answer(m message) (result any, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = jsonrpc2.Errorf(jsonrpc2.InternalError, "this is a bug in mlc, please report it: %v", p)
		}
	}()
	switch f, known := methods[m.Method]; {
	case m.Method == protocol.MethodExit:
		s.phase = gone
		return nil, nil
	case s.phase == fresh && m.Method == protocol.MethodInitialize:
		return s.initialize(m.Params)
	case s.phase == fresh:
		return nil, errNotInitialized
	case s.phase == leaving:
		return nil, fmt.Errorf("%w: only exit may follow shutdown", jsonrpc2.ErrInvalidRequest)
	case m.Method == protocol.MethodInitialize:
		return nil, fmt.Errorf("%w: the server is initialized", jsonrpc2.ErrInvalidRequest)
	case known:
		return f(s, m.Params)
	case m.ID == nil: // may be ignored, as $/cancelRequest
		return nil, nil
	}
	return nil, fmt.Errorf("%q: %w", m.Method, jsonrpc2.ErrMethodNotFound)
}

func (s *server) initialize(params json.RawMessage) (any, error) {
	var p protocol.InitializeParams
	if err := decode(params, &p); err != nil {
		return nil, err
	}
	s.phase = ready
	if t := p.Capabilities.TextDocument; t != nil && t.Completion != nil && t.Completion.CompletionItem != nil {
		s.snippets = t.Completion.CompletionItem.SnippetSupport
	}
	return &protocol.InitializeResult{
		Capabilities: protocol.ServerCapabilities{
			TextDocumentSync:           protocol.TextDocumentSyncOptions{OpenClose: true, Change: protocol.TextDocumentSyncKindFull},
			HoverProvider:              true,
			CompletionProvider:         &protocol.CompletionOptions{TriggerCharacters: []string{".", "(", "=", ","}},
			DefinitionProvider:         true,
			DocumentFormattingProvider: true,
		},
		ServerInfo: &protocol.ServerInfo{Name: "mlc"},
	}, nil
}

// shutdown precedes exit.
func (s *server) shutdown(json.RawMessage) (any, error) {
	s.phase, s.dismissed = leaving, true
	return nil, nil
}
