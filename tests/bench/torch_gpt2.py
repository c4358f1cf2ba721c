"""GPT-2 in plain PyTorch, for torch_peer.py: Train, Prefill, Decode LAYERS A B FOLDER.

Weights come from FOLDER/model.safetensors, which bench_gpt2 writes; tokens from the same formula.
"""
import json
import struct

import torch
from torch import nn
from torch.nn import functional as F
from torch_peer import adamw, attention, choices, clock, compiles, half, lower_precision, prepared

VOCAB, POSITIONS, C, H = 50257, 1024, 768, 12


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(C), nn.LayerNorm(C)
        self.c_attn, self.attn_c_proj = nn.Linear(C, 3 * C), nn.Linear(C, C)
        self.c_fc, self.mlp_c_proj = nn.Linear(C, 4 * C), nn.Linear(4 * C, C)

    def forward(self, x, cache, at):
        B, T, _ = x.shape
        q, k, v = self.c_attn(self.ln_1(x)).split(C, dim=2)
        q, k, v = (y.view(B, T, H, C // H).transpose(1, 2) for y in (q, k, v))
        y = attention(q, k, v) if cache is None else self.remember(q, k, v, cache, at)
        x = x + self.attn_c_proj(y.transpose(1, 2).reshape(B, T, C))
        return x + self.mlp_c_proj(F.gelu(self.c_fc(self.ln_2(x)), approximate="tanh"))

    def remember(self, q, k, v, cache, at):
        """Attention to what is in the cache, too. at is a number; or, where torch.compile wants the
        same shapes for each token, a tensor of one: then places of the cache to come are masked."""
        keys, values = cache
        if torch.is_tensor(at):
            keys.index_copy_(2, at, k)
            values.index_copy_(2, at, v)
            seen = torch.arange(keys.shape[2]) <= at
            return F.scaled_dot_product_attention(q, keys, values, attn_mask=seen[None])
        T = q.shape[2]
        keys[:, :, at:at + T], values[:, :, at:at + T] = k, v
        return attention(q, keys[:, :, :at + T], values[:, :, :at + T])


class GPT2(nn.Module):
    def __init__(self, layers, folder):
        super().__init__()
        with torch.no_grad():
            self.wte, self.wpe = nn.Embedding(VOCAB, C), nn.Embedding(POSITIONS, C)
            self.h = nn.ModuleList(Block() for _ in range(layers))
            self.ln_f = nn.LayerNorm(C)
        self.load(folder + "/model.safetensors")

    @torch.no_grad()
    def load(self, path):
        own = dict(self.named_parameters())
        with open(path, "rb") as file:
            size, = struct.unpack("<Q", file.read(8))
            head = json.loads(file.read(size))
            for name, entry in head.items():
                if name == "__metadata__":
                    continue
                begin, end = entry["data_offsets"]
                file.seek(8 + size + begin)
                value = torch.frombuffer(bytearray(file.read(end - begin)), dtype=torch.float32)
                value = value.reshape(entry["shape"])
                name = name.replace("transformer.", "").replace("attn.c_proj", "attn_c_proj")
                name = name.replace("attn.c_attn", "c_attn").replace("mlp.c_proj", "mlp_c_proj")
                name = name.replace("mlp.c_fc", "c_fc")
                # the files have the matrices of a block as (in,out)
                turned = name.startswith("h.") and value.dim() == 2
                own.pop(name).copy_(value.t() if turned else value)
        assert not own, list(own)

    def forward(self, ids, caches=None, at=0, last=False):
        places = at if torch.is_tensor(at) else torch.arange(at, at + ids.shape[1])
        x = self.wte(ids) + self.wpe(places)
        for i, block in enumerate(self.h):
            x = block(x, caches[i] if caches else None, at)
        x = self.ln_f(x)
        return (x[:, -1:] if last else x) @ self.wte.weight.t()


class Train:
    warm = True

    def __init__(self, layers, B, T, folder):
        B, T = int(B), int(T)
        self.model = GPT2(int(layers), folder)
        self.ids, self.labels = choices((B, T), 1, VOCAB), choices((B, T), 2, VOCAB)
        self.optimizer = adamw(self.model.parameters(), 1e-4)
        self.forward = prepared(self.losses)

    def losses(self, ids, labels):
        with lower_precision():
            return F.cross_entropy(self.model(ids).view(-1, VOCAB), labels.view(-1))

    def step(self):
        times = [clock()]
        loss = self.forward(self.ids, self.labels)
        times.append(clock())
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        times.append(clock())
        self.optimizer.step()
        times.append(clock())
        self.parts = [b - a for a, b in zip(times, times[1:])]
        self.loss = loss.item()

    def value(self):
        return self.loss


class Prefill:
    """In bf16 the weights are bf16, too, which is quicker than autocast."""
    warm = True

    def __init__(self, layers, prompt, length, folder):
        self.prompt, self.length = int(prompt), int(length)
        self.model = GPT2(int(layers), folder).eval()
        dtype = torch.bfloat16 if half else torch.float32
        self.model.to(dtype)
        self.ids = choices((1, self.length), 1, VOCAB)
        self.caches = [[torch.zeros(1, H, self.length, C // H, dtype=dtype) for _ in "kv"]
                       for _ in self.model.h]
        if compiles:
            import torch._inductor.config as inductor
            inductor.freezing = True            # weights are constants, packed for their products
        self.one_more = prepared(self.last_logits)
        with torch.inference_mode():
            self.feed(0, self.prompt)

    def last_logits(self, ids, at):
        return self.model(ids, self.caches, at, last=True)

    def feed(self, at, n):
        self.logits = self.one_more(self.ids[:, at:at + n], at)

    def step(self):
        with torch.inference_mode():
            self.feed(0, self.prompt)

    def value(self):
        return self.logits.double().abs().sum()


class Decode(Prefill):
    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.at = self.prompt

    def feed(self, at, n):
        if n > 1:                               # the prompt need not be quick
            self.logits = self.last_logits(self.ids[:, at:at + n], at)
        else:
            place = torch.tensor([at]) if compiles else at
            self.logits = self.one_more(self.ids[:, at:at + 1], place)

    def step(self):
        with torch.inference_mode():
            self.feed(self.at, 1)
        self.at = self.at + 1 if self.at + 1 < self.length else self.prompt
