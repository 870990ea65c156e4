package remote

import (
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"sync"
	"testing"

	"github.com/arithlang/mlc/compiler/kernel"
)

// serve serves run until the test ends, and returns a Runner that calls it.
func serve(t *testing.T, run Runner) Runner {
	t.Helper()
	requests, toServer := io.Pipe()
	replies, fromServer := io.Pipe()
	ended := make(chan error)
	go func() {
		err := Serve(requests, fromServer, run)
		fromServer.Close()
		ended <- err
	}()
	t.Cleanup(func() {
		toServer.Close()
		if err := <-ended; err != nil {
			t.Errorf("the server ended with %v", err)
		}
	})
	return Dial(replies, toServer)
}

// TestRunner wants every bit to arrive and to come back, also in concurrent launches.
func TestRunner(t *testing.T) {
	run := serve(t, func(name string, s kernel.Scalars, bufs []kernel.Buffer) error {
		if name != "swap" {
			return fmt.Errorf("no kernel %s", name)
		}
		f := bufs[0].F
		f[0], f[1] = f[1], f[0]
		bufs[1].I[0] += int32(s["N"])
		bufs[2].H[0] = ^bufs[2].H[0]
		return nil
	})
	odd := []float32{math.Float32frombits(1), float32(math.Copysign(0, -1)), float32(math.Inf(1)), 0x1.fffffep127, 1 + 0x1p-23}
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			a, b := odd[i%len(odd)], float32(i)
			bufs := []kernel.Buffer{{F: []float32{a, b}}, {I: []int32{-5}}, {H: []uint16{0x7f80}}}
			if err := run("swap", kernel.Scalars{"N": float64(i)}, bufs); err != nil {
				t.Error(err)
			}
			if got := bufs[0].F; math.Float32bits(got[0]) != math.Float32bits(b) || math.Float32bits(got[1]) != math.Float32bits(a) || bufs[1].I[0] != int32(i-5) || bufs[2].H[0] != 0x807f {
				t.Errorf("%v", bufs)
			}
		})
	}
	all.Wait()
	if err := run("swop", nil, nil); err == nil || err.Error() != "no kernel swop" {
		t.Errorf("error %v", err)
	}
	if err := run("swap", nil, nil); err == nil || !strings.Contains(err.Error(), "index out of range") {
		t.Errorf("error %v", err)
	}
}

// TestServerDies wants an error, and no hang, from a process that is gone.
func TestServerDies(t *testing.T) {
	replies, fromServer := io.Pipe()
	fromServer.CloseWithError(io.ErrUnexpectedEOF)
	if err := Dial(replies, io.Discard)("k", nil, nil); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("error %v", err)
	}
}

// TestEmptyBuffers wants buffers without elements to keep their types.
func TestEmptyBuffers(t *testing.T) {
	run := serve(t, func(_ string, _ kernel.Scalars, bufs []kernel.Buffer) error {
		if bufs[0].F == nil || bufs[1].I == nil || bufs[2].H == nil || bufs[2].F != nil {
			return fmt.Errorf("got %#v", bufs)
		}
		return nil
	})
	if err := run("", nil, []kernel.Buffer{{F: []float32{}}, {I: []int32{}}, {H: []uint16{}}}); err != nil {
		t.Error(err)
	}
}
