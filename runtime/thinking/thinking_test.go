package thinking

import "testing"

// TestTableOfThinking writes one line a run, wrong tokens in red if there are colours.
func TestTableOfThinking(t *testing.T) {
	thought := &Thinking{Problem: "12+9", Answer: "21", Settled: 2, After: [][]Said{
		{{"3", false}, {"2", true}, {"$", false}},
		{{"1", true}, {"2", true}, {"$", true}},
		{{"1", true}, {"2", true}, {"$", true}},
	}}
	for colours, want := range map[bool]string{
		false: "12+9, after each run of the loop:\n  1  32$  1 of 3 right\n  2  12$  3 of 3 right\n  3  12$  3 of 3 right\n21, settled after 2 of 3 runs\n",
		true:  "12+9, after each run of the loop:\n  1  \x1b[31m3\x1b[0m2\x1b[31m$\x1b[0m  1 of 3 right\n  2  12$  3 of 3 right\n  3  12$  3 of 3 right\n21, settled after 2 of 3 runs\n",
	} {
		if got := thought.Table(colours); got != want {
			t.Errorf("with colours, %v:\n%q, want\n%q", colours, got, want)
		}
	}
}
