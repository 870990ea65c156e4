package damage

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestWords wants errors in JSON described in words, with the line.
func TestWords(t *testing.T) {
	type record struct {
		Seed    uint64    `json:"seed"`
		Name    string    `json:"name"`
		Started time.Time `json:"started"`
		Cells   [][]int   `json:"cells"`
	}
	for text, want := range map[string]string{
		"":                                 "it is empty",
		" \n":                              "it is empty",
		"{":                                "it ends too early",
		"{\n\"seed\": 1,\n":                "line 3: it ends too early",
		"{\n\"seed\": 1,\n\"na\x00e\":":    `line 3: this is no JSON: "\x00e\":"`,
		"{\n\"seed\": tree\n}":             `line 2: this is no JSON: "ee"`,
		"{\"seed\": 1}\n{}":                `line 2: this is no JSON: "{}"`,
		"{\n\n\"seed\": \"1\"\n}":          "line 3: seed cannot be a string",
		"{\"seed\": -1}":                   "seed cannot be -1",
		"{\"seed\": 1e99}":                 "seed cannot be 1e99",
		"{\"name\": []}":                   "name cannot be an array",
		"{\"cells\": [{}]}":                "cells cannot be an object",
		"7":                                "it cannot be a number",
		"{\"started\": \"yesterday\"}":     "a time is not written as one",
		strings.Repeat("[", 20_000) + "\n": `this is no JSON: "[[[[[[[[[[[[[[[[[[[["`,
	} {
		err := JSON([]byte(text), new(record))
		if err == nil || !Is(err) || err.Error() != want {
			t.Errorf("%.40q: %v, want %s", text, err, want)
		}
		if err != nil && (strings.Contains(err.Error(), "json:") || strings.Contains(err.Error(), "JSON input") || strings.Contains(err.Error(), "Go ")) {
			t.Errorf("%.40q: %v", text, err)
		}
	}
	if err := StrictJSON([]byte(`{"seed":1,"sead":2}`), new(record)); err == nil || err.Error() != `this program knows no "sead"` {
		t.Error(err)
	}
	if err := StrictJSON([]byte(`{"seed":1} {}`), new(record)); !Is(err) {
		t.Error(err)
	}
}

// TestUnreadable wants a file that cannot be read not to be called damaged.
func TestUnreadable(t *testing.T) {
	dir := t.TempDir()
	if err := At(dir).ReadJSON(new(int)); err == nil || Is(err) {
		t.Error(err)
	}
	path := filepath.Join(dir, "x.json")
	if err := At(path).ReadJSON(new(int)); !errors.Is(err, fs.ErrNotExist) || Is(err) {
		t.Error(err)
	}
	if err := os.WriteFile(path, []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := At(path).ReadJSON(new(int)); !Is(err) || err.Error() != path+" is damaged: it ends too early" {
		t.Error(err)
	}
}

// TestSeal wants every change of a sealed object to be noticed, except of white space.
func TestSeal(t *testing.T) {
	sealed := Seal([]byte("{\n  \"a\": 1,\n  \"b\": [2, 3]\n}"))
	type object struct {
		A int
		B []int
	}
	if err := Unseal(sealed, new(object)); err != nil {
		t.Fatalf("%v\n%s", err, sealed)
	}
	for i := range sealed {
		for bit := range 8 {
			bad := append([]byte(nil), sealed...)
			bad[i] ^= 1 << bit
			var got object
			if err := Unseal(bad, &got); err == nil && (got.A != 1 || len(got.B) != 2 || got.B[0] != 2 || got.B[1] != 3) {
				t.Fatalf("not noticed: %s", bad)
			}
		}
	}
	for _, whole := range []string{`{"a":1,"b":[2,3]}`, `{}`} {
		if err := Unseal([]byte(whole), new(object)); err != nil {
			t.Errorf("%s, without a checksum: %v", whole, err)
		}
	}
}
