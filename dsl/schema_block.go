package dsl

func blocks() []BlockRow {
	return []BlockRow{
		{Path: "task", Label: KindLabel, Common: true, Doc: "the problems and their format"},
		{Path: "model", Common: true, Doc: "the model to train"},
		{Path: "model.embed", Common: true, Doc: "token and position embeddings"},
		{Path: "model.decoder_only", Doc: "a stack that reads the problem and writes the answer, instead of encoder and decoder"},
		{Path: "model.decoder_only.self", Doc: "self attention over the tokens read so far"},
		{Path: "model.encoder", Common: true, Doc: "layers that read the problem"},
		{Path: "model.encoder.self", Common: true, Doc: "self attention over the source tokens"},
		{Path: "model.decoder", Common: true, Doc: "layers that write the answer"},
		{Path: "model.decoder.self", Common: true, Doc: "self attention over the answer so far"},
		{Path: "model.decoder.cross", Common: true, Doc: "cross attention from the answer to the problem"},
		{Path: "attention", Doc: "attention alone, without a model and a task: a spec of its own, for mlc attention"},
		{Path: "mask", Label: NameLabel, Doc: "a named mask"},
		{Path: "bias", Label: NameLabel, Doc: "a named attention bias"},
		{Path: "table", Label: NameLabel, Doc: "a table as an expression over its rows and columns"},
		{Path: "train", Common: true, Doc: "how the model is trained"},
		{Path: "eval", Common: true, Doc: "tests after training"},
		{Path: "vet", Doc: "switches of the warnings"},
		{Path: "stage", Label: NameLabel, Doc: "one of several consecutive trainings"},
		{Path: "calibrate", Label: NameLabel, Doc: "biases read from the attention of a stage"},
		{Path: "calibrate.self", Doc: "lines of a decoder's self attention"},
		{Path: "calibrate.cross", Doc: "lines of a decoder's cross attention"},
		{Path: "sweep", Doc: "several trainings that differ in some attributes"},
	}
}
