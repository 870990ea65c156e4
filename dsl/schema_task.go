package dsl

func taskKinds() []Option {
	return []Option{
		{Name: "addition", Doc: "a + b"},
		{Name: "successor", Doc: "n + 1"},
		{Name: "subtraction", Doc: "a - b"},
		{Name: "multiplication", Doc: "a * b"},
		{Name: "or", Doc: "bitwise or of two vectors, with a single one in the shorter", Args: bits()},
		{Name: "sort", Doc: "an array in order"},
		{Name: "parity", Doc: "whether the number of ones is odd", Args: bits()},
		{Name: "nx1", Doc: "a number times a digit"},
		{Name: "mixed", Doc: "several tasks in turn"},
		{Name: "file", Doc: "what a file says, which has a problem a line", Args: []Row{{Path: "task.holdout", Default: "10%"}}},
	}
}

// made are the tasks whose problems are made, not read: of numbers, bits and arrays.
const made = "addition successor subtraction multiplication or sort parity nx1 mixed"

// bits is the default of tasks whose digits are bits.
func bits() []Row { return []Row{{Path: "task.base", Default: "2"}} }

func taskRows() []Row {
	const (
		numbers = "successor addition subtraction multiplication parity nx1 mixed"
		binary  = "addition subtraction multiplication nx1 mixed"
	)
	return []Row{
		{Path: "task.below", Type: Int, Default: "none", Words: "none", Kinds: numbers, Min: 2, Max: 1 << 40,
			Doc: "operands are the numbers below this, in an order drawn once"},
		{Path: "task.sampling", Type: Choice, Default: "permutation", Kinds: "successor addition nx1 parity", Doc: "with below: where operands come from", Choices: []Option{
			{Name: "permutation", Doc: "all numbers below it, each once an epoch"},
			{Name: "released", Doc: "the lists of the released code of Duan & Shi 2023, for below = 1Mi: of two operands more short numbers than in a permutation and none above 10^6, which may repeat; no digit 0 to multiply with; of parity as many strings of each length from 1 to 18 bits"},
		}},
		{Path: "task.epochs", Type: Choice, Default: "reordered", Kinds: numbers, Doc: "with below: when training has seen all of them", Choices: []Option{
			{Name: "reordered", Doc: "they come in another order, and operands in other pairs"},
			{Name: "same", Doc: "the same problems come again in the same order, as in the released code of Duan & Shi 2023"},
		}},
		{Path: "task.digits", Type: IntRange, Default: "1..20", Words: "none", Unless: "task.below", Kinds: made, Min: 1, Max: 1000,
			Doc: "operands have this many significant digits, each length equally likely; none: below says what they are"},
		{Path: "task.length", Type: IntRange, Default: "1..20", Kinds: "sort", Min: 1, Max: 1000, Doc: "entries of the array"},
		{Path: "task.base", Type: Int, Default: "10", Kinds: made, Min: 2, Max: 36, Doc: "numbers are written in this base"},
		{Path: "task.order", Type: Choice, Default: "reversed_answer", Kinds: made, Doc: "which digit of a number comes first", Choices: []Option{
			{Name: "reversed", Doc: "the least significant"},
			{Name: "reversed_answer", Doc: "the least significant of the answer, the most significant of operands"},
			{Name: "plain", Doc: "the most significant"},
		}},
		{Path: "task.pad", Type: Choice, Default: "none", Kinds: made, Doc: "fixed width of operands and answer", Choices: padOptions()},
		{Path: "task.interleave", Type: Bool, Default: "false", Kinds: binary,
			Doc: "digits of equal place stand side by side, behind the operator"},
		{Path: "task.hints", Type: Choice, Default: "none", Kinds: binary + " or", Doc: "index hints before digits", Choices: []Option{
			{Name: "none"},
			{Name: "cyclic", Doc: "letters in a row from a random one on, the first behind the last"},
			{Name: "fixed", Doc: "letters in a row that end with the last"},
		}},
		{Path: "task.random_pad", Type: Fraction, Default: "0%", Max: 1, Doc: "chance of a filler before each token, in training"},
		{Path: "task.examples", Type: Int, Default: "none", Words: "none", Kinds: made, Min: 1, Max: 1 << 50,
			Doc: "size of the set that training walks again and again; none: every problem is new"},
		{Path: "task.holdout", Type: Fraction, Default: "1%", Max: 0.9, Doc: "share of problems that is kept for validation, without which no exact match is reported while training; 10% of the lines of a file, and at least one of them"},
		{Path: "task.split", Type: Int, Default: "none", Words: "none", Max: 1e15,
			Doc: "seed that what is held out is drawn with, and a set of examples; none: train.seed, so that another one holds out other problems"},
		{Path: "task.loss_on", Type: Choice, Default: "answer", Doc: "which tokens count", Choices: []Option{
			{Name: "answer", Doc: "those of the answer"},
			{Name: "all", Doc: "those of the problem too"},
		}},
		{Path: "task.scratchpad", Type: Bool, Default: "true", Kinds: "parity", Doc: "the answer spells out the running parity"},
		{Path: "task.of", Type: Names, Kinds: "mixed", Choices: mixable(), Doc: "the tasks that are mixed, each equally often"},
		{Path: "task.path", Type: FilePath, Kinds: "file", Doc: "the file, UTF-8, a problem a line: prompt, separator, answer"},
		{Path: "task.test", Type: FilePath, Kinds: "file", Doc: "a file of the same form whose problems are tested; without one the held-out problems are"},
		{Path: "task.separator", Type: Text, Kinds: "file", Default: `"="`, Doc: "what stands between prompt and answer: the first in a line"},
		{Path: "task.tokens", Type: Choice, Default: "characters", Kinds: "file", Doc: "what a token is; lengths count tokens", Choices: []Option{
			{Name: "characters", Doc: "each character, those of the separator too"},
			{Name: "words", Doc: "what stands between spaces; the separator is one token"},
			{Name: "numbers", Doc: "each whole number, as it is written without zeros in front; other marks are words", Args: []Row{
				{Path: "below", Type: Int, Min: 2, Max: 1000, Doc: "what the numbers lie below: all of them are tokens"}}},
		}},
	}
}

func padOptions() []Option {
	return []Option{
		{Name: "none", Doc: "each number has its own width"},
		{Name: "zero", Doc: "zeros in front, to the first of to, to + step, … that everything fits in, in tests with the longest answer that operands of their length can have", Args: []Row{
			{Path: "to", Type: Int, Min: 1, Max: 10000, Doc: "the least width"},
			{Path: "step", Type: Int, Default: "1", Min: 1, Max: 10000, Doc: "what is added to it until all fits"},
			{Path: "answer", Type: Int, Default: "none", Words: "none", Min: 1, Max: 10000, Doc: "places of the answer where the operands have to, by default as many; where it ends is then learned by its place, so only tests with as many can be right"},
		}},
	}
}

// mixable are the tasks that can be parts of a mixed one.
func mixable() []Option {
	var out []Option
	for _, k := range taskKinds() {
		if k.Name != "mixed" && k.Name != "file" && k.Name != "sort" {
			out = append(out, Option{Name: k.Name, Doc: k.Doc})
		}
	}
	return out
}
