package vector

import (
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
)

// A machine writes the code of one function for one instruction set. Slots are offsets into
// the frame. In a loop, general registers hold the index of the element and the last index
// with whole vectors left. For a partial vector they hold how many elements are left.
type machine interface {
	describe() *isa

	// begin writes the start of the function. params are the parameters after the frame:
	// slices, and values, which it copies to their slots.
	begin(params []parameter)
	// end writes the return.
	end()
	mark(label string)
	jump(label string)

	// Integers and conditions. store puts one into a slot. next increments the integer in a
	// slot and jumps if it is below the integer in slot end.
	store(e *expr.Expr, slot int)
	jumpIfZero(slot int, label string)
	jumpUnlessLess(slot, than int, label string)
	next(slot, end int, label string)

	// pointers computes the addresses of pointers and gives the first of them registers.
	pointers(ps []*pointer)

	// A loop over vectors.
	startIndex()
	// again increases the index by elements and jumps if it is below end.
	again(elements, end int, label string)
	// againWhole does the same if whole vectors are left. whole sets their limit to elements
	// before the end, which is in a slot, and jumps if the limit is below 0.
	againWhole(elements int, label string)
	whole(end, elements int, label string)
	// rest computes how many elements are left before the end, which is in a slot, and jumps
	// if the number is 0 or less. fewer subtracts elements from it and does the same.
	rest(end int, label string)
	fewer(elements int, label string)
	// someLanes selects as many lanes as elements are left, firstLanes a known number.
	someLanes()
	firstLanes(n int)

	// Blocks: the instruction of a value, its registers and its code.
	form(a *allocator, v *value) form
	// inMemory reports whether an instruction would read its operand form.mem from memory.
	inMemory(a *allocator, v *value) bool
	reload(b *block, v *value, n int)
	spill(b *block, v *value, n int)
	run(b *block, s *step)

	// Reductions: startPartials initializes registers of partials, and meet computes to = to
	// op from. addRest adds a batch of vectors to the register for the next batch; no register
	// holds a value then. across combines the lanes of the first register that have partials,
	// and stores the result in the slot.
	startPartials(s *folding)
	move(from, to int)
	meet(s *folding, from, to int)
	addRest(s *folding, vectors int)
	across(s *folding)
	// acrossBeside does so for sums that are computed side by side, each with a slot.
	acrossBeside(s *folding)

	// Random words.
	randomKeys()
	startStream(s *stream, r *kernel.Random)
	firstCounters(s *stream)
	nextWords(s *stream)
	randomFill(r *kernel.Random)
}
