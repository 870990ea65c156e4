package main

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"github.com/arithlang/mlc/compiler/check"
	"github.com/arithlang/mlc/dsl"
)

const intro = `# The spec language

A spec describes in a page a transformer and its training. It is data: it has no conditionals, loops, user functions or
environment. Files end in ` + "`.arith`" + ` and begin with ` + "`arith 2`" + `. Comments begin with ` + "`//`" + `. ` + "`mlc fmt`" + ` gives a file its one
style, and turns a file of version 1 of the language into version 2. Everything has a default:
` + "`mlc explain --resolved FILE`" + ` prints a spec with every default written out.

An attribute stands in its block or is given by its full path: ` + "`model { decoder { layers = 2 } }`" + ` and
` + "`model.decoder.layers = 2`" + ` are the same. A path can also change one argument of a call:
` + "`train.optimizer.lr = 3e-4`" + `. A file can include another and change it in the body: ` + "`include \"base.arith\" { … }`" + `.
Later settings win: first includes, then their bodies, then the file itself, then ` + "`--set path=value`" + ` of the command line.
An attribute that is set twice in one body is an error.

Errors have codes, such as E0202; [codes.md](codes.md) explains them all.

`

// guide teaches the language by examples. The reference follows it.
//
//go:embed guide.md
var guide string

// specPage documents the language.
func specPage() string {
	var b strings.Builder
	b.WriteString(header + intro + guide + "## Grammar\n\n")
	b.WriteString("```\n" + dsl.Grammar() + "\n```\n\n")
	units(&b)
	schema := dsl.NewSchema()
	b.WriteString("\n## Tasks\n\nThe label of the block `task` is the kind of problems.\n\n| task | answer |\n|---|---|\n")
	for _, k := range schema.Kinds {
		fmt.Fprintf(&b, "| `%s` | %s |\n", k.Name, k.Doc)
	}
	blockSections(&b, schema)
	b.WriteString(trainings)
	expressions(&b)
	b.WriteString(attentionAlone)
	return b.String()
}

const definitions = `
## Masks and biases

A mask is a condition: whether a query sees a key. A bias is a number that is added to their score. Both depend on head,
query and key, and must work at any length. A block ` + "`bias NAME`" + ` or ` + "`mask NAME`" + ` defines a new one. Its attribute ` + "`value`" + `
is the result. An attribute ` + "`learned(…)`" + ` is a tensor that is trained with the rest. Any other attribute is a definition
for use in the block; an unused one is an error. A call such as ` + "`NAME(left = 2)`" + ` or ` + "`NAME(2)`" + ` replaces definitions, by
name or in their order. Biases add: ` + "`bias = fire + 0.5 * alibi`" + `.

    bias kerple {
      r1    = learned([H], init = uniform(0, 2), min = 0)
      r2    = learned([H], init = uniform(0, 1), min = 0)
      value = -r1[h] * log(1 + r2[h] * abs(i - j))
    }

Sums, differences and products of ` + "`h`" + `, ` + "`i`" + `, ` + "`j`" + `, lengths and whole numbers are whole and exact. If one could leave 32
bits at some length, it is computed as a real number of 32 bits, like quotients and fractions.

The variables ` + "`di`" + `, ` + "`dj`" + `, ` + "`ni`" + ` and ` + "`nj`" + ` depend on the problem: they find a digit
at any place of a text without padding. In ` + "`12+345=`" + ` the tokens have the places 1 2 0 1 2 3 0 and the numbers 0 0 1 1 1 1 2.
A site that reads them has no learned bias.

    mask column { // the digits to be added next, and those before them
      value = h == 0 && dj == di + 1 || h == 1 && dj == di && j != i
    }

Layers differ where a mask or bias reads ` + "`layer`" + `. Here every second layer sees all earlier tokens, and the others
the last 32:

    model.decoder_only.self.mask = mod(layer, 2) == 0 || window(left = 31)
`

