package diag

import "slices"

// A Code documents one kind of diagnostic. Codes are stable. A line of an
// example that begins with "--set" is an option of the command line.
type Code struct {
	ID     string // E01xx syntax, E02xx names and values, E03xx consistency, E04xx not compiled yet, V0xx warnings
	Title  string
	Doc    string // one paragraph
	Broken string // a spec, example.arith, with this finding and no other
	Mended string // the same spec without it
}

// codeTables holds the codes by subject.
var codeTables = [][]Code{syntaxCodes, nameCodes, expressionCodes, fileCodes, ruleCodes, modelLimitCodes, trainLimitCodes, vetCodes, settingVetCodes}

// Codes returns the documentation of all codes in order.
func Codes() []Code { return slices.Concat(codeTables...) }

// Lookup finds a code.
func Lookup(id string) (Code, bool) {
	for _, t := range codeTables {
		for i := range t {
			if t[i].ID == id {
				return t[i], true
			}
		}
	}
	return Code{}, false
}
