package dsl

func taskKinds() []Option {
	return []Option{
		{Name: "addition", Doc: "a + b"},
		{Name: "successor", Doc: "n + 1"},
		{Name: "subtraction", Doc: "a - b"},
		{Name: "multiplication", Doc: "a * b", Args: []Row{{Path: "task.scratchpad", Default: "false", Later: true}}},
		{Name: "or", Doc: "bitwise or of two vectors; the shorter has a single one", Args: bits()},
		{Name: "sort", Doc: "the sorted array"},
		{Name: "parity", Doc: "whether the number of ones is odd", Args: bits()},
		{Name: "copy", Doc: "the number again; with order = reversed_answer backwards", Args: []Row{{Path: "task.order", Default: "plain"}}},
		{Name: "nx1", Doc: "a number times a digit"},
		{Name: "sum", Doc: "the sum of several numbers", Args: []Row{{Path: "task.scratchpad", Default: "false"}, {Path: "task.pad", Default: "zero(to = 8, step = 3)"}}},
		{Name: "mixed", Doc: "several tasks, equally often"},
		{Name: "file", Doc: "as in a file, one problem per line", Args: []Row{{Path: "task.holdout", Default: "10%"}}},
		{Name: "text", Doc: "the next character at each place of a text file", Args: []Row{{Path: "task.length", Default: "64"}, {Path: "task.holdout", Default: "10%"}}},
	}
}

// answered are the tasks whose problems have answers.
const answered = made + " file"

// made are the tasks whose problems are generated from numbers, bits and arrays, not read
// from a file.
const made = "addition successor subtraction multiplication or sort parity copy nx1 sum mixed"

// bits sets the default base of tasks whose digits are bits.
func bits() []Row { return []Row{{Path: "task.base", Default: "2"}} }

