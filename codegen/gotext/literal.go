package gotext

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Literal prints a value of the runtime's configuration: structs without their empty
// fields, pointers to what they point to, slices, and what these are made of.
func Literal(x any) string { return literal(reflect.ValueOf(x)) }

func literal(v reflect.Value) string {
	switch v.Kind() {
	case reflect.Struct, reflect.Slice, reflect.Array:
		return v.Type().String() + inner(v)
	case reflect.Pointer:
		if v.Elem().Kind() == reflect.Struct {
			return "&" + literal(v.Elem())
		}
		return "new(" + v.Type().Elem().String() + "(" + literal(v.Elem()) + "))"
	case reflect.Int, reflect.Int64: // a time.Duration is a number of nanoseconds
		return strconv.FormatInt(v.Int(), 10)
	case reflect.Uint64:
		return strconv.FormatUint(v.Uint(), 10)
	case reflect.Float32:
		return strconv.FormatFloat(v.Float(), 'g', -1, 32)
	case reflect.Float64:
		text := fmt.Sprintf("%#v", v.Float())
		if !strings.ContainsAny(text, ".e") {
			text += ".0" // else it is an integer
		}
		return text
	case reflect.String, reflect.Bool:
		return fmt.Sprintf("%#v", v)
	}
	panic("BUG: a value of type " + v.Type().String())
}

// inner prints a composite literal without its type, which the elements of a slice go
// without. Structs in a slice have a line each.
func inner(v reflect.Value) string {
	if v.Kind() == reflect.Struct {
		return FieldsOf(v.Interface()).String()
	}
	var elements []string
	for _, x := range v.Seq2() {
		if x.Kind() == reflect.Struct || x.Kind() == reflect.Array {
			elements = append(elements, inner(x))
		} else {
			elements = append(elements, literal(x))
		}
	}
	if v.Type().Elem().Kind() == reflect.Struct {
		return Lines(elements)
	}
	return "{" + strings.Join(elements, ", ") + "}"
}

// Lines prints the elements of a composite literal, a line each.
func Lines(elements []string) string { return "{\n" + strings.Join(append(elements, "}"), ",\n") }

// Fields are the fields of a struct, printed, by name.
type Fields map[string]string

// FieldsOf are the fields of a struct that are neither zero nor empty.
func FieldsOf(x any) Fields {
	fields, v := Fields{}, reflect.ValueOf(x)
	for i := range v.NumField() {
		if x := v.Field(i); !x.IsZero() && (x.Kind() != reflect.Slice || x.Len() > 0) {
			fields[v.Type().Field(i).Name] = literal(x)
		}
	}
	return fields
}

// String prints the fields without the type of the struct, sorted, a line each where
// there are several.
func (fs Fields) String() string {
	var each []string
	for _, name := range slices.Sorted(maps.Keys(fs)) {
		each = append(each, name+": "+fs[name])
	}
	if len(each) > 1 {
		return Lines(each)
	}
	return "{" + strings.Join(each, "") + "}"
}
