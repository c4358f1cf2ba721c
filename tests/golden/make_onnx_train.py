#!/usr/bin/env python3
"""Writes tests/golden/onnx_train_<case>.onnx, models as PyTorch exports them, each with its loss as
the output, and onnx_train.txt: the loss of every training step, as PyTorch has it.

    python3 tests/golden/make_onnx_train.py            write the files beside this script
    python3 tests/golden/make_onnx_train.py --check    train again and compare with the files

Weights and data come from the recipe of make_train.py (in C: tests/lib/recipe.h), exact in f32.
Element i of input number n in step s is word s * count + i of stream 200 + n: a float in -1 ... 1,
or a whole number below the highest of the case. A line of the text is: case, step, the loss in
float64, and that in float32, which tells how far rounding alone carries a run.
"""
import io
import os
import sys

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

from make_train import Recipe, words

HERE = os.path.dirname(os.path.abspath(__file__))
STEPS = 8
STRAY = 5e-6                             # largest relative deviation of float32 from float64


def squares(x, target):
    """The mean square of the difference, which op set 14 has no op for."""
    return ((x - target) ** 2).mean()


class Perceptron(nn.Module):
    """Layers of a few neurons: every bias has at most 8 elements."""
    inputs = [((6, 4), 0), ((6,), 3)]    # shape, highest whole number or 0

    def __init__(self):
        super().__init__()
        self.first, self.slope, self.last = nn.Linear(4, 8), nn.PReLU(), nn.Linear(8, 3)

    def forward(self, x, label):
        return F.cross_entropy(self.last(self.slope(self.first(x))), label)


class Convolutions(nn.Module):
    """Batch norm behind what the exporter cannot fold it into. In evaluation mode its statistics
    stay; and the exporter joins its mean and bias, all 0, and its weight and variance, all 1."""
    inputs = [((3, 2, 8, 8), 0), ((3,), 5)]

    def __init__(self):
        super().__init__()
        self.conv1, self.norm1 = nn.Conv2d(2, 6, 3, padding=1), nn.BatchNorm2d(6)
        self.conv2, self.norm2 = nn.Conv2d(6, 9, 3, stride=2), nn.BatchNorm2d(9)
        self.last = nn.Linear(9, 5)
        self.fixed = ['norm1.weight', 'norm1.bias', 'norm2.weight', 'norm2.bias']

    def forward(self, x, label):
        h = self.norm1(F.elu(self.conv1(x)))
        h = self.norm2(torch.sigmoid(self.conv2(h)))
        h = F.avg_pool2d(h, 3).flatten(1)
        return F.cross_entropy(self.last(h), label)


class Transformer(nn.Module):
    """One block of GPT-2's kind: LayerNorm, a causal mask of -infinity as a buffer, GELU by erf."""
    T, C, HEADS = 5, 12, 3
    inputs = [((2, 5, 12), 0), ((2, 5, 12), 0)]

    def __init__(self):
        super().__init__()
        c = self.C
        self.norm1, self.norm2 = nn.LayerNorm(c), nn.LayerNorm(c)
        self.qkv, self.proj = nn.Linear(c, 3 * c), nn.Linear(c, c)
        self.fc, self.out = nn.Linear(c, 2 * c), nn.Linear(2 * c, c)
        self.register_buffer('mask', torch.full((self.T, self.T), float('-inf')).triu(1))

    def forward(self, x, target):
        b, t, c = x.shape
        heads = (b, t, self.HEADS, c // self.HEADS)
        q, k, v = [part.reshape(heads).transpose(1, 2)
                   for part in self.qkv(self.norm1(x)).split(c, -1)]
        score = q @ k.transpose(-1, -2) * 0.5 + self.mask
        h = (torch.softmax(score, -1) @ v).transpose(1, 2).reshape(b, t, c)
        x = x + self.proj(h)
        x = x + self.out(F.gelu(self.fc(self.norm2(x))))
        return squares(x, target)


class Scales(nn.Module):
    """Parameters that are scalars or vectors between ops: scale, shift, temperature, slopes."""
    inputs = [((4, 6, 3), 0), ((4, 6, 3), 0)]

    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.zeros(6, 1))
        self.shift = nn.Parameter(torch.zeros(3))
        self.temperature = nn.Parameter(torch.tensor(1.5))
        self.slopes = nn.PReLU(6)
        self.last = nn.Linear(3, 3, bias=False)
        self.fixed = ['temperature']

    def forward(self, x, target):
        h = self.slopes(x * self.scale + self.shift)
        h = torch.where(h > 0.25, torch.sin(h), h) / self.temperature
        return squares(torch.atan(self.last(h)).cumsum(1), target)


class Tied(nn.Module):
    """The embedding is the last layer, too."""
    inputs = [((3, 4), 7), ((3, 4), 7)]

    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(7, 6)
        self.mix = nn.Linear(6, 6)

    def forward(self, ids, target):
        h = torch.tanh(self.mix(self.table(ids)))
        logits = F.linear(h, self.table.weight)
        return F.cross_entropy(logits.reshape(-1, 7), target.reshape(-1))


