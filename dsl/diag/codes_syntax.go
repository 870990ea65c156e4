package diag

import "strings"

// syntaxCodes are what is found before a spec is understood.
var syntaxCodes = []Code{
	{
		ID:    "E0101",
		Title: "syntax error",
		Doc: "The text does not follow the grammar. A spec is made of entries: include \"file\", name = value, " +
			"or name { … }. Values are numbers with an optional unit, names, calls, lists, ranges and " +
			"expressions. Only the first error of this kind in a file is reported; mend it and look again.",
		Broken: `arith 1

task successor {}

train {
  batch 64
}
`,
		Mended: `arith 1

task successor {}

train {
  batch = 64
}
`,
	},
	{
		ID:    "E0102",
		Title: "brackets do not match",
		Doc: "Each of ( [ { is closed by its like, in reverse order of opening. The place shown is the " +
			"bracket that was never closed, or the one that closes the wrong thing.",
		Broken: `arith 1

task successor {}

train {
  optimizer = adam(lr = 1e-3, betas = [0.9, 0.98)
}
`,
		Mended: `arith 1

task successor {}

train {
  optimizer = adam(lr = 1e-3, betas = [0.9, 0.98])
}
`,
	},
	{
		ID:    "E0103",
		Title: "too large or too deep",
		Doc: "A spec is at most 1 MiB long, its brackets nest at most 64 deep and one value has at most 4096 " +
			"symbols. Nothing that a person writes comes near these limits; they keep hostile input from " +
			"exhausting the compiler.",
		Broken: "arith 1\n\ntask successor {}\n\nmodel { decoder { cross { mask = " + strings.Repeat("(", 65) + "true" + strings.Repeat(")", 65) + " } } }\n",
		Mended: `arith 1

task successor {}

model { decoder { cross { mask = true } } }
`,
	},
	{
		ID:    "E0104",
		Title: "the file does not begin with arith 1",
		Doc: "The first words of a spec name the language and its version, so that later compilers can still " +
			"read it. An empty file is no spec.",
		Broken: `task successor {}
`,
		Mended: `arith 1

task successor {}
`,
	},
	{
		ID:    "E0105",
		Title: "unknown version of the language",
		Doc: "The number behind arith is the version of the language that the file is written in. This " +
			"compiler knows version 1.",
		Broken: `arith 2

task successor {}
`,
		Mended: `arith 1

task successor {}
`,
	},
	{
		ID:    "E0106",
		Title: "a character that means nothing",
		Doc: "Outside of strings and comments a spec is made of names, numbers and operators. Comments begin " +
			"with //; strings stand in double quotes, end on the line they begin on, and have the escapes of " +
			"Go.",
		Broken: `arith 1

# the quick start
task successor {}
`,
		Mended: `arith 1

// the quick start
task successor {}
`,
	},
	{
		ID:    "E0107",
		Title: "a file cannot be read",
		Doc: "The spec, or a file that it includes, is missing or not readable. The path of an include is " +
			"relative to the file it stands in.",
		Broken: `arith 1

include "missing.arith"

task successor {}
`,
		Mended: `arith 1

task successor {}
`,
	},
	{
		ID:    "E0108",
		Title: "an include never ends",
		Doc: "A file includes itself, directly or through others, or files include each other hundreds of " +
			"times over. Put what they share into a file that includes neither.",
		Broken: `arith 1

include "example.arith"

task successor {}
`,
		Mended: `arith 1

task successor {}
`,
	},
	{
		ID:    "E0109",
		Title: "an include in the wrong place",
		Doc: "An include brings in a whole file and stands at the top of a file, outside of all braces, or in a case " +
			"of a sweep, which is one training. To change what was included, give the include a body of path = value " +
			"entries.",
		Broken: `arith 1

task successor {
  include "base.arith"
}
`,
		Mended: `arith 1

include "base.arith"

task successor {}
`,
	},
}
