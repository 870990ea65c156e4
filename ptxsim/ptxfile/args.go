package ptxfile

import (
	"encoding/binary"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/arithlang/mlc/ptxsim"
)

// An argument is the value of a kernel's parameter.
type argument struct {
	text  string // as on the command line
	kind  string // the type of a scalar, or the kind of a buffer
	bytes []byte // a scalar's bytes, or a buffer's content before the launch
	size  int64  // of a buffer
	file  string // the file that receives the buffer
	ptr   ptxsim.Ptr
}

// A Reader returns at most so many bytes of a file.
type Reader func(path string, most int64) ([]byte, error)

// A UsageError reports arguments that are unclear or do not fit the kernel.
type UsageError struct{ msg string }

func (e *UsageError) Error() string { return e.msg }

func usagef(format string, args ...any) error { return &UsageError{fmt.Sprintf(format, args...)} }

// argKinds describes how to write arguments.
const argKinds = "TYPE:VALUE with u8, u16, u32, u64, s8, s16, s32, s64, f32 or f64; raw:FILE for a structure; in:FILE, inout:FILE or out:BYTES:FILE for memory"

// parseArg reads an argument. An unreadable file is not a usage error.
func parseArg(text string, read Reader) (*argument, error) {
	kind, value, ok := strings.Cut(text, ":")
	arg := &argument{text: text, kind: kind}
	switch {
	case !ok:
		return nil, usagef("--arg %s: arguments are %s", text, argKinds)
	case kind == "out":
		return arg, arg.parseOut(value)
	case kind == "in" || kind == "inout" || kind == "raw":
		return arg, arg.read(value, read)
	}
	return arg, arg.parseScalar(value)
}

func (a *argument) parseOut(value string) error {
	size, file, _ := strings.Cut(value, ":")
	n, err := strconv.ParseInt(size, 0, 64)
	if err != nil || n <= 0 || file == "" {
		return usagef("--arg %s: want out:BYTES:FILE with at least one byte", a.text)
	}
	if n > most {
		return usagef("--arg %s: an argument has at most 256 MiB", a.text)
	}
	a.size, a.file = n, file
	return nil
}

// most is the size of the largest argument, in bytes.
const most = 256 << 20

func (a *argument) read(file string, read Reader) (err error) {
	if file == "" {
		return usagef("--arg %s: want %s:FILE", a.text, a.kind)
	}
	if a.bytes, err = read(file, most+1); err != nil {
		return err
	}
	switch len(a.bytes) {
	case 0:
		return fmt.Errorf("%s is empty: an argument has at least one byte", file)
	case most + 1:
		return fmt.Errorf("%s has more than 256 MiB: an argument has at most that", file)
	}
	a.size = int64(len(a.bytes))
	if a.kind == "inout" {
		a.file = file
	}
	return nil
}

// buffer reports whether the argument is memory whose address the kernel gets.
func (a *argument) buffer() bool { return a.size > 0 && a.kind != "raw" }

func (a *argument) parseScalar(value string) error {
	width, err := strconv.Atoi(a.kind[min(1, len(a.kind)):])
	if err != nil || !slices.Contains([]int{8, 16, 32, 64}, width) {
		return usagef("--arg %s: no argument is of kind %q: %s", a.text, a.kind, argKinds)
	}
	var bits uint64
	switch class := a.kind[0]; {
	case class == 'u':
		bits, err = strconv.ParseUint(value, 0, width)
	case class == 's':
		var n int64
		n, err = strconv.ParseInt(value, 0, width)
		bits = uint64(n)
	case class == 'f' && width == 32:
		var x float64
		x, err = strconv.ParseFloat(value, 32)
		bits = uint64(math.Float32bits(float32(x)))
	case class == 'f' && width == 64:
		var x float64
		x, err = strconv.ParseFloat(value, 64)
		bits = math.Float64bits(x)
	default:
		return usagef("--arg %s: no argument is of kind %q: %s", a.text, a.kind, argKinds)
	}
	if err != nil {
		return usagef("--arg %s: %q is not of type %s", a.text, value, a.kind)
	}
	a.bytes = binary.LittleEndian.AppendUint64(nil, bits)[:width/8]
	return nil
}

// fits reports why the argument cannot be passed as a parameter.
func (a *argument) fits(p *Param) error {
	size, class := int64(len(a.bytes)), p.Type[0]
	float := a.kind[0] == 'f' && a.kind != "raw"
	switch {
	case a.buffer() && (p.array > 0 || p.Size != 8 || class == 'f'):
		return usagef("--arg %s: it passes an address, but parameter %s is not of type u64", a.text, p)
	case a.buffer():
	case p.array > 0 && a.kind != "raw":
		return usagef("--arg %s: parameter %s is a structure: pass it as raw:FILE", a.text, p)
	case size != p.Size:
		return usagef("--arg %s: it has %s, but parameter %s has %d", a.text, counted(int(size), "byte"), p, p.Size)
	case a.kind != "raw" && class != 'b' && float != (class == 'f'):
		return usagef("--arg %s: parameter %s is of another type", a.text, p)
	}
	return nil
}

// parseArgs reads all arguments and checks them against a kernel's parameters.
func parseArgs(texts []string, k *Kernel, read Reader) (args []*argument, err error) {
	if len(texts) != len(k.Params) {
		return nil, usagef("kernel %s has %s, there are %d --arg: %s(%s)", k.Kernel, counted(len(k.Params), "parameter"), len(texts), k.Kernel, signature(k.Params))
	}
	files := map[string]string{}
	for i, text := range texts {
		a, err := parseArg(text, read)
		if err == nil {
			err = a.fits(&k.Params[i])
		}
		if err != nil {
			return nil, err
		}
		if path := filepath.Clean(a.file); a.file != "" {
			if files[path] != "" {
				return nil, usagef("--arg %s: %s writes to the same file", text, files[path])
			}
			files[path] = text
		}
		args = append(args, a)
	}
	return args, nil
}

// place puts an argument on the device and into the parameter block.
func (a *argument) place(d *ptxsim.Device, block []byte) (err error) {
	if !a.buffer() {
		copy(block, a.bytes)
		return nil
	}
	if a.ptr, err = d.Alloc(a.size); err != nil {
		return fmt.Errorf("--arg %s: %w", a.text, err)
	}
	if a.bytes != nil {
		if err := d.Write(a.ptr, a.bytes); err != nil {
			return fmt.Errorf("--arg %s: %w", a.text, err)
		}
	}
	binary.LittleEndian.PutUint64(block, uint64(a.ptr))
	return nil
}
