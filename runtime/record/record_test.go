package record

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/arithlang/mlc/runtime/damage"
	"github.com/arithlang/mlc/runtime/train"
)

func in(t *testing.T, text string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, File), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestTrained finds the directory that represents a run.
func TestTrained(t *testing.T) {
	for text, want := range map[string]string{
		`{"name":"plain"}`: ".",
		`{"stages":[{"name":"a","kind":"training"},{"name":"b","kind":"calibration"},{"name":"c","kind":"training"}]}`: "c",
		`{"stages":[{"name":"a","kind":"training"},{"name":"b","kind":"calibration"}]}`:                                "a",
	} {
		dir := in(t, text)
		rec, err := Read(dir)
		if got, _ := rec.Trained(dir); got != filepath.Join(dir, want) || err != nil {
			t.Errorf("%s: %s, %v, want %s in it", text, got, err, want)
		}
	}
	for _, text := range []string{`{"stages":[{"name":"../../etc","kind":"training"}]}`, `{"stages":[null]}`, `{"stages":`} {
		if _, err := Read(in(t, text)); !damage.Is(err) || !strings.Contains(err.Error(), "run.json is damaged: ") {
			t.Errorf("%s: %v", text, err)
		}
	}
	if _, err := Read(t.TempDir()); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

// TestValues rejects values that would lead a path elsewhere.
func TestValues(t *testing.T) {
	hash := strings.Repeat("09af", 16)
	for text, want := range map[string]string{
		`{"spec_hash":"` + hash + `"}`:                                         "",
		`{"id":7}`:                                                             "",
		`{"spec_hash":"` + hash[1:] + `"}`:                                     "spec_hash cannot be",
		`{"spec_hash":"` + strings.ToUpper(hash) + `"}`:                        "spec_hash cannot be",
		`{"spec_hash":"` + hash + `\n"}`:                                       "spec_hash cannot be",
		`{"spec_hash":"/../../../../abc` + hash[16:] + `"}`:                    "spec_hash cannot be",
		`{"stage":"../first"}`:                                                 "a stage cannot be called",
		`{"stages":[{"name":"a/b"}]}`:                                          "a stage cannot be called",
		`{"stages":[{"name":""}]}`:                                             "a stage cannot be called",
		`{"stages":[{"name":"."}]}`:                                            "a stage cannot be called",
		`{"stages":[{"name":"a","last":"step-00000003.safetensors"}]}`:         "",
		`{"stages":[{"name":"a","last":"../../step-00000003.safetensors"}]}`:   "the last checkpoint of stage a cannot be called",
		`{"stages":[{"name":"a","last":"x\u001b[2J"},{"name":"b","last":""}]}`: "the last checkpoint of stage a cannot be called",
	} {
		_, err := Read(in(t, text))
		if want == "" && err == nil {
			continue
		}
		if want == "" || !damage.Is(err) || !strings.Contains(err.Error(), "run.json is damaged: "+want) || strings.ContainsAny(err.Error(), "\n\x1b") {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// TestChange keeps every budget that steps were trained under.
func TestChange(t *testing.T) {
	steps := func(n int) train.Budget { return train.Budget{Steps: n} }
	want := Record{Name: "toy", Seed: 3, Training: Training{Budget: steps(10)}, Stages: []*Stage{{Name: "first", Kind: "training", Training: Training{Budget: steps(5)}}}}
	want.Change(steps(30), 0)
	want.Change(steps(10), 0)
	want.Change(steps(10), 5)
	if !want.Is(steps(10)) || want.String() != "10 steps" {
		t.Errorf("%v: setting the same budget again added one", want.Training)
	}
	want.Change(steps(20), 10)
	if want.Is(steps(20)) || want.String() != "10 steps, then 20 steps" {
		t.Errorf("lengthened: %s", want.String())
	}
	dir := t.TempDir()
	if err := want.Write(dir); err != nil {
		t.Fatal(err)
	}
	got, err := Read(dir)
	if err != nil || !reflect.DeepEqual(want, got) {
		t.Errorf("%+v, %v, want %+v", got, err, want)
	}
	if _, trained := got.Trained(dir); !trained.Is(steps(5)) {
		t.Errorf("the last stage is trained for %s", trained.String())
	}
}
