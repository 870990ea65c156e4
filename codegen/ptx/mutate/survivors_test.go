package mutate

import "regexp"

// survivors are the mutants that nothing finds, and why. Mutants that the gate shows to be
// equivalent are not among them. A surviving barrier mutant concerns the emitter. The simulator
// orders accesses exactly, and finds every pair in order without the barrier.
var survivors = []struct {
	kind   Kind
	line   *regexp.Regexp // of the kernel
	reason string
}{
	{Barrier, regexp.MustCompile(`bar\.warp\.sync`), "each lane has the elements of a row to itself, which waits.go cannot tell of every index"},
	{Barrier, regexp.MustCompile(`bar\.sync`), "another barrier parts the same accesses, in a loop that waits.go does not know to have a round"},
	{Weaken, regexp.MustCompile(`bar\.sync`), "what the barrier parts is in one warp, or parted by another barrier too"},
	{Unguard, regexp.MustCompile(`bra`), "what is done in vain writes nothing or the same again, and reads what is there; or what is added is 0"},
	{Unguard, regexp.MustCompile(`ld\.`), "what is read in vain is there, and meets no result"},
	{Unguard, regexp.MustCompile(`st\.`), "what is written in vain lies in a part of a tile that nothing reads"},
	{Full, regexp.MustCompile(`cp\.async`), "what is copied in vain is there, and meets no output"},
	{Commit, regexp.MustCompile(`cp\.async`), "the next group has these copies, too, and is waited for before they are read"},
	{Invert, regexp.MustCompile(`bra`), "the loop has one round either way, in every launch; or what is added is 0"},
	{Index, regexp.MustCompile(`add\.s32 .*, \d+;$`), "a cell or a round more has nothing to do, or what it adds is 0"},
	{Index, regexp.MustCompile(`mov\.b32 %r\d+, 0;`), "sums are copied in whole units, and one product fewer leaves as many"},
	{Index, regexp.MustCompile(`mul\.lo\.s32 %r\d+, %r\d+, (4|8);`), "of the few units of a row, each is below the same numbers of whole units"},
	{Index, regexp.MustCompile(`(mul|mad)\.`), "the factor is 0 wherever the product is used"},
	{Index, regexp.MustCompile(`(max|min)\.`), "lengths are at least 1"},
	{Index, regexp.MustCompile(`ld\.shared`), "both places have 0, or the same element, which several lanes read"},
	{Index, regexp.MustCompile(`(div|shr|and|rem)\.`), "only threads that have nothing to do get another number"},
	{Shared, regexp.MustCompile(`\[\d+\]`), "there are fewer cells than warps, and the last warps use nothing"},
}

// reason returns why a mutant survives, if known.
func (m Mutant) reason() string {
	for _, s := range survivors {
		if s.kind == m.Kind && s.line.MatchString(m.Old) {
			return s.reason
		}
	}
	return "no reason is known"
}
