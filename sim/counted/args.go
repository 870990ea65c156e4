package counted

import (
	"encoding/binary"
	"fmt"

	"github.com/arithlang/mlc/runtime/abi"
	"github.com/arithlang/mlc/runtime/cuda"
	"github.com/arithlang/mlc/runtime/device"
)

// wordBytes is the size of a word, and quad the number of words of a vector.
const wordBytes, quad = abi.WordBytes, 4

// Envs reads the scalars of a launch's replicas from its parameters, as a Driver gets them. All
// other fields are 0. Without shapes it returns the first replica's only. memory returns the
// device's bytes at an address.
func Envs(k *cuda.Kernel, args []byte, replicas int, memory func(at cuda.Ptr, bytes int) []byte) ([]device.Env, error) {
	s, err := abi.Sign(abi.Find, k.Scalars, k.Shapes, k.Step, k.Scratch != nil)
	if err != nil {
		return nil, fmt.Errorf("kernel %s: %w", k.Name, err)
	}
	s.Sets = k.Sets
	words, shapes, err := Words(&s, args)
	if err != nil {
		return nil, fmt.Errorf("kernel %s: %w", k.Name, err)
	}
	var e device.Env
	for i, scalar := range s.Scalars {
		device.SetBits(&e, scalar, words[i])
	}
	if !k.Shapes {
		return []device.Env{e}, nil
	}
	all := make([]device.Env, replicas)
	text := memory(cuda.Ptr(shapes), replicas*abi.ShapeWords*wordBytes)
	for i := range all {
		all[i] = e
		for _, scalar := range abi.Scalars() {
			if w := abi.ShapeWord(scalar.Name); w >= 0 {
				device.SetBits(&all[i], scalar, binary.LittleEndian.Uint32(text[(i*abi.ShapeWords+w)*wordBytes:]))
			}
		}
	}
	return all, nil
}

// Words reads the bits of the scalars and the address of the shapes back from parameters.
func Words(s *abi.Signature, args []byte) (words []uint32, shapes uint64, err error) {
	tail := len(s.Append(nil, &abi.Args{Words: make([]uint32, len(s.Scalars))}))
	if len(args) < tail || (len(args)-tail)%abi.RefBytes != 0 {
		return nil, 0, fmt.Errorf("%d bytes of parameters, with %d bytes after the buffers", len(args), tail)
	}
	at := len(args) - tail
	if s.Shapes {
		shapes = binary.LittleEndian.Uint64(args[at:])
		at += 8
	}
	for _, scalar := range s.Scalars {
		words = append(words, binary.LittleEndian.Uint32(args[at:]))
		at += scalar.Type.Bytes()
		if scalar.Of == abi.OfReplica {
			at += scalar.Type.Bytes()
		}
	}
	return words, shapes, nil
}

// LeastWork returns the least work of a launch of one of a Machine's own kernels, for all replicas:
// additions, and bytes read and written. Other kernels return 0.
func LeastWork(name string, grid [3]int, args []byte) (flops, bytes float64) {
	word := func(at int) float64 {
		if at+wordBytes > len(args) {
			return 0
		}
		return float64(binary.LittleEndian.Uint32(args[at:]))
	}
	sets := func(bytes int) (words float64) {
		for i := range grid[2] {
			words += float64(word((i+1)*bytes-8) * word((i+1)*bytes-4))
		}
		return words
	}
	replicas := float64(grid[1])
	switch name { // the counts follow the addresses: see move, moved and sum of package cuda
	case "copy":
		return 0, 2 * wordBytes * sets(40)
	case "clear":
		return 0, wordBytes * sets(24)
	case "round":
		return 0, (wordBytes + wordBytes/2) * replicas * word(32)
	case "add":
		return replicas * word(32), 3 * wordBytes * replicas * word(32)
	case "sum":
		n, places := quad*word(16), word(20)
		return float64(n * (places - 1)), wordBytes * n * (places + 1)
	}
	return 0, 0
}
