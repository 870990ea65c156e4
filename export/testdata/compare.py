"""Runs exported models and compares their logits and answers with cases.json.

    python3 compare.py FOLDER

The folder has cases.json (python_test.go) and the exports. Prints a JSON list.
"""

import importlib.util
import json
import os
import sys

import numpy as np
import onnxruntime
import torch
import transformers

FOLDER = sys.argv[1]
torch.set_num_threads(1)  # the models are too small for several threads
transformers.logging.set_verbosity_error()


def module(path):
    spec = importlib.util.spec_from_file_location(os.path.basename(path)[:-3], path)
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def apart(case, logits_of):
    """The largest distance of logits, relative to the largest logit of a batch or to 1."""
    worst = 0.0
    for batch in case["batches"]:
        want = np.array(batch["logits"]).reshape(batch["shape"])
        got = np.asarray(logits_of(batch))
        if got.dtype != np.float32 or got.shape != want.shape:
            return f"logits are {got.dtype} {got.shape}, not {want.shape}", float("inf")
        worst = max(worst, float(np.abs(got - want).max() / max(1.0, np.abs(want).max())))
    return "", worst


def wrong(case, code, model):
    """The first mistake in texts or tokens."""
    for p in case["problems"]:
        if code.encode(p["text"]) != p["prompt"]:
            return f"{p['text']} is {code.encode(p['text'])}, not {p['prompt']}"
        if hasattr(code, "right") and code.right(p["text"]) != p["right"]:
            return f"the right answer to {p['text']} is {code.right(p['text'])}, not {p['right']}"
        if hasattr(code, "right") and code.room(p["text"]) != p["room"]:
            return f"an answer to {p['text']} has {code.room(p['text'])} tokens, not {p['room']}"
        if code.text(p["reply"], p["text"]) != p["reads"]:
            return f"{p['reply']} reads {code.text(p['reply'], p['text'])!r}, not {p['reads']!r}"
        if p["answer"]:
            said = code.answer(p["text"], model)
            if said != p["answer"] and not (not hasattr(code, "right") and said.startswith(p["answer"])):
                return f"the answer to {p['text']} is {said!r}, not {p['answer']!r}"
    return ""


def python(case, form):
    code = module(f"{FOLDER}/{form}_{case['name']}.py")
    model, about = code.build_model()

    def logits(batch):
        more = {"times": batch["times"]} if batch["times"] else {}
        with torch.no_grad():
            args = (batch["source"], batch["target"]) if case["encoder"] else (batch["target"],)
            return model.logits(*args, **more)

    text, far = apart(case, logits)
    count = sum(int(np.prod(w.shape)) for n, w in code.load().items() if not n.startswith("fixed."))
    if about["params"] != count:
        text = f"there are {count} parameters, not {about['params']}"
    return text or wrong(case, code, model), far


def huggingface(case):
    folder = f"{FOLDER}/hf_{case['name']}"
    auto = transformers.AutoModelForSeq2SeqLM if case["encoder"] else transformers.AutoModelForCausalLM
    model, loading = auto.from_pretrained(folder, trust_remote_code=True, output_loading_info=True)
    text = ""
    if any(loading[key] for key in ("missing_keys", "unexpected_keys", "mismatched_keys")):
        text = f"not all parameters are loaded: {loading}"

    def logits(batch):
        more = {"times": batch["times"]} if batch["times"] else {}
        target = torch.tensor(batch["target"])
        with torch.no_grad():
            if case["encoder"]:
                return model(input_ids=torch.tensor(batch["source"]), decoder_input_ids=target, **more).logits
            return model(input_ids=target, **more).logits

    found, far = apart(case, logits)
    code = sys.modules[type(model).__module__]
    text = text or found or wrong(case, code, model) or tokenized(case, folder, code) or generated(case, model, code)
    again = transformers.AutoModel.from_pretrained(folder, trust_remote_code=True)
    if not text and any(not torch.equal(a, b) for a, b in zip(model.parameters(), again.parameters())):
        text = "AutoModel has other parameters"
    return text, far


def tokenized(case, folder, code):
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder, trust_remote_code=True)
    for p in case["problems"]:
        text = tokenizer.decode(p["prompt"])
        if tokenizer(text)["input_ids"] != p["prompt"]:
            return f"the tokenizer makes {tokenizer(text)['input_ids']} of {text!r}, not {p['prompt']}"
    end = code.END if code.END < len(code.VOCABULARY) else None  # answers may have no end
    if tokenizer.eos_token_id != end or len(tokenizer) != len(code.VOCABULARY):
        return f"the tokenizer ends with {tokenizer.eos_token_id} and has {len(tokenizer)} tokens"
    return ""


def generated(case, model, code):
    if not isinstance(model, transformers.GenerationMixin):
        return "" if "rows = tokens" in open(code.__file__).read() else "it cannot generate"
    p = case["problems"][0]
    prompt = torch.tensor([p["prompt"]])
    said = model.generate(prompt, max_new_tokens=code.room(p["text"]))[0].tolist()
    said = said[1:] if case["encoder"] else said[len(p["prompt"]):]
    want = code.generate(model, p["prompt"], code.room(p["text"]))
    return "" if said == want else f"generate says {said}, not {want}"


def onnx(case):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(f"{FOLDER}/{case['name']}.onnx", options, providers=["CPUExecutionProvider"])

    def logits(batch):
        given = {"target_tokens": np.array(batch["target"], np.int64)}
        if case["encoder"]:
            given["source_tokens"] = np.array(batch["source"], np.int64)
        if batch["times"]:
            given["times"] = np.array(batch["times"], np.int64)
        return session.run(["logits"], given)[0]

    return apart(case, logits)


forms = {"torch": lambda c: python(c, "torch"), "numpy": lambda c: python(c, "numpy"), "transformers": huggingface, "onnx": onnx}
found = []
for case in json.load(open(f"{FOLDER}/cases.json")):
    for form, run in forms.items():
        try:
            text, far = run(case)
        except Exception as error:
            text, far = f"{type(error).__name__}: {error}", 0.0
            if "MLC_TRACE" in os.environ:
                raise
        found.append({"Name": case["name"], "Form": form, "Wrong": text, "Apart": min(far, 1e30)})
print(json.dumps(found))
