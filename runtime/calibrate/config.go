// Package calibrate turns the attention of a trained model into biases for longer problems:
// attention bias calibration (Duan, Shi and Xu, arXiv:2310.11984, section 4, appendices D and
// F). It finds the lines of each head's attention matrix that stand out, and extends them to a
// larger matrix. It is pure: package calibration captures the attention, and passes the result
// to the next training as fixed parameters.
//
// A line along direction (p, q) steps p cells down and q cells to the right. Its number is
// p*j - q*i: i+j for antidiagonals, j-i for diagonals, j for columns. Between matrices of
// different sizes, lines with q > 0 keep their number from the left end of the rows, all others
// from the right end (appendix D).
//
// Columns ^ a + b $ have two exceptions. A line with q > 0 that begins in + or b keeps its
// distance from +. A line with q <= 0 that begins in a or + keeps its distance from the end of
// a. The paper reads and extends at a single width, where both rules agree.
package calibrate

// The files of a calibration in its directory.
const (
	AttentionFile = "attention.safetensors" // the attention that was read: self and cross, [heads, rows, columns]
	RecordFile    = "calibration.json"      // every line, and whether it was selected
	LinesFile     = "lines.safetensors"     // the biases: lines by Tensor, and self and cross, [heads, M, N]
)

// A Config says which attention is read and which of its lines are selected. Generated code
// holds one.
type Config struct {
	Samples int  // problems over which attention is averaged
	Heads   int  // of the model that is read
	Layer   int  // decoder layer, from 1
	Logits  bool // scores before the softmax instead of weights
	Mean    bool // a line's value is the mean of its cells instead of their sum
	Less    bool // a selected line's bias is its value less the largest along its direction in its head
	Open    bool // the run goes on if no line stands out in any head
	Self    Lines
	Cross   Lines
}

// Lines says how the attention of a site is calibrated. A site without directions is not read.
type Lines struct {
	Directions [][2]int // each a Direction
	Rows       int      // how many first rows of the attention count
	M, N       int      // rows and columns of the extended matrix
	Paired     bool     // columns are ^ a + b $, with a and b of equal width
	Keep       func(value, mean, std float64) bool
}