const trainings = `
## Several trainings

A sweep trains once for each combination of its axes; the last axis varies fastest. An axis is the path of an attribute
with a list or range of values. It may also be a new name with cases that change several attributes at once. Values may
be arithmetic on attributes and earlier axes, as in ` + "`model.decoder_only.times = 16 / model.decoder_only.layers`" + `.

    sweep {
      arch deep { model.decoder.layers = 4 }
      arch wide {
        model.width = 128
        model.heads = 8
      }
      train.seed = 1..3
    }

A case may include a whole spec, so that the trainings have different tasks or stages. Settings outside the sweep then
hold for all trainings:

    sweep {
      row plain { include "plain.arith" }
      row window { include "window.arith" }
    }

    eval.samples = 10k

If all combinations are too many, ` + "`search`" + ` draws some: a value for each axis, from a list or an interval. The same seed
draws the same trainings; a larger number of trainings begins with the same ones.

    sweep {
      search             = random(trainings = 20)
      train.optimizer.lr = loguniform(1e-4, 1e-2)
      model.dropout      = uniform(0%, 30%)
      model.width        = [32, 64, 128]
    }

` + "`search = halving(trainings = 16, factor = 2, rungs = 3)`" + ` trains 16 for a quarter of their budget, the best 8 for half of it,
and the best 4 for all of it. The schedule follows the whole budget, and a training that uses all of it has the same
result as alone. Halving wants a budget in steps, examples or time.

Each training has its own program, trainer and run directory, named like ` + "`FILE-deep-seed-1`" + `. ` + "`mlc explain`" + ` compares the
trainings in a table. ` + "`mlc train`" + ` runs them one after another, with ` + "`--jobs N`" + ` side by side, or leaves them to a cluster
([cluster.md](cluster.md)). It ends with a table of results. ` + "`--point`" + ` chooses trainings for ` + "`build`" + `, ` + "`train`" + `, ` + "`explain`" + `
and ` + "`diff`" + `: by values, ` + "`--point arch=wide,seed=2`" + `, by number from 1, or by name,
` + "`--point wide-seed-2`" + `. ` + "`--set sweep.train.seed=2`" + ` gives an axis other values. Another seed also holds out other problems;
with ` + "`task.split = 0`" + ` all seeds hold out the same. ` + "`train.init_seed`" + ` and the flag ` + "`--init-seed`" + ` change only
the initial weights: ` + "`train.seed`" + ` still decides problems, their order, dropout and all other draws.

Models that differ only in these weights can be trained at once, which is faster up to a width of about 8. With
` + "`train.lanes = 64`" + `, ` + "`mlc train FILE --init-seed 0..255`" + ` trains 64 models in the lanes of vectors, on each core. Each model
has a run directory, ` + "`init-seed-N`" + ` below ` + "`--out`" + `, with the same bytes as if it was trained alone; all verbs take it. A
model that fails leaves the others alone. The command ends with a line for each, and names the best.

Stages run in order. Each changes attributes for itself. It starts with fresh weights, or with the weights of the stage
that ` + "`from`" + ` names. Weights that the other stage lacks, such as weights of further layers, are fresh, and the trainer says
so. A block ` + "`calibrate NAME`" + ` between two stages trains nothing. It reads the attention of the stage that ` + "`from`" + ` names.
Later stages have its results as the biases ` + "`NAME.self`" + ` and ` + "`NAME.cross`" + `.

    stage interpolate {}

    calibrate lines {
      from    = interpolate
      samples = 1000
    }

    stage extrapolate {
      model.decoder.self.bias  = lines.self
      model.decoder.cross.bias = lines.cross
    }

A stage with ` + "`rounds`" + ` trains on the model's own answers to problems that are longer from round to round, from 10 digits to
50 here:

    stage base {}

    stage longer {
      from         = base
      rounds       = longer(until = 50, step = 2)
      train.budget = 4000steps
    }

Each of the 20 rounds has an equal share of the steps. Before its first step, the weights of that moment answer new
problems of two digits more. An answer is kept if it is well-formed, as long as most, and has enough votes. The number of right
answers is only reported. Then training continues with the kept answers of all rounds and with true problems of
` + "`task.operands`" + `. The run directory has ` + "`answers-NNN.json`" + ` with the problems of each round, and ` + "`rounds.csv`" + `
with the numbers of asked, kept and right answers.

All stages share one program and one run directory. ` + "`mlc train`" + ` runs them in order, ` + "`--resume`" + ` continues where it
stopped, and ` + "`mlc explain FILE --only extrapolate`" + ` shows one of them. The last stage trains; its model is tested. A
calibrated bias has a number for each line of a head's attention and direction; it is not a matrix, and it is not
trained.
`

