package lsp

import (
	"cmp"
	"strings"

	"go.lsp.dev/protocol"

	"github.com/arithlang/mlc/dsl"
)

// at returns the open text and the offset that a request is about. The view is nil if the
// text is not open.
func (s *server) at(path string, p protocol.Position) (*view, int) {
	f := s.file(path)
	if f == nil || f.view == nil {
		return nil, 0
	}
	return f.view, f.view.offset(p)
}

func (s *server) hover(path string, p *protocol.HoverParams) (any, error) {
	v, offset := s.at(path, p.Position)
	if v == nil {
		return nil, nil
	}
	text, at := v.hover(offset)
	if text == "" {
		return nil, nil
	}
	r := v.span(at)
	return &protocol.Hover{Contents: protocol.MarkupContent{Kind: protocol.Markdown, Value: text}, Range: &r}, nil
}

func (s *server) definition(path string, p *protocol.DefinitionParams) (any, error) {
	v, offset := s.at(path, p.Position)
	if v == nil {
		return nil, nil
	}
	r, ok := v.define(offset)
	if !ok {
		return nil, nil
	}
	l, err := s.location(r)
	if err != nil {
		return nil, err
	}
	return []protocol.Location{l}, nil
}

// itemKinds maps proposals to icons.
var itemKinds = map[proposalKind]protocol.CompletionItemKind{
	blockProposal:      protocol.CompletionItemKindModule,
	attributeProposal:  protocol.CompletionItemKindProperty,
	choiceProposal:     protocol.CompletionItemKindEnumMember,
	argumentProposal:   protocol.CompletionItemKindField,
	unitProposal:       protocol.CompletionItemKindUnit,
	variableProposal:   protocol.CompletionItemKindVariable,
	functionProposal:   protocol.CompletionItemKindFunction,
	definitionProposal: protocol.CompletionItemKindReference,
}

func (s *server) completion(path string, p *protocol.CompletionParams) (any, error) {
	list := &protocol.CompletionList{Items: []protocol.CompletionItem{}}
	v, offset := s.at(path, p.Position)
	if v == nil {
		return list, nil
	}
	proposals, at := v.complete(offset)
	r := v.span(at)
	for _, x := range proposals {
		insert := cmp.Or(x.insert, x.label)
		item := protocol.CompletionItem{Label: x.label, Kind: itemKinds[x.kind], Detail: x.detail}
		if x.doc != "" {
			item.Documentation = protocol.MarkupContent{Kind: protocol.Markdown, Value: x.doc}
		}
		if s.snippets {
			item.InsertTextFormat = protocol.InsertTextFormatSnippet
		} else {
			insert = strings.NewReplacer("$0", "", "$1", "").Replace(insert)
		}
		item.TextEdit = &protocol.TextEdit{Range: r, NewText: insert}
		list.Items = append(list.Items, item)
	}
	return list, nil
}

// formatting replaces the whole text if it is not formatted. A text with errors stays.
func (s *server) formatting(path string, _ *protocol.DocumentFormattingParams) (any, error) {
	f := s.file(path)
	edits := []protocol.TextEdit{}
	if f == nil || f.view == nil {
		return edits, nil
	}
	text, _ := dsl.FormatFile(f.path, []byte(f.text))
	if string(text) != f.text {
		end := f.view.pos(f.path, len(f.text))
		edits = append(edits, protocol.TextEdit{Range: protocol.Range{End: f.view.position(end)}, NewText: string(text)})
	}
	return edits, nil
}
