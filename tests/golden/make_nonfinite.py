#!/usr/bin/env python3
"""Writes tests/golden/nonfinite.txt: what PyTorch makes of NaN, infinities and -0.

    python3 tests/golden/make_nonfinite.py

A line is a function, then tensors of f32, each as a count and its numbers: the inputs, a line
"->", the outputs, and, if the first input has a gradient of the sum of output 0, "d" and that.
"""
import os
import warnings

import torch
import torch.nn.functional as F

NAN, INF = float("nan"), float("inf")
ODD = [NAN, INF, -INF, -0.0, 0.0, 1e30, -1e30, 1e-40, -1e-40, 0.5, -1.5, 2.5]
ROW = [0.75, -1.25, 0.5, 2.0, -0.25]
POSITIVE = [0.25, 0.125, 0.5, 0.0625, 0.0625]


def rows(plain):
    """A row with one odd number in it, and some with more."""
    for v in NAN, INF, -INF, -0.0:
        for at in (0, 2, 4):
            yield plain[:at] + [v] + plain[at + 1:]
    yield [NAN, plain[1], INF, plain[3], -INF]
    yield [INF, plain[1], INF, plain[3], INF]
    yield [-INF] * 5
    yield [-0.0, 0.0, -0.0, 0.0, -0.0]


def text(t):
    numbers = t.detach().to(torch.float32).reshape(-1).tolist()
    return "%d %s" % (len(numbers), " ".join("%.9g" % x for x in numbers))


def case(name, f, *values, gradient=True):
    """The function in double, so that only what is not finite differs; results as f32."""
    x = [torch.tensor(v, dtype=torch.float32).double() for v in values]
    x[0].requires_grad_(gradient)
    y = f(*x)
    outs = list(y) if isinstance(y, tuple) else [y]
    yield name + " " + " ".join(text(t) for t in x) + " -> " + " ".join(text(t) for t in outs)
    if gradient:
        outs[0].sum().backward()
        yield "d " + text(x[0].grad)


MAPS = {
    "sin": torch.sin, "cos": torch.cos, "erf": torch.erf, "log1p": torch.log1p,
    "expm1": torch.expm1, "floor": torch.floor, "ceil": torch.ceil, "round": torch.round,
    "sign": torch.sign, "reciprocal": torch.reciprocal, "clamp": lambda x: torch.clamp(x, -1, 2),
}

WITHOUT_GRADIENT = "floor", "ceil", "round", "sign"  # PyTorch's is 0, samba.h has none


def sorts(x, descending):
    return tuple(torch.sort(x, dim=0, descending=descending, stable=True))


def functions():
    for name, f in MAPS.items():
        values = [v for v in ODD if abs(v) != 1e30 or name not in ("sin", "cos")]
        yield from case(name, f, values, gradient=name not in WITHOUT_GRADIENT)
    for x in rows(ROW):
        yield from case("logsumexp", lambda x: torch.logsumexp(x, 0), x)
        yield from case("cumsum", lambda x: torch.cumsum(x, 0), x)
        yield from case("prod", lambda x: torch.prod(x, 0), x)
        yield from case("var", lambda x: torch.var(x, 0), x)
        yield from case("std", lambda x: torch.std(x, 0), x)
        yield from case("min", lambda x: torch.amin(x, 0), x, gradient=False)
        yield from case("argmin", lambda x: torch.argmin(x, 0), x, gradient=False)
        yield from case("sort", lambda x: sorts(x, False), x, gradient=False)
        yield from case("sort_down", lambda x: sorts(x, True), x, gradient=False)
        yield from case("topk", lambda x: torch.topk(x, 3)[0], x, gradient=False)
        yield from case("topk_least", lambda x: torch.topk(x, 3, largest=False)[0], x,
                        gradient=False)
        yield from case("l1", F.l1_loss, x, POSITIVE)
        yield from case("smooth_l1", F.smooth_l1_loss, x, POSITIVE)
        yield from case("huber", F.huber_loss, x, POSITIVE)
        yield from case("bce", F.binary_cross_entropy_with_logits, x, POSITIVE)
        yield from case("kl_div", lambda x, y: F.kl_div(x, y, reduction="mean"), x, POSITIVE)
        row = lambda t: t.reshape(1, -1)     # noqa: E731
        yield from case("cosine_embedding", lambda a, b: F.cosine_embedding_loss(
            row(a), row(b), torch.ones(1, dtype=a.dtype)), x, POSITIVE)
        yield from case("triplet_margin", lambda a, p, n: F.triplet_margin_loss(
            row(a), row(p), row(n)), x, POSITIVE, ROW)
        yield from case("cross_entropy_weighted", lambda x, w: F.cross_entropy(
            row(x), torch.tensor([1]), w), x, POSITIVE)
    for y in rows(POSITIVE):
        yield from case("l1", F.l1_loss, ROW, y)
        yield from case("smooth_l1", F.smooth_l1_loss, ROW, y)
        yield from case("huber", F.huber_loss, ROW, y)
        yield from case("kl_div", lambda x, y: F.kl_div(x, y, reduction="mean"), ROW, y)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "nonfinite.txt")
    with open(path, "w") as f:
        f.write("\n".join(functions()) + "\n")
