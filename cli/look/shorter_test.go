package look

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestShorter removes the defaults from a resolved spec. It returns "" for other texts and
// for a spec that needs another file.
func TestShorter(t *testing.T) {
	text, err := os.ReadFile("../../serve/testdata/runs/successor/spec.arith")
	if err != nil {
		t.Fatal(err)
	}
	const want = `arith 2

task successor {
  operands   = below(bound = 1Mi, sampling = permutation, epochs = reordered)
  pad        = zero(to = 7, step = 3, answer = none)
  holdout    = 12.5%
}

model {
  ffn     = relu(hidden = 256)
  dropout = 10%

  embed {
    position = cyclic(inner = sinusoidal, period = 3)
  }

  decoder {
    self {
      mask     = i - j <= 1
    }

    cross {
      mask     = 0 <= J - 1 - i - j && J - 1 - i - j <= 1
    }
  }
}

train {
  optimizer  = adam(lr = 0.003, betas = [0.9, 0.98], eps = 1e-9)
  schedule   = trapezoid(warmup = 10%, cooldown = 40%)
  budget     = 1500steps
}

eval {
  pad      = zero(to = 61, step = 3, answer = none)
}
`
	if diff := cmp.Diff(want, Shorter(t.Context(), string(text))); diff != "" {
		t.Error(diff)
	}
	for _, text := range []string{"", "nothing\n", "arith 2\n\ninclude \"/proc/self/environ\"\n"} {
		if got := Shorter(t.Context(), text); got != "" {
			t.Errorf("%q: %s", text, got)
		}
	}
}

// TestWrap breaks lines at the last word that fits.
func TestWrap(t *testing.T) {
	for _, c := range []struct {
		text  string
		width int
		want  string
	}{
		{"one two", 7, "one two"},
		{"one two", 6, "one\ntwo"},
		{" one  two\nthree ", 9, "one two\nthree"},
		{"one two three", 13, "one two three"},
		{"one two three", 12, "one two\nthree"},
		{"overlong a", 3, "overlong\na"},
		{"", 3, ""},
	} {
		if got := wrap(c.text, c.width); got != c.want {
			t.Errorf("%q in %d bytes is %q, want %q", c.text, c.width, got, c.want)
		}
	}
}
