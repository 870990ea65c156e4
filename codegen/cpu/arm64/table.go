package arm64

import (
	"strings"
	"sync"
)

// instructions returns the forms of every instruction by name. The map is only read.
var instructions = sync.OnceValue(func() map[string][]*form {
	all := map[string][]*form{}
	add := func(forms ...*form) {
		for _, f := range forms {
			all[f.name] = append(all[f.name], f)
		}
	}
	for _, r := range vectorRows {
		for _, name := range strings.Fields(r.arrangements) {
			slots, more := r.shape(arrangements[name])
			add(encoded(r.name+"."+name, r.name, r.base|more, slots, r.golang, r.kind))
		}
	}
	for _, r := range elemRows {
		for i := range r.sizes {
			size := uint32(strings.IndexByte("bhsd", r.sizes[i]))
			slots, more := r.shape(size)
			add(encoded(r.name+"."+letter(size), r.name, r.base|more, slots, r.golang, Other))
		}
	}
	for _, r := range accessRows {
		add(r.forms()...)
	}
	add(pairForms()...)
	add(listForms()...)
	add(elemForms()...)
	add(scalarForms()...)
	add(generalForms()...)
	add(jumpForms()...)
	return all
})
