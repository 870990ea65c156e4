package asm

// A numbered is a table of the values of a function that are no constants, by their numbers:
// passes look into such tables at each operand.
type numbered[T any] []T

// of is the table's entry for a value; zero for a constant.
func (a numbered[T]) of(v Value) (t T) {
	if v.kind >= single && v.n < int64(len(a)) {
		t = a[v.n]
	}
	return t
}

func (a *numbered[T]) set(v Value, t T) {
	if v.kind < single {
		return
	}
	if more := v.n + 1 - int64(len(*a)); more > 0 {
		*a = append(*a, make([]T, more)...)
	}
	(*a)[v.n] = t
}
