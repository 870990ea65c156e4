package train

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/arithlang/mlc/runtime/flag"
)

// words returns the flags in a struct that differ from their defaults, as words of a
// command line. of points to the struct.
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

// flagsOf returns the flags in a struct, and their parser. of points to the struct.
func flagsOf(of any) ([]*kong.Flag, *kong.Kong) {
	k, err := kong.New(of, append(flag.Numbers(), kong.NoDefaultHelp())...)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return k.Model.Flags, k
}

// texts returns the values of a flag as words. A list is one word, unless the flag is
// repeated for each value.
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

// text writes one value.
func text(v reflect.Value) string {
	if v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	if v.Kind() == reflect.Float64 {
		return strconv.FormatFloat(v.Float(), 'g', -1, 64)
	}
	return fmt.Sprint(v.Interface())
}
