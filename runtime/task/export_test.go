package task

// Parts of a task for the tests of problems.

// Constants of the released code's lists.
const (
	ListedBits = listedBits
	ListedEach = listedEach
	MostListed = mostListed
)

// Symbols are the symbols of encoder-decoders.
const Symbols = symbols

func RawSymbols(t *Task) []string         { return t.vocab.Symbols }
func IDs(t *Task) [128]int32              { return t.ids }
func ChanceOf(t *Task, p Problem) float64 { return t.chance(p) }
func DomainOf(t *Task) func(func([][]byte) bool) {
	return func(yield func([][]byte) bool) { t.kind.Family.Domain(t, yield) }
}

// TrainedOf returns how many problems of a set are trained on.
func TrainedOf(t *Task) int64 { return t.trained }

func (t *Task) Of(p Problem) *Task                   { return t.of(p) }
func (t *Task) IsHeldOut(d *Draft) bool              { return t.isHeldOut(d) }
func (t *Task) Entry(n int64, operand int) int64     { return t.entry(n, operand) }
func (t *Task) Finish(d *Draft)                      { t.solve(d) }
func (t *Task) Tight(p Problem) (width int, _ error) { return t.tight(p) }
func (t *Task) Largest() Problem                     { return t.largest() }
func (t *Task) Sole() bool                           { return t.single() }
