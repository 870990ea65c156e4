package config

// The folders of a run directory. Each stage has a folder by its name next to them.
const (
	CheckpointFolder = "ckpt"       // checkpoints of package train
	ResultFolder     = "eval"       // results of tests
	LaunchFolder     = "launch"     // files that mlc train --launcher writes for its tasks
	PlotFolder       = "plots"      // plots by mlc plot
	FilesFolder      = "spec-files" // files that the spec reads
)
