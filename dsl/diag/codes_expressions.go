package diag

// expressionCodes are about masks and biases.
var expressionCodes = []Code{
	{
		ID:    "E0209",
		Title: "undefined name in an expression",
		Doc: "Masks and biases see h, i, j, pi, pj, H, I and J. A bias also sees other biases by name, and " +
			"inside a bias block its leaves and definitions.",
		Broken: `arith 1

task successor {}

model { decoder { cross { mask = q <= i } } }
`,
		Mended: `arith 1

task successor {}

model { decoder { cross { mask = j <= i } } }
`,
	},
	{
		ID:    "E0212",
		Title: "conditions and numbers mixed up",
		Doc: "A mask is a condition: a comparison, or several joined by && || !. A bias is a number; " +
			"where(condition, a, b) makes a number of a condition. Indices of learned tensors are whole " +
			"numbers: a division gives a real one.",
		Broken: `arith 1

task successor {}

model { decoder { cross { mask = i - j } } }
`,
		Mended: `arith 1

task successor {}

model { decoder { cross { mask = i - j <= 1 } } }
`,
	},
	{
		ID:    "E0215",
		Title: "a definition of itself",
		Doc: "The attributes of a bias block may use each other in any order, and biases may use biases, but " +
			"not in a circle.",
		Broken: `arith 1

task successor {}

bias b {
  x     = value + 1
  value = 2 * x
}

model.decoder.self.bias = b
`,
		Mended: `arith 1

task successor {}

bias b {
  x     = abs(i - j) + 1
  value = 2 * x
}

model.decoder.self.bias = b
`,
	},
	{
		ID:    "E0217",
		Title: "the name has a meaning already",
		Doc: "The names of indices, lengths and functions cannot be given to parts of a bias. Stages become " +
			"folders: their names differ in more than case, and are none that Windows keeps for devices, as aux and con.",
		Broken: `arith 1

task successor {}

bias b {
  h     = abs(i - j)
  value = -0.5 * h
}

model.decoder.self.bias = b
`,
		Mended: `arith 1

task successor {}

bias b {
  dist  = abs(i - j)
  value = -0.5 * dist
}

model.decoder.self.bias = b
`,
	},
	{
		ID:    "E0218",
		Title: "a bound of a sum is not known",
		Doc: "A sum over m = lo..hi is written out when the spec is compiled, so its bounds are whole " +
			"numbers, or made of whole numbers, H and definitions that are.",
		Broken: `arith 1

task successor {}

model.decoder.self.bias = sum(m = 0..i, 0.5 * m)
`,
		Mended: `arith 1

task successor {}

model.decoder.self.bias = sum(m = 0..H - 1, 0.5 * m)
`,
	},
	{
		ID:    "E0219",
		Title: "a table that is none",
		Doc: "table(…) takes a safetensors file with an F32 tensor of shape [I, J] or [H, I, J]; where " +
			"there are several tensors, the argument tensor chooses one. A table for other heads than the " +
			"model has fits no query, and neither does the result of a calibration. All elements are finite: " +
			"-1e4 closes a cell. The file of these examples has one tensor, of shape [4, 8, 8].",
		Broken: `arith 1

task successor {}

model.heads = 2
model.decoder.self.bias = table("bias.safetensors")
`,
		Mended: `arith 1

task successor {}

model.heads = 4
model.decoder.self.bias = table("bias.safetensors")
`,
	},
	{
		ID:    "E0220",
		Title: "an attribute that nothing reads",
		Doc: "An attribute of a mask or bias is its value, or is there for the others to use. One that none of " +
			"them reads is misspelt or left over.",
		Broken: `arith 1

task successor {}

bias b {
  slope = 0.5
  slop  = 0.25
  value = -slope * abs(i - j)
}

model.decoder.self.bias = b
`,
		Mended: `arith 1

task successor {}

bias b {
  slope = 0.25
  value = -slope * abs(i - j)
}

model.decoder.self.bias = b
`,
	},
	{
		ID:    "E0303",
		Title: "an index may leave its tensor",
		Doc: "What a bias says must hold at any length, so the index of a learned tensor must provably stay " +
			"within it: i - j does not, clip(i - j, 0, 7) does. The bounds of h are 0 and H - 1; those of i, " +
			"j, I and J are not known. It must be a number as well, which floor(log(i - j)) is not at j > i; of that " +
			"clip makes its lower bound, and so does max where it comes first.",
		Broken: `arith 1

task successor {}

bias b {
  t     = learned([8])
  value = t[abs(i - j)]
}

model.decoder.self.bias = b
`,
		Mended: `arith 1

task successor {}

bias b {
  t     = learned([8])
  value = t[min(abs(i - j), 7)]
}

model.decoder.self.bias = b
`,
	},
	{
		ID:    "E0309",
		Title: "an expression is too large",
		Doc: "Sums are unrolled and definitions put in place of their names; what comes out has at most " +
			"100,000 operations.",
		Broken: `arith 1

task successor {}

bias b {
  x     = sum(m = 1..400, m * abs(i - j))
  value = sum(m = 1..400, m * x)
}

model.decoder.self.bias = b
`,
		Mended: `arith 1

task successor {}

bias b {
  x     = sum(m = 1..40, m * abs(i - j))
  value = sum(m = 1..40, m * x)
}

model.decoder.self.bias = b
`,
	},
	{
		ID:    "E0311",
		Title: "a mask or bias without value",
		Doc: "The attribute value of a mask block says which keys a query sees, that of a bias block what is " +
			"added to the attention scores; the others are there to be used in it. A block with the name of a " +
			"mask or bias of the prelude takes its place, so it needs a value, too. To change a part of the " +
			"prelude's, give it by its path: mask.window.left = 3.",
		Broken: `arith 1

task successor {}

bias b {
  x = abs(i - j)
}

model.decoder.self.bias = b
`,
		Mended: `arith 1

task successor {}

bias b {
  x     = abs(i - j)
  value = -x
}

model.decoder.self.bias = b
`,
	},
	{
		ID:    "E0329",
		Title: "a bias that is not finite",
		Doc: "What is added to the scores of attention is a finite number in each cell that the mask leaves open, at all lengths " +
			"of training and evaluation, with what its learned leaves begin with: the first step would end in scores that are " +
			"none. Closed cells may be anything.",
		Broken: `arith 1

task successor {}

model.decoder.self.bias = 1 / (i - j)
`,
		Mended: `arith 1

task successor {}

model.decoder.self.bias = 1 / (i - j + 1)
`,
	},
}