const tables = `
### Tables and projections

A block ` + "`table NAME`" + ` gives the rows of an embedding as an expression with learned parameters, over the row ` + "`n`" + ` and the
column ` + "`c`" + `. Uses of one table share its parameters. Here three numbers are the embedding of all tokens, and the output
matrix as well:

    table circle {
      radius = learned([], init = 1)
      start  = learned([], init = 0)
      turn   = learned([], init = 0.6)
      angle  = start + turn * n
      value  = radius * where(c == 0, cos(angle), sin(angle))
    }

    model.embed.token = learned(value = circle)
    model.output      = linear(tied = true)

The projections q, k, v and o of an attention have a matrix each. They may have less. ` + "`q = low(rank = 2)`" + ` is a product of
two narrow matrices. ` + "`k = q`" + ` and ` + "`o = transposed(v)`" + ` share the matrix of another projection of the layer (in a decoder
also ` + "`cross.v`" + ` or ` + "`self.v`" + `). ` + "`none`" + ` is no projection: queries and keys are then 0, values and outputs stay unchanged.
With ` + "`key_heads = 2`" + ` an attention has two heads of keys and values, each for as many heads of queries in a row. Caches hold
them once.

The matrix out of the hidden units of a feed-forward layer may be the transposed matrix into them,
` + "`ffn = relu(out = transposed(in))`" + `. The gate may share the matrix of its value, ` + "`ffn = swiglu(gate = value)`" + `.

### Shared layers

` + "`share`" + ` chooses the common parameters of the layers of a stack: ` + "`all`" + `, ` + "`attention`" + ` or ` + "`ffn`" + `. With ` + "`attention(group = 2)`" + ` two layers in
a row have the same attention. Shared parameters are there once, in the optimizer and in checkpoints, too, and their
gradients are added in a fixed order. ` + "`layers = 6`" + ` with ` + "`share = all`" + ` is, bit for bit, ` + "`layers = 1`" + ` with ` + "`times = 6`" + `;
` + "`times`" + ` cannot express groups and parts. ` + "`layers = 4  times = 2`" + ` goes through layers 0 1 2 3 0 1 2 3, and
` + "`layers = 8  share = all(group = 2)`" + ` through 0 0 1 1 2 2 3 3.
`

const attentionAlone = `
## Attention alone

A spec with a block ` + "`attention`" + ` is for programs that have a model of their own. It has no other blocks than masks,
biases and ` + "`vet`" + `:

    attention {
      heads = 8
      width = 64
      mask  = causal()
      bias  = slopes + t5(max = 256)
    }

    bias slopes {
      w     = learned([H], min = 0)
      value = -w[h] * abs(i - j)
    }

Masks and biases are written as in a model, over ` + "`h i j H I J`" + `: there are ` + "`I`" + ` queries and ` + "`J`" + ` keys, and both numbers are
free. A mask that ends at the last key is ` + "`j <= i + J - I`" + `. The other variables are an error, because they need a model
or a task. In the biases of the prelude, positions are token indices. With ` + "`bias = given`" + ` the caller gives a tensor
[H, T, S] or [B, H, T, S] at each call; ` + "`given`" + ` is the whole value, not a term of a sum. ` + "`mlc vet`" + `, ` + "`mlc fmt`" + ` and
` + "`mlc explain`" + ` read such a spec. ` + "`specs/attention`" + ` has some.
`

