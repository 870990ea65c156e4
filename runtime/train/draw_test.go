package train

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arithlang/mlc/compiler/tasks"
	"github.com/arithlang/mlc/runtime/task"
)

// TestSource draws ahead what is wanted, something else, and nothing: problems are always
// those of a Drawer that is asked at once.
func TestSource(t *testing.T) {
	kind, err := tasks.New(task.Config{Kind: "successor", Below: 1_000_000, Base: 10, Reversed: true}, 7)
	if err != nil {
		t.Fatal(err)
	}
	s := newSource(func() *task.Drawer { return kind.NewDrawer(0, 4) })
	for i, c := range []struct {
		first, ahead int64
		n, then      int // then: how many are drawn ahead; 0: none are
	}{{0, 8, 8, 8}, {8, 16, 8, 8}, {16, 24, 8, 8}, {24, 32, 12, 8}, {36, 48, 12, 12}, {40, 0, 12, 0}, {52, 64, 12, 12}, {64, 0, 12, 0}} {
		want, err := kind.NewDrawer(0, 4).Train(c.first, c.n)
		if err != nil {
			t.Fatal(err)
		}
		got, err := s.draw(c.first, c.n)
		if c.then > 0 {
			s.begin(c.ahead, c.then) // which leaves the batch alone
		}
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("draw %d, %+v:\n%s", i, c, diff)
		}
	}
}

// TestSourceFails fails where problems are wanted that cannot be drawn, not before.
func TestSourceFails(t *testing.T) {
	kind, err := tasks.New(task.Config{Kind: "successor", Below: 1_000_000, Base: 10, Reversed: true}, 7)
	if err != nil {
		t.Fatal(err)
	}
	s := newSource(func() *task.Drawer { return kind.NewDrawer(0, 4) })
	s.begin(8, 4)
	<-s.done
	s.ahead.err = errTest
	s.done <- struct{}{}
	if _, err := s.draw(4, 4); err != nil {
		t.Errorf("the error of other problems: %v", err)
	}
	s.begin(8, 4)
	<-s.done
	s.ahead.err = errTest
	s.done <- struct{}{}
	if _, err := s.draw(8, 4); !errors.Is(err, errTest) {
		t.Errorf("got %v", err)
	}
}

var errTest = errors.New("no problems")
