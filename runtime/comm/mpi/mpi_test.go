//go:build !nogpu && linux && (amd64 || arm64)

package mpi_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/arithlang/mlc/runtime/comm"
	"github.com/arithlang/mlc/runtime/comm/commtest"
	"github.com/arithlang/mlc/runtime/comm/launch"
	"github.com/arithlang/mlc/runtime/comm/mpi"
	"github.com/arithlang/mlc/runtime/comm/mpitest"
)

// role is the environment variable that tells this program which rank of a test it is.
const role = "MPI_TEST_ROLE"

func TestMain(m *testing.M) {
	if os.Getenv(role) == "" {
		os.Exit(m.Run())
	}
	if err := rank(os.Getenv(role)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func rank(role string) error {
	l, ok, err := launch.Find(os.Getenv)
	if err != nil || !ok {
		return fmt.Errorf("no rank: %+v, %v", l, err)
	}
	if role == "apart" {
		l.Size++
	}
	w, err := mpi.Open(l)
	if err != nil {
		return err
	}
	switch role {
	case "talk":
		if err := talk(w); err != nil {
			return err
		}
	case "abort":
		if w.Rank() == 1 {
			w.Abort(7)
		}
		return w.Barrier() // never completes
	case "panic":
		defer func() { fmt.Println("recovered:", recover() != nil); w.Close(0) }()
		var p *int
		*p = 1
	}
	fmt.Printf("rank %d of %d by %s\n", w.Rank(), w.Size(), w.About())
	return w.Close(0)
}

// talk calls every method with data of many sizes and checks the results.
func talk(w comm.World) error {
	random := rand.New(rand.NewPCG(1, 2)) // the same on all ranks
	for round := range 20 {
		size := func() int { return random.IntN(1<<random.IntN(18)) + round%2 }
		data := func(from, to, n int) []byte {
			b := make([]byte, n)
			for i := range b {
				b[i] = byte(i*7 + from*31 + to*17 + round)
			}
			return b
		}
		var send, receive []comm.Part
		var want [][]byte
		for range 3 {
			for from := range w.Size() {
				for to := range w.Size() {
					n := size()
					switch {
					case from == to:
					case from == w.Rank():
						send = append(send, comm.Part{Rank: to, Data: data(from, to, n)})
					case to == w.Rank():
						receive, want = append(receive, comm.Part{Rank: from, Data: make([]byte, n)}), append(want, data(from, to, n))
					}
				}
			}
		}
		if err := w.Exchange(send, receive); err != nil {
			return err
		}
		for i, p := range receive {
			if !bytes.Equal(p.Data, want[i]) {
				return fmt.Errorf("rank %d, round %d: part %d of rank %d is wrong", w.Rank(), round, i, p.Rank)
			}
		}
		bounds := []int{0}
		var whole []byte
		for r := range w.Size() {
			whole = append(whole, data(r, 99, size())...)
			bounds = append(bounds, len(whole))
		}
		mine := make([]byte, len(whole))
		copy(mine[bounds[w.Rank()]:bounds[w.Rank()+1]], whole[bounds[w.Rank()]:])
		if err := w.Gather(mine, bounds); err != nil || !bytes.Equal(mine, whole) {
			return fmt.Errorf("rank %d, round %d: gathered wrong bytes: %v", w.Rank(), round, err)
		}
		told := data(0, 50, size())
		got := make([]byte, len(told))
		if w.Rank() == 0 {
			copy(got, told)
		}
		if err := w.Broadcast(got); err != nil || !bytes.Equal(got, told) {
			return fmt.Errorf("rank %d, round %d: told wrong bytes: %v", w.Rank(), round, err)
		}
		numbers := []int64{int64(w.Rank()), -int64(w.Rank()) - 5, 1 << 62}
		if err := w.Max(numbers); err != nil || numbers[0] != int64(w.Size()-1) || numbers[1] != -5 || numbers[2] != 1<<62 {
			return fmt.Errorf("rank %d: largest %v, %v", w.Rank(), numbers, err)
		}
		if err := w.Barrier(); err != nil {
			return err
		}
	}
	return nil
}

// TestTalk exchanges data between real ranks, and between ranks of commtest.
func TestTalk(t *testing.T) {
	for size := 1; size <= 4; size++ {
		for rank, err := range commtest.Run(size, commtest.Faults{Delay: 1e6, Seed: 3}, talk) {
			if err != nil {
				t.Errorf("fake rank %d of %d: %v", rank, size, err)
			}
		}
	}
	for _, l := range mpitest.Launchers(t) {
		for _, size := range []int{2, 3} {
			out, err := start(l, size, "talk")
			for rank := range size {
				if err != nil || !strings.Contains(out, fmt.Sprintf("rank %d of %d by %s", rank, size, l.Name)) {
					t.Errorf("%s, %d ranks: %v\n%s", l, size, err, out)
				}
			}
		}
	}
}

func start(l mpitest.Launcher, ranks int, does string, env ...string) (string, error) {
	cmd := l.Command(ranks, os.Args[0])
	cmd.Env = append(append(cmd.Env, role+"="+does), env...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// TestEnds wants one rank to end all, a panic of Go to stay a panic, and ranks of another
// library's launcher to be refused.
func TestEnds(t *testing.T) {
	for _, l := range mpitest.Launchers(t) {
		if out, err := start(l, 2, "abort"); err == nil {
			t.Errorf("%s: aborted, and all is well: %s", l, out)
		}
		if out, err := start(l, 2, "panic"); strings.Count(out, "recovered: true") != 2 {
			t.Errorf("%s: %v: %s", l, err, out)
		}
		if out, err := start(l, 2, "apart"); err == nil || !strings.Contains(out, "of 3, but for "+l.Name) {
			t.Errorf("%s: %v: %s", l, err, out)
		}
		if out, err := start(l, 2, "talk", "MLC_LIBMPI=/nowhere/libmpi.so.40"); err == nil || !strings.Contains(out, "MLC_LIBMPI=/nowhere/libmpi.so.40") {
			t.Errorf("%s: %v: %s", l, err, out)
		}
	}
}
