"""GPT-2 in plain PyTorch, for torch_peer.py: Train, Prefill, Decode LAYERS A B FOLDER.

Weights come from FOLDER/model.safetensors, which bench_gpt2 writes; tokens from the same formula.
"""
import json
import struct
import time

import torch
from torch import nn
from torch.nn import functional as F
from torch_peer import choices

VOCAB, POSITIONS, C, H = 50257, 1024, 768, 12


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(C), nn.LayerNorm(C)
        self.c_attn, self.attn_c_proj = nn.Linear(C, 3 * C), nn.Linear(C, C)
        self.c_fc, self.mlp_c_proj = nn.Linear(C, 4 * C), nn.Linear(4 * C, C)

    def forward(self, x, mask, cache, at):
        B, T, _ = x.shape
        q, k, v = self.c_attn(self.ln_1(x)).split(C, dim=2)
        q, k, v = (y.view(B, T, H, C // H).transpose(1, 2) for y in (q, k, v))
        if cache is not None:
            cache[0][:, :, at:at + T], cache[1][:, :, at:at + T] = k, v
            k, v = cache[0][:, :, :at + T], cache[1][:, :, :at + T]
        scores = q @ k.transpose(2, 3) * (C // H) ** -0.5
        if T > 1:
            scores = scores.masked_fill(mask[:T, :T], float("-inf"))
        y = (torch.softmax(scores, -1) @ v).transpose(1, 2).reshape(B, T, C)
        x = x + self.attn_c_proj(y)
        return x + self.mlp_c_proj(F.gelu(self.c_fc(self.ln_2(x)), approximate="tanh"))


class GPT2(nn.Module):
    def __init__(self, layers, folder):
        super().__init__()
        with torch.no_grad():
            self.wte, self.wpe = nn.Embedding(VOCAB, C), nn.Embedding(POSITIONS, C)
            self.h = nn.ModuleList(Block() for _ in range(layers))
            self.ln_f = nn.LayerNorm(C)
            self.load(folder + "/model.safetensors")
        self.mask = torch.ones(POSITIONS, POSITIONS, dtype=torch.bool).triu(1)

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
        T = ids.shape[1]
        x = self.wte(ids) + self.wpe.weight[at:at + T]
        for i, block in enumerate(self.h):
            x = block(x, self.mask, caches[i] if caches else None, at)
        x = self.ln_f(x)
        return (x[:, -1:] if last else x) @ self.wte.weight.t()


class Train:
    warm = True

    def __init__(self, layers, B, T, folder):
        B, T = int(B), int(T)
        self.model = GPT2(int(layers), folder)
        self.ids, self.labels = choices((B, T), 1, VOCAB), choices((B, T), 2, VOCAB)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-4, betas=(0.9, 0.999),
                                           weight_decay=0.01, foreach=True)

    def step(self):
        times = [time.perf_counter()]
        logits = self.model(self.ids)
        loss = F.cross_entropy(logits.view(-1, VOCAB), self.labels.view(-1))
        times.append(time.perf_counter())
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        times.append(time.perf_counter())
        self.optimizer.step()
        times.append(time.perf_counter())
        self.parts = [b - a for a, b in zip(times, times[1:])]
        self.loss = loss.item()

    def value(self):
        return self.loss


class Prefill:
    warm = True

    def __init__(self, layers, prompt, length, folder):
        self.model, self.prompt, self.length = GPT2(int(layers), folder), int(prompt), int(length)
        self.ids = choices((1, self.length), 1, VOCAB)
        self.caches = [[torch.zeros(1, H, self.length, C // H) for _ in "kv"]
                       for _ in self.model.h]
        self.step()

    def step(self):
        with torch.inference_mode():
            self.logits = self.model(self.ids[:, :self.prompt], self.caches, 0, last=True)

    def value(self):
        return self.logits.double().abs().sum()


class Decode(Prefill):
    def __init__(self, *arguments):
        self.at = -1                                # the first step is the prompt
        super().__init__(*arguments)
        self.at = self.prompt

    def step(self):
        if self.at < 0:
            return super().step()
        with torch.inference_mode():
            one = self.ids[:, self.at:self.at + 1]
            self.logits = self.model(one, self.caches, self.at, last=True)
        self.at = self.at + 1 if self.at + 1 < self.length else self.prompt
