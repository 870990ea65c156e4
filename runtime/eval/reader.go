package eval

import (
	"context"
	"fmt"

	"github.com/arithlang/mlc/runtime/config"
	"github.com/arithlang/mlc/runtime/track"
)

// Nats is the metric of texts: the loss.
const Nats = "loss"

// A Reader tests a model of text, and continues texts. A Model of problems has none.
type Reader interface {
	// Test returns the loss on the text that tests read.
	Test(ctx context.Context, m *Model) (Text, error)
	// Continue calls say with each character that the model adds to a prompt.
	Continue(ctx context.Context, m *Model, prompt string, how config.Sampling, say func(text string)) error
}

// A Text is the loss of a model of text.
type Text struct {
	Of     string  `json:"of"`         // the part of the text: see task.Tested
	Tokens int     `json:"characters"` // that were predicted
	Loss   float64 `json:"loss"`       // mean, in nats a character
	Bits   float64 `json:"bits"`       // the same in bits
}

// String is the loss in nats and in bits.
func (t Text) String() string { return track.Nats(t.Loss) + " a character" }

// table is the result of a text for people.
func (t Text) table() string {
	return fmt.Sprintf("%v, of %s characters of %s\n", t, track.Thousands(t.Tokens), t.Of)
}
