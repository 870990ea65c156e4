package ptxsim_test

import (
	"encoding/binary"
	"fmt"
	"log"
	"os"
	"strings"
	"testing"

	"github.com/arithlang/mlc/ptxsim"
	"github.com/arithlang/mlc/ptxsim/ptxfile"
)

// Example_file runs a kernel of a file on arrays that are too short for its 32 threads.
func Example_file() {
	text, _ := os.ReadFile("testdata/vecadd.ptx")
	file, _ := ptxfile.Load("vecadd.ptx", text, ptxsim.Options{})
	zeros := func(string, int64) ([]byte, error) { return make([]byte, 80), nil } // the content of a.bin and b.bin
	launch := ptxfile.Launch{Grid: [3]int{1, 1, 1}, Block: [3]int{32, 1, 1}, Args: []string{"in:a.bin", "in:b.bin", "out:80:c.bin", "u32:21"}, Read: zeros}
	_, err := file.Run(&file.Kernels()[0], launch)
	fmt.Println(err) // a *ptxfile.Finding
	// Output:
	// out of bounds: kernel vecadd, line 29, ld.global.f32, block (0,0,0), warp 0, lane 20, global address 0x700000001050: 4 bytes at offset 80 of 80 bytes of global memory
}

// Example launches a block of 32 threads on arrays that are too short for them.
func Example() {
	text, err := os.ReadFile("testdata/vecadd.ptx")
	if err != nil {
		log.Fatal(err)
	}
	device := ptxsim.New(ptxsim.Options{Order: ptxsim.Random, Seed: 1})
	module, err := device.Load(text)
	if err != nil {
		log.Fatal(err) // an unknown instruction, and its line
	}
	vecadd, err := module.Kernel("vecadd")
	if err != nil {
		log.Fatal(err)
	}
	var args []byte
	for range 3 { // a, b and c, of 20 floats each
		p, err := device.Alloc(80)
		if err != nil {
			log.Fatal(err)
		}
		if err := device.Write(p, make([]byte, 80)); err != nil {
			log.Fatal(err)
		}
		args = binary.LittleEndian.AppendUint64(args, uint64(p))
	}
	args = binary.LittleEndian.AppendUint32(args, 21) // n
	_, err = vecadd.Launch(ptxsim.Launch{Grid: [3]int{1, 1, 1}, Block: [3]int{32, 1, 1}, Args: args})
	fmt.Println(err) // a *ptxsim.Report
	// Output:
	// out of bounds: kernel vecadd, line 29, ld.global.f32, block (0,0,0), warp 0, lane 20, global address 0x700000001050: 4 bytes at offset 80 of 80 bytes of global memory
}

// TestReadme checks that the README's examples equal the ones that run.
func TestReadme(t *testing.T) {
	source, err := os.ReadFile("example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"Example_file", "Example"} {
		_, body, _ := strings.Cut(string(source), "func "+name+"() {\n")
		body, _, _ = strings.Cut(body, "}\n\n")
		body, output, _ := strings.Cut(body, "\t// Output:\n")
		for _, want := range []string{strings.ReplaceAll(body, "\n\t", "\n")[1:], strings.TrimPrefix(strings.ReplaceAll(output, "\t// ", ""), "\t")} {
			if !strings.Contains(string(readme), "\n"+want+"```\n") {
				t.Errorf("README.md does not have\n%s", want)
			}
		}
	}
}
