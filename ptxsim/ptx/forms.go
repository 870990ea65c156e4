package ptx

import (
	"fmt"
	"slices"
	"strings"
	"sync"
)

// Form is a row of the instruction table: one way to write an instruction.
type Form struct {
	Op    string
	Text  string  // modifiers and operands, in the notation of the table
	Since Version // of the PTX language
	Arch  int     // the first architecture that has the form

	words []string // the words of Op
	mods  []modSlot
	args  []argSpec
}

// Forms returns the instruction table, which lists all instructions that Parse accepts.
func Forms() []Form { return slices.Clone(forms()) }

// modSlot is a place among the modifiers, for one of some words.
type modSlot struct {
	words    []string
	optional bool
}

// argSpec describes the operands allowed at a place.
type argSpec struct {
	kind     argKind
	typ      string // "T" to "W" for the first to fourth type modifier, "2T", or the name of a type
	space    Space  // of argMem, if it differs from the instruction's space
	n        int    // elements of argVec
	choices  []uint64
	dest     bool
	optional bool
	wide     bool // a register may be wider than the type
	imm      bool // a constant only
	sink     bool // may be _
	pair     byte // '|' for a second predicate, '?' for an optional one
}

type argKind uint8

const (
	argPlain  argKind = iota
	argMem            // [address]
	argVec            // {n registers}
	argByMods         // as many registers as .v2 and .v4 say
	argSplit          // {registers} that together form one of the type
	argLabel
	argTable
)

var (
	forms       = sync.OnceValue(func() []Form { return parseTable(table) })
	formsByHead = sync.OnceValue(func() map[string][]*Form {
		m := map[string][]*Form{}
		all := forms()
		for i := range all {
			head := all[i].words[0]
			m[head] = append(m[head], &all[i])
		}
		return m
	})
)

func parseTable(text string) []Form {
	var all []Form
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) == 0 || fields[0] == "#" {
			continue
		}
		f := Form{Text: strings.Join(fields[3:], " ")}
		if _, err := fmt.Sscanf(fields[0]+" "+fields[1], "%d.%d %d", &f.Since.Major, &f.Since.Minor, &f.Arch); err != nil {
			panic("BUG: the instruction table says " + line)
		}
		args := fields[3:]
		if len(args) > 0 && args[0][0] == '.' {
			f.mods = parseMods(args[0])
			args = args[1:]
		}
		for _, a := range args {
			f.args = append(f.args, parseArg(a))
		}
		for _, f.Op = range names(fields[2]) {
			f.words = strings.Split(f.Op, ".")
			all = append(all, f)
		}
	}
	return all
}

// names returns the names that a name with {a,b} in it stands for.
func names(text string) []string {
	head, rest, _ := strings.Cut(text, "{")
	list, tail, _ := strings.Cut(rest, "}")
	all := strings.Split(list, ",")
	for i, part := range all {
		all[i] = head + part + tail
	}
	return all
}

// parseMods reads .word.{one,of}.[optional,or,none].$set.
func parseMods(text string) []modSlot {
	var slots []modSlot
	for _, part := range strings.Split(text[1:], ".") {
		slot := modSlot{optional: part[0] == '['}
		for word := range strings.SplitSeq(strings.Trim(part, "[]{}"), ",") {
			if set, ok := sets[strings.TrimPrefix(word, "$")]; ok && word[0] == '$' {
				slot.words = append(slot.words, strings.Split(set, ",")...)
			} else if word[0] == '$' {
				panic("BUG: the instruction table has no set " + word)
			} else {
				slot.words = append(slot.words, word)
			}
		}
		slots = append(slots, slot)
	}
	return slots
}

func parseArg(text string) argSpec {
	var a argSpec
	flags := map[byte]*bool{'?': &a.optional, '=': &a.dest, '~': &a.wide, '#': &a.imm, '_': &a.sink}
	for flags[text[0]] != nil {
		*flags[text[0]] = true
		text = text[1:]
	}
	if body, ok := strings.CutSuffix(text, "|?"); ok {
		text, a.pair = body, '?'
	} else if body, ok := strings.CutSuffix(text, "|p"); ok {
		text, a.pair = body, '|'
	}
	if body, list, ok := strings.Cut(text, ":"); ok {
		text = body
		for choice := range strings.SplitSeq(list, ",") {
			n, _ := parseNumber(choice)
			a.choices = append(a.choices, n.bits)
		}
	}
	switch {
	case text == "L":
		a.kind = argLabel
	case text == "LL":
		a.kind = argTable
	case strings.HasPrefix(text, "["):
		a.kind = argMem
		text = strings.Trim(text, "[]")
		if space, ok := spaces[text]; ok {
			a.space, text = space, ""
		}
	case strings.HasPrefix(text, "{/"):
		a.kind = argSplit
		text = strings.Trim(text, "{/}")
	case strings.HasPrefix(text, "{"):
		a.kind = argVec
		if _, err := fmt.Sscanf(text, "{%d*", &a.n); err != nil {
			panic("BUG: the instruction table has the operand " + text)
		}
		text = strings.Trim(text[strings.Index(text, "*"):], "*}")
	case strings.HasSuffix(text, "^"):
		a.kind = argByMods
		text = strings.TrimSuffix(text, "^")
	}
	a.typ = text
	return a
}

// match returns an instruction's modifiers in the order of the form. ok is false if they do not
// fit the form. Only the order of types matters. Compilers write other modifiers in any order,
// and NVIDIA's assembler accepts this.
func (f *Form) match(mods []string) ([]string, bool) {
	left := slices.Clone(mods)
	var ordered []string
	for _, slot := range f.mods {
		at := slices.IndexFunc(left, func(word string) bool { return slices.Contains(slot.words, word) })
		switch {
		case at >= 0:
			ordered = append(ordered, left[at])
			left = slices.Delete(left, at, at+1)
		case !slot.optional:
			return nil, false
		}
	}
	return ordered, len(left) == 0 && sameTypes(mods, ordered)
}

func sameTypes(a, b []string) bool {
	isType := func(word string) bool { return typeNames[word] != NoType }
	return slices.Equal(filter(a, isType), filter(b, isType))
}

func filter(words []string, keep func(string) bool) []string {
	return slices.DeleteFunc(slices.Clone(words), func(word string) bool { return !keep(word) })
}

// since returns the first version and architecture that have a form with these modifiers.
func (f *Form) since(mods []string) (Version, int) {
	v, arch := f.Since, f.Arch
	for _, m := range mods {
		for _, key := range []string{m, f.words[0] + "." + m} {
			w := wordsSince[key]
			arch = max(arch, w.arch)
			if v.before(w.v) {
				v = w.v
			}
		}
	}
	return v, arch
}

var spaces = map[string]Space{
	"global": Global, "const": Const, "local": Local, "shared": Shared, "shared::cta": Shared,
	"param": Param, "param::entry": Param, "param::func": Param,
}

// resolveType returns the type of an operand.
func (in *Instr) resolveType(name string) Type {
	double := strings.HasPrefix(name, "2")
	name = strings.TrimPrefix(name, "2")
	t, ok := typeNames[name]
	if at := strings.Index("TUVW", name); !ok && name != "" && at >= 0 && at < len(in.Types) {
		t = in.Types[at]
	}
	if double {
		t = doubled[t]
	}
	return t
}

var doubled = map[Type]Type{U16: U32, S16: S32, U32: U64, S32: S64}