const preludeText = `Every spec has these masks and biases without an include. A block with the name of one replaces it entirely. A path, in a
file or on the command line, changes a part of it and keeps the rest: ` + "`mask.window.left = 2`" + `, ` + "`--set bias.t5.max=64`" + `.
`

// expressions writes the words of expressions and the prelude.
func expressions(b *strings.Builder) {
	b.WriteString(definitions)
	for _, kind := range []struct{ name, title string }{{"variable", "Variables"}, {"table variable", "Variables of tables"}, {"function", "Functions"}} {
		fmt.Fprintf(b, "\n### %s\n\n| %s | meaning |\n|---|---|\n", kind.title, kind.name)
		for _, w := range check.Words() {
			if w.Kind != kind.name {
				continue
			}
			text := w.Name
			if w.Kind == "function" {
				text += "(" + w.Args + ")"
			}
			fmt.Fprintf(b, "| `%s` | %s |\n", text, cell(w.Doc))
		}
	}
	b.WriteString(tables)
	b.WriteString("\n### Prelude\n\n" + preludeText + "\n| name | arguments | meaning |\n|---|---|---|\n")
	for _, d := range prelude() {
		var args []string
		for _, p := range d.Params {
			args = append(args, p.Name+" = "+p.Default)
		}
		fmt.Fprintf(b, "| %s `%s` | %s | %s |\n", d.Kind, d.Name, quoted(strings.Join(args, ", ")), cell(d.Doc))
	}
	_, text := check.Prelude()
	fmt.Fprintf(b, "\nThey are written in the language itself:\n\n```\n%s\n```\n", strings.TrimSpace(string(text)))
}

// prelude lists the masks and biases that every spec knows.
func prelude() []check.Definition {
	doc := check.Inspect(check.Options{Path: "none", Read: func(string) ([]byte, error) { return []byte("arith 2\n"), nil }})
	return slices.DeleteFunc(doc.Definitions, func(d check.Definition) bool { return !d.Prelude })
}

// units writes the table of units.
func units(b *strings.Builder) {
	b.WriteString("## Units\n\nA unit is part of its number.\n\n| value | units |\n|---|---|\n")
	for _, t := range []dsl.Type{dsl.Int, dsl.Fraction, dsl.Budget, dsl.Steps} {
		_, must := t.Units()
		if row := (dsl.Row{Type: t}); must {
			fmt.Fprintf(b, "| %s | one of %s |\n", row.Takes(), code(t.UnitNames()))
		} else {
			fmt.Fprintf(b, "| %s | none or one of %s |\n", row.Takes(), code(t.UnitNames()))
		}
	}
}

// blockSections writes a section for each block; blocks with the same content
// share one.
func blockSections(b *strings.Builder, s *dsl.Schema) {
	b.WriteString("\n## Blocks\n")
	type section struct {
		blocks []dsl.BlockRow
		table  string
		lists  []choiceList
	}
	var all []section
	for _, row := range s.Blocks {
		table, lists := attributes(s, row.Path)
		n := slices.IndexFunc(all, func(s section) bool { return table != "" && s.table == table && slices.Equal(s.lists, lists) })
		if n < 0 {
			n, all = len(all), append(all, section{table: table, lists: lists})
		}
		all[n].blocks = append(all[n].blocks, row)
	}
	written := map[string]string{} // by choices, the attribute that they were written for
	for _, sec := range all {
		var heads, docs []string
		for _, row := range sec.blocks {
			heads = append(heads, blockHead(row))
			docs = append(docs, row.Doc)
		}
		fmt.Fprintf(b, "\n### %s\n\n%s.\n%s", strings.Join(heads, ", "), sentence(strings.Join(docs, "; ")), sec.table)
		for _, l := range sec.lists {
			if like := written[l.choices]; like != "" {
				fmt.Fprintf(b, "\nChoices of `%s` are those of `%s`.\n", l.attribute, like)
				continue
			}
			written[l.choices] = sec.blocks[0].Path + "." + l.attribute
			fmt.Fprintf(b, "\nChoices of `%s`:\n\n%s", l.attribute, l.choices)
		}
	}
}

