package ptxsim_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/arithlang/mlc/ptxsim"
)

// FuzzLaunch checks that launching a module that loads never panics.
func FuzzLaunch(f *testing.F) {
	files, err := filepath.Glob("testdata/*.ptx")
	more, _ := filepath.Glob("testdata/compilers/*.ptx")
	if err != nil || len(files) == 0 || len(more) == 0 {
		f.Fatal("no testdata: ", err)
	}
	for _, file := range append(files, more...) {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text, uint8(64), uint8(0))
	}
	f.Fuzz(func(t *testing.T, text []byte, threads, order uint8) {
		d := ptxsim.New(ptxsim.Options{Order: ptxsim.Order(order % 4), MaxSteps: 1 << 14, Memory: 1 << 20, SameValue: order&4 != 0})
		m, err := d.Load(text)
		if err != nil {
			return
		}
		memory, err := d.Alloc(4096)
		if err != nil {
			t.Skip("no memory is left")
		}
		if err := d.Write(memory, make([]byte, 2048)); err != nil {
			t.Fatal(err)
		}
		for _, name := range m.Kernels() {
			k, err := m.Kernel(name)
			if err != nil {
				t.Fatal(err)
			}
			var args []byte
			for _, p := range k.Params() {
				args = append(args, make([]byte, p.Offset+p.Size-int64(len(args)))...)
				if p.Size == 8 {
					for i := range 8 {
						args[p.Offset+int64(i)] = byte(memory >> (8 * i))
					}
				}
			}
			_, _ = k.Launch(ptxsim.Launch{Grid: [3]int{2, 1, 1}, Block: [3]int{int(threads) + 1, 1, 1}, Shared: 256, Args: args})
		}
	})
}
