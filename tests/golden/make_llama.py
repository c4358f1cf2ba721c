"""Writes what tests/tools/llama.c compares Llama, Qwen and Mistral with, by transformers and PEFT.

    python3 tests/golden/make_llama.py            writes tests/golden/llama_*
    python3 tests/golden/make_llama.py --check    computes them again from the weights in them

Needs torch, transformers (5) and peft. A golden is a folder as save_pretrained writes it, of random
weights, and golden.safetensors, all of it F32, made in double: ids (B,T) and their logits (B,T,V);
tokens (steps,B,T+1), the batches of a training, and its losses (steps); prompt (n) and greedy (40),
the likeliest tokens after it. One has an adapter of PEFT, and adapted, the logits with it.

transformers computes norms and softmax in f32 even if a model is double: here it does not. There
is no pad_token_id, whose embedding gets no gradient in transformers.
"""
import json
import os
import shutil
import sys

try:
    import peft
    import torch
    import transformers
except ImportError as missing:
    print(f"skipped: tests/golden/make_llama.py; it takes {missing.name} from PyPI")
    sys.exit(77 if "--check" in sys.argv else 1)

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from make_gpt2 import read_safetensors, write_safetensors  # noqa: E402

STEPS, LR, DECAY, BETAS, EPS, CLIP, NEW = 20, 1e-3, 0.1, (0.9, 0.997), 1e-8, 1.0, 40
BASE = dict(hidden_size=16, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
            intermediate_size=24, vocab_size=48, max_position_embeddings=64, bos_token_id=1,
            eos_token_id=2)


def scaled(kind, **more):
    return dict(rope_type=kind, rope_theta=10000.0, **more)


# What is unusual in a family is used in one of its goldens.
MODELS = {
    "llama_mha": ("Llama", dict(num_key_value_heads=4)),
    "llama_gqa": ("Llama", dict(tie_word_embeddings=True, attention_bias=True, mlp_bias=True,
                                rope_parameters=scaled("llama3", factor=8.0, low_freq_factor=1.0,
                                                       high_freq_factor=4.0,
                                                       original_max_position_embeddings=16))),
    "llama_shards": ("Llama", dict(hidden_size=32, intermediate_size=64, num_key_value_heads=1,
                                   rms_norm_eps=1e-5)),
    "llama_mistral": ("Mistral", dict(sliding_window=6, head_dim=6,
                                      rope_parameters=scaled("linear", factor=2.0))),
    "llama_qwen2": ("Qwen2", dict(tie_word_embeddings=True,
                                  rope_parameters=scaled("yarn", factor=4.0,
                                                         original_max_position_embeddings=16))),
    "llama_qwen3": ("Qwen3", dict(head_dim=8, num_hidden_layers=3, use_sliding_window=True,
                                  sliding_window=5, max_window_layers=1)),
    "llama_smollm": ("Llama", dict(hidden_size=18, num_attention_heads=3, num_key_value_heads=1,
                                   tie_word_embeddings=True, rms_norm_eps=1e-5)),
}
OLD = ("llama_gqa", "llama_qwen2", "llama_smollm")  # config.json as transformers 4 writes it
SHARDED = ("llama_shards",)
ADAPTED = ("llama_gqa",)


class InDouble:
    """The module torch, in which float32 is double."""
    float32 = torch.float64

    def __getattr__(self, name):
        return getattr(torch, name)


def in_double(model):
    sys.modules[type(model).__module__].torch = InDouble()
    return model.double().eval()


def randomize(model, seed):
    """Large enough that every part matters: norms and biases vary, too."""
    g = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, p in model.named_parameters():
            noise = torch.randn(p.shape, generator=g)
            scale = 0.1 if p.ndim == 1 else p.shape[1] ** -0.5
            if "embed" in name and model.config.tie_word_embeddings:
                scale /= 4  # or each token would follow itself for ever
            p.copy_(1 + 0.2 * noise if "norm" in name else scale * noise)


def old_config(path):
    """rope_parameters, which is new, becomes rope_theta and rope_scaling; dtype torch_dtype."""
    with open(path) as f:
        c = json.load(f)
    rope = c.pop("rope_parameters")
    c["rope_theta"] = rope.pop("rope_theta")
    kind = rope.pop("rope_type")
    c["rope_scaling"] = None if kind == "default" else dict({"rope_type": kind}, **rope)
    c["torch_dtype"] = c.pop("dtype")
    with open(path, "w") as f:
        json.dump(c, f, indent=2)
        f.write("\n")


def new_folder(name, folder, seed):
    family, more = MODELS[name]
    config = getattr(transformers, family + "Config")(**dict(BASE, **more))
    model = getattr(transformers, family + "ForCausalLM")(config)
    randomize(model, seed)
    sharded = name in SHARDED
    if sharded:
        model = model.bfloat16()
    shutil.rmtree(folder, ignore_errors=True)
    model.save_pretrained(folder, max_shard_size="20KB" if sharded else "1GB")
    os.remove(os.path.join(folder, "generation_config.json"))
    for file in os.listdir(folder):
        os.chmod(os.path.join(folder, file), 0o644)
    if name in OLD:
        old_config(os.path.join(folder, "config.json"))