// A choiceList is the explained choices of an attribute, as written.
type choiceList struct{ attribute, choices string }

func blockHead(row dsl.BlockRow) string {
	label := map[dsl.Label]string{dsl.KindLabel: " KIND", dsl.NameLabel: " NAME"}
	return "`" + row.Path + label[row.Label] + "`"
}

// attributes writes the table of a block's attributes, and the choices of each.
func attributes(s *dsl.Schema, block string) (string, []choiceList) {
	var table strings.Builder
	var lists []choiceList
	for _, name := range s.Names(block) {
		r := s.Row(block + "." + name)
		if r == nil {
			continue
		}
		doc := r.Doc
		if r.Kinds != "" {
			doc += "; " + tasksOf(s, r.Kinds)
		}
		fmt.Fprintf(&table, "| `%s` | %s | %s | %s |\n", name, cell(r.Takes()), quoted(r.DefaultWords()), cell(doc))
		if slices.ContainsFunc(r.Choices, explained) {
			lists = append(lists, choiceList{name, choices(s, r, "")})
		}
	}
	if table.Len() == 0 {
		return "", nil
	}
	return "\n| attribute | value | default | |\n|---|---|---|---|\n" + table.String(), lists
}

func explained(o dsl.Option) bool { return o.Doc != "" || len(o.Args) > 0 }

// choices lists the options of a Choice, with their arguments below them.
func choices(s *dsl.Schema, r *dsl.Row, indent string) string {
	tasks := func(kinds string) string {
		if kinds == "" {
			return ""
		}
		return "; " + tasksOf(s, kinds)
	}
	var b strings.Builder
	written := map[string]string{} // by arguments, the option that they were written for
	for _, o := range r.Choices {
		fmt.Fprintf(&b, "%s- `%s`%s\n", indent, o.Name, after(": ", o.Doc+tasks(o.Kinds)))
		var args strings.Builder
		for _, a := range o.Args {
			fmt.Fprintf(&args, "%s  - `%s`%s: %s (%s)\n", indent, a.Path, after(", ", a.Doc+tasks(a.Kinds)), a.Takes(), a.DefaultWords())
			if slices.ContainsFunc(a.Choices, explained) {
				args.WriteString(choices(s, &a, indent+"    "))
			}
		}
		if like := written[args.String()]; like != "" && len(o.Args) > 1 {
			fmt.Fprintf(&b, "%s  - the arguments of `%s`\n", indent, like)
			continue
		}
		written[args.String()] = o.Name
		b.WriteString(args.String())
	}
	return b.String()
}

func after(sep, text string) string {
	if text = strings.TrimSpace(text); text == "" {
		return ""
	}
	return sep + text
}

func code(names []string) string { return "`" + strings.Join(names, "` `") + "`" }

// quoted marks a default as code, unless it is words.
func quoted(text string) string {
	if text == "" || strings.HasPrefix(text, "that of ") || text == "must be given" {
		return text
	}
	value, rest, _ := strings.Cut(text, " unless ")
	return "`" + value + "`" + after(" unless ", rest)
}

// cell makes a text safe in a table.
func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }

func sentence(text string) string { return strings.ToUpper(text[:1]) + text[1:] }

// tasksOf says which tasks are among kinds.
func tasksOf(s *dsl.Schema, kinds string) string {
	have := strings.Fields(kinds)
	var others []string
	for _, k := range s.Kinds {
		if !slices.Contains(have, k.Name) {
			others = append(others, k.Name)
		}
	}
	if len(others) == 1 {
		return "all tasks but " + code(others)
	}
	return "tasks " + code(have)
}
