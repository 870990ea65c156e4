package world

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	goruntime "runtime"
	"slices"
	"strings"
	"sync"

	"github.com/arithlang/mlc/runtime/comm"
	"github.com/arithlang/mlc/runtime/comm/launch"
	"github.com/arithlang/mlc/runtime/comm/mpi"
	"github.com/arithlang/mlc/runtime/device"
	"github.com/arithlang/mlc/runtime/eval"
	"github.com/arithlang/mlc/runtime/interrupt"
	"github.com/arithlang/mlc/runtime/train"
)

// Together calls lead on rank 0 of all processes that were started together; the other ranks
// obey it. A single process just calls lead.
func (f *Flags) Together(a App, lead func(a App) error) error {
	w, err := f.join(a)
	if err != nil {
		return err
	}
	if w == nil {
		return lead(a)
	}
	r := a.Ranks
	r.World, r.signal = w, func() int { return signalIn(a) }
	if err := r.agree(a); err != nil {
		r.apart = true
		if w.Rank() > 0 {
			return Ended(ExitFailed) // rank 0 reports why
		}
		return err
	}
	if cores := goruntime.NumCPU(); r.Local > 1 && cores == AllCores() && a.World == nil {
		goruntime.GOMAXPROCS(max(1, cores/r.Local)) // threads that draw problems would take another rank's core
	}
	if w.Rank() > 0 {
		a.Out, a.Told = io.Discard, true
		return a.follow(f)
	}
	a.Ctx = r.heed(a.Ctx)
	return lead(a)
}

// join opens the transport between processes, or returns nil for a single process.
func (f *Flags) join(a App) (comm.World, error) {
	if a.World != nil || f.Ranks == ranksNone {
		return a.World, nil
	}
	l, several, err := launch.Find(os.Getenv)
	switch {
	case err != nil:
		return nil, err
	case !several && f.Ranks != ranksAuto:
		return nil, Usagef("--ranks %s: no launcher has started this program as one of several ranks: mpirun -n 4 %s …", f.Ranks, a.Args[0])
	case !several:
		return nil, nil
	case !l.MPI && f.Ranks != ranksMPI:
		return f.meet(a, l)
	}
	return mpi.Open(l)
}

// Other reports whether a launcher has started this process as another rank than 0.
func (a App) Other() bool {
	l, several, err := launch.Find(os.Getenv)
	return err == nil && several && l.Rank > 0 && a.World == nil
}

// Idle reports whether only rank 0 executes the command line: work that ranks do not share is
// done once.
func (a App) Idle() bool {
	alone := strings.Contains(strings.Join(a.Args, " ")+" ", "--ranks "+ranksNone+" ") || slices.Contains(a.Args, "--ranks="+ranksNone)
	return a.Other() && !alone && !slices.Contains([]string{"train", "eval", "bench"}, verbOf(a.Args))
}

// signalIn returns the number of the signal that this process has received, or 0.
func signalIn(a App) int {
	if a.Ctx.Err() == nil {
		return 0
	}
	e, _ := interrupt.In(context.Cause(a.Ctx))
	return int(e.Signal)
}

// passportBytes is how much of each text ranks compare.
const passportBytes = 64

// agree returns an error unless all ranks run the same program and every machine has a core for
// each rank.
func (r *Ranks) agree(a App) error {
	var own []byte
	for _, text := range []string{binaryHash(), a.Identity().Hash, verbOf(a.Args), hostname()} {
		field := make([]byte, passportBytes)
		copy(field, text)
		own = append(own, field...)
	}
	all, err := r.each(own)
	if err != nil {
		return err
	}
	text := func(rank, i int) string {
		return strings.TrimRight(string(all[rank][i*passportBytes:][:passportBytes]), "\x00")
	}
	for rank := range r.Size() {
		for i, what := range []string{"binary", "spec", "verb"} {
			if text(rank, i) != text(0, i) {
				return fmt.Errorf("rank %d on %s has another %s than rank 0 on %s: start the same program with the same command line on all machines",
					rank, text(rank, 3), what, text(0, 3))
			}
		}
	}
	ranks := map[string]int{}
	for rank := range r.Size() {
		host := text(rank, 3)
		if rank == r.Rank() {
			r.number = ranks[host]
		}
		ranks[host]++
	}
	r.Local = ranks[text(r.Rank(), 3)]
	return r.crowded()
}

// oversubscribe is the environment variable that allows more ranks than cores, for tests.
const oversubscribe = "MLC_OVERSUBSCRIBE"

// crowded refuses more ranks than cores on a machine: they would wait for each other. All ranks
// get the same answer.
func (r *Ranks) crowded() error {
	many := []int64{0}
	if cores := AllCores(); r.Local > cores && os.Getenv(oversubscribe) == "" {
		many[0] = int64(r.Local)<<32 | int64(cores)
	}
	if err := r.Max(many); err != nil || many[0] == 0 {
		return err
	}
	return fmt.Errorf("a machine has %d ranks and %d cores: start at most one rank for each core (or set %s=1, which is slow)",
		many[0]>>32, many[0]&math.MaxUint32, oversubscribe)
}

