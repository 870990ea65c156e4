// Package calibrate turns the attention of a trained model into biases for longer
// problems: attention bias calibration (Duan, Shi and Xu, arXiv:2310.11984, section
// 4, appendices D and F). It finds the lines of each head's attention matrix that
// stand out, and extends them to a larger matrix. It is pure: package calibration
// captures the attention before it, and gives the result to the training after it
// as fixed parameters.
//
// A line along direction (a, b), a cells down and b to the right from one cell to
// the next, has the number a*j - b*i: i+j for antidiagonals, j-i for diagonals, j
// for columns. Where matrices differ in size, lines of b > 0 keep their number from
// the left end of the rows, all others from the right end (appendix D). Where columns
// are ^ a + b $, these are the ends of the operand that a line begins in: those of b > 0
// that begin in + or b keep theirs from +, all others that begin in a or + from the end
// of a. The paper reads and extends at one width, where that is the same.
package calibrate

// What a calibration leaves in its directory.
const (
	AttentionFile = "attention.safetensors" // what was read: self and cross, [heads, rows, columns]
	RecordFile    = "calibration.json"      // every line, and whether it was kept
	LinesFile     = "lines.safetensors"     // the biases: lines by Tensor, and self and cross, [heads, M, N]
)

// A Config says which attention is read and which of its lines are kept.
// Generated code holds one.
type Config struct {
	Samples int  // problems whose attention is averaged
	Heads   int  // of the model that is read
	Layer   int  // of the decoder, from 1
	Logits  bool // scores before the softmax; else weights
	Mean    bool // a line's value is the mean of its cells; else their sum
	Self    Lines
	Cross   Lines
}

// Lines says what becomes of the attention of a site. One without directions is not
// read.
type Lines struct {
	Directions [][2]int // each a Direction
	Rows       int      // first rows of the attention that count
	M, N       int      // rows and columns of the matrix that lines are extended to
	Paired     bool     // columns are ^ a + b $, with a and b of one width
	Keep       func(value, mean, std float64) bool
}
