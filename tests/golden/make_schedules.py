#!/usr/bin/env python3
"""Writes tests/golden/schedules.txt: learning rates of torch.optim.lr_scheduler.

    python3 tests/golden/make_schedules.py

A line has a kind and its options; the lines below it, until an empty one, what PyTorch says of one
step each:
    restarts LR END T_0 T_MULT              the rate of that step
    plateau LR MAX FACTOR PATIENCE THRESHOLD ABSOLUTE COOLDOWN MIN EPS
                                            a measure, and the rate after it
"""
import os

import torch
from torch.optim.lr_scheduler import CosineAnnealingWarmRestarts, ReduceLROnPlateau

STEPS = 150


def optimizer(lr):
    return torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=lr)


def rate(o):
    return o.param_groups[0]["lr"]


def restarts(lr, end, t_0, t_mult):
    yield "restarts %.17g %.17g %d %d" % (lr, end, t_0, t_mult)
    o = optimizer(lr)
    schedule = CosineAnnealingWarmRestarts(o, t_0, t_mult, eta_min=end)
    for _ in range(STEPS):
        yield "%.17g" % rate(o)
        o.step()
        schedule.step()
    yield ""


def measures(seed, rises):
    """Falls for a while, then stays, with noise; numbers of f32. Some are NaN or infinite."""
    torch.manual_seed(seed)
    for step in range(STEPS):
        x = 3.0 * 0.9 ** min(step, 40) + 0.002 * float(torch.randn(()))
        x = float(torch.tensor(-x if rises else x))
        yield {70: float("nan"), 71: float("inf"), 72: float("-inf") if rises else x}.get(step, x)


def plateau(seed, lr, rises=False, factor=0.1, patience=10, threshold=1e-4, absolute=False,
            cooldown=0, least=0.0, eps=1e-8):
    yield "plateau %.17g %d %.17g %d %.17g %d %d %.17g %.17g" % (
        lr, rises, factor, patience, threshold, absolute, cooldown, least, eps)
    o = optimizer(lr)
    schedule = ReduceLROnPlateau(o, "max" if rises else "min", factor, patience, threshold,
                                 "abs" if absolute else "rel", cooldown, least, eps)
    for x in measures(seed, rises):
        if rises and x == float("inf"):  # the best for ever, which no checkpoint holds
            x = 0.0
        schedule.step(x)
        yield "%.9g %.17g" % (x, rate(o))
    yield ""


def cases():
    yield from restarts(0.1, 0.0, 10, 1)
    yield from restarts(0.001, 1e-5, 7, 2)
    yield from restarts(1.0, 0.25, 1, 3)
    yield from plateau(1, 0.1)
    yield from plateau(2, 0.1, factor=0.5, patience=2)
    yield from plateau(3, 0.1, rises=True, factor=0.3, patience=3, cooldown=4)
    yield from plateau(4, 0.1, factor=0.5, patience=1, threshold=0.05, cooldown=2, least=0.001)
    yield from plateau(5, 0.1, factor=0.7, patience=0, threshold=0.01, absolute=True)
    yield from plateau(6, 0.1, rises=True, factor=0.5, patience=0, threshold=0.02, absolute=True,
                       cooldown=1, eps=0.001)
    yield from plateau(7, 0.1, factor=0.0, patience=4, threshold=0.0, least=0.02)


if __name__ == "__main__":
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "schedules.txt")
    with open(path, "w") as f:
        f.write("\n".join(cases()) + "\n")
