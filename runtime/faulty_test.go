package runtime

import "github.com/arithlang/mlc/runtime/cuda"

// faulty is a driver that counts calls and can fail on demand.
type faulty struct {
	cuda.Driver
	launched  map[string]int                   // by kernel; recorded launches count once
	graphs    int                              // launched graphs
	alloc     func(bytes int64) error          // called before memory is allocated
	launch    func(kernel string, n int) error // called before launch n (from 1) of a kernel
	late      error                            // error of the next Synchronize
	load      func(ptx string) error
	noCapture error
	limited   bool
	free      int64 // if limited: result of MemInfo
}

func (f *faulty) Alloc(bytes int64) (cuda.Ptr, error) {
	if f.alloc != nil {
		if err := f.alloc(bytes); err != nil {
			return 0, err
		}
	}
	return f.Driver.Alloc(bytes)
}

func (f *faulty) MemInfo() (free, total int64, err error) {
	free, total, err = f.Driver.MemInfo()
	if f.limited {
		free, total = f.free, 0
	}
	return free, total, err
}

func (f *faulty) Load(ptx string) (cuda.Module, error) {
	if f.load != nil {
		if err := f.load(ptx); err != nil {
			return nil, err
		}
	}
	m, err := f.Driver.Load(ptx)
	return faultyModule{m, f}, err
}

func (f *faulty) Synchronize() error {
	if f.late != nil {
		return f.late
	}
	return f.Driver.Synchronize()
}

func (f *faulty) Capture(record func() error) (cuda.Graph, error) {
	if f.noCapture != nil {
		return nil, f.noCapture
	}
	g, err := f.Driver.Capture(record)
	return faultyGraph{g, f}, err
}

type faultyGraph struct {
	cuda.Graph
	f *faulty
}

func (g faultyGraph) Launch() error {
	g.f.graphs++
	return g.Graph.Launch()
}

type faultyModule struct {
	cuda.Module
	f *faulty
}

func (m faultyModule) Function(name string) (cuda.Function, error) {
	fn, err := m.Module.Function(name)
	return faultyFunction{fn, m.f, name}, err
}

type faultyFunction struct {
	cuda.Function
	f    *faulty
	name string
}

func (fn faultyFunction) Launch(grid, block [3]int, shared int, args []byte) error {
	if fn.f.launched == nil {
		fn.f.launched = map[string]int{}
	}
	fn.f.launched[fn.name]++
	if fn.f.launch != nil {
		if err := fn.f.launch(fn.name, fn.f.launched[fn.name]); err != nil {
			return err
		}
	}
	return fn.Function.Launch(grid, block, shared, args)
}
