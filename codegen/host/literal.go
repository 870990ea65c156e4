package host

import (
	"reflect"
	"strconv"

	"github.com/dave/jennifer/jen"
)

// literal prints a value of the runtime's configuration as Go: structs without their
// empty fields, pointers to what they point to, slices, and what these are made of.
func literal(v reflect.Value) *jen.Statement {
	switch v.Kind() {
	case reflect.Struct, reflect.Slice:
		return typeOf(v.Type()).Add(inner(v))
	case reflect.Pointer:
		if v.Elem().Kind() == reflect.Struct {
			return jen.Op("&").Add(literal(v.Elem()))
		}
		return jen.Id("new").Call(typeOf(v.Type().Elem()).Call(literal(v.Elem())))
	case reflect.Int, reflect.Int64: // a time.Duration is a number of nanoseconds
		return jen.Op(strconv.FormatInt(v.Int(), 10))
	case reflect.Uint64:
		return jen.Op(strconv.FormatUint(v.Uint(), 10))
	case reflect.Float32:
		return jen.Op(strconv.FormatFloat(v.Float(), 'g', -1, 32))
	case reflect.String, reflect.Bool, reflect.Float64:
		return jen.Lit(v.Interface())
	}
	panic("BUG: a value of type " + v.Type().String())
}

// inner prints a struct or a slice without its type, which the elements of a slice go
// without. Structs in a slice have a line each.
func inner(v reflect.Value) *jen.Statement {
	if v.Kind() == reflect.Struct {
		fields := jen.Dict{}
		for name, x := range fieldsOf(v) {
			fields[jen.Id(name)] = x
		}
		return jen.Values(fields)
	}
	return jen.ValuesFunc(func(g *jen.Group) {
		if v.Type().Elem().Kind() != reflect.Struct {
			for _, x := range v.Seq2() {
				g.Add(literal(x))
			}
			return
		}
		for _, x := range v.Seq2() {
			g.Line().Add(inner(x))
		}
		g.Line()
	})
}

// fieldsOf prints the fields of a struct that are neither zero nor empty, by name.
func fieldsOf(v reflect.Value) map[string]*jen.Statement {
	fields := map[string]*jen.Statement{}
	for i := range v.NumField() {
		if x := v.Field(i); !x.IsZero() && (x.Kind() != reflect.Slice || x.Len() > 0) {
			fields[v.Type().Field(i).Name] = literal(x)
		}
	}
	return fields
}

// typeOf prints a type.
func typeOf(t reflect.Type) *jen.Statement {
	if t.Kind() == reflect.Slice {
		return jen.Index().Add(typeOf(t.Elem()))
	}
	return jen.Qual(t.PkgPath(), t.Name())
}