func taskRows() []Row {
	const (
		numbers = "successor addition subtraction multiplication parity copy nx1 mixed"
		binary  = "addition subtraction multiplication nx1 mixed"
	)
	return []Row{
		{Path: "task.operands", Type: Choice, Default: "digits(1..20)", Kinds: made, Doc: "source of the operands", Choices: []Option{
			{Name: "digits", Doc: "numbers by their length", Args: []Row{
				{Path: "range", Type: IntRange, Default: "1..20", Min: 1, Max: 1000, Doc: "significant digits, each length equally likely"}}},
			{Name: "below", Doc: "all numbers below a bound, in an order drawn once", Kinds: numbers, Args: []Row{
				{Path: "bound", Type: Int, Min: 2, Max: 1 << 40, Doc: "first number that does not occur"},
				{Path: "sampling", Type: Choice, Default: "permutation", Kinds: "successor addition nx1 parity", Doc: "lists that the numbers come from", Choices: []Option{
					{Name: "permutation", Doc: "each number below the bound once per epoch"},
					{Name: "released", Doc: "lists of the released code of Duan & Shi 2023, for below(1Mi): for addition and nx1 more short numbers than in a permutation, none above 10^6, with repetitions, and no factor 0; for parity equally many strings of each length from 1 to 18 bits"},
				}},
				{Path: "epochs", Type: Choice, Default: "reordered", Doc: "what follows the first epoch", Choices: []Option{
					{Name: "reordered", Doc: "other orders, and other pairs of operands"},
					{Name: "same", Doc: "the same problems in the same order, as in the released code of Duan & Shi 2023"},
				}}}},
		}},
		{Path: "task.terms", Type: IntRange, Default: "2..5", Kinds: "sum", Min: 2, Max: maxOperands, Doc: "number of operands, each equally likely; all problems of a batch have the same number"},
		{Path: "task.length", Type: IntRange, Default: "1..20", Kinds: "sort text", Min: 1, Max: 1 << 10, Doc: "entries of the array; of a text, the tokens that a problem reads, one number"},
		{Path: "task.base", Type: Int, Default: "10", Kinds: made, Min: 2, Max: 36, Doc: "base of written numbers"},
		{Path: "task.vocabulary", Type: Choice, Default: "full", Kinds: "successor addition nx1 parity copy sum", Later: true, Doc: "tokens of the model", Choices: []Option{
			{Name: "full", Doc: "digits, operators and marks, and in an encoder-decoder the digits beyond 9 of larger bases: in base 10 17 tokens, or 19 in a decoder-only model"},
			{Name: "used", Doc: "only tokens that problems use: the digits of the base, the operator, and the marks, in this order; marks are ^ and $, or in a decoder-only model ^, = and $ as far as its texts have them"},
		}},
		{Path: "task.start", Type: Bool, Default: "false", Kinds: "successor addition subtraction multiplication parity copy nx1 mixed", Later: true,
			Doc: "a text of a decoder-only model begins with the mark ^, as the source of an encoder-decoder does"},
		{Path: "task.end", Type: Bool, Default: "true", Kinds: "successor addition subtraction multiplication parity copy nx1 mixed", Later: true,
			Doc: "answers end with a mark, which counts; false: their width tells where they end, and no mark is learned"},
		{Path: "task.order", Type: Choice, Default: "reversed_answer", Kinds: made, Doc: "digit that a number begins with", Choices: []Option{
			{Name: "reversed", Doc: "least significant"},
			{Name: "reversed_answer", Doc: "least significant in the answer, most significant in operands"},
			{Name: "plain", Doc: "most significant"},
		}},
		{Path: "task.pad", Type: Choice, Default: "none", Kinds: made, Doc: "fixed width of operands and answer", Choices: padOptions()},
		{Path: "task.interleave", Type: Bool, Default: "false", Kinds: binary,
			Doc: "digits of equal place alternate, after the operator"},
		{Path: "task.hints", Type: Choice, Default: "none", Kinds: binary + " or", Doc: "index hints before digits", Choices: []Option{
			{Name: "none"},
			{Name: "cyclic", Doc: "consecutive letters from a random one on; the first follows the last"},
			{Name: "fixed", Doc: "consecutive letters from a random one on, none after the last"},
		}},
		{Path: "task.curriculum", Type: Choice, Default: "none", Kinds: numbers + " sum", Later: true, Doc: "growth of training problems over the budget, which is in steps or examples; tests, reports and held-out problems cover the whole task", Choices: []Option{
			{Name: "none"},
			{Name: "digits", Args: []Row{
				{Path: "from", Type: Int, Default: "3", Min: 1, Max: 1000, Doc: "most digits of the operands at first"},
				{Path: "until", Type: Fraction, Default: "50%", Above: true, Max: 1, Doc: "share of the budget after which they have all digits; until then each smaller bound has an equal share"},
			}, Doc: "operands have up to from digits at first, then one more digit at a time, up to the largest of task.operands"},
		}},
		{Path: "task.carries", Type: Choice, Default: "none", Kinds: "addition mixed", Later: true, Doc: "training problems of addition with long carries; tests, reports and held-out problems stay as they are", Choices: []Option{
			{Name: "none"},
			{Name: "often", Args: []Row{
				{Path: "share", Type: Fraction, Default: "50%", Above: true, Max: 1, Doc: "share of the problems at first"},
				{Path: "until", Type: Fraction, Default: "100%", Above: true, Max: 1, Doc: "share of the budget, in steps or examples, over which share falls linearly to 0"},
			}, Doc: "digits of a place add up to base - 1 with probability 1/2, which passes a carry on, and to more with probability 1/4, which makes a carry; otherwise, or if no digits can, they are drawn freely"},
		}},
		{Path: "task.random_pad", Type: Fraction, Default: "0%", Kinds: answered, Max: 1, Doc: "probability of a filler before each token, in training"},
		{Path: "task.examples", Type: Int, Default: "none", Words: "none", Kinds: made, Min: 1, Max: 1 << 50,
			Doc: "size of the set that training repeats; none: every problem is new"},
		{Path: "task.holdout", Type: Fraction, Default: "1%", Max: 0.9, Doc: "share of problems held out for validation; with 0%, or if there are too few problems to hold any out, training reports no exact match; by default 10% of a file's lines, at least one; of a text, its end, by default 10% of its characters"},
		{Path: "task.split", Type: Int, Default: "none", Words: "none", Kinds: answered, Max: 1e15,
			Doc: "seed of the held-out problems and of a set of examples; none: train.seed, so another seed holds out other problems"},
		{Path: "task.loss_on", Type: Choice, Default: "answer", Kinds: answered, Doc: "tokens that count in the loss", Choices: []Option{
			{Name: "answer", Doc: "tokens of the answer"},
			{Name: "all", Doc: "tokens of problem and answer"},
		}},
		{Path: "task.scratchpad", Type: Bool, Default: "true", Kinds: "parity sum multiplication", Doc: "the answer spells out intermediate results. parity: the running parity; sum: the sums of the first two numbers, the first three, and so on, with + between them; multiplication: a times the lowest digit of b, the lowest two, and so on, with + between them, each as wide as a and b together"},
		{Path: "task.partial_products", Type: Bool, Default: "false", Kinds: "multiplication", Later: true, Doc: "each sum of the scratchpad but the first follows the product that it adds: a times one digit of b, with + between them"},
		{Path: "task.of", Type: Names, Kinds: "mixed", Choices: mixable(), Doc: "the tasks to mix, each equally often"},
		{Path: "task.path", Type: FilePath, Kinds: "file text", Doc: "problem file, UTF-8, one problem per line: prompt, separator, answer; or a text"},
		{Path: "task.test", Type: FilePath, Kinds: "file", Doc: "test file of the same form; without one, held-out problems are tested"},
		{Path: "task.separator", Type: Text, Kinds: "file", Default: `"="`, Doc: "text between prompt and answer; the first in a line counts"},
		{Path: "task.tokens", Type: Choice, Default: "characters", Kinds: "file text", Doc: "unit of a token; lengths count tokens", Choices: []Option{
			{Name: "characters", Doc: "each character, the separator's too; the only unit of a text, whose vocabulary is its characters in the order of Unicode"},
			{Name: "words", Doc: "text between spaces; the separator is one token"},
			{Name: "numbers", Doc: "each whole number, written without leading zeros; other marks are words", Args: []Row{
				{Path: "below", Type: Int, Min: 2, Max: 1000, Doc: "bound of the numbers; each number below it is a token"}}},
		}},
	}
}

