// Package label keeps what people call a run: a name, tags and a note. Nothing that is computed
// depends on them, so they may change while a run is training.
package label

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/arithlang/mlc/runtime/ckpt"
	"github.com/arithlang/mlc/runtime/damage"
)

// File is the name of a label in its run directory.
const File = "label.json"

// A Label describes a run to people. Verbs embed it for its flags.
type Label struct {
	Name string   `json:"name,omitempty" help:"Name of the run, for lists and pages." placeholder:"TEXT"`
	Tags []string `json:"tags,omitempty" help:"Tag of the run, for lists and pages. Repeat it for several tags." name:"tag" sep:"none" placeholder:"WORD"`
	Note string   `json:"note,omitempty" help:"Note about the run." placeholder:"TEXT"`
}

// The most bytes of a name or tag, and of a note.
const mostWord, mostNote = 100, 4000

// Empty reports whether a label says nothing.
func (l Label) Empty() bool { return l.Name == "" && len(l.Tags) == 0 && l.Note == "" }

// Check returns an error for a label that a list could not show.
func (l *Label) Check() error {
	control := func(r rune) bool { return !unicode.IsPrint(r) && r != '\n' }
	for _, t := range l.Tags {
		if t == "" || len(t) > mostWord || strings.ContainsFunc(t, func(r rune) bool { return !unicode.IsGraphic(r) || unicode.IsSpace(r) || r == ',' }) {
			return fmt.Errorf("--tag %.60q: want a word without spaces and commas, of at most %d bytes", t, mostWord)
		}
	}
	if len(l.Name) > mostWord || strings.ContainsFunc(l.Name, control) || strings.Contains(l.Name, "\n") {
		return fmt.Errorf("--name %.60q: want one line of at most %d bytes", l.Name, mostWord)
	}
	if len(l.Note) > mostNote || strings.ContainsFunc(l.Note, control) {
		return fmt.Errorf("--note %.60q: want printable text of at most %d bytes", l.Note, mostNote)
	}
	return nil
}

// Of reads the label of a run directory. It is empty if the run has none.
func Of(dir damage.Path) (l Label, err error) {
	if err = dir.Join(File).ReadSealed(&l); errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return l, err
}

// Write writes the label of a run directory, or removes it if l is empty.
func (l *Label) Write(dir string) error {
	path := filepath.Join(dir, File)
	if l.Empty() {
		if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	text, err := json.Marshal(l)
	if err != nil {
		return err
	}
	return ckpt.WriteFile(path, damage.SealIndented(text))
}

// Add adds l to the label of a run directory: a name and a note replace earlier ones.
func (l *Label) Add(dir string) error {
	if l.Empty() {
		return nil
	}
	all, err := Of(damage.At(dir))
	if err != nil {
		return err
	}
	all.Merge(l)
	return all.Write(dir)
}

// Merge adds the tags of m to l. A name or a note of m replaces that of l.
func (l *Label) Merge(m *Label) {
	if m.Name != "" {
		l.Name = m.Name
	}
	if m.Note != "" {
		l.Note = m.Note
	}
	for _, t := range m.Tags {
		if !slices.Contains(l.Tags, t) {
			l.Tags = append(l.Tags, t)
		}
	}
}
