//go:build !nogpu && linux && (amd64 || arm64)

package nccl_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ebitengine/purego"

	"github.com/arithlang/mlc/internal/full"
	"github.com/arithlang/mlc/runtime/comm"
	"github.com/arithlang/mlc/runtime/cuda"
	"github.com/arithlang/mlc/runtime/cuda/libcuda"
	"github.com/arithlang/mlc/runtime/cuda/libcuda/fakecuda"
	"github.com/arithlang/mlc/runtime/cuda/nccl"
	"github.com/arithlang/mlc/runtime/device"
	"github.com/arithlang/mlc/runtime/device/treetest"
)

// Ranks are processes of this test's program that run TestRank. The environment has a rank's case
// and the file for its result.
const (
	caseName  = "NCCL_TEST_CASE"
	rankName  = "NCCL_TEST_RANK"
	sizeName  = "NCCL_TEST_SIZE"
	libName   = "NCCL_TEST_LIBRARY"
	leaveName = "NCCL_TEST_OUT"
	waitName  = "NCCL_TEST_TIMEOUT"
)

// build compiles the fake library.
func build(t *testing.T, path string, macros ...string) string {
	t.Helper()
	cc := full.Needs(t, full.CC)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	args := append([]string{"-shared", "-fPIC", "-o", path, "testdata/fake.c"}, macros...)
	if out, err := exec.Command(cc, args...).CombinedOutput(); err != nil {
		t.Fatalf("cc: %v\n%s", err, out)
	}
	return path
}

// A run is a case that several ranks run together.
type run struct {
	what   string
	size   int
	start  int      // how many of the ranks start, 0: all
	macros []string // for building the library
	env    []string
	of     map[int][]string // additional environment of a rank
}

// ranks starts the ranks of a run and returns each rank's result.
func (r *run) ranks(t *testing.T) []string {
	t.Helper()
	dir := t.TempDir()
	lib, driver := build(t, filepath.Join(dir, "libnccl.so.2"), r.macros...), fakecuda.Build(t).Path
	start := r.size
	if r.start > 0 {
		start = r.start
	}
	all := make([]string, start)
	var wait sync.WaitGroup
	for rank := range start {
		wait.Add(1)
		go func() {
			defer wait.Done()
			leave := filepath.Join(dir, fmt.Sprint("out", rank))
			c := exec.Command(os.Args[0], "-test.run=^TestRank$", "-test.timeout=60s")
			c.Env = append(os.Environ(), caseName+"="+r.what, rankName+"="+strconv.Itoa(rank), sizeName+"="+strconv.Itoa(r.size),
				libName+"="+lib, leaveName+"="+leave, fakecuda.Prebuilt+"="+driver, "TMPDIR="+dir)
			c.Env = append(append(c.Env, r.env...), r.of[rank]...)
			out, err := c.CombinedOutput()
			left, gone := os.ReadFile(leave)
			if all[rank] = string(left); gone != nil {
				all[rank] = fmt.Sprintf("nothing left: %v\n%s", err, out)
			}
		}()
	}
	wait.Wait()
	return all
}

// A member is one rank in its process.
type member struct {
	t      *testing.T
	lib    *fakecuda.Library
	driver cuda.Driver
	o      nccl.Options
}

// cases are the work of a rank.
var cases = map[string]func(m *member) (string, error){
	"sum": func(m *member) (string, error) { return m.sums(m.meet) }, "invited": func(m *member) (string, error) { return m.sums(m.invite) },
	"world": (*member).talk, "meet": (*member).part, "die": (*member).die,
}

