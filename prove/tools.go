package prove

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"time"
)

// Tool is the report of an NVIDIA tool that watched a part of another phase.
type Tool struct {
	Command []string  `json:"command"`
	Version string    `json:"version"`
	Exit    string    `json:"exit"`
	Said    string    `json:"said"` // end of its output
	Kernels []Watched `json:"kernels,omitempty"`
}

// A tool watches a process.
type tool struct {
	name    string // of the part
	program string
	args    []string
	needs   time.Duration // on a GPU
	watched request       // the part to watch
	// found matches errors in the tool's output. nil means that the tool only measures; if it
	// cannot, nothing is wrong.
	found *regexp.Regexp
	// kernels parses the tool's measurements of kernels, if it has any.
	kernels func(said string) []Watched
}

// tools is the table of tools. NVIDIA's documents of the programs describe the flags. Sanitizers
// watch small launches of all kernels of a spec; the other tools watch a few steps of training.
func tools() []tool {
	kernels := request{Phase: "kernels", Part: "tiny", Reduced: true}
	steps := request{Phase: "steps", Part: "successor"}
	sanitizer := func(name string) tool {
		return tool{name, "compute-sanitizer", []string{"--tool", name}, 5 * time.Second, kernels,
			regexp.MustCompile(`(?m)(ERROR SUMMARY|RACECHECK SUMMARY): .*[1-9]\d* (error|hazard)`), nil}
	}
	return []tool{
		sanitizer("memcheck"), sanitizer("racecheck"),
		{"ncu", "ncu", ncuArgs(60), 12 * time.Second, steps, nil, ncuKernels},
		{"nsys", "nsys", []string{"profile", "--stats=true", "--force-overwrite=true", "--output=profile"}, 12 * time.Second, steps, nil, nil},
	}
}

// loopedTools measure kernels of a step of looped8x2, for the forward and the backward pass.
func loopedTools() (all []tool) {
	watched := request{Phase: "bench", Part: loopedRaces()[0].title, Brief: true}
	for _, pass := range []struct {
		name     string
		launches int
		kernels  string // pattern of their names
	}{
		{"ncu forward", 8, "linear_1024x1024_bf16|attention_1024_bf16"},
		{"ncu backward", 24, "linear_1024x1024_t_add_add|outer_1024x1024_acc|attention_grad_1024_.*|sum_1024_mul_acc"},
	} {
		args := append(ncuArgs(pass.launches), "--kernel-name", "regex:^("+pass.kernels+")$", "--section", "SpeedOfLight", "--section", "WarpStateStats",
			"--section", "ComputeWorkloadAnalysis", "--section", "LaunchStats")
		all = append(all, tool{pass.name, "ncu", args, 10 * time.Second, watched, nil, ncuKernels})
	}
	return all
}

func toolNeeds(part string) time.Duration {
	t, err := find(tools(), part)
	if err != nil {
		return leastPart
	}
	return t.needs
}

// folders are where to look for tools that PATH does not find.
var folders = []string{"/usr/local/cuda/bin", "/usr/local/cuda/compute-sanitizer"}

func (t tool) String() string { return t.name }

func toolParts(e *Env) ([]string, string) {
	if e.Device != "cuda" {
		return nil, "NVIDIA's tools watch a GPU"
	}
	return names(tools()), ""
}

// runTool runs a part under one of the tools.
func runTool(ctx context.Context, e *Env, p *Part) error {
	tool, err := find(tools(), p.Name)
	if err != nil {
		return err
	}
	return e.watch(ctx, p, tool)
}

// watch runs a process with a part under a tool.
func (e *Env) watch(ctx context.Context, p *Part, tool tool) error {
	path, err := lookFor(tool.program)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "mlc-prove-tool-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	req := tool.watched
	req.Device, req.Seed, req.End, req.Answer = e.Device, e.Seed, time.Now().Add(left(ctx)), filepath.Join(dir, "part.json")
	request, err := json.Marshal(req)
	if err != nil {
		return err
	}
	args := slices.Concat(tool.args, e.command)
	p.Tool = &Tool{Command: append([]string{path}, args...), Version: version(ctx, path)}
	said, failed := watched(ctx, dir, path, args, request)
	p.Tool.Exit, p.Tool.Said = exitText(failed), end(said)
	if tool.kernels != nil {
		p.Tool.Kernels = tool.kernels(said)
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	inner, bad := answer(req.Answer)
	if inner != nil {
		p.Kernels, p.Steps = inner.Kernels, inner.Steps
	}
	switch found := tool.found; {
	case found != nil && found.MatchString(said):
		p.wrong("%s: %s", p.Name, found.FindString(said))
	case inner != nil && inner.Verdict == Fail:
		p.wrong("%s %s are wrong under %s: %s", req.Phase, req.Part, p.Name, firstLine(inner.Reason+fmt.Sprint(inner.Wrong)))
	case found == nil && (failed != nil || bad != nil || tool.kernels != nil && p.Tool.Kernels == nil):
		return skipf("%s cannot watch here: %s", p.Name, cmp.Or(complaint.FindString(said), p.Tool.Exit))
	case bad != nil:
		return fmt.Errorf("the process that %s watched left no result: %w", p.Name, bad)
	case inner.Verdict == Cut:
		p.Reason = outOfTime + ": the watched part was still running"
		return context.DeadlineExceeded
	case inner.Verdict != Pass:
		return skipf("the part under %s cannot run: %s", p.Name, inner.Reason)
	}
	return nil
}

// complaint matches an NVIDIA tool's report that it cannot work.
var complaint = regexp.MustCompile(`==ERROR== .*`)

// watched runs a tool around a part, which reads the request from its input.
func watched(ctx context.Context, dir, path string, args []string, request []byte) (said string, err error) {
	out := tail{most: maxSaid}
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, &out
	cmd.WaitDelay = time.Second
	in, err := cmd.StdinPipe() // stays open, because the part ends with it
	if err != nil {
		return "", err
	}
	defer in.Close()
	if err := cmd.Start(); err != nil {
		return "", err
	}
	in.Write(append(request, '\n')) // if the process has ended already, Wait reports it
	err = cmd.Wait()
	return out.String(), err
}

// maxSaid is the most output of a tool to keep, in bytes. It is many times as long as the
// requested measurements.
const maxSaid = 1 << 20

// lookFor returns the path of a program.
func lookFor(program string) (string, error) {
	if path, err := exec.LookPath(program); err == nil {
		return path, nil
	}
	for _, f := range folders {
		if path, err := exec.LookPath(filepath.Join(f, program)); err == nil {
			return path, nil
		}
	}
	return "", skipf("%s is not installed", program)
}

// version returns the last line of a program's --version.
func version(ctx context.Context, path string) string {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "--version")
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	if err != nil && !errors.As(err, new(*exec.ExitError)) {
		return err.Error()
	}
	lines := bytes.Split(bytes.TrimSpace(out), []byte("\n"))
	return string(lines[len(lines)-1])
}

// left returns the time that a part may give to its children: a little less than its own.
func left(ctx context.Context) time.Duration {
	end, ok := ctx.Deadline()
	if !ok {
		return time.Hour
	}
	return time.Until(end) * 9 / 10
}
