"""Writes what tests/tools/gpt2.c compares GPT-2 with, by PyTorch.

    python3 tests/golden/make_gpt2.py            writes tests/golden/gpt2_*
    python3 tests/golden/make_gpt2.py --check    computes them again from the weights in them
    ... --124m DIR      the 124M configuration with random weights, into DIR; minutes, 5 GB
    ... --judge DIR     loads what tests/tools/gpt2.c saved into DIR/saved and compares its logits

A golden is three files: config.json; model.safetensors, the weights at the start;
golden.safetensors, all of it F32: ids_0, ids_1 (B,T) and their logits_0, logits_1 (B,T,V); tokens
(steps,B,T+1), the batches of a training, its losses (steps), and logits_after it for ids_0.
The training is that of SambaFlow's tutorial: three AdamW with their own clipping, no dropout.

The model is written out below, with the names and layouts of transformers' GPT2LMHeadModel; where
transformers is installed, both must agree.
"""
import json
import math
import os
import sys

import numpy as np
import torch
import torch.nn.functional as F

HERE = os.path.dirname(os.path.abspath(__file__))
STEPS, LR, DECAY, BETAS, EPS, CLIP = 10, 1e-3, 0.1, (0.9, 0.997), 1e-8, 1.0
BASE = {"model_type": "gpt2", "layer_norm_epsilon": 1e-5, "initializer_range": 0.02,
        "activation_function": "gelu_new", "attn_pdrop": 0.0, "embd_pdrop": 0.0,
        "resid_pdrop": 0.0, "bos_token_id": 0, "eos_token_id": 0}
# Two layers of the usual kind, and one model of which everything is unusual.
TINY = dict(BASE, n_layer=2, n_head=2, n_embd=32, n_positions=24, vocab_size=97)
ODD = dict(BASE, n_layer=3, n_head=3, n_embd=12, n_positions=9, vocab_size=29, n_inner=20,
           activation_function="gelu", layer_norm_epsilon=1e-3, tie_word_embeddings=False,
           scale_attn_by_inverse_layer_idx=True)
LARGE = dict(BASE, n_layer=12, n_head=12, n_embd=768, n_positions=1024, vocab_size=50257)


# ---- The file format, so that this needs torch alone ----

def write_safetensors(path, tensors, metadata=None):
    """tensors: name -> torch tensor, f32 or bf16."""
    header, blobs, at = {}, [], 0
    if metadata:
        header["__metadata__"] = metadata
    for name, t in tensors.items():
        t = t.detach().contiguous()
        if t.dtype == torch.bfloat16:
            blob = t.view(torch.int16).numpy().tobytes()
        else:
            blob = t.to(torch.float32).numpy().astype("<f4").tobytes()
        header[name] = {"dtype": "BF16" if t.dtype == torch.bfloat16 else "F32",
                        "shape": list(t.shape), "data_offsets": [at, at + len(blob)]}
        at += len(blob)
        blobs.append(blob)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as f:
        f.write(len(text).to_bytes(8, "little") + text)
        for blob in blobs:
            f.write(blob)


def read_safetensors(path):
    with open(path, "rb") as f:
        data = f.read()
    n = int.from_bytes(data[:8], "little")
    tensors = {}
    for name, e in json.loads(data[8:8 + n]).items():
        if name == "__metadata__":
            continue
        begin, end = e["data_offsets"]
        blob = bytearray(data[8 + n + begin:8 + n + end])
        if e["dtype"] == "BF16":
            t = torch.frombuffer(blob, dtype=torch.bfloat16).float()
        else:
            t = torch.frombuffer(blob, dtype=torch.float32) if blob else torch.empty(0)
        tensors[name] = t.reshape(e["shape"])
    return tensors


# ---- The model ----

def names_and_shapes(c):
    n, inner = c["n_embd"], c.get("n_inner") or 4 * c["n_embd"]
    yield "transformer.wte.weight", (c["vocab_size"], n)
    yield "transformer.wpe.weight", (c["n_positions"], n)
    for layer in range(c["n_layer"]):
        for part, i, o in (("ln_1", None, n), ("attn.c_attn", n, 3 * n), ("attn.c_proj", n, n),
                           ("ln_2", None, n), ("mlp.c_fc", n, inner), ("mlp.c_proj", inner, n)):
            name = f"transformer.h.{layer}.{part}"
            yield name + ".weight", (i, o) if i else (o,)
            yield name + ".bias", (o,)
    yield "transformer.ln_f.weight", (n,)
    yield "transformer.ln_f.bias", (n,)
    if not c.get("tie_word_embeddings", True):
        yield "lm_head.weight", (c["vocab_size"], n)


