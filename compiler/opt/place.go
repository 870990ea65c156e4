package opt

// A Lifetime is the first and last step at which a temporary holds its value. Size is a
// key that equals another's if and only if the sizes are equal.
type Lifetime struct {
	First, Last int
	Size        string
}

// Place assigns temporaries to slots. Two share a slot if their sizes are equal and their
// lifetimes do not overlap. Lifetimes must be sorted by First. Place returns the slot of
// each lifetime and the size of each slot.
func Place(ts []Lifetime) (slot []int, sizes []string) {
	var free []int // last step at which each slot is in use
	for _, t := range ts {
		found := -1
		for s := range sizes {
			if sizes[s] == t.Size && free[s] < t.First {
				found = s
				break
			}
		}
		if found < 0 {
			found = len(sizes)
			sizes = append(sizes, t.Size)
			free = append(free, 0)
		}
		free[found] = t.Last
		slot = append(slot, found)
	}
	return slot, sizes
}