// maxOperands is the largest number of operands in a sum, as in the runtime.
const maxOperands = 64

// maxWidth is the largest width of padded numbers. It has room for the results of the
// longest test operands.
const maxWidth = 2 * maxDigits

func padOptions() []Option {
	return []Option{
		{Name: "none", Doc: "in a text of a decoder-only model, each number has its own width, unless digits alternate; an encoder-decoder's operands and answer are as wide as the longest of them, in training as the longest of the batch"},
		{Name: "zero", Doc: "leading zeros, up to the first width of to, to + step, … that everything fits in; tests leave room for the longest answer that operands of their lengths can have", Args: []Row{
			{Path: "to", Type: Int, Min: 1, Max: maxWidth, Doc: "smallest width"},
			{Path: "step", Type: Int, Default: "1", Min: 1, Max: maxWidth, Doc: "increment until everything fits"},
			{Path: "answer", Type: Int, Default: "none", Words: "none", Min: 1, Max: maxWidth, Doc: "width of the answer if operands have width to, by default the same; its end is then learned by its place, so only tests of the same width can be right"},
		}},
	}
}

// mixable are the tasks that a mixed task can contain.
func mixable() []Option {
	var out []Option
	for _, k := range taskKinds() {
		if k.Name != "mixed" && k.Name != "file" && k.Name != "text" && k.Name != "sort" && k.Name != "sum" {
			out = append(out, Option{Name: k.Name, Doc: k.Doc})
		}
	}
	return out
}
