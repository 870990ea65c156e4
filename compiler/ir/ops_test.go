package ir

import (
	"strings"
	"testing"
)

func TestOpTable(t *testing.T) {
	keys := map[string]bool{}
	for _, a := range attributes {
		keys[a.key] = true
	}
	names := map[string]Op{}
	for op := range numOps {
		info := ops[op]
		if info.name == "" || len(signatures()[op].results) == 0 && rules[op] == nil {
			t.Errorf("op %d has no name, or nothing gives its type", op)
		}
		if old, ok := names[info.name]; ok {
			t.Errorf("ops %d and %d are both %s", old, op, info.name)
		}
		names[info.name] = op
		if op != Param && (info.eval == nil) != (expansions[op] != nil) {
			t.Errorf("%s needs either an evaluation or an expansion", op)
		}
		if got, ok := opByName(info.name); !ok || got != op {
			t.Errorf("opByName(%s) = %d", info.name, got)
		}
		for key := range strings.FieldsSeq(info.attrs) {
			if !keys[key] {
				t.Errorf("%s carries unknown attribute %s", op, key)
			}
		}
	}
}