def load(folder):
    model = transformers.AutoModelForCausalLM.from_pretrained(
        folder, dtype=torch.float32, attn_implementation="eager")
    return in_double(model)


def train(model, tokens):
    decays = [p for p in model.parameters() if p.ndim == 2]
    others = [p for p in model.parameters() if p.ndim == 1]
    o = torch.optim.AdamW([dict(params=decays, weight_decay=DECAY),
                           dict(params=others, weight_decay=0.0)], lr=LR, betas=BETAS, eps=EPS)
    losses = []
    for batch in tokens:
        logits = model(batch[:, :-1]).logits
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), batch[:, 1:].flatten())
        o.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), CLIP)
        o.step()
        losses.append(loss.item())
    return torch.tensor(losses, dtype=torch.float64)


def new_adapter(model, folder, seed):
    config = peft.LoraConfig(r=3, lora_alpha=5, target_modules=["q_proj", "v_proj", "down_proj"],
                             task_type="CAUSAL_LM")
    adapted = peft.get_peft_model(model, config)
    g = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, p in adapted.named_parameters():
            if "lora_" in name:
                p.copy_(0.3 * torch.randn(p.shape, generator=g))
    adapted.float().save_pretrained(folder)
    os.remove(os.path.join(folder, "README.md"))
    path = os.path.join(folder, "adapter_config.json")
    with open(path) as f:
        written = json.load(f)
    written["base_model_name_or_path"] = "llama_gqa"  # not a path of this machine
    with open(path, "w") as f:
        json.dump(written, f, indent=2)
        f.write("\n")
    os.chmod(os.path.join(folder, "adapter_model.safetensors"), 0o644)


def inputs(model, seed):
    g = torch.Generator().manual_seed(seed)
    v, b, t = model.config.vocab_size, 2, 14
    tokens = torch.randint(0, v, (STEPS, b, t + 1), generator=g)
    for i in range(1, t + 1):
        known = torch.rand((STEPS, b), generator=g) < 0.75
        tokens[:, :, i] = torch.where(known, (5 * tokens[:, :, i - 1] + 3) % v, tokens[:, :, i])
    return {"ids": torch.randint(0, v, (b, t), generator=g), "tokens": tokens,
            "prompt": torch.randint(0, v, (9,), generator=g)}


def compute(name, folder, golden):
    """Fills in what follows from ids, tokens and prompt."""
    model = load(folder)
    ids, prompt = golden["ids"].long(), golden["prompt"].long()
    with torch.no_grad():
        golden["logits"] = model(ids).logits
        said = model.generate(prompt[None], do_sample=False, max_new_tokens=NEW,
                              min_new_tokens=NEW, eos_token_id=None,
                              attention_mask=torch.ones(1, len(prompt), dtype=torch.long))
        golden["greedy"] = said[0, len(prompt):]
    assert len(golden["greedy"]) == NEW
    if name in ADAPTED:
        adapted = peft.PeftModel.from_pretrained(load(folder), os.path.join(folder, "adapter"))
        with torch.no_grad():
            golden["adapted"] = adapted.double()(ids).logits
    golden["losses"] = train(model, golden["tokens"].long())


def make(name, seed):
    """False if the text it generates is too dull to tell a right cache from a wrong one."""
    folder = os.path.join(HERE, name)
    new_folder(name, folder, seed)
    model = load(folder)
    if name in ADAPTED:
        new_adapter(model, os.path.join(folder, "adapter"), seed)
        model = load(folder)
    golden = inputs(model, seed + 100)
    compute(name, folder, golden)
    different = len(set(golden["greedy"].tolist()))
    print(f"{name}: largest logit {golden['logits'].abs().max():.2f}, losses "
          f"{golden['losses'][0]:.3f} ... {golden['losses'][-1]:.3f}, {different} different tokens")
    write_safetensors(os.path.join(folder, "golden.safetensors"), golden)
    return different >= 8


def check(name):
    folder = os.path.join(HERE, name)
    golden = read_safetensors(os.path.join(folder, "golden.safetensors"))
    again = {key: golden[key] for key in ("ids", "tokens", "prompt")}
    again["ids"], again["tokens"] = again["ids"].long(), again["tokens"].long()
    compute(name, folder, again)
    far = max((again[key].double() - golden[key].double()).abs().max().item() for key in golden)
    print(f"{name}: {far:.1e} from the file")
    return far < 1e-5


def main():
    torch.set_num_threads(1)
    if sys.argv[1:] == ["--check"]:
        sys.exit(0 if all([check(name) for name in MODELS]) else 1)
    for name in MODELS:
        seed = 0
        while not make(name, seed):
            seed += 1


if __name__ == "__main__":
    main()
