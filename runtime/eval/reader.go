package eval

import (
	"context"
	"fmt"
	"io"

	"github.com/arithlang/mlc/runtime/config"
	"github.com/arithlang/mlc/runtime/track"
)

// A Reader tests a model of text, and continues texts. A model of problems has none.
type Reader interface {
	Test(ctx context.Context, m *Model) (Text, error)
	// Continue writes a prompt and its continuation, in JSON apart.
	Continue(ctx context.Context, m *Model, prompt string, how config.Sampling, json bool, out io.Writer) error
}

// A Text is the loss of a model of text.
type Text struct {
	Of     string  `json:"of"`         // the part of the text that was read
	Tokens int     `json:"characters"` // that were predicted
	Loss   float64 `json:"loss"`       // mean, in nats a character
	Bits   float64 `json:"bits"`       // the same in bits
}

func (t Text) String() string {
	return fmt.Sprintf("%s a character, of %s characters of %s", track.Nats(t.Loss), track.Thousands(t.Tokens), t.Of)
}
