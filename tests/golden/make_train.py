#!/usr/bin/env python3
"""Writes tests/golden/train_<case>.bin: the loss of every training step, as PyTorch has it.

    python3 tests/golden/make_train.py            write the files beside this script
    python3 tests/golden/make_train.py --check    train again and compare with the files

Data and initial weights come from an integer recipe (class Recipe; in C: tests/lib/recipe.h), exact
in f32, so a file holds losses alone: of a run in float32 and of one in float64, which tells how far
rounding alone may carry a run. A case whose float32 run strays too far is refused: a golden must
not ask for luck.

File, little-endian, fields of 4 bytes unless said otherwise:

    magic "SAMBATRN" (8 bytes) | version 1 | n steps | FNV-1a of all that follows (8 bytes)
    FNV-1a of the initial weights, then of the first batch (8 bytes each): is the recipe the same?
    n + 2 losses of the float64 run (8 bytes each) | n + 2 losses of the float32 run
    The last two are those of a fresh batch in evaluation mode: after 5 steps, and at the end.
"""
import os
import struct
import sys

import numpy as np
import torch
import torch.nn.functional as F

STRAY = 5e-6                             # largest relative deviation of float32 from float64,
FAR = 1e-4                               # and on another machine than the files were written on
CLASSES = 10


def mix(x):
    """Wellons's lowbias32: a bijection of 32-bit words that scatters well."""
    x = x.astype(np.uint32)
    x = (x ^ x >> np.uint32(16)) * np.uint32(0x7FEB352D)
    x = (x ^ x >> np.uint32(15)) * np.uint32(0x846CA68B)
    return x ^ x >> np.uint32(16)


def words(stream, first, count):
    """Words first ... first + count - 1 of a stream."""
    return mix(np.arange(first, first + count, dtype=np.uint64).astype(np.uint32)
               ^ mix(np.array([stream])))


class Recipe:
    """The same as tests/lib/recipe.h, word for word."""
    PIXEL, CLASS, LABEL, PATTERN, TOKEN, WEIGHT = 1, 2, 3, 4, 5, 100

    @staticmethod
    def weight(number, shape, fan):
        """fan > 0: U(+-1/sqrt(fan)); 0: 1 + U(+-1/4); -1: U(+-1/4)."""
        h = words(Recipe.WEIGHT + number, 0, int(np.prod(shape)))
        unit = ((h >> np.uint32(8)).astype(np.int32) - (1 << 23)).astype(np.float32)
        unit *= np.float32(2.0 ** -23)
        bound = np.float32(1.0 / np.sqrt(float(fan))) if fan > 0 else np.float32(0.25)
        base = np.float32(1.0 if fan == 0 else 0.0)
        return (base + bound * unit).reshape(shape)

    @staticmethod
    def images(step, batch, pixels):
        """Noise, brighter where the pattern of the class is; a quarter of the labels is random."""
        rows = step * batch
        true = (words(Recipe.CLASS, rows, batch) % np.uint32(CLASSES)).astype(np.int64)
        h = words(Recipe.LABEL, rows, batch)
        other = ((h >> np.uint32(8)) % np.uint32(CLASSES)).astype(np.int64)
        label = np.where(h % np.uint32(4) == 0, other, true)
        noise = words(Recipe.PIXEL, rows * pixels, batch * pixels) >> np.uint32(25)
        pattern = (words(Recipe.PATTERN, 0, CLASSES * pixels) % np.uint32(4) == 0)
        bright = pattern.reshape(CLASSES, pixels)[true] * 64
        x = (noise.reshape(batch, pixels).astype(np.int64) + bright).astype(np.float32)
        return x * np.float32(1.0 / 256.0), label.astype(np.int32)

    @staticmethod
    def tokens(step, batch, length, vocabulary):
        """Sequences where 5 x + 3 follows x, but one token in four is random."""
        h = words(Recipe.TOKEN, step * batch * (length + 1), batch * (length + 1))
        h = h.reshape(batch, length + 1)
        x = ((h >> np.uint32(8)) % np.uint32(vocabulary)).astype(np.int64)
        for t in range(1, length + 1):
            x[:, t] = np.where(h[:, t] % np.uint32(4) == 0, x[:, t],
                               (5 * x[:, t - 1] + 3) % vocabulary)
        return x[:, :-1].astype(np.int32), x[:, 1:].astype(np.int32)


