package ptxtest

import (
	"errors"
	"fmt"

	"github.com/arithlang/mlc/compiler/kernel"
	"github.com/arithlang/mlc/ptxsim"
)

// A region is an allocation of equally large parts, with space between them that no kernel may
// write.
type region struct {
	device *ptxsim.Device
	base   ptxsim.Ptr
	lead   int // bytes before part 0
	size   int // of a part
	stride int // distance between parts
	count  int
	before []byte // the allocation before any write
}

// gap is the least number of bytes after each part.
const gap = 64

// place allocates parts that start lead bytes after a multiple of 256.
func (l *launch) place(size, lead, count int) (*region, error) {
	g := &region{device: l.device, lead: lead, size: size, count: count}
	g.stride = (size+gap+255)/256*256 + lead
	var err error
	if g.base, err = l.alloc(g.total()); err != nil {
		return nil, err
	}
	return g, g.mark()
}

func (g *region) total() int { return max(1, g.lead+g.stride*g.count) }

// at returns the address of a part.
func (g *region) at(part int) ptxsim.Ptr { return g.base + ptxsim.Ptr(g.lead+part*g.stride) }

// mark remembers the present contents of the memory.
func (g *region) mark() error {
	g.before = make([]byte, g.total())
	return waive(g.device.Read(g.before, g.base))
}

// intact wants the spaces between parts as they were.
func (g *region) intact() error {
	now := make([]byte, len(g.before))
	if err := waive(g.device.Read(now, g.base)); err != nil {
		return err
	}
	for i, b := range now {
		if at := i - g.lead; b != g.before[i] && (at < 0 || at%g.stride >= g.size) {
			return fmt.Errorf("byte %d, between the parts of %d bytes, is written", at, g.size)
		}
	}
	return nil
}

func (g *region) write(part int, b kernel.Buffer) error {
	if g.size == 0 {
		return nil
	}
	return g.device.Write(g.at(part), b.Bytes())
}

// read returns a part as a buffer. Bytes that no kernel wrote are as before.
func (g *region) read(part int, before kernel.Buffer) (kernel.Buffer, error) {
	now := before.Bytes()
	if len(now) == 0 {
		return before, nil
	}
	if err := g.device.Read(now, g.at(part)); err != nil {
		if waive(err) != nil {
			return before, err
		}
		now = before.Bytes()
		var one [1]byte
		for i := range now {
			if err := g.device.Read(one[:], g.at(part)+ptxsim.Ptr(i)); err == nil {
				now[i] = one[0]
			}
		}
	}
	after := before.Clone()
	after.SetBytes(now)
	return after, nil
}

// waive drops the error of reading uninitialised memory.
func waive(err error) error {
	if _, ok := errors.AsType[*ptxsim.UninitialisedError](err); ok {
		return nil
	}
	return err
}
