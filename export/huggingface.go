package export

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/arithlang/mlc/runtime/tokens"
)

// HuggingFace writes the model as a folder that transformers loads with trust_remote_code:
// configuration, parameters, code, tokenizer, and a model card. It returns an error if the
// model cannot be written as Python.
func (m *Model) HuggingFace() ([]File, error) {
	f := m.newPyFile(true)
	f.Class, f.Auto = "MlcForCausalLM", "AutoModelForCausalLM"
	if f.Encoder {
		f.Class, f.Auto = "MlcForSeq2SeqLM", "AutoModelForSeq2SeqLM"
	}
	f.Plain = strings.TrimRight(m.Text, "\n") + "\n"
	f.HF = true
	f.Usage = "Loaded by transformers: see README.md."
	code, err := f.text("head.py.tmpl", "model.py.tmpl", "task.py.tmpl", "answer.py.tmpl", "class_hf.py.tmpl")
	if err != nil {
		return nil, err
	}
	card, err := f.text("README.md.tmpl")
	if err != nil {
		return nil, err
	}
	parameters, err := m.safetensors(func(name string) string { return strings.ReplaceAll(name, ".", "/") })
	if err != nil {
		return nil, err
	}
	files := []File{{"README.md", card}, {"model.safetensors", parameters}, {"modeling_mlc.py", code}}
	for _, j := range []struct {
		path  string
		value any
	}{
		{"config.json", m.hfConfig(f)},
		{"generation_config.json", m.hfGeneration(f)},
		{"tokenizer.json", m.hfTokenizer(f)},
		{"tokenizer_config.json", m.hfTokenizerConfig(f)},
	} {
		text, err := json.MarshalIndent(j.value, "", "  ")
		if err != nil {
			return nil, fmt.Errorf("BUG: %s: %w", j.path, err)
		}
		files = append(files, File{j.path, append(text, '\n')})
	}
	return files, nil
}

type object = map[string]any

func (m *Model) hfConfig(f *pyFile) object {
	c := object{
		"architectures": []string{f.Class}, "model_type": "mlc", "dtype": "float32",
		"auto_map":   object{"AutoConfig": "modeling_mlc.MlcConfig", "AutoModel": "modeling_mlc." + f.Class, f.Auto: "modeling_mlc." + f.Class},
		"vocab_size": f.Vocab, "vocabulary": m.task.Vocabulary(), "hidden_size": m.Spec.Model.Width,
		"is_encoder_decoder": f.Encoder, "tie_word_embeddings": false, "use_cache": false,
		"name": m.Name, "command": m.Command, "seed": m.Seed, "steps": m.Steps,
	}
	if m.InitSeed != nil {
		c["init_seed"] = *m.InitSeed
	}
	if m.runs > 0 {
		c["times"] = m.runs
	}
	m.hfTokens(f, c)
	return c
}

// hfTokens sets the tokens that begin, end and pad texts.
func (m *Model) hfTokens(f *pyFile, c object) {
	c["eos_token_id"], c["pad_token_id"] = f.End, 0
	if m.Spec.Task.Used && !f.Encoder { // no token pads
		c["pad_token_id"] = nil
		if !m.hasEnd(f) {
			c["eos_token_id"] = nil
		}
	}
	if f.Encoder { // problems of a batch have one length, and tokens after an end are ignored
		c["pad_token_id"] = f.End
		c["decoder_start_token_id"], c["bos_token_id"] = f.start(m), f.start(m)
	}
}

// hasEnd reports whether the vocabulary has the token that ends answers.
func (m *Model) hasEnd(f *pyFile) bool { return int(f.End) < m.task.Vocab() }

// start returns the token that the decoder of an encoder-decoder reads first.
func (f *pyFile) start(m *Model) int {
	for id, symbol := range m.task.Vocabulary() {
		if symbol == "^" {
			return id
		}
	}
	panic("BUG: no token ^")
}

func (m *Model) hfGeneration(f *pyFile) object {
	c := object{"do_sample": false, "use_cache": false}
	m.hfTokens(f, c)
	return c
}

// special names the tokens that stand for no symbol.
func (m *Model) special(f *pyFile) map[int]string {
	switch {
	case f.Encoder:
		return map[int]string{int(f.End): "$", f.start(m): "^"}
	case m.Spec.Task.Used && m.hasEnd(f):
		return map[int]string{int(f.End): "$"}
	case m.Spec.Task.Used:
		return nil
	case f.Listed:
		return map[int]string{0: "<pad>", 1: "<eos>"}
	}
	return map[int]string{0: "<pad>", 1: "<unk>", 2: "<sos>", 3: "<eos>", 18: "<space>"}
}

// hfTokenizer returns a tokenizer of package tokenizers, in which each symbol of a text is
// a token.
func (m *Model) hfTokenizer(f *pyFile) object {
	vocabulary, special := object{}, m.special(f)
	added := []object{}
	for id, symbol := range m.task.Vocabulary() {
		if name, ok := special[id]; ok {
			symbol = name
			added = append(added, object{"id": id, "content": name, "single_word": false, "lstrip": false, "rstrip": false, "normalized": false, "special": true})
		}
		vocabulary[symbol] = id
	}
	return object{
		"version": "1.0", "truncation": nil, "padding": nil, "added_tokens": added, "normalizer": nil,
		"pre_tokenizer": m.preTokenizer(), "post_processor": nil, "decoder": m.decoder(),
		"model": object{"type": "WordLevel", "vocab": vocabulary, "unk_token": "<unk>"},
	}
}

func isolated(pattern string) object {
	return object{"type": "Split", "pattern": object{"Regex": pattern}, "behavior": "Isolated", "invert": false}
}

// preTokenizer splits a text as tokens.Rule does.
func (m *Model) preTokenizer() object {
	words := object{"type": "WhitespaceSplit"}
	switch r := m.Spec.Task.Tokens; {
	case r == tokens.Rule{}:
		return isolated(`[\s\S]`)
	case r.Numbers > 0:
		return object{"type": "Sequence", "pretokenizers": []object{words, isolated(`[0-9]+`)}}
	default:
		return words
	}
}

// decoder joins tokens. Words keep spaces between them.
func (m *Model) decoder() any {
	if m.Spec.Task.Tokens != (tokens.Rule{}) {
		return nil
	}
	return object{"type": "Fuse"}
}

func (m *Model) hfTokenizerConfig(f *pyFile) object {
	special := m.special(f)
	c := object{"tokenizer_class": "PreTrainedTokenizerFast", "clean_up_tokenization_spaces": false, "model_input_names": []string{"input_ids"}}
	for role, id := range map[string]int{"eos_token": int(f.End), "pad_token": 0} {
		if name, ok := special[id]; ok {
			c[role] = name
		}
	}
	if f.Encoder {
		c["bos_token"], c["pad_token"] = "^", "$"
	}
	return c
}