def linear(name, n, k):
    return [(name + "__weight", (n, k), k), (name + "__bias", (n,), k)]


def norm(name, n):
    return [(name + "__weight", (n,), 0), (name + "__bias", (n,), -1)]


class ResFFN:
    """Logistic regression on top of a residual feed-forward net."""

    def __init__(self, features, hidden):
        self.features, self.hidden = features, hidden
        self.params = (linear("gemm1", hidden, features) + norm("norm1", hidden)
                       + linear("gemm2", hidden, hidden) + norm("norm2", hidden)
                       + linear("gemm3", CLASSES, hidden))

    def batch(self, step):
        return Recipe.images(step, 64, self.features)

    def loss(self, w, x, label, train):
        h = F.linear(x, w["gemm1__weight"], w["gemm1__bias"])
        h = F.layer_norm(h, (self.hidden,), w["norm1__weight"], w["norm1__bias"])
        residual = torch.tanh(h)
        h = F.linear(residual, w["gemm2__weight"], w["gemm2__bias"])
        h = F.layer_norm(h, (self.hidden,), w["norm2__weight"], w["norm2__bias"])
        h = torch.sigmoid(h + residual)
        return F.cross_entropy(F.linear(h, w["gemm3__weight"], w["gemm3__bias"]), label)


class ConvNet:
    """Two convolutions with batch norm and pooling, then a linear layer."""

    def __init__(self):
        self.params = ([("conv1__weight", (8, 1, 3, 3), 9), ("conv1__bias", (8,), 9)]
                       + norm("bn1", 8)
                       + [("conv2__weight", (16, 8, 3, 3), 72), ("conv2__bias", (16,), 72)]
                       + norm("bn2", 16) + linear("fc", CLASSES, 256))
        self.state = {}

    def batch(self, step):
        x, label = Recipe.images(step, 32, 256)
        return x.reshape(32, 1, 16, 16), label

    def norm(self, w, x, name, train):
        n = x.shape[1]
        mean, var = self.state.setdefault((name, x.dtype), (torch.zeros(n, dtype=x.dtype),
                                                            torch.ones(n, dtype=x.dtype)))
        return F.batch_norm(x, mean, var, w[name + "__weight"], w[name + "__bias"], train, 0.1)

    def loss(self, w, x, label, train):
        h = F.conv2d(x, w["conv1__weight"], w["conv1__bias"], padding=1)
        h = F.max_pool2d(torch.relu(self.norm(w, h, "bn1", train)), 2)
        h = F.conv2d(h, w["conv2__weight"], w["conv2__bias"], padding=1)
        h = F.max_pool2d(torch.relu(self.norm(w, h, "bn2", train)), 2)
        return F.cross_entropy(F.linear(h.flatten(1), w["fc__weight"], w["fc__bias"]), label)


