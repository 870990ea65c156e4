package gocode

import (
	"maps"
	"reflect"
	"slices"
	"strconv"

	"github.com/dave/jennifer/jen"
)

// Value prints a value of the runtime's configuration: basic types, pointers, slices, arrays,
// and structs without their empty fields.
func Value(x any) *jen.Statement { return value(reflect.ValueOf(x)) }

func value(v reflect.Value) *jen.Statement {
	switch v.Kind() {
	case reflect.Struct, reflect.Slice, reflect.Array:
		return typeOf(v.Type()).Add(inner(v))
	case reflect.Pointer:
		if v.Elem().Kind() == reflect.Struct {
			return jen.Op("&").Add(value(v.Elem()))
		}
		return jen.New(typeOf(v.Type().Elem()).Call(value(v.Elem())))
	case reflect.Int, reflect.Int64: // a time.Duration is a number of nanoseconds
		return jen.Lit(int(v.Int()))
	case reflect.Uint64:
		return jen.Op(strconv.FormatUint(v.Uint(), 10)) // without the type that Lit gives it
	case reflect.Float32:
		return jen.Op(strconv.FormatFloat(v.Float(), 'g', -1, 32))
	case reflect.Float64:
		return jen.Lit(v.Float())
	case reflect.String:
		return jen.Lit(v.String())
	case reflect.Bool:
		return jen.Lit(v.Bool())
	}
	panic("BUG: a value of type " + v.Type().String())
}

// typeOf prints a type.
func typeOf(t reflect.Type) *jen.Statement {
	switch {
	case t.PkgPath() != "":
		return Package(t.PkgPath()).Qual(t.Name())
	case t.Kind() == reflect.Slice:
		return jen.Index().Add(typeOf(t.Elem()))
	case t.Kind() == reflect.Array:
		return jen.Index(jen.Lit(t.Len())).Add(typeOf(t.Elem()))
	}
	return jen.Id(t.Name())
}

// inner prints a composite literal without its type, as for elements of a slice. Structs in a
// slice have one line each.
func inner(v reflect.Value) *jen.Statement {
	if v.Kind() == reflect.Struct {
		return FieldsOf(v.Interface()).Code()
	}
	var elements []jen.Code
	for _, x := range v.Seq2() {
		if x.Kind() == reflect.Struct || x.Kind() == reflect.Array {
			elements = append(elements, inner(x))
		} else {
			elements = append(elements, value(x))
		}
	}
	if v.Type().Elem().Kind() == reflect.Struct {
		return Lines(elements...)
	}
	return jen.Values(elements...)
}

// Lines prints the elements of a composite literal, one per line.
func Lines(elements ...jen.Code) *jen.Statement {
	return jen.Custom(jen.Options{Open: "{", Close: "}", Separator: ",", Multi: true}, elements...)
}

// Slice prints a slice literal, one element per line, or nil for no elements.
func Slice(of jen.Code, elements []jen.Code) *jen.Statement {
	if len(elements) == 0 {
		return nil
	}
	return jen.Index().Add(of, Lines(elements...))
}

// Field prints a field of a struct: code, or a value as Value prints it. It returns nil if the
// value is missing, zero or empty.
func Field(name string, x any) jen.Code {
	v := reflect.ValueOf(x)
	if !v.IsValid() || v.IsZero() || v.Kind() == reflect.Slice && v.Len() == 0 {
		return nil
	}
	code, ok := x.(jen.Code)
	if !ok {
		code = value(v)
	}
	return jen.Id(name).Op(":").Add(code)
}

// Fields maps the fields of a struct to code or values, as for Field.
type Fields map[string]any

// FieldsOf returns the fields of a struct.
func FieldsOf(x any) Fields {
	fields, v := Fields{}, reflect.ValueOf(x)
	for i := range v.NumField() {
		fields[v.Type().Field(i).Name] = v.Field(i).Interface()
	}
	return fields
}

// Code prints the fields without the struct's type, sorted by name. Several fields have one
// line each.
func (fs Fields) Code() *jen.Statement {
	var each []jen.Code
	for _, name := range slices.Sorted(maps.Keys(fs)) {
		if f := Field(name, fs[name]); f != nil {
			each = append(each, f)
		}
	}
	if len(each) > 1 {
		return Lines(each...)
	}
	return jen.Values(each...)
}