def random_weights(c, scale, seed):
    """transformers' distributions times scale; norms and biases vary, too, so that all matter."""
    g = torch.Generator().manual_seed(seed)
    weights = {}
    for name, shape in names_and_shapes(c):
        noise = torch.randn(shape, generator=g)
        if len(shape) == 1:
            weights[name] = 0.05 * noise + ("ln_" in name and name.endswith("weight"))
        else:
            std = scale * c["initializer_range"]
            if name.endswith("c_proj.weight"):
                std /= math.sqrt(2 * c["n_layer"])
            weights[name] = std * noise
    return weights


def forward(c, w, ids):
    n, heads, eps = c["n_embd"], c["n_head"], c["layer_norm_epsilon"]
    b, t = ids.shape
    past = torch.ones(t, t, dtype=torch.bool).tril()

    def norm(x, name):
        return F.layer_norm(x, (n,), w[name + ".weight"], w[name + ".bias"], eps)

    def conv1d(x, name):
        return x @ w[name + ".weight"] + w[name + ".bias"]

    def gelu(x):
        if c["activation_function"] == "gelu":
            return F.gelu(x)
        return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x ** 3)))

    x = w["transformer.wte.weight"][ids] + w["transformer.wpe.weight"][:t]
    for layer in range(c["n_layer"]):
        block = f"transformer.h.{layer}."
        qkv = conv1d(norm(x, block + "ln_1"), block + "attn.c_attn").split(n, dim=2)
        q, k, v = (y.view(b, t, heads, n // heads).transpose(1, 2) for y in qkv)
        scores = q @ k.transpose(2, 3) / math.sqrt(n // heads)
        if c.get("scale_attn_by_inverse_layer_idx"):
            scores = scores / (layer + 1)
        y = scores.masked_fill(~past, -math.inf).softmax(-1) @ v
        x = x + conv1d(y.transpose(1, 2).reshape(b, t, n), block + "attn.c_proj")
        h = gelu(conv1d(norm(x, block + "ln_2"), block + "mlp.c_fc"))
        x = x + conv1d(h, block + "mlp.c_proj")
    head = w.get("lm_head.weight", w["transformer.wte.weight"])
    return norm(x, "transformer.ln_f") @ head.T


def groups(weights):
    """Embeddings; other matrices; biases and norms, which do not decay."""
    kinds = [[], [], []]
    for name, t in weights.items():
        kind = 2 if t.ndim == 1 else 0 if ".wte." in name or ".wpe." in name else 1
        kinds[kind].append(t)
    return kinds


def train(c, w, tokens):
    """The losses; w is changed."""
    for t in w.values():
        t.requires_grad_(True)
    kinds = groups(w)
    optims = [torch.optim.AdamW(k, lr=LR, betas=BETAS, eps=EPS, weight_decay=d)
              for k, d in zip(kinds, (DECAY, DECAY, 0.0))]
    losses = []
    for batch in tokens:
        logits = forward(c, w, batch[:, :-1])
        loss = F.cross_entropy(logits.flatten(0, 1), batch[:, 1:].flatten())
        for o in optims:
            o.zero_grad()
        loss.backward()
        for k in kinds:
            torch.nn.utils.clip_grad_norm_(k, CLIP)
        for o in optims:
            o.step()
        losses.append(loss.item())
    return losses


# ---- Goldens ----

def compute(c, weights, golden, dtype):
    """Fills in logits and losses for the ids and tokens of golden."""
    w = {name: t.to(dtype, copy=True) for name, t in weights.items()}
    with torch.no_grad():
        for i in (0, 1):
            golden[f"logits_{i}"] = forward(c, w, golden[f"ids_{i}"].long())
    golden["losses"] = torch.tensor(train(c, w, golden["tokens"].long()), dtype=dtype)
    with torch.no_grad():
        golden["logits_after"] = forward(c, w, golden["ids_0"].long())


def inputs(c, shapes, seed):
    """Ids for two batches, and for a training on sequences that can be learned in part."""
    g = torch.Generator().manual_seed(seed)
    v, (b, t) = c["vocab_size"], shapes[0]
    golden = {f"ids_{i}": torch.randint(0, v, shape, generator=g).float()
              for i, shape in enumerate(shapes)}
    tokens = torch.randint(0, v, (STEPS, b, t + 1), generator=g)
    for i in range(1, t + 1):
        known = torch.rand((STEPS, b), generator=g) < 0.75
        tokens[:, :, i] = torch.where(known, (5 * tokens[:, :, i - 1] + 3) % v, tokens[:, :, i])
    golden["tokens"] = tokens.float()
    return golden


def deviation(a, b):
    return float((a.double() - b.double()).abs().max())


def compare_with_transformers(c, weights, golden):
    try:
        import transformers
    except ImportError:
        print("transformers is not installed: the model above is the judge")
        return
    config = transformers.GPT2Config(**{k: v for k, v in c.items() if k != "model_type"})
    model = transformers.GPT2LMHeadModel(config).eval().to(golden["logits_0"].dtype)
    missing, unknown = model.load_state_dict(weights, strict=False)
    missing = [m for m in missing if not m.endswith((".attn.bias", ".attn.masked_bias"))
               and not (m == "lm_head.weight" and config.tie_word_embeddings)]
    assert not missing and not unknown, (missing, unknown)
    with torch.no_grad():
        logits = model(golden["ids_0"].long()).logits
    d = deviation(logits, golden["logits_0"])
    print(f"transformers {transformers.__version__}: logits differ by {d:.1e}")
    assert d < 1e-5


def make(folder, c, scale, shapes, dtype, names, seed):
    """names: maps a name of transformers to what is written, and its type."""
    weights = random_weights(c, scale, seed)
    written = {}
    for name, t in weights.items():
        name, t = names(name, t)
        written[name] = t
    weights = {name: t.float() for name, t in zip(weights, written.values())}
    golden = inputs(c, shapes, seed + 1)
    compute(c, weights, golden, dtype)
    compare_with_transformers(c, weights, golden)
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "config.json"), "w") as f:
        json.dump(c, f, indent=1)
        f.write("\n")
    write_safetensors(os.path.join(folder, "model.safetensors"), written, {"format": "pt"})
    write_safetensors(os.path.join(folder, "golden.safetensors"), golden)
    print(f"{folder}: loss {golden['losses'][0]:.4f} -> {golden['losses'][-1]:.4f}")


def short_bf16(name, t):
    """As the files of GPT-2's authors, without the prefix; matrices in bf16."""
    return name.replace("transformer.", ""), t.bfloat16() if t.ndim == 2 else t


def read_golden(folder):
    with open(os.path.join(folder, "config.json")) as f:
        c = json.load(f)
    weights = read_safetensors(os.path.join(folder, "model.safetensors"))
    weights = {name if name.startswith(("transformer.", "lm_head")) else "transformer." + name: t
               for name, t in weights.items()}
    return c, weights, read_safetensors(os.path.join(folder, "golden.safetensors"))


def check(folder):
    c, weights, golden = read_golden(folder)
    again = {k: v for k, v in golden.items() if k.startswith("ids") or k == "tokens"}
    compute(c, weights, again, torch.float64)
    compare_with_transformers(c, weights, again)
    d = {k: deviation(golden[k], again[k]) for k in golden}
    print(folder, {k: f"{v:.1e}" for k, v in d.items()})
    return max(d.values()) < 1e-5


def judge(folder):
    """What samba saved after the training, as Python's own packages read it."""
    import transformers
    golden = read_safetensors(os.path.join(folder, "golden.safetensors"))
    ours = read_safetensors(os.path.join(folder, "ours.safetensors"))["logits_after"]
    model, report = transformers.GPT2LMHeadModel.from_pretrained(
        os.path.join(folder, "saved"), output_loading_info=True)
    assert not report["missing_keys"] and not report["unexpected_keys"], report
    with torch.no_grad():
        logits = model.eval()(golden["ids_0"].long()).logits
    d = deviation(logits, ours)
    print(f"transformers reads what samba saved: logits differ from samba's by {d:.1e}")
    return d < 1e-4


def main():
    tiny, odd = (os.path.join(HERE, name) for name in ("gpt2_tiny", "gpt2_odd"))
    torch.set_num_threads(max(1, min(4, os.cpu_count() or 1)))
    if sys.argv[1:] == ["--check"]:
        fine = [check(tiny), check(odd)]
        return 0 if all(fine) else 1
    if sys.argv[1:2] == ["--judge"]:
        return 0 if judge(sys.argv[2]) else 1
    if sys.argv[1:2] == ["--124m"]:
        make(sys.argv[2], LARGE, 1, [(4, 64), (1, 1024)], torch.float32, lambda n, t: (n, t), 124)
        return 0
    make(tiny, TINY, 8, [(2, 16), (1, 24)], torch.float64, lambda n, t: (n, t), 1)
    make(odd, ODD, 15, [(3, 9), (2, 1)], torch.float64, short_bf16, 2)
    return 0


if __name__ == "__main__":
    sys.exit(main())
