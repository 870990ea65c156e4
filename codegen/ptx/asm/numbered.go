package asm

// A numbered is a table by value of a function, without constants. Passes look into such tables
// at each operand.
type numbered[T any] []T

// of returns the entry of a value; zero for a constant.
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
