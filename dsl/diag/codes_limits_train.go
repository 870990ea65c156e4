package diag

// trainLimitCodes are about training and evaluation that the language has and
// the compiler has not yet.
var trainLimitCodes = []Code{
	{
		ID:    "E0434",
		Title: "bf16",
		Doc:   "Training is in f32 today.",
		Broken: `arith 1

task successor {}

train.precision = bf16
`,
		Mended: `arith 1

task successor {}

train.precision = f32
`,
	},
	{
		ID:    "E0450",
		Title: "calibrations of loops, and of two layers of a stage",
		Doc: "A calibration reads the attention of one decoder layer of an encoder-decoder. The program of a stage " +
			"leaves the attention of one layer, so all calibrations that read a stage read the same one, and the same of it.",
		Broken: `arith 1

task successor {
  order = reversed
}

model.loop { layers = 2 }

stage first {}

stage calibrate {
  from    = first
  samples = 32
}

stage second {
  model.loop.self.bias = calibrate.self
}
`,
		Mended: `arith 1

task successor {}

stage first {}

stage calibrate {
  from    = first
  samples = 32
}

stage second {
  model.decoder.self.bias = calibrate.self
}
`,
	},
}
