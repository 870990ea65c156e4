package train

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"text/template"

	"github.com/arithlang/mlc/cli/paths"
	"github.com/arithlang/mlc/cli/project"
	"github.com/arithlang/mlc/runtime/flag"
)

// print prints the command of each task on a line, quoted for a shell.
func (l *launch) print() error {
	for _, t := range l.tasks {
		if _, err := fmt.Fprintln(l.Out, flag.Line(t.command)); err != nil {
			return err
		}
	}
	l.Say("%s to run anywhere that sees %s%s; the table: %s", trainingsAtOnce(len(l.tasks), 0), paths.FromHere(l.folder), l.leftOut(), l.collect())
	return nil
}

// manifest returns an Indexed Job. An evicted pod does not count as a failure. Words are quoted
// as in JSON, which is valid YAML.
var manifest = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("manifest").Funcs(template.FuncMap{"quote": quoted, "indent": byColumns}).Parse(`# Written by: {{.Line}}
# Change what is marked CHANGE, then: kubectl apply -f FILE
apiVersion: batch/v1
kind: Job
metadata:
  name: {{quote .Name}}
spec:
  completions: {{.Tasks}}
  parallelism: {{.Parallel}}
  completionMode: Indexed
  backoffLimitPerIndex: 3
  podFailurePolicy:
    rules:
      - action: Ignore
        onPodConditions:
          - type: DisruptionTarget
  template:
    spec:
      restartPolicy: Never
      terminationGracePeriodSeconds: {{.Grace}}
      containers:
        - name: trainer
          image: "debian:stable-slim" # CHANGE: any image with a shell and glibc
          workingDir: {{quote .Folder}}
          command:
            - /bin/sh
            - -c
            - |
{{indent 14 .Script}}          resources: {} # CHANGE: as in {limits: {cpu: 8, memory: 16Gi, nvidia.com/gpu: 1}}
          volumeMounts:
            - name: runs
              mountPath: {{quote .Folder}}
      volumes:
        - name: runs
          persistentVolumeClaim:
            claimName: "CLAIM" # CHANGE: a claim that has what is in {{quote .Folder}}
`))
})

// kubernetes prints the manifest of a Kubernetes job.
func (l *launch) kubernetes() error {
	for i := range l.tasks {
		l.tasks[i].number = i + 1 // pods are numbered without gaps
	}
	var b bytes.Buffer
	if err := manifest().Execute(&b, map[string]any{
		"Line": l.wholeLine(), "Name": podName(project.NameOf(l.jobs[0].Training.Name)), "Folder": filepath.ToSlash(l.folder), "Tasks": len(l.tasks),
		"Parallel": cmp.Or(l.line.Jobs, len(l.tasks)), "Grace": taken, "Script": l.choice("JOB_COMPLETION_INDEX", 1) + "exec \"$@\"\n",
	}); err != nil {
		panic("BUG: " + err.Error())
	}
	if _, err := l.Out.Write(b.Bytes()); err != nil {
		return err
	}
	l.Say("%s as a job with an index%s; the table: %s", trainingsAtOnce(len(l.tasks), l.line.Jobs), l.leftOut(), l.collect())
	return nil
}

func quoted(text string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.Encode(text) // never fails for a text
	return strings.TrimSuffix(b.String(), "\n")
}

func byColumns(columns int, text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString(strings.Repeat(" ", columns) + line)
	}
	return b.String()
}

// notInNames matches the characters that names of Kubernetes cannot have (RFC 1123).
var notInNames = regexp.MustCompile(`[^a-z0-9]+`)

// podName returns a name that Kubernetes accepts, with room for the endings that it adds.
func podName(name string) string {
	name = notInNames.ReplaceAllString(strings.ToLower(name), "-")
	return cmp.Or(strings.Trim(name[:min(len(name), 40)], "-"), "training")
}
