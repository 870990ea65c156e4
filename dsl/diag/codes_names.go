package diag

// nameCodes are about names and values of attributes.
var nameCodes = []Code{
	{
		ID:    "E0201",
		Title: "unknown block",
		Doc: "There is no block of this name here. The blocks of a file are task, model, mask, bias, train, eval, " +
			"stage, sweep and vet; embed, encoder, decoder and loop stand in model, self and cross in " +
			"encoder and decoder, self in loop.",
		Broken: `arith 1

task successor {}

modle { width = 32 }
`,
		Mended: `arith 1

task successor {}

model { width = 32 }
`,
	},
	{
		ID:    "E0202",
		Title: "unknown attribute",
		Doc: "The block has no attribute of this name. Attributes may be written in their block or by their " +
			"full path, as in model.decoder.layers = 3.",
		Broken: `arith 1

task successor {}

model { haeds = 4 }
`,
		Mended: `arith 1

task successor {}

model { heads = 4 }
`,
	},
	{
		ID:    "E0203",
		Title: "unknown argument",
		Doc:   "The choice or function has no argument of this name.",
		Broken: `arith 1

task successor {}

train { optimizer = adam(rate = 1e-3) }
`,
		Mended: `arith 1

task successor {}

train { optimizer = adam(lr = 1e-3) }
`,
	},
	{
		ID:    "E0204",
		Title: "set twice",
		Doc: "One file, and one body of an include, sets an attribute at most once: a second value would " +
			"silently win. To change an included value, set it in the body of the include or in the file " +
			"that includes.",
		Broken: `arith 1

task successor {}

train {
  batch = 64
  batch = 32
}
`,
		Mended: `arith 1

task successor {}

train {
  batch = 32
}
`,
	},
	{
		ID:    "E0205",
		Title: "wrong unit",
		Doc: "A unit is part of its number: 10%, 30m, 1Mi, 1000steps. Each type of value has its own units, " +
			"and where one is due a bare number is an error: is a dropout of 1 one percent or all?",
		Broken: `arith 1

task successor {}

train { budget = 24min }
`,
		Mended: `arith 1

task successor {}

train { budget = 24m }
`,
	},
	{
		ID:    "E0206",
		Title: "wrong kind of value",
		Doc: "The attribute takes another kind of value: a number, a whole number, a name, a list, a text or " +
			"true and false.",
		Broken: `arith 1

task successor {}

model { decoder { layers = 2.5 } }
`,
		Mended: `arith 1

task successor {}

model { decoder { layers = 2 } }
`,
	},
	{
		ID:    "E0207",
		Title: "value out of range",
		Doc:   "The value is of the right kind and outside of what makes sense.",
		Broken: `arith 1

task successor {}

model { dropout = 130% }
`,
		Mended: `arith 1

task successor {}

model { dropout = 13% }
`,
	},
	{
		ID:    "E0208",
		Title: "unknown choice",
		Doc:   "The attribute is one of a few names, and this is none of them.",
		Broken: `arith 1

task successor {}

model { embed { position = sinusodial } }
`,
		Mended: `arith 1

task successor {}

model { embed { position = sinusoidal } }
`,
	},
	{
		ID:    "E0210",
		Title: "wrong number of arguments",
		Doc: "A choice, function, list or tensor has too few or too many arguments, entries or indices. The " +
			"leading arguments of a choice may be given without their names; those without a default must be " +
			"given.",
		Broken: `arith 1

task successor {}

task.pad = zero()
`,
		Mended: `arith 1

task successor {}

task.pad = zero(to = 7)
`,
	},
	{
		ID:    "E0211",
		Title: "a name too many or too few",
		Doc: "mask, bias and stage blocks have a name of their own, task has its kind and model may have a name; " +
			"other blocks have none.",
		Broken: `arith 1

task successor {}

train fast { batch = 64 }
`,
		Mended: `arith 1

task successor {}

train { batch = 64 }
`,
	},
	{
		ID:    "E0213",
		Title: "block and attribute confused",
		Doc:   "A block is written name { … }, an attribute name = value.",
		Broken: `arith 1

task successor {}

model { embed = cyclic(period = 3) }
`,
		Mended: `arith 1

task successor {}

model { embed { position = cyclic(period = 3) } }
`,
	},
	{
		ID:    "E0214",
		Title: "attribute of another task",
		Doc: "Some attributes of task belong to certain kinds of task only, such as interleave to those with " +
			"two operands.",
		Broken: `arith 1

task successor {
  interleave = true
}
`,
		Mended: `arith 1

task addition {
  interleave = true
}
`,
	},
	{
		ID:    "E0216",
		Title: "--set is not path=value",
		Doc: "An option --set takes the full path of one attribute, an equal sign and the value as it would " +
			"be written in a spec.",
		Broken: `arith 1

task successor {}
--set train.seed
`,
		Mended: `arith 1

task successor {}
--set train.seed=2
`,
	},
	{
		ID:    "E0240",
		Title: "a training that a sweep has twice",
		Doc: "Trainings that resolve to the same settings have the same result, to the last byte, and rows of a table that " +
			"nothing tells apart. Values of an axis are compared as they are read: 10% and 10.0% are one.",
		Broken: `arith 1

task successor {}

sweep {
  train.batch = [64, 128, 64]
}
`,
		Mended: `arith 1

task successor {}

sweep {
  train.batch = [64, 128]
}
`,
	},
}
