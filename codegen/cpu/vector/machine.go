package vector

import (
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
)

// A machine writes the code of one function for one instruction set. Slots are offsets into
// the frame. What it is told of a loop it keeps in general registers of its own: the index
// of the element, the last index from which whole vectors are left, and how many elements
// are left for a vector of which only some lanes exist.
type machine interface {
	describe() *isa

	// begin writes what comes before all else: params are those of the frame, the slices and
	// the values, which it copies to their slots.
	begin(params []parameter)
	// end writes the return.
	end()
	mark(label string)
	jump(label string)

	// Integers and conditions. store puts one into a slot; next counts the one in a slot up, and
	// jumps if it is below another.
	store(e *expr.Expr, slot int)
	jumpIfZero(slot int, label string)
	jumpUnlessLess(slot, than int, label string)
	next(slot, end int, label string)

	// pointers computes the addresses of pointers, and gives the first of them registers.
	pointers(ps []*pointer)

	// A loop over vectors.
	startIndex()
	// again counts the index up by elements, and jumps if it is below end.
	again(elements, end int, label string)
	// againWhole does if whole vectors are left, as whole says: it sets the limit to elements
	// before the end, which is in a slot, and jumps if that is below 0.
	againWhole(elements int, label string)
	whole(end, elements int, label string)
	// rest sets how many elements are left before the end, which is in a slot, and jumps if
	// there are none; fewer takes some away and does the same.
	rest(end int, label string)
	fewer(elements int, label string)
	// someLanes are the lanes for as many elements as are left, firstLanes for a known number.
	someLanes()
	firstLanes(n int)

	// Blocks: the instruction of a value, its registers and its code.
	form(a *allocator, v *value) form
	// inMemory says whether an instruction would read its operand form.mem from memory.
	inMemory(a *allocator, v *value) bool
	reload(b *block, v *value, n int)
	spill(b *block, v *value, n int)
	run(b *block, s *step)

	// Reductions: registers of partials are set to what they start from, moved, and meet:
	// to = to op from. A batch of vectors is added to the register whose turn it is, where no
	// register holds a value. across meets the lanes of the first register, as far as they have
	// partials, and stores the result in the slot.
	startPartials(s *folding)
	move(from, to int)
	meet(s *folding, from, to int)
	addRest(s *folding, vectors int)
	across(s *folding)
	// acrossBeside does so for sums that are made side by side, each with a slot.
	acrossBeside(s *folding)

	// Random words.
	randomKeys()
	startStream(s *stream, r *kernel.Random)
	firstCounters(s *stream)
	nextWords(s *stream)
	randomFill(r *kernel.Random)
}
