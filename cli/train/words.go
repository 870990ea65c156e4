package train

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/arithlang/mlc/runtime/flag"
)

// words are the flags of a struct, which is pointed to, as words of a command line: those that
// are not what they are by default.
func words(of any) (all []string) {
	given, _ := flagsOf(of)
	usual, k := flagsOf(reflect.New(reflect.TypeOf(of).Elem()).Interface())
	if _, err := k.Parse(nil); err != nil {
		panic("BUG: " + err.Error())
	}
	for i, f := range given {
		if reflect.DeepEqual(f.Target.Interface(), usual[i].Target.Interface()) {
			continue
		}
		for _, value := range texts(f) {
			switch {
			case f.IsBool() && value == "true":
				all = append(all, "--"+f.Name)
			case f.IsBool() || strings.HasPrefix(value, "-"):
				all = append(all, "--"+f.Name+"="+value)
			default:
				all = append(all, "--"+f.Name, value)
			}
		}
	}
	return all
}

// flagsOf are the flags of a struct that is pointed to, and what reads them.
func flagsOf(of any) ([]*kong.Flag, *kong.Kong) {
	k, err := kong.New(of, append(flag.Numbers(), kong.NoDefaultHelp())...)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return k.Model.Flags, k
}

// texts are the values of a flag as words. One of several that are listed is a word of its own
// where the flag is given again for each.
func texts(f *kong.Flag) (all []string) {
	v := f.Target
	if v.Kind() != reflect.Slice {
		return []string{text(v)}
	}
	for i := range v.Len() {
		all = append(all, text(v.Index(i)))
	}
	if f.Tag.Sep != -1 {
		all = []string{strings.Join(all, string(f.Tag.Sep))}
	}
	return all
}

// text is one value.
func text(v reflect.Value) string {
	if v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	if v.Kind() == reflect.Float64 {
		return strconv.FormatFloat(v.Float(), 'g', -1, 64)
	}
	return fmt.Sprint(v.Interface())
}
