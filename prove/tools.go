package prove

import (
	"bytes"
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

// Tool is what a tool of NVIDIA's said while it watched the kernels of a small spec.
type Tool struct {
	Command []string `json:"command"`
	Version string   `json:"version"`
	Exit    string   `json:"exit"`
	Said    string   `json:"said"` // the end of it
}

// A tool watches a process.
type tool struct {
	name    string // of the part
	program string
	args    []string
	// found finds mistakes in what it said; nil: it only measures, and where it cannot
	// that is nobody's mistake.
	found *regexp.Regexp
}

// tools is the table. NVIDIA's documents of the programs describe the flags.
func tools() []tool {
	sanitizer := func(name string) tool {
		return tool{name, "compute-sanitizer", []string{"--tool", name}, regexp.MustCompile(`(?m)(ERROR SUMMARY|RACECHECK SUMMARY): .*[1-9]\d* (error|hazard)`)}
	}
	return []tool{
		sanitizer("memcheck"), sanitizer("racecheck"),
		{"ncu", "ncu", []string{"--csv", "--launch-count", "50", "--metrics",
			"gpu__time_duration.sum,sm__throughput.avg.pct_of_peak_sustained_elapsed,dram__throughput.avg.pct_of_peak_sustained_elapsed"}, nil},
		{"nsys", "nsys", []string{"profile", "--stats=true", "--force-overwrite=true", "--output=profile"}, nil},
	}
}

// folders are where the tools are, where the path does not lead there.
var folders = []string{"/usr/local/cuda/bin", "/usr/local/cuda/compute-sanitizer"}

// watched is the spec whose kernels the tools watch.
const watched = "tiny"

func (t tool) String() string { return t.name }

func toolParts(e *Env) ([]string, string) {
	if e.Device != "cuda" {
		return nil, "NVIDIA's tools watch a GPU"
	}
	return names(tools()), ""
}

// runTool lets a tool watch a process that compares kernels.
func runTool(ctx context.Context, e *Env, p *Part) error {
	tool, err := find(tools(), p.Name)
	if err != nil {
		return err
	}
	path, err := lookFor(tool.program)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "mlc-prove-tool-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	request, err := json.Marshal(request{Phase: "kernels", Part: watched, Device: e.Device, Seed: e.Seed, Reduced: true,
		End: time.Now().Add(left(ctx)), Answer: filepath.Join(dir, "part.json")})
	if err != nil {
		return err
	}
	args := slices.Concat(tool.args, e.command)
	p.Tool = &Tool{Command: append([]string{path}, args...), Version: version(ctx, path)}
	said, failed := watch(ctx, dir, path, args, request)
	p.Tool.Exit, p.Tool.Said = exitText(failed), said
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	inner, bad := answer(filepath.Join(dir, "part.json"))
	switch found := tool.found; {
	case found != nil && found.MatchString(said):
		p.wrong("%s: %s", p.Name, found.FindString(said))
	case inner != nil && inner.Verdict == Fail:
		p.wrong("kernels are wrong under %s: %s", p.Name, firstLine(inner.Reason+fmt.Sprint(inner.Wrong)))
	case found == nil && (failed != nil || bad != nil):
		return skipf("%s cannot watch here: %s", p.Name, p.Tool.Exit)
	case bad != nil:
		return fmt.Errorf("the process that %s watched left no result: %w", p.Name, bad)
	}
	return nil
}

// watch runs a tool around a part, whose request it reads.
func watch(ctx context.Context, dir, path string, args []string, request []byte) (said string, err error) {
	var out tail
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, &out
	cmd.WaitDelay = time.Second
	in, err := cmd.StdinPipe() // which stays open: the part would end with it
	if err != nil {
		return "", err
	}
	defer in.Close()
	if err := cmd.Start(); err != nil {
		return "", err
	}
	in.Write(append(request, '\n')) // where it is gone already, that is what Wait says
	err = cmd.Wait()
	return out.String(), err
}

// lookFor finds a program.
func lookFor(program string) (string, error) {
	if path, err := exec.LookPath(program); err == nil {
		return path, nil
	}
	for _, f := range folders {
		if path, err := exec.LookPath(filepath.Join(f, program)); err == nil {
			return path, nil
		}
	}
	return "", skipf("%s is not there", program)
}

// version is what a program says of itself, in its last line.
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

// left is the time that a part has for what it starts: a little less than its own.
func left(ctx context.Context) time.Duration {
	end, ok := ctx.Deadline()
	if !ok {
		return time.Hour
	}
	return time.Until(end) * 9 / 10
}
