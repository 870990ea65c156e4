// Package track reports the progress of training: to metrics.jsonl and metrics.csv, and to the
// person who waits. Package train uses it.
package track

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/arithlang/mlc/runtime/disk"
)

// A Report is one line of metrics.jsonl.
type Report struct {
	Step       int      `json:"step"` // steps done
	Examples   int64    `json:"examples"`
	Tokens     int64    `json:"tokens"` // labels seen
	Loss       float64  `json:"loss"`   // of the last step, in nats a token
	LR         float64  `json:"lr"`
	GradNorm   float64  `json:"grad_norm"`             // before clipping
	ExactMatch *float64 `json:"exact_match,omitempty"` // on held-out problems, 0 to 1; nil: no problem is held out
	Seconds    float64  `json:"seconds"`               // of training
	Stage      string   `json:"stage"`

	// Only in a full report, without dropout.
	HeldOutLoss     *float64 `json:"held_out_loss,omitempty"`     // nats a token; nil: not full, or no problem is held out
	TrainExactMatch *float64 `json:"train_exact_match,omitempty"` // on training problems
	TrainLoss       *float64 `json:"train_loss,omitempty"`
}

const (
	columns     = "step,examples,tokens,loss,lr,grad_norm,exact_match,seconds,stage\n"
	fullColumns = "step,examples,tokens,loss,lr,grad_norm,exact_match,seconds,stage,held_out_loss,train_exact_match,train_loss\n"
)

// csv writes a report as a line, with the columns of full reports or without.
func (r Report) csv(full bool) string {
	f := func(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
	some := func(x *float64) string {
		if x == nil {
			return ""
		}
		return f(*x)
	}
	line := fmt.Sprintf("%d,%d,%d,%s,%s,%s,%s,%s,%s", r.Step, r.Examples, r.Tokens,
		f(r.Loss), f(r.LR), f(r.GradNorm), some(r.ExactMatch), f(r.Seconds), r.Stage)
	if full {
		line += fmt.Sprintf(",%s,%s,%s", some(r.HeldOutLoss), some(r.TrainExactMatch), some(r.TrainLoss))
	}
	return line + "\n"
}

// The metrics files in a run directory. They have the same content; otherwise one of them is
// damaged.
const (
	File    = "metrics.jsonl" // a report a line
	csvFile = "metrics.csv"
)

// A Log appends reports to the metrics files of a run directory.
type Log struct {
	jsonl, csv *os.File
	full       bool // metrics.csv has the columns of full reports
}

// Open continues the metrics files of a run directory after the given step. It cuts off later
// reports and an unfinished one, and returns the last remaining report, if there is one.
// Damaged files stay unchanged. Full selects the columns of full reports.
func Open(dir string, step int, full bool) (*Log, *Report, error) {
	kept, err := Until(dir, step)
	if err != nil {
		return nil, nil, err
	}
	jsonl, table := new(bytes.Buffer), bytes.NewBufferString(columns)
	if full {
		table = bytes.NewBufferString(fullColumns)
	}
	for _, r := range kept {
		jsonl.Write(line(r))
		table.WriteString(r.csv(full))
	}
	log := &Log{full: full}
	if log.jsonl, err = restart(filepath.Join(dir, File), jsonl.Bytes()); err != nil {
		return nil, nil, err
	}
	if log.csv, err = restart(filepath.Join(dir, csvFile), table.Bytes()); err != nil {
		log.jsonl.Close()
		return nil, nil, err
	}
	if len(kept) == 0 {
		return log, nil, nil
	}
	return log, &kept[len(kept)-1], nil
}

func line(r Report) []byte {
	text, err := json.Marshal(r)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return append(text, '\n')
}

// restart opens a file for appending after the given content. The file usually begins with this
// content already, so an interruption loses nothing.
func restart(path string, content []byte) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	if _, err = f.Write(content); err == nil {
		err = f.Truncate(int64(len(content)))
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// Write appends a report. Its numbers must be finite.
func (l *Log) Write(r Report) error {
	if _, err := l.jsonl.Write(line(r)); err != nil {
		return err
	}
	_, err := l.csv.WriteString(r.csv(l.full))
	return err
}

// Sync flushes all reports to disk: a step's checkpoint is written after the reports up to it.
func (l *Log) Sync() error {
	return errors.Join(disk.Sync(l.jsonl), disk.Sync(l.csv))
}

// Close closes the files.
func (l *Log) Close() error { return errors.Join(l.jsonl.Close(), l.csv.Close()) }
