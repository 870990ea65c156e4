package board

import (
	"testing"
	"time"

	"github.com/arithlang/mlc/runtime/ckpt"
	"github.com/arithlang/mlc/runtime/eval"
	"github.com/arithlang/mlc/runtime/lock"
)

// TestResultsAtOnce writes events of a result while another test of the run removes files of
// killed processes from the folder.
func TestResultsAtOnce(t *testing.T) {
	dir := t.TempDir()
	done := make(chan struct{})
	cleaned := make(chan error, 1)
	go func() {
		for {
			select {
			case <-done:
				cleaned <- nil
				return
			default:
			}
			held, err := lock.Wait(dir)
			if err == nil {
				err = ckpt.Clean(dir)
				held.Close()
			}
			if err != nil {
				cleaned <- err
				return
			}
		}
	}()
	share := 0.5
	for n := range 200 {
		if err := WriteResult(dir, &eval.Result{ID: &share}, n, time.Unix(0, 0)); err != nil {
			t.Fatalf("after %d: %v", n, err)
		}
	}
	close(done)
	if err := <-cleaned; err != nil {
		t.Error(err)
	}
}
