package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// trainAll makes the trainings of a sweep in turn and ends with a table of their
// results. One that fails does not keep the others from being made; a mistake on
// the command line or an interrupt does.
func (a *app) trainAll(where project, all []training, line trainLine) error {
	flags := takeFlags(line.flags)
	var failed error
	for i, t := range all {
		p, err := a.trainer(where, t, true)
		if err != nil {
			return err
		}
		if !line.quiet() {
			a.say("training %d of %d: %s", i+1, len(all), t.point.Name)
		}
		var status exitStatus
		switch err := attend(p.binary, p.command(flags.of(t))); {
		case errors.As(err, &status) && status == exitFindings:
			a.say("training %d of %d has failed: mlc train %s", i+1, len(all), t.command())
			failed = errShown
		case err != nil:
			return err
		}
	}
	if slices.Contains(flags.rest, "--json") {
		return failed
	}
	return errors.Join(failed, flags.table(a, all))
}

// trainFlags are the flags of the trainer, those taken out that differ from one
// training of a sweep to the next.
type trainFlags struct {
	rest   []string
	out    string // the folder of all run directories; "" is the usual one of each
	resume bool
}

func takeFlags(flags []string) trainFlags {
	var f trainFlags
	for i := 0; i < len(flags); i++ {
		value, isOut := strings.CutPrefix(flags[i], "--out=")
		switch {
		case isOut:
			f.out = value
		case flags[i] == "--out" && i+1 < len(flags):
			i++
			f.out = flags[i]
		case flags[i] == "--resume":
			f.resume = true
		default:
			f.rest = append(f.rest, flags[i])
		}
	}
	return f
}

// of are the flags for one training. What has not begun is not resumed.
func (f trainFlags) of(t training) []string {
	flags := slices.Clone(f.rest)
	if f.out != "" {
		flags = append(flags, "--out", f.dir(t))
	}
	if f.resume && f.dir(t) != "" && exists(filepath.Join(f.dir(t), "run.json")) {
		flags = append(flags, "--resume")
	}
	return flags
}

// dir is the run directory of a training, the newest one where there are several;
// "" if there is none.
func (f trainFlags) dir(t training) string {
	if f.out != "" {
		return filepath.Join(f.out, t.point.Slug)
	}
	all, _ := filepath.Glob(filepath.Join("runs", t.options().Name, "*", "run.json"))
	if len(all) == 0 {
		return ""
	}
	return filepath.Dir(slices.Max(all))
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// A score is what a table of trainings shows of eval/result.json: fractions of
// right answers.
type score struct {
	ID     *float64 `json:"id"`
	OOD    *float64 `json:"ood"`
	OOD100 *float64 `json:"ood100"`
}

// table prints how well the trainings of a sweep went, one a line.
func (f trainFlags) table(a *app, all []training) error {
	wide := len("exact match, %")
	for _, t := range all {
		wide = max(wide, len(t.point.Name))
	}
	fmt.Fprintf(a.out, "%-*s  %8s  %8s  %8s\n", wide, "exact match, %", "trained", "longer", "over 100")
	for _, t := range all {
		var s score
		text, err := os.ReadFile(filepath.Join(f.dir(t), "eval", "result.json"))
		if err == nil {
			err = json.Unmarshal(text, &s)
		}
		if err != nil {
			fmt.Fprintf(a.out, "%-*s  %8s\n", wide, t.point.Name, "no result")
			continue
		}
		fmt.Fprintf(a.out, "%-*s  %8s  %8s  %8s\n", wide, t.point.Name, percent(s.ID), percent(s.OOD), percent(s.OOD100))
	}
	return nil
}

// percent writes a fraction, "-" if there is none. It is rounded down: only all is
// 100.0.
func percent(x *float64) string {
	if x == nil {
		return "-"
	}
	return fmt.Sprintf("%.1f", float64(int(1000**x+1e-9))/10)
}

// attend runs a program to its end with this one's terminal. Signals that come
// meanwhile are handed on to it.
func attend(path string, argv []string) error {
	cmd := &exec.Cmd{Path: path, Args: argv, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, SysProcAttr: ownGroup()}
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("cannot run %s: %w", path, err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	interrupted := false
	for {
		select {
		case s := <-signals:
			interrupted = true
			cmd.Process.Signal(s) // it may just have ended
		case err := <-ended:
			var exit *exec.ExitError
			switch {
			case interrupted:
				return exitStatus(exitInterrupted)
			case errors.As(err, &exit):
				return exitStatus(exit.ExitCode())
			case err != nil:
				return fmt.Errorf("cannot run %s: %w", path, err)
			}
			return nil
		}
	}
}
