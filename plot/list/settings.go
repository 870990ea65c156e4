package list

import (
	"slices"
	"strings"
)

// spread are settings with the named arguments of calls as settings of their own, so that
// those that differ are exactly these: adamw(lr = 0.002, decay = 0.01) of train.optimizer is
// adamw, train.optimizer.lr = 0.002, and train.optimizer.decay = 0.01.
func spread(settings map[string]string, order []string) (map[string]string, []string) {
	if settings == nil {
		return nil, nil
	}
	out, paths := map[string]string{}, []string(nil)
	var add func(path, value string)
	add = func(path, value string) {
		name, named := arguments(value)
		if _, known := out[path]; !known {
			paths = append(paths, path)
		}
		out[path] = name
		for _, a := range named {
			add(path+"."+a[0], a[1])
		}
	}
	for _, path := range order {
		add(path, settings[path])
	}
	return out, paths
}

// arguments are the named arguments of a value that is one call, and the value without them.
// Of every other value the rest is all of it.
func arguments(value string) (rest string, named [][2]string) {
	open := strings.IndexByte(value, '(')
	if open <= 0 || !isName(value[:open]) || !strings.HasSuffix(value, ")") {
		return value, nil
	}
	var others []string
	depth, start := 0, open+1
	for i := open; i < len(value); i++ {
		switch value[i] {
		case '(', '[':
			depth++
		case ')', ']':
			depth--
		}
		last := i == len(value)-1
		if depth == 0 && !last {
			return value, nil // f(x) + g(y)
		}
		if !last && (depth != 1 || value[i] != ',') {
			continue
		}
		argument := strings.TrimSpace(value[start:i])
		start = i + 1
		name, is, ok := strings.Cut(argument, "=")
		if name = strings.TrimSpace(name); ok && isName(name) && !strings.HasPrefix(is, "=") {
			named = append(named, [2]string{name, strings.TrimSpace(is)})
		} else if argument != "" {
			others = append(others, argument)
		}
	}
	if depth != 0 || named == nil {
		return value, nil
	}
	rest = value[:open]
	if others != nil {
		rest += "(" + strings.Join(others, ", ") + ")"
	}
	return rest, named
}

// isName says whether a text is a word as specs have them.
func isName(text string) bool {
	return text != "" && strings.Trim(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == ""
}

// Differing are the settings that not all runs have alike, in the order in which specs have
// them. Arguments are settings of their own. An argument that some runs have alike and others
// do not have is none of them where they call different functions: the function says it all.
func Differing(runs []*Run) (paths []string) {
	all := differing(runs)
	return slices.DeleteFunc(slices.Clone(all), func(path string) bool {
		return alike(runs, path) && slices.ContainsFunc(all, func(of string) bool { return strings.HasPrefix(path, of+".") })
	})
}

// alike says whether all runs that have a setting have it alike.
func alike(runs []*Run, path string) bool {
	var values []string
	for _, r := range runs {
		if value, has := r.Settings[path]; has {
			values = append(values, value)
		}
	}
	return len(slices.Compact(values)) < 2
}

// differing are all settings that not all runs have alike.
func differing(runs []*Run) (paths []string) {
	runs = slices.DeleteFunc(slices.Clone(runs), func(r *Run) bool { return r.Settings == nil })
	seen := map[string]bool{}
	for _, r := range runs {
		for _, path := range r.order {
			if seen[path] {
				continue
			}
			seen[path] = true
			first, has := runs[0].Settings[path]
			if slices.ContainsFunc(runs, func(r *Run) bool { other, ok := r.Settings[path]; return ok != has || other != first }) {
				paths = append(paths, path)
			}
		}
	}
	return paths
}

// Names are the shortest ends of paths that tell them apart: lr for train.optimizer.lr where
// no other path ends so.
func Names(paths []string) map[string]string {
	names := map[string]string{}
	for _, path := range paths {
		words := strings.Split(path, ".")
		for n := 1; n <= len(words); n++ {
			end := strings.Join(words[len(words)-n:], ".")
			names[path] = end
			if !slices.ContainsFunc(paths, func(other string) bool { return other != path && (other == end || strings.HasSuffix(other, "."+end)) }) {
				break
			}
		}
	}
	return names
}

// Said is what a run has of some settings: "lr = 0.001, width = 64".
func (r *Run) Said(paths []string) string {
	names := Names(paths)
	var all []string
	for _, path := range paths {
		if value, has := r.Settings[path]; has {
			all = append(all, names[path]+" = "+value)
		}
	}
	return strings.Join(all, ", ")
}
