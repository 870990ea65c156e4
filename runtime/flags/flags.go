// Package flags has the flags of a trainer's verbs, which mlc shares: mlc parses a command line
// once, and passes it to the trainer that it builds.
package flags

import (
	"time"

	"github.com/arithlang/mlc/runtime/config"
	"github.com/arithlang/mlc/runtime/label"
)

// Machine chooses the device.
type Machine struct {
	Device  string `help:"auto: an NVIDIA GPU if present, else the processor; cpu; cuda. Verbs that mlc runs itself also take sim, a simulated GPU that checks every access and is very slow; mlc bench also takes count, a GPU that computes nothing and counts everything. Default: auto." default:"auto" placeholder:"auto|cpu|cuda"`
	CPU     string `help:"Instruction set. All give the same bits, with one exception: bf16 products by avx512bf16 flush factors and sums below 2^-126 to 0. Default: auto." name:"cpu" default:"auto" placeholder:"auto|go|avx2|avx512|avx512bf16|neon"`
	Gemm    string `help:"What computes matrix products on a GPU: mlc, the program's kernels; cublaslt, NVIDIA's library, for plain products without a fused epilogue; cublaslt=PATH, that file. Bits of results depend on it. Default: mlc." default:"mlc" placeholder:"mlc|cublaslt[=PATH]"`
	Threads int    `help:"Number of threads, 0 for all. Any number gives the same bits." default:"0" placeholder:"N"`
	Ranks   string `help:"How processes that were started together, as by mpirun, srun or torchrun, train one model: auto; mpi; nccl, between GPUs; none, each process by itself. The bits are the same as with one process." enum:"auto,mpi,nccl,none" default:"auto"`
}

// Names maps the names of parameters in a file of weights.
type Names struct {
	Map []string `help:"How the file names parameters: OURS=THEIRS, OURS=transpose(THEIRS), OURS= for new weights, with * for any text; @FILE: one rule a line. Names without a rule must be equal. info --parameters lists ours." sep:"none" placeholder:"RULE"`
}

// Beginning chooses the initial weights of a training.
type Beginning struct {
	Names
	Init string `help:"Safetensors file with the weights that training begins with, instead of random ones." placeholder:"FILE"`
}

// Kept chooses among the weights that a run saves, or a file's.
type Kept struct {
	Names
	Weights string `help:"Use the weights of a safetensors file, instead of a run's. The result of a test is then not saved." placeholder:"FILE"`
	Best    bool   `help:"Use the best checkpoint, which train.keep = best(…) keeps, instead of the last."`
	Average bool   `help:"Use the averaged weights, which train.average = ema(…) keeps, instead of the trained ones."`
}

// Training says how a model is trained.
type Training struct {
	Out      string        `help:"Run directory, instead of runs/NAME/<time>-<hash>." placeholder:"DIR"`
	Seed     *uint64       `help:"Seed of all random numbers, instead of the spec's." placeholder:"N"`
	InitSeed Seeds         `help:"Seed of only the initial weights, instead of the spec's; A..B: a model for each seed, trained at once if the spec has train.lanes." placeholder:"N"`
	Steps    int           `help:"Steps to train for, instead of the spec's budget." positive:"500" xor:"budget" placeholder:"N"`
	Examples int64         `help:"Examples to train on." positive:"100000" xor:"budget" placeholder:"N"`
	FLOP     float64       `help:"Floating-point operations to train for: 8e18." positive:"8e18" name:"flop" xor:"budget" placeholder:"N"`
	Time     time.Duration `help:"Time to train for: 90s, 5m, 2h." positive:"5m" xor:"budget" placeholder:"D"`
	Resume   Resumption    `help:"Continue the run in --out, or the newest run of this spec; --resume=auto: if there is one, else begin."`
	Save     time.Duration `help:"Time between checkpoints. Default: 1m." default:"1m" placeholder:"D"`
	Pause    float64       `help:"Stop, saved and without a test, once this share of the budget is used, above 0 and below 1; --resume continues." positive:"0.25" placeholder:"SHARE"`
	Until    string        `help:"In a spec with stages: stop after this stage." placeholder:"STAGE"`
	GoOn     bool          `help:"In a spec with stages: continue even if a stage misses the exact match that ends it."`
	Picture  bool          `help:"Draw the result in block characters, as on a terminal."`

	label.Label
	ShardOptimizer bool `help:"With several ranks: each updates its part of the parameters, and parameters are exchanged, too. The bits stay the same."`
}

// Testing says how a model is tested.
type Testing struct {
	Dir      string       `arg:"" optional:"" name:"RUN" help:"Run directory."`
	Grid     *config.Grid `help:"Lengths of both operands to test, in every pair, instead of the spec's tests." placeholder:"1..100,1..100"`
	Diagonal *config.Span `help:"Lengths to test with both operands equally long." placeholder:"101..160"`
	Digits   []int        `help:"The same lengths, listed." placeholder:"6,10,20"`
	Operands []int        `help:"For sums: how many numbers to add, for each of these lengths, instead of the spec's." placeholder:"2,5,10"`
	Tests    string       `help:"File with the problems to test, as the spec's file has them, instead of the spec's tests. The result goes to a folder below eval." placeholder:"FILE"`
	Samples  int          `help:"Problems per length or pair of lengths. If this, the metric, the mode or --times differs from the spec, the result goes to a folder below eval." positive:"1000" placeholder:"N"`
	Times    int          `help:"Recurrences of the loop, instead of training's." positive:"8" placeholder:"N"`
	Metric   string       `help:"exact_match: the whole answer is right; first_token: its first token is." enum:"exact_match,first_token," default:""`
	Mode     string       `help:"verify: one pass per problem; greedy: token by token; settle: greedy, with recurrences of the loop until the answer stays the same, at most --times." enum:"verify,greedy,settle," default:""`
	Picture  bool         `help:"Draw exact match by length in block characters, as on a terminal."`
}

// Solving says how problems are answered.
type Solving struct {
	Dir      string   `arg:"" optional:"" name:"RUN" help:"Run directory."`
	Problems []string `arg:"" optional:"" name:"PROBLEM" help:"Problems to solve; by default one per line of standard input."`
	Times    int      `help:"Recurrences of the loop, instead of training's." positive:"8" placeholder:"N"`
	config.Sampling
	Thinking bool `help:"Show the answer after each recurrence of the loop. mlc plot draws it from the output with --json."`
}

// Timing says how steps are timed.
type Timing struct {
	Steps   int    `help:"Steps to time; 0 for some seconds' worth." default:"0" placeholder:"N"`
	Batch   int    `help:"Examples per step, instead of the spec's." positive:"64" placeholder:"N"`
	Chunk   int    `help:"Examples per chunk, whose gradients one worker sums, instead of the spec's." positive:"16" placeholder:"N"`
	Padded  bool   `help:"Pad all sequences to the longest, like train.lengths = padded."`
	Kernels bool   `help:"Time only the kernels, no whole steps."`
	Serve   bool   `help:"For each number on standard input, one per line, run that many steps and print their seconds."`
	Trace   string `help:"Write a time line of the launches to FILE, for ui.perfetto.dev or chrome://tracing." placeholder:"FILE"`
}

// Profiled lets any verb write a profile.
type Profiled struct {
	Profile string `help:"Write a CPU profile of the run, for go tool pprof." placeholder:"FILE"`
}
