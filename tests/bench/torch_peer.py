"""PyTorch's half of the benchmarks: reads requests, answers one line for each.

    python3 tests/bench/torch_peer.py THREADS [eager|compile|bf16|bf16-compile]

    make NAME ARGUMENTS     builds something to measure, answers ok
    run N                   does it N times after one that does not count, answers seconds of one
    value                   a number by which it can be compared with samba's
    peak                    the most memory this process has had, in MiB

Each mode is the best configuration that is known of it, and the files beside this one ask here for
it: prepared() is torch.compile, lower_precision() autocast to bf16. They run on PyTorch 1.13, too,
which has neither torch.compile nor a fused optimizer on the CPU.
"""
import functools
import importlib
import os
import re
import sys
import time

import torch
from torch.nn import functional as F

clock = time.process_time if "SAMBA_BENCH_CPU" in os.environ else time.perf_counter
threads = int(sys.argv[1])
mode = sys.argv[2] if len(sys.argv) > 2 else "eager"
compiles, half = mode.endswith("compile"), mode.startswith("bf16")
LIBRARIES = (("MKL", r"Math Kernel Library Version (\S+?)-"), ("oneDNN", r"MKL-DNN v(\S+)"),
             ("with", r"CPU capability usage: (\S+)"))
torch.set_num_threads(threads)


def prepared(function):
    """What a step calls again and again."""
    return torch.compile(function, dynamic=False) if compiles else function


def lower_precision():
    """A context in which products compute in bf16, if the mode says so."""
    return torch.autocast("cpu", torch.bfloat16, enabled=half)


def adamw(parameters, lr):
    fused = {"fused": True} if today() else {"foreach": True}
    return torch.optim.AdamW(parameters, lr=lr, betas=(0.9, 0.999), weight_decay=0.01, **fused)


def today():
    """PyTorch has what it has had since 2.4."""
    return tuple(int(n) for n in torch.__version__.split(".")[:2]) >= (2, 4)


def attention(q, k, v):
    """Causal if there are several queries; flash attention, where PyTorch has it."""
    T = q.shape[2]
    if hasattr(F, "scaled_dot_product_attention"):
        return F.scaled_dot_product_attention(q, k, v, is_causal=T > 1)
    scores = q @ k.transpose(2, 3) * q.shape[3] ** -0.5
    if T > 1:
        scores = scores.masked_fill(future(T), float("-inf"))
    return torch.softmax(scores, -1) @ v


@functools.lru_cache
def future(T):
    return torch.ones(T, T, dtype=torch.bool).triu(1)


def about():
    """Versions, for the head of the table: of PyTorch, and of what multiplies for it."""
    config = torch.__config__.show()
    found = [f"{name} {number}" for name, pattern in LIBRARIES
             for number in re.findall(pattern, config)[:1]]
    return f"PyTorch {torch.__version__}" + (f" ({', '.join(found)})" if found else "")


def peak_memory():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) / 1024


def hashed(n, seed):
    """n integers of 32 bits: number() of bench.h"""
    x = (torch.arange(n, dtype=torch.int64) + seed * 7919) * 2654435761 & 0xFFFFFFFF
    x ^= x >> 15
    x = x * 2246822519 & 0xFFFFFFFF
    return x ^ x >> 13


def numbers(shape, seed, scale=1.0):
    """fill() of bench.h"""
    n = 1
    for d in shape:
        n *= d
    return ((hashed(n, seed).double() / 2147483648.0 - 1) * scale).float().reshape(shape)


def choices(shape, seed, most):
    """choices() of bench.h"""
    n = 1
    for d in shape:
        n *= d
    return (hashed(n, seed) % most).reshape(shape)


class Gemm:
    """C = op(A) op(B), walking through a pool of B's."""

    def __init__(self, how, m, n, k, count):
        m, n, k, count = int(m), int(n), int(k), int(count)
        a = torch.rand(k, m).t() if how[0] == "t" else torch.rand(m, k)
        pool = torch.rand(count, n, k).transpose(1, 2) if how[1] == "t" else torch.rand(count, k, n)
        self.a, self.pool, self.at = a, pool, 0
        self.c = torch.empty(m, n)

    def step(self):
        torch.mm(self.a, self.pool[self.at], out=self.c)
        self.at = (self.at + 1) % len(self.pool)


kinds = {"gemm": Gemm}


def find(name):
    """A class of this file, or of another: gpt2.Train is Train of torch_gpt2.py."""
    if name in kinds:
        return kinds[name]
    module, kind = name.split(".")
    return getattr(importlib.import_module("torch_" + module), kind)


def answer(words):
    global thing
    if words[0] == "make":
        thing = None                                # memory goes before more is taken
        if words[1] == "nothing":
            return "ok"
        thing = find(words[1])(*words[2:])
        return "ok"
    if words[0] == "run":
        n = int(words[1])
        if not getattr(thing, "warm", False):       # things that train count their steps
            thing.step()
        start = clock()
        for _ in range(n):
            thing.step()
        seconds = [(clock() - start) / n]
        return " ".join(repr(s) for s in seconds + getattr(thing, "parts", []))
    if words[0] == "value":
        return repr(float(thing.value()))
    if words[0] == "peak":
        return repr(peak_memory())
    return "what?"


if __name__ == "__main__":
    sys.modules["torch_peer"] = sys.modules["__main__"]
    print(about(), flush=True)
    thing = None
    for line in sys.stdin:
        with torch.enable_grad():
            print(answer(line.split()), flush=True)
