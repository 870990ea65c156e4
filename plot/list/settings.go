package list

import (
	"slices"
	"strings"
)

// spread turns the named arguments of calls into settings, so that runs differ only in the
// argument that differs. For example train.optimizer = adamw(lr = 0.002, decay = 0.01)
// becomes train.optimizer = adamw, train.optimizer.lr = 0.002 and train.optimizer.decay =
// 0.01.
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

// arguments splits a value that is one call into its named arguments and the value without
// them. Any other value is returned whole.
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

// isName reports whether a text is a name of the spec language.
func isName(text string) bool {
	return text != "" && strings.Trim(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == ""
}

// Differing returns the paths of the settings that differ between runs, in the order of the specs.
// Named arguments of calls count as settings. If runs call different functions, it leaves out the
// arguments that only some functions have: the function's name tells the runs apart.
func Differing(runs []*Run) (paths []string) {
	all := differing(runs)
	return slices.DeleteFunc(slices.Clone(all), func(path string) bool {
		return alike(runs, path) && slices.ContainsFunc(all, func(of string) bool { return strings.HasPrefix(path, of+".") })
	})
}

// alike reports whether all runs that have a setting give it one value.
func alike(runs []*Run, path string) bool {
	var values []string
	for _, r := range runs {
		if value, has := r.Settings[path]; has {
			values = append(values, value)
		}
	}
	return len(slices.Compact(values)) < 2
}

// differing returns all settings that differ between runs or that only some runs have.
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

// Names returns, for each path, its shortest end that no other path has: lr for
// train.optimizer.lr.
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

// Said writes the values of some settings: "lr = 0.001, width = 64".
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