class Transformer:
    """One block of GPT-2's kind, the embedding shared with the last layer."""
    B, T, C, HEADS, V = 8, 16, 32, 4, 32

    def __init__(self):
        c = self.C
        self.params = ([("wte__weight", (self.V, c), c), ("wpe", (self.T, c), c)]
                       + norm("ln1", c) + linear("qkv", 3 * c, c) + linear("proj", c, c)
                       + norm("ln2", c) + linear("fc", 4 * c, c) + linear("out", c, 4 * c)
                       + norm("lnf", c))

    def batch(self, step):
        return Recipe.tokens(step, self.B, self.T, self.V)

    def norm(self, w, x, name):
        return F.layer_norm(x, (self.C,), w[name + "__weight"], w[name + "__bias"])

    def linear(self, w, x, name):
        return F.linear(x, w[name + "__weight"], w[name + "__bias"])

    def attention(self, q, k, v):
        """scaled_dot_product_attention(is_causal=True), by its definition."""
        score = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5
        future = torch.ones(self.T, self.T, dtype=torch.bool).triu(1)
        return torch.softmax(score.masked_fill(future, float("-inf")), -1) @ v

    def loss(self, w, ids, target, train):
        heads = (self.B, self.T, self.HEADS, self.C // self.HEADS)
        x = F.embedding(ids, w["wte__weight"]) + w["wpe"]
        qkv = self.linear(w, self.norm(w, x, "ln1"), "qkv").split(self.C, -1)
        h = self.attention(*[part.reshape(heads).transpose(1, 2) for part in qkv])
        x = x + self.linear(w, h.transpose(1, 2).reshape(x.shape), "proj")
        h = F.gelu(self.linear(w, self.norm(w, x, "ln2"), "fc"))
        x = x + self.linear(w, h, "out")
        logits = F.linear(self.norm(w, x, "lnf"), w["wte__weight"])
        return F.cross_entropy(logits.reshape(-1, self.V), target.reshape(-1))


def sgd(**options):
    return lambda params: torch.optim.SGD(params, **options)


def adamw(**options):
    return lambda params: torch.optim.AdamW(params, betas=(0.9, 0.999), **options)


def adam(**options):
    return lambda params: torch.optim.Adam(params, betas=(0.9, 0.999), **options)


def amsgrad(kind, **options):
    return lambda params: kind(params, betas=(0.9, 0.98), amsgrad=True, **options)


def rmsprop(**options):
    return lambda params: torch.optim.RMSprop(params, **options)


def adagrad(**options):
    return lambda params: torch.optim.Adagrad(params, **options)


def lion(**options):
    """torch.optim has none; that of lion-pytorch (PyPI), which few machines have."""
    from lion_pytorch import Lion
    return lambda params: Lion(params, **options)


# name, model, optimizer, largest norm of the gradient (None: any)
def cases():
    small = lambda: ResFFN(196, 128)     # noqa: E731
    return [
        ("resffn", ResFFN(784, 512), sgd(lr=0.05, momentum=0.9, weight_decay=1e-4), None),
        ("plain", small(), sgd(lr=0.1), None),
        ("momentum", small(), sgd(lr=0.05, momentum=0.9, weight_decay=1e-4), None),
        ("nesterov", small(), sgd(lr=0.05, momentum=0.9, weight_decay=1e-4, nesterov=True), None),
        ("dampening", small(), sgd(lr=0.1, momentum=0.9, weight_decay=1e-4, dampening=0.5), None),
        ("sgd_clip", small(), sgd(lr=0.1, momentum=0.9), 0.25),
        ("adamw", small(), adamw(lr=0.001, weight_decay=0.05), None),
        ("adam", small(), adam(lr=0.001, weight_decay=0.01), None),
        ("adamw_clip", small(), adamw(lr=0.001, weight_decay=0.05), 0.25),
        ("conv", ConvNet(), sgd(lr=0.002, momentum=0.9, weight_decay=1e-4), None),
        ("transformer", Transformer(), adamw(lr=0.003, weight_decay=0.1), None),
        ("amsgrad", small(), amsgrad(torch.optim.AdamW, lr=0.001, weight_decay=0.05), None),
        ("adam_amsgrad", small(), amsgrad(torch.optim.Adam, lr=0.001, weight_decay=0.01), 0.25),
        ("rmsprop", small(), rmsprop(lr=0.0005, alpha=0.9, eps=1e-3, weight_decay=0.01), None),
        ("rmsprop_momentum", small(), rmsprop(lr=0.0003, momentum=0.8, eps=1e-3), 0.25),
        ("rmsprop_centered", small(), rmsprop(lr=0.0005, eps=1e-2, centered=True), None),
        ("rmsprop_both", small(), rmsprop(lr=0.0003, alpha=0.9, momentum=0.5, eps=1e-2,
                                          centered=True, weight_decay=0.01), 0.25),
        ("adagrad", small(), adagrad(lr=0.01, lr_decay=0.02, weight_decay=0.01,
                                     initial_accumulator_value=0.01), None),
        ("adagrad_clip", small(), adagrad(lr=0.01, initial_accumulator_value=0.01), 0.25),
        ("lion", small(), lion(lr=0.0001, weight_decay=0.1), None),
        ("lion_clip", small(), lion(lr=0.0001, betas=(0.8, 0.95)), 0.25),
    ]


EARLY = 5


def steps_of(name):
    """200; of Lion fewer: its steps are signs, and one that rounding turns shows in all others."""
    return 30 if name.startswith("lion") else 200


def initial(model):
    return [(name, Recipe.weight(i, shape, fan))
            for i, (name, shape, fan) in enumerate(model.params)]


def train(model, optimizer, max_norm, steps, dtype):
    """Losses of all steps and of both evaluations; how often clipping acted."""
    w = {name: torch.tensor(value, dtype=dtype, requires_grad=True)
         for name, value in initial(model)}
    step_with = optimizer(list(w.values()))
    losses, evaluated, clipped = [], [], 0

    def feed(step):
        x, y = model.batch(step)
        x = torch.tensor(x)
        return x.to(dtype) if x.is_floating_point() else x.long(), torch.tensor(y).long()

    for step in range(steps):
        loss = model.loss(w, *feed(step), True)
        step_with.zero_grad()
        loss.backward()
        if max_norm:
            clipped += float(torch.nn.utils.clip_grad_norm_(w.values(), max_norm)) > max_norm
        step_with.step()
        losses.append(loss.item())
        if step + 1 in (EARLY, steps):
            with torch.no_grad():
                evaluated.append(model.loss(w, *feed(steps), False).item())
    return losses + evaluated, clipped


def fnv(data):
    h = 0xCBF29CE484222325
    for byte in data:
        h = (h ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return h


def golden(name, model, optimizer, max_norm, check):
    steps = steps_of(name)
    double, clipped = train(model, optimizer, max_norm, steps, torch.float64)
    single, _ = train(model, optimizer, max_norm, steps, torch.float32)
    stray = max(abs(s - d) / abs(d) for s, d in zip(single, double))
    print("%-16s loss %.4f ... %.4f, evaluated %.4f, %.4f; float32 strays by %.1e%s"
          % (name, double[0], double[-3], double[-2], double[-1], stray,
             "; clipped %d times" % clipped if max_norm else ""))
    if stray > (FAR if check else STRAY):
        raise SystemExit("%s: too sensitive to rounding" % name)
    if max_norm and clipped < steps // 2:
        raise SystemExit("%s: max_norm hardly acts" % name)
    weights = b"".join(value.tobytes() for _, value in initial(model))
    batch = b"".join(part.tobytes() for part in model.batch(0))
    body = struct.pack("<QQ", fnv(weights), fnv(batch))
    body += struct.pack("<%dd" % len(double), *double)
    body += struct.pack("<%df" % len(single), *single)
    return b"SAMBATRN" + struct.pack("<IIQ", 1, steps, fnv(body)) + body


def differs(old, new):
    """What is wrong with an old file; None if it says the same, but for rounding."""
    at, n = 40, struct.unpack("<I", new[12:16])[0] + 2
    if len(old) != len(new) or old[:16] != new[:16] or old[24:at] != new[24:at]:
        return "another case or recipe"
    if fnv(old[24:]) != struct.unpack("<Q", old[16:24])[0]:
        return "the checksum is wrong"
    for kind, size, limit in ("d", 8, 1e-8), ("f", 4, FAR):
        a = struct.unpack("<%d%s" % (n, kind), old[at:at + n * size])
        b = struct.unpack("<%d%s" % (n, kind), new[at:at + n * size])
        for i, (x, y) in enumerate(zip(a, b)):
            if not abs(x - y) <= limit * abs(y):
                return "loss %d is %.9g, PyTorch says %.9g" % (i, x, y)
        at += n * size
    return None


def main():
    check = sys.argv[1:] == ["--check"]
    if sys.argv[1:] and not check:
        raise SystemExit(__doc__)
    folder, bad = os.path.dirname(os.path.abspath(__file__)), 0
    for name, model, optimizer, max_norm in cases():
        path, new = os.path.join(folder, "train_%s.bin" % name), None
        new = golden(name, model, optimizer, max_norm, check)
        if not check:
            with open(path, "wb") as f:
                f.write(new)
            continue
        with open(path, "rb") as f:
            why = differs(f.read(), new)
        if why:
            print("%s: %s" % (path, why))
            bad += 1
    return bad > 0


if __name__ == "__main__":
    sys.exit(main())
