package list

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/arithlang/mlc/runtime/record"
)

// settings reads a resolved spec line by line. It returns the value of each attribute by its
// path, and the paths in order. The name of a named block, such as a task, is a setting, too.
// The text is not parsed because it may be in another version of the language.
func settings(spec string) (values map[string]string, order []string) {
	if spec == "" {
		return nil, nil
	}
	values = map[string]string{}
	set := func(path, value string) {
		if _, known := values[path]; !known {
			order = append(order, path)
		}
		values[path] = value
	}
	var blocks []string
	for line := range strings.Lines(spec) {
		line, _, _ = strings.Cut(line, "//")
		words := strings.Fields(line)
		switch name, value, isSetting := strings.Cut(line, "="); {
		case len(words) == 0:
		case words[0] == "}":
			blocks = blocks[:max(0, len(blocks)-1)]
		case words[len(words)-1] == "{":
			path := strings.Join(append(blocks[:len(blocks):len(blocks)], words[0]), ".")
			if len(words) > 2 {
				set(path, strings.Join(words[1:len(words)-1], " "))
			}
			blocks = append(blocks[:len(blocks):len(blocks)], words[0])
			if slices.Contains([]string{"stage", "calibrate", "bias", "mask", "table"}, words[0]) { // a spec may have several
				blocks[len(blocks)-1] = strings.Join(words[:len(words)-1], " ")
			}
		case words[len(words)-1] == "{}":
			set(strings.Join(append(blocks[:len(blocks):len(blocks)], words[0]), "."), strings.Join(words[1:len(words)-1], " "))
		case isSetting:
			set(strings.Join(append(blocks[:len(blocks):len(blocks)], strings.TrimSpace(name)), "."), strings.TrimSpace(value))
		}
	}
	return values, order
}

// SettingsOf returns the settings of a run's spec, with the seeds of the run instead of the
// spec's.
func SettingsOf(r *record.Record, spec string) map[string]string {
	of, _ := settings(spec)
	all := map[string]string{}
	maps.Copy(all, of)
	all["train.seed"] = strconv.FormatUint(r.Seed, 10)
	if r.InitSeed != nil {
		all["train.init_seed"] = strconv.FormatUint(*r.InitSeed, 10)
	}
	return all
}
