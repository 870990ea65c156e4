package train

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arithlang/mlc/compiler/tasks"
	"github.com/arithlang/mlc/runtime/task"
)

// TestSource draws the right problems ahead, other problems and none. Results always equal those
// from a new Drawer.
func TestSource(t *testing.T) {
	kind, err := tasks.New(task.Config{Kind: "successor", Below: 1_000_000, Base: 10, Reversed: true}, 7)
	if err != nil {
		t.Fatal(err)
	}
	s := newSource(func() *task.Drawer { return kind.NewDrawer(0, 4) })
	for i, c := range []struct {
		first, ahead int64
		n, then      int // then: how many are drawn ahead
	}{{0, 8, 8, 8}, {8, 16, 8, 8}, {16, 24, 8, 8}, {24, 32, 12, 8}, {36, 48, 12, 12}, {40, 0, 12, 0}, {52, 64, 12, 12}, {64, 0, 12, 0}} {
		want, err := kind.NewDrawer(0, 4).Train(c.first, c.n)
		if err != nil {
			t.Fatal(err)
		}
		got, err := s.draw(c.first, c.n)
		if c.then > 0 {
			s.begin(c.ahead, c.then) // keeps the batch
		}
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("draw %d, %+v:\n%s", i, c, diff)
		}
	}
}

// TestSourceFails checks that an error of drawing ahead is returned only if those problems are
// needed.
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