class Recurrent(nn.Module):
    """An LSTM, which the importer unrolls; its first state is zeros, which nobody trains."""
    inputs = [((2, 4, 3), 0), ((2, 4, 5), 0)]

    def __init__(self):
        super().__init__()
        self.lstm, self.last = nn.LSTM(3, 5, batch_first=True), nn.Linear(5, 5)

    def forward(self, x, target):
        return squares(self.last(self.lstm(x)[0]), target)


def sgd(**options):
    return lambda params: torch.optim.SGD(params, **options)


# name, module, trains with batch statistics, optimizer: as in tests/tools/onnx_train.c
CASES = [
    ('perceptron', Perceptron, False, sgd(lr=0.5, momentum=0.9)),
    ('statistics', Convolutions, False, sgd(lr=0.2, weight_decay=0.05)),
    ('batches', Convolutions, True, sgd(lr=0.05, momentum=0.9)),
    ('transformer', Transformer, False,
     lambda p: torch.optim.AdamW(p, lr=1e-2, betas=(0.9, 0.999), weight_decay=0.1)),
    ('scales', Scales, False, lambda p: torch.optim.Adam(p, lr=2e-2, betas=(0.9, 0.999))),
    ('tied', Tied, False, sgd(lr=0.5)),
    ('recurrent', Recurrent, False, sgd(lr=0.5)),
]


def build(kind, batches):
    module = kind().train(batches)
    for number, (name, p) in enumerate(module.named_parameters()):
        if name in getattr(module, 'fixed', ()):
            continue                     # as the module has it: all 0, all 1, or chosen
        fan = int(np.prod(p.shape[1:])) if p.dim() > 1 else 0 if 'weight' in name else -1
        p.data = torch.from_numpy(Recipe.weight(number, tuple(p.shape), fan))
    return module


def batch(kind, step):
    arrays = []
    for n, (shape, highest) in enumerate(kind.inputs):
        count = int(np.prod(shape))
        h = words(200 + n, step * count, count) >> np.uint32(8)
        if highest:
            a = (h % np.uint32(highest)).astype(np.int64)
        else:
            a = (h.astype(np.int32) - (1 << 23)).astype(np.float32) * np.float32(2.0 ** -23)
        arrays.append(torch.from_numpy(a.reshape(shape)))
    return arrays


def train(kind, batches, optimizer, dtype):
    module = build(kind, batches).to(dtype)
    optim = optimizer(module.parameters())
    losses = []
    for step in range(STEPS):
        data = [x.to(dtype) if x.is_floating_point() else x for x in batch(kind, step)]
        loss = module(*data)
        optim.zero_grad()
        loss.backward()
        optim.step()
        losses.append(loss.item())
    return losses


def export(kind, batches):
    """The bytes of the model."""
    module, file = build(kind, batches), io.BytesIO()
    mode = torch.onnx.TrainingMode.TRAINING if batches else torch.onnx.TrainingMode.EVAL
    torch.onnx.export(module, tuple(batch(kind, 0)), file, opset_version=14, training=mode,
                      do_constant_folding=False, input_names=['x', 'target'],
                      output_names=['loss'])
    return file.getvalue()


def main():
    lines, fine = [], True
    check = '--check' in sys.argv
    for name, kind, batches, optimizer in CASES:
        exact = train(kind, batches, optimizer, torch.float64)
        single = train(kind, batches, optimizer, torch.float32)
        stray = max(abs(a - b) / abs(b) for a, b in zip(single, exact))
        if stray > STRAY:
            sys.exit(f'{name}: float32 strays by {stray:.1e}')
        lines += [f'{name} {i} {a:.15e} {b:.9e}' for i, (a, b) in enumerate(zip(exact, single))]
        path = os.path.join(HERE, f'onnx_train_{name}.onnx')
        if not check:
            with open(path, 'wb') as f:
                f.write(export(kind, batches))
        with open(path, 'rb') as f:
            there = f.read()
        parameters = build(kind, batches).parameters()
        if not all(p.detach().numpy().tobytes() in there for p in parameters):
            print(f'{path} does not have the weights that are trained here')
            fine = False
        print(f'{name}: {exact[0]:.6f} ... {exact[-1]:.6f}, float32 strays by {stray:.1e}')
    path = os.path.join(HERE, 'onnx_train.txt')
    if not check:
        with open(path, 'w', encoding='ascii') as f:
            f.write('\n'.join(lines) + '\n')
        return 0
    with open(path, encoding='ascii') as f:
        old = f.read().split('\n')[:-1]
    for line, want in zip(lines, old):
        same = line.split()[:2] == want.split()[:2]
        got, wanted = float(line.split()[2]), float(want.split()[2])
        if not same or abs(got - wanted) > 1e-9 * abs(wanted):
            print(f'{line}\n    is not\n{want}')
            fine = False
    return 0 if fine and len(lines) == len(old) else 1


if __name__ == '__main__':
    sys.exit(main())