// TestRank runs as a rank.
func TestRank(t *testing.T) {
	do := cases[os.Getenv(caseName)]
	if do == nil {
		t.Skip("the other tests run it")
	}
	m := &member{t: t, lib: fakecuda.Build(t)}
	m.lib.Set("moves", 1)
	number := func(name string) int {
		n, err := strconv.Atoi(os.Getenv(name))
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	d, err := libcuda.Open(libcuda.Options{Library: m.lib.Path})
	if err != nil {
		t.Fatal(err)
	}
	wait, _ := time.ParseDuration(os.Getenv(waitName))
	m.driver, m.o = d, nccl.Options{Library: os.Getenv(libName), Driver: d, Rank: number(rankName), Size: number(sizeName), Meet: "127.0.0.1:1234", Timeout: wait}
	out, err := do(m)
	if err != nil {
		out += "error: " + err.Error()
	}
	if err := os.WriteFile(os.Getenv(leaveName), []byte(out), 0o644); err != nil {
		t.Fatal(err)
	}
}

func (m *member) meet() (*nccl.Communicator, error) { return nccl.Open(m.o) }

// invite opens a second communicator. The first carries its id and messages.
func (m *member) invite() (*nccl.Communicator, error) {
	first, err := m.meet()
	if err != nil {
		return nil, err
	}
	if err := os.Unsetenv("NCCL_COMM_ID"); err != nil {
		return nil, err
	}
	m.o.World, m.o.Rank, m.o.Size = first.World, 77, 0 // the World's rank and size are used
	return nccl.Open(m.o)
}

// params gives slices different lengths.
const params = 1001

var counts = []int{1, 2, 3, 4, 5, 9}

// chunk returns the gradients of chunk i of n.
func chunk(n, i int) []float32 {
	r := rand.New(rand.NewPCG(uint64(n), uint64(i)))
	x := make([]float32, params)
	for j := range x {
		x[j] = float32(r.NormFloat64()) * float32(r.IntN(1000))
	}
	return x
}

// sum returns the chunks' sum in the order of device.Tree.
func sum(n int) []float32 {
	all := make([][]float32, n)
	for i := range all {
		all[i] = chunk(n, i)
	}
	for to, from := range treetest.Tree(n) {
		for j, v := range all[from] {
			all[to][j] += v
		}
	}
	return all[0]
}

const noKernels = ".version 7.8\n.target sm_80\n.address_size 64\n"

// add returns the sum of n chunks of all ranks.
func add(m *cuda.Machine, n int) ([]float32, error) {
	got := make([]float32, params)
	m.Sum(n, func(w device.Worker, i int) {
		w.Fit(1, 1)
		w.PutFloats(device.Ref{Space: device.Grads}, chunk(n, i))
	})
	m.Root().GetFloats(got, device.Ref{Space: device.Grads})
	return got, m.Err()
}

func (m *member) machine(c *nccl.Communicator) (*cuda.Machine, error) {
	return cuda.NewMachine(cuda.NewDevice(m.driver), cuda.Program{PTX: noKernels}, &device.Plan{NumParams: params}, cuda.Options{Ranks: c.Device})
}

// sums adds up numbers of chunks, with messages in between, and names the sums whose bits differ
// from one process's.
func (m *member) sums(open func() (*nccl.Communicator, error)) (wrong string, err error) {
	c, err := open()
	if err != nil {
		return "", err
	}
	machine, err := m.machine(c)
	if err != nil {
		return "", err
	}
	for _, n := range counts {
		got, err := add(machine, n)
		if err != nil {
			return "", err
		}
		for j, want := range sum(n) {
			if math.Float32bits(got[j]) != math.Float32bits(want) {
				wrong += fmt.Sprintf("%d chunks, element %d: %g, want %g; ", n, j, got[j], want)
				break
			}
		}
		if err := c.World.Barrier(); err != nil {
			return "", err
		}
	}
	if m.o.World != nil { // closed first, since it uses the driver too
		err = errors.Join(c.Device.Close(), m.o.World.Close(0))
	}
	return wrong + "done", errors.Join(err, c.World.Close(0), machine.Close(), m.nothingLeft())
}

// nothingLeft checks that everything is freed.
func (m *member) nothingLeft() error {
	handle, err := purego.Dlopen(m.o.Library, purego.RTLD_NOW)
	if err != nil {
		return err
	}
	f, err := purego.Dlsym(handle, "fake_nccl_live")
	if err != nil {
		return err
	}
	if n, _, _ := purego.SyscallN(f); n != 0 || m.lib.Live() != 0 {
		return fmt.Errorf("%d things of the library and %d of the driver were not freed", n, m.lib.Live())
	}
	return nil
}

// part meets the other ranks and leaves.
func (m *member) part() (string, error) {
	c, err := m.meet()
	if err != nil {
		return "", err
	}
	return c.World.About(), errors.Join(c.Device.Close(), c.World.Close(0), m.driver.Close(), m.nothingLeft())
}

// die ends rank 1 after the first sum, when all ranks have met.
func (m *member) die() (string, error) {
	c, err := m.meet()
	if err != nil {
		return "", err
	}
	machine, err := m.machine(c)
	if err != nil {
		return "", err
	}
	if _, err := add(machine, 4); err != nil {
		return "", err
	}
	if m.o.Rank == 1 {
		os.Exit(3)
	}
	_, err = add(machine, 4)
	if again := machine.Err(); again != err {
		return "", fmt.Errorf("then %w", again)
	}
	if heard := c.World.Barrier(); heard == nil {
		return "", errors.New("the World works without a rank")
	}
	return "", errors.Join(err, machine.Close())
}

// talk sends all kinds of messages of a World. Some take more than one transfer.
func (m *member) talk() (string, error) {
	c, err := m.meet()
	if err != nil {
		return "", err
	}
	w, rank, size := c.World, m.o.Rank, m.o.Size
	if w.Rank() != rank || w.Size() != size {
		return "", fmt.Errorf("rank %d of %d says that it is %d of %d", rank, size, w.Rank(), w.Size())
	}
	for _, step := range []func(w comm.World) error{exchange, gather, broadcast, largest, comm.World.Barrier} {
		if err := step(w); err != nil {
			return "", err
		}
	}
	return "done", errors.Join(w.Close(0), c.Device.Close(), m.driver.Close(), m.nothingLeft())
}

// text returns the n-th message of rank a to rank b. All lengths differ.
func text(a, b, n int) []byte { return bytes.Repeat([]byte{byte(16*a + b), byte(n)}, 700*n+10*a+b) }

// exchange sends two messages and an empty one from each rank to each.
func exchange(w comm.World) error {
	var send, receive []comm.Part
	for r := range w.Size() {
		for n := range 3 {
			if r != w.Rank() {
				of, to := text(r, w.Rank(), n), text(w.Rank(), r, n)
				if n == 0 {
					of, to = nil, nil
				}
				send, receive = append(send, comm.Part{Rank: r, Data: to}), append(receive, comm.Part{Rank: r, Data: make([]byte, len(of))})
			}
		}
	}
	if err := w.Exchange(send, receive); err != nil {
		return err
	}
	for i, p := range receive {
		if n := i % 3; n > 0 && !bytes.Equal(p.Data, text(p.Rank, w.Rank(), n)) {
			return fmt.Errorf("message %d of rank %d is another", n, p.Rank)
		}
	}
	return nil
}

// gather has parts of equal lengths and of different ones, one of them 0.
func gather(w comm.World) error {
	for _, length := range []func(rank int) int{func(int) int { return 1500 }, func(rank int) int { return 3000 * rank }} {
		bounds := []int{0}
		var want []byte
		for r := range w.Size() {
			bounds, want = append(bounds, bounds[r]+length(r)), append(want, bytes.Repeat([]byte{byte('a' + r)}, length(r))...)
		}
		all := make([]byte, len(want))
		copy(all[bounds[w.Rank()]:bounds[w.Rank()+1]], want[bounds[w.Rank()]:])
		if err := w.Gather(all, bounds); err != nil {
			return err
		}
		if !bytes.Equal(all, want) {
			return fmt.Errorf("gathered at %v: other bytes", bounds)
		}
	}
	return nil
}

// broadcast sends more bytes than one transfer takes.
func broadcast(w comm.World) error {
	for _, n := range []int{0, 1, 1<<24 + 5} {
		want := make([]byte, n)
		for i := 0; i+4 <= n; i += 4 {
			binary.LittleEndian.PutUint32(want[i:], uint32(i))
		}
		data := slices.Clone(want)
		if w.Rank() > 0 {
			clear(data)
		}
		if err := w.Broadcast(data); err != nil {
			return err
		}
		if !bytes.Equal(data, want) {
			return fmt.Errorf("%d bytes of rank 0 are others", n)
		}
	}
	return nil
}

func largest(w comm.World) error {
	x := []int64{int64(w.Rank()), -int64(w.Rank()), math.MinInt64}
	if err := w.Max(x); err != nil || !slices.Equal(x, []int64{int64(w.Size() - 1), 0, math.MinInt64}) {
		return fmt.Errorf("largest: %v, %w", x, err)
	}
	return nil
}

// TestSum checks that one, two and three processes have the same bits, with both ways to begin.
func TestSum(t *testing.T) {
	for _, r := range []run{{what: "sum", size: 1}, {what: "sum", size: 2}, {what: "sum", size: 3, macros: []string{"-DNO_SCALABLE"}}, {what: "invited", size: 2}} {
		for rank, got := range r.ranks(t) {
			if got != "done" {
				t.Errorf("%s, rank %d of %d: %s", r.what, rank, r.size, got)
			}
		}
	}
}

func TestWorld(t *testing.T) {
	for _, size := range []int{1, 3} {
		r := run{what: "world", size: size}
		for rank, got := range r.ranks(t) {
			if got != "done" {
				t.Errorf("rank %d of %d: %s", rank, size, got)
			}
		}
	}
}

// TestFailures checks that errors tell the cause and a remedy.
func TestFailures(t *testing.T) {
	soon := waitName + "=300ms"
	for name, c := range map[string]struct {
		run
		want []string // of rank 0
	}{
		"a rank that is never there": {run{what: "meet", size: 2, start: 1, env: []string{soon}},
			[]string{"rank 0 of 2: meet the other ranks: the other ranks have not come for 300ms", "MLC_NCCL_TIMEOUT"}},
		"a rank that dies": {run{what: "die", size: 2},
			[]string{"NCCL 2.28.9, rank 0 of 2 (libnccl.so.2)", "remote process exited", "socketPollConnect: rank 1", "a rank has ended"}},
		"a rank that dies unnoticed": {run{what: "die", size: 3, env: []string{soon, "FAKE_NCCL_SILENT=1"}}, []string{"have not come for 300ms"}},
		"one GPU for two": {run{what: "meet", size: 2, env: []string{"FAKE_NCCL_GPU=0"}},
			[]string{"Duplicate GPU", "start no more ranks on a machine than it has GPUs", "NCCL_MULTI_RANK_GPU_ENABLE=1"}},
		"two versions":        {run{what: "meet", size: 2, of: map[int][]string{1: {"FAKE_NCCL_VERSION=22305"}}}, []string{"Mismatched", "give all ranks one library"}},
		"an old version":      {run{what: "meet", size: 1, env: []string{"FAKE_NCCL_VERSION=2804"}}, []string{"is NCCL 2.8.4, and 2.14.0 or later is needed"}},
		"no id":               {run{what: "meet", size: 1, env: []string{"FAKE_NCCL_FAIL=ncclGetUniqueId:2"}}, []string{"ask for an id: unhandled system error: ncclGetUniqueId was to fail", "NCCL_SOCKET_IFNAME"}},
		"no communicator":     {run{what: "meet", size: 1, env: []string{"FAKE_NCCL_FAIL=ncclCommInitRankScalable:1"}}, []string{"meet the other ranks: unhandled cuda error", "NCCL_DEBUG=INFO"}},
		"a group":             {run{what: "sum", size: 2, env: []string{"FAKE_NCCL_FAIL=ncclGroupStart:3"}}, []string{"exchange with other ranks: internal error"}},
		"a send":              {run{what: "sum", size: 2, env: []string{"FAKE_NCCL_FAIL=ncclSend:4"}}, []string{"exchange with other ranks: invalid argument"}},
		"the end of a group":  {run{what: "sum", size: 2, env: []string{"FAKE_NCCL_FAIL=ncclGroupEnd:5"}}, []string{"exchange with other ranks: invalid usage"}},
		"a state":             {run{what: "meet", size: 1, env: []string{"FAKE_NCCL_FAIL=ncclCommGetAsyncError:3"}}, []string{"internal error"}},
		"the end":             {run{what: "meet", size: 1, env: []string{"FAKE_NCCL_FAIL=ncclCommFinalize:3"}}, []string{"part from the other ranks: internal error"}},
		"the end of the end":  {run{what: "meet", size: 1, env: []string{"FAKE_NCCL_FAIL=ncclCommDestroy:3"}}, []string{"end: internal error"}},
		"a time that is none": {run{what: "meet", size: 1, env: []string{"MLC_NCCL_TIMEOUT=soon"}}, []string{`MLC_NCCL_TIMEOUT is "soon": want a time such as`}},
		"half a library":      {run{what: "meet", size: 1, macros: []string{"-DncclBroadcast=none"}}, []string{"has no function ncclBroadcast: it is a damaged NCCL"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := c.ranks(t)[0]
			for _, want := range c.want {
				if !strings.Contains(got, want) {
					t.Errorf("rank 0: %s\nwant %q", got, want)
				}
			}
		})
	}
}
