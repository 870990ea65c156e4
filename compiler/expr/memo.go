package expr

// few is the largest number of nodes that a memo searches without hashing. Most expressions are small.
const few = 12

// A memo holds a value for each visited node. The zero memo is empty.
type memo[V any] struct {
	first [few]entry[V]
	n     int         // of first
	more  map[*Expr]V // the nodes after the first few
}

type entry[V any] struct {
	node  *Expr
	value V
}

func (m *memo[V]) get(e *Expr) (V, bool) {
	for i := range m.n {
		if f := &m.first[i]; f.node == e {
			return f.value, true
		}
	}
	v, ok := m.more[e]
	return v, ok
}

// put sets the value of a node that has no value yet.
func (m *memo[V]) put(e *Expr, v V) {
	if m.n < few {
		m.first[m.n] = entry[V]{e, v}
		m.n++
		return
	}
	if m.more == nil {
		m.more = map[*Expr]V{}
	}
	m.more[e] = v
}