// binaryHash identifies the program.
var binaryHash = sync.OnceValue(func() string {
	path, err := os.Executable()
	if err != nil {
		return ""
	}
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return ""
	}
	return hex.EncodeToString(h.Sum(nil))
})

func hostname() string {
	name, err := os.Hostname()
	if err != nil {
		return "an unknown machine"
	}
	return name
}

// AllCores returns the cores of the machine, including those that this process may not use.
func AllCores() int {
	n := 0
	text, err := os.ReadFile("/proc/cpuinfo")
	if err == nil {
		n = strings.Count("\n"+string(text), "\nprocessor\t")
	}
	return max(n, goruntime.NumCPU())
}

// Several reports whether there are other processes.
func (r *Ranks) Several() bool { return r != nil && r.World != nil }

// verbOf returns the verb of a command line.
func verbOf(args []string) string {
	for _, arg := range args[1:] {
		if !strings.HasPrefix(arg, "-") {
			return arg
		}
	}
	return ""
}

// leads reports whether this process commands others.
func (r *Ranks) leads() bool { return r.Several() && r.Rank() == 0 }

// Count returns the number of processes.
func (r *Ranks) Count() int {
	if !r.Several() {
		return 1
	}
	return r.Size()
}

// threads returns the default number of threads of this rank: its share of the machine's cores.
// A launcher that binds ranks to cores has already shared them out.
func (r *Ranks) threads(f *Flags, all int) int {
	if !r.Several() || f.Threads > 0 || goruntime.NumCPU() < AllCores() {
		return all
	}
	return max(1, min(all, AllCores()/r.Local))
}

// opened returns the machine of all ranks, if every rank has opened its own.
func (a App) opened(m device.Machine, failed error) (device.Machine, error) {
	r := a.Ranks
	if !r.Several() {
		return m, failed
	}
	r.machine, r.bounds = m, nil
	goes, err := a.sameBits(m)
	switch {
	case r.Rank() > 0 && !goes:
		return nil, err // rank 0 reports why it stops
	case failed != nil || err != nil:
		return nil, cmp.Or(failed, err)
	case r.Rank() > 0:
		return m, nil
	}
	return r.mirror(m), nil
}

// sameBits returns an error unless the machines of all ranks compute the same bits. Products of
// rounded factors depend on the processor or card, and a library's products on the library.
// Goes reports whether rank 0 continues. If not, rank 0 has no machine or an error, and reports
// it.
func (a App) sameBits(m device.Machine) (goes bool, err error) {
	r := a.Ranks
	var about device.About
	if m != nil {
		about = m.About()
	}
	how := about.Device + ", " + about.Name + ", " + about.Schedules
	if about.Device == "cpu" {
		how = about.Device + ", " + about.Schedules
	}
	var h [sha256.Size]byte // zeros: no machine
	if m != nil {
		h = sha256.Sum256([]byte(how + about.Gemm))
	}
	all, err := r.each(h[:])
	if err != nil {
		return false, err
	}
	goes = [sha256.Size]byte(all[0]) != [sha256.Size]byte{}
	if m == nil || !goes || (a.Model.Train.Precision == "" || a.Model.Train.Precision == "f32") && about.Gemm == "" {
		return goes, nil
	}
	for rank := range r.Size() {
		switch {
		case bytes.Equal(all[rank], all[0]):
		case r.Rank() > 0:
			return false, nil
		default:
			return false, fmt.Errorf("rank %d has another processor or card than rank 0 (%s), and products of %s have other bits there: "+
				"use equal machines, or processors with --cpu avx512 or avx2, or train.precision = f32", rank, how, cmp.Or(about.Gemm, a.Model.Train.Precision))
		}
	}
	return goes, nil
}

// EvalRanks returns the ranks that test together, or nil for a single process.
func (a App) EvalRanks() eval.Ranks {
	if !a.Ranks.Several() {
		return nil
	}
	return a.Ranks
}

// enough returns an error unless each rank has a chunk of each batch.
func (a App) enough(c *train.Config) error {
	r := a.Ranks
	if !r.Several() || r.Size() <= c.Chunks() {
		return nil
	}
	return fmt.Errorf("there are %d ranks, and a batch of %d examples has %d chunks, but each rank needs one: start %d ranks at most, or make train.chunk smaller (or train.batch larger)",
		r.Size(), c.Batch, c.Chunks(), c.Chunks())
}

// Lead prepares the other ranks for the steps of a training.
func (a App) Lead(t *train.Trainer) error {
	if !a.Ranks.leads() {
		return nil
	}
	if err := a.enough(&t.Config); err != nil {
		return err
	}
	t.Ranks = a.Ranks
	a.Ranks.bounds = t.Shards(a.Ranks.Size())
	payload, err := json.Marshal(began{Config: t.Config, Padded: a.Model.Task.Padded, State: t.State})
	if err != nil {
		return fmt.Errorf("BUG: %w", err)
	}
	return a.Ranks.tell(orderTrain, payload)
}
