"""PyTorch's half of the benchmarks: reads requests, answers one line for each.

    python3 tests/bench/torch_peer.py THREADS

    make NAME ARGUMENTS     builds something to measure, answers ok
    run N                   does it N times after one that does not count, answers seconds of one
    value                   a number by which it can be compared with samba's
    peak                    the most memory this process has had, in MiB
"""
import importlib
import sys
import time

import torch

threads = int(sys.argv[1])
torch.set_num_threads(threads)


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
        start = time.perf_counter()
        for _ in range(n):
            thing.step()
        seconds = [(time.perf_counter() - start) / n]
        return " ".join(repr(s) for s in seconds + getattr(thing, "parts", []))
    if words[0] == "value":
        return repr(float(thing.value()))
    if words[0] == "peak":
        return repr(peak_memory())
    return "what?"


if __name__ == "__main__":
    sys.modules["torch_peer"] = sys.modules["__main__"]
    print(f"{torch.__version__}, {torch.get_num_threads()} threads", flush=True)
    thing = None
    for line in sys.stdin:
        with torch.enable_grad():
            print(answer(line.split()), flush=True)
