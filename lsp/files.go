package lsp

import (
	"fmt"
	"io"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"go.lsp.dev/jsonrpc2"
	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"

	"github.com/arithlang/mlc/compiler/check"
	"github.com/arithlang/mlc/dsl/diag"
)

// A file is a text that is open in the editor.
type file struct {
	uri     uri.URI
	version int32
	path    string
	text    string
	view    *view // nil before the text has been checked
}

// pathOf returns the path of a file as specs are read by it. For a text that is not in a
// file it returns the URI.
func pathOf(u uri.URI) (string, error) {
	parsed, err := url.ParseRequestURI(string(u))
	switch {
	case err != nil:
		return "", err
	case parsed.Scheme == "":
		return "", fmt.Errorf("%q is no URI: it has no scheme", u)
	case parsed.Scheme != uri.FileScheme:
		return string(u), nil
	case !strings.HasPrefix(parsed.Path, "/") || strings.ContainsRune(parsed.Path, 0):
		return "", fmt.Errorf("%q names no file", u)
	}
	return path.Clean(filepath.ToSlash(u.Filename())), nil
}

// file returns the open text with a path, or nil.
func (s *server) file(path string) *file {
	n := slices.IndexFunc(s.files, func(f *file) bool { return f.path == path })
	if n < 0 {
		return nil
	}
	return s.files[n]
}

// readSpec reads a file, up to one byte more than a spec may have. It refuses anything but
// a regular file: a pipe might never end.
func readSpec(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, check.MaxFile+1))
}

// readFile reads an included file, from the editor if it is open there.
func (s *server) readFile(path string) ([]byte, error) {
	if f := s.file(path); f != nil {
		return []byte(f.text), nil
	}
	return s.read(filepath.FromSlash(path))
}

func (s *server) didOpen(path string, p *protocol.DidOpenTextDocumentParams) (any, error) {
	d := p.TextDocument
	s.forget(path) // if it was opened before
	s.files = append(s.files, &file{uri: d.URI, version: d.Version, path: path, text: d.Text})
	s.check()
	return nil, nil
}

func (s *server) didChange(path string, p *protocol.DidChangeTextDocumentParams) (any, error) {
	f := s.file(path)
	if f == nil {
		return nil, fmt.Errorf("%w: %s is not open", jsonrpc2.ErrInvalidParams, p.TextDocument.URI)
	}
	if len(p.ContentChanges) > 0 {
		f.version = p.TextDocument.Version
		f.text = p.ContentChanges[len(p.ContentChanges)-1].Text
	}
	s.check()
	return nil, nil
}

func (s *server) didClose(path string, p *protocol.DidCloseTextDocumentParams) (any, error) {
	s.forget(path)
	s.publish(&protocol.PublishDiagnosticsParams{URI: p.TextDocument.URI, Diagnostics: []protocol.Diagnostic{}})
	s.check()
	return nil, nil
}

func (s *server) forget(path string) {
	s.files = slices.DeleteFunc(s.files, func(f *file) bool { return f.path == path })
}

// check checks every open file again, since each may include the changed one, and publishes
// the findings.
func (s *server) check() {
	for _, f := range s.files {
		f.view = newView(f.path, f.text, s.readFile, f.view)
		params := &protocol.PublishDiagnosticsParams{URI: f.uri, Version: uint32(f.version), Diagnostics: []protocol.Diagnostic{}}
		for _, x := range f.view.findings() {
			params.Diagnostics = append(params.Diagnostics, s.diagnostic(f.view, x))
		}
		s.publish(params)
	}
}

func (s *server) publish(p *protocol.PublishDiagnosticsParams) {
	s.notify(protocol.MethodTextDocumentPublishDiagnostics, p)
}

func (s *server) diagnostic(v *view, x finding) protocol.Diagnostic {
	d := protocol.Diagnostic{
		Range:    v.span(x.at),
		Severity: protocol.DiagnosticSeverityError,
		Code:     x.Label(),
		Source:   "mlc",
		Message:  x.Message,
	}
	switch {
	case x.limit:
		d.Severity = protocol.DiagnosticSeverityInformation
	case x.Severity == diag.Warning:
		d.Severity = protocol.DiagnosticSeverityWarning
	}
	if x.at != x.Range && x.Range.Start.IsValid() {
		d.Message = x.Range.Start.String() + ": " + d.Message
		d.RelatedInformation = append(d.RelatedInformation, s.related(x.Range, x.Message))
	}
	if x.Help != "" {
		d.Message += "\nhelp: " + x.Help
	}
	for _, n := range x.Notes {
		if n.Pos.IsValid() {
			d.RelatedInformation = append(d.RelatedInformation, s.related(diag.Range{Start: n.Pos, End: n.Pos}, n.Message))
		}
	}
	return d
}

func (s *server) related(r diag.Range, message string) protocol.DiagnosticRelatedInformation {
	l, err := s.location(r)
	if err != nil { // a message without its place is better than no message
		l = protocol.Location{URI: s.uriOf(r.Start.File)}
	}
	return protocol.DiagnosticRelatedInformation{Location: l, Message: message}
}

// uriOf returns the URI of a path, as the editor writes it if the file is open.
func (s *server) uriOf(path string) uri.URI {
	if f := s.file(path); f != nil {
		return f.uri
	}
	return uri.File(filepath.FromSlash(path))
}

// location returns a range of any file. It writes the prelude to the user's cache, since
// editors can only show files.
func (s *server) location(r diag.Range) (protocol.Location, error) {
	file := r.Start.File
	if name, text := check.Prelude(); file == name {
		dir, err := os.UserCacheDir()
		if err != nil {
			return protocol.Location{}, err
		}
		file = filepath.Join(dir, "mlc", "prelude.arith")
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return protocol.Location{}, err
		}
		if err := os.WriteFile(file, text, 0o644); err != nil {
			return protocol.Location{}, err
		}
	}
	text, err := s.readFile(file)
	if err != nil {
		return protocol.Location{}, err
	}
	return protocol.Location{URI: s.uriOf(file), Range: newSource(string(text)).span(r)}, nil
}
