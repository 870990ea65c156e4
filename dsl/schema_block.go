package dsl

func blocks() []BlockRow {
	return []BlockRow{
		{Path: "task", Label: KindLabel, Common: true, Doc: "what problems look like"},
		{Path: "model", Label: OptionalLabel, Common: true, Doc: "what is trained"},
		{Path: "model.embed", Common: true, Doc: "from tokens to vectors"},
		{Path: "model.loop", Doc: "a decoder-only stack that is applied several times, in place of encoder and decoder"},
		{Path: "model.loop.self", Doc: "attention among the tokens read so far"},
		{Path: "model.encoder", Common: true, Doc: "the layers that read the problem"},
		{Path: "model.encoder.self", Common: true, Doc: "attention among the source tokens"},
		{Path: "model.decoder", Common: true, Doc: "the layers that write the answer"},
		{Path: "model.decoder.self", Common: true, Doc: "attention of the answer to what is written of it"},
		{Path: "model.decoder.cross", Common: true, Doc: "attention of the answer to the problem"},
		{Path: "mask", Label: NameLabel, Doc: "a mask by name"},
		{Path: "bias", Label: NameLabel, Doc: "an attention bias by name"},
		{Path: "train", Common: true, Doc: "how the model is trained"},
		{Path: "eval", Common: true, Doc: "what is tested after training"},
		{Path: "vet", Doc: "which warnings are wanted"},
		{Path: "stage", Label: NameLabel, Doc: "one of several trainings in a row, or a calibration between them"},
		{Path: "stage.self", Doc: "the self attention of a decoder that is calibrated"},
		{Path: "stage.cross", Doc: "the cross attention of a decoder that is calibrated"},
		{Path: "sweep", Doc: "several trainings that differ in some attributes"},
	}
}
