#!/usr/bin/env python3
"""Writes tests/golden/ops_<op>.bin: what PyTorch says each op and its gradient must give.

    python3 tests/golden/make_ops.py            write the files beside this script
    python3 tests/golden/make_ops.py --check    write them elsewhere and compare bytes

Inputs are rounded to f32 first; outputs and gradients are computed in float64 and stored as f32, so
they are better than any f32 library. What PyTorch lacks or leaves open (attention, the first of
equal maxima, saturating casts) is computed from its formula. Each case is computed in f32 as well,
and refused if that misses half of the tolerance of tests/core/ops.c: a golden must not ask for
luck.

File, little-endian, fields of 4 bytes unless said otherwise:

    magic "SAMBAGLD" (8 bytes) | version 1 | n cases | FNV-1a of all that follows (8 bytes) | cases
    case:   op name (32 bytes, zero padded) | flags | n attributes | attributes (8 bytes, double)
            n inputs | inputs | n outputs | outputs | cotangents | gradients
    flags:  1 = sits on a tie or a kink, so difference quotients do not apply
    input:  dtype | needs_grad | ndim | dims | data, zero padded to 4 bytes;
            an absent input is dtype 255 and nothing else
    output: dtype | has_cotangent | ndim | dims | data, zero padded to 4 bytes
    cotangents: f32 data r of each output that has one, which every differentiable output has
    gradients:  f32 data of d sum(out r) / d input for each input that needs_grad
    The dtype numbers are those of samba_dtype.

Attributes by op, in this order (booleans as 0 and 1; ops not listed have none):

    leaky_relu slope | scale factor | shift term | cast dtype ... (one after another)
    sum mean max     keepdim, axes ... (none: all)
    argmax           axis, keepdim
    reshape expand   dims ... | permute axes ... | flatten from_axis | transpose axis0, axis1
    slice            axis, begin, end, step | split size, axis | pad before ..., after ..., value
    cat stack squeeze unsqueeze gather softmax log_softmax     axis
    layer_norm rms_norm eps | batch_norm momentum, eps, train
    cross_entropy nll   reduction, use_ignore_index, ignore_index, label_smoothing | mse reduction
    convolution      stride (2), padding (2), dilation (2), groups; in 1-D the first of each two
    max_pool2d avg_pool2d   kernel (2), stride (2), padding (2), ceil_mode, exclude_padding
    adaptive_avg_pool2d     out_h, out_w | scaled_dot_product_attention causal, scale
    clamp            least, most | masked_fill value | min logsumexp as max
    var std          correction, keepdim, axes ...
    argmin prod sort axis, keepdim (sort: descending) | cumsum index_select scatter_add axis
    lookup_padded    its row
    topk             k, axis, largest | one_hot classes | group_norm groups, eps | instance_norm eps
    conv_transpose   stride (2), padding (2), output_padding (2), dilation (2), groups
    interpolate      out_h, out_w, mode, align_corners | rotary base, interleaved
    attention_heads  causal, window, scale; inputs q, k, v, lengths
    losses           their number, if there is one, and the reduction
    cross_entropy_weighted  as cross_entropy, then zero_if_none | ctc blank, zero_infinity
    lstm gru rnn     layers, bidirectional, no bias, relu; inputs x, lengths, h, c, parameters

Inputs in the order of the C function. Outputs 1 and 2 of batch_norm are its running values
afterwards, without cotangents.
"""
import os
import struct
import sys
import tempfile
import warnings
import zlib

import numpy as np
import torch
import torch.nn.functional as F

F32, BF16, F16, I32, I16, I8, U8, BOOL, ABSENT = 0, 1, 2, 3, 4, 5, 6, 7, 255
NUMPY_OF = {F32: "<f4", BF16: "<u2", F16: "<u2", I32: "<i4", I16: "<i2", I8: "<i1", U8: "<u1",
            BOOL: "<u1"}
MEAN, SUM, NONE = 0, 1, 2
REDUCTION = ["mean", "sum", "none"]
TIE = 1                                  # the flag
OUT_RTOL, GRAD_RTOL = 1e-5, 1e-4         # of tests/core/ops.c
EPS = float(np.float32(1e-5))


class Tensor:
    """What a file holds of a tensor."""

    def __init__(self, data, dtype=F32, grad=False):
        self.dtype, self.grad = dtype, grad
        self.data = np.array(data, NUMPY_OF[dtype], order="C")   # keeps 0 dimensions

    def torch(self, dtype):
        if self.dtype == F32:
            return torch.tensor(self.data, dtype=dtype, requires_grad=self.grad)
        if self.dtype == BOOL:
            return torch.tensor(self.data != 0)
        return torch.tensor(self.data.astype(np.int64))


def p(x):
    """An input that needs a gradient."""
    return Tensor(x, F32, True)


def c(x):
    """An f32 input without gradient."""
    return Tensor(x)


def i32(x):
    return Tensor(x, I32)


def boolean(x):
    return Tensor(x, BOOL)


def f32(x):
    """The value an f32 attribute has."""
    return float(np.float32(x))


def error(got, want):
    """The measure of tests/core/ops.c: relative, for small elements to a tenth of the largest."""
    want = np.asarray(want, np.float64)
    got = np.asarray(got, np.float64)
    same = (got == want) | (np.isnan(got) & np.isnan(want))
    finite = np.abs(want[np.isfinite(want)])
    scale = max(finite.max() if finite.size else 0.0, 1e-3)
    with np.errstate(invalid="ignore"):
        e = np.where(same, 0.0, np.abs(got - want) / (np.abs(want) + 0.1 * scale))
    return e.max() if e.size else 0.0


def header(t, mark):
    fields = [t.dtype, int(mark), t.data.ndim] + list(t.data.shape)
    d = t.data.tobytes()
    return struct.pack("<%dI" % len(fields), *fields) + d + bytes(-len(d) % 4)


class Op:
    """The cases of one op: random inputs of a fixed stream, and the file."""

    def __init__(self, name):
        self.name, self.cases = name, []
        # numpy promises never to change this stream.
        self.rng = np.random.RandomState(zlib.crc32(name.encode()))

    def normal(self, *shape, scale=1.0, shift=0.0):
        return (np.asarray(self.rng.standard_normal(shape)) * scale + shift).astype(np.float32)

    def uniform(self, low, high, *shape):
        return np.asarray(self.rng.uniform(low, high, shape)).astype(np.float32)

    def off_zero(self, *shape, low=0.05, high=3.0):
        """Either sign, never near 0."""
        sign = np.where(self.rng.random_sample(shape) < 0.5, -1.0, 1.0)
        return (sign * self.rng.uniform(low, high, shape)).astype(np.float32)

    def ints(self, low, high, *shape):
        return np.asarray(self.rng.randint(low, high, shape)).astype(np.int32)

    def bits(self, *shape, p=0.5):
        return np.asarray(self.rng.random_sample(shape) < p)

    def factor(self, *shape):
        """Long sums of products must not cancel: their rounding errors grow with the terms."""
        return self.normal(*shape, shift=0.5 if max(shape) > 500 else 0.0)

    def distinct(self, *shape):
        """Values no two of which are closer than 0.006."""
        n = int(np.prod(shape, dtype=np.int64))
        x = self.rng.permutation(n) * 0.01 - 0.005 * n + self.rng.uniform(-0.002, 0.002, n)
        return x.reshape(shape).astype(np.float32)

    def case(self, inputs, fn, attr=(), flags=0, n_state=0, r=None):
        """fn maps torch tensors to one or a list; the last n_state outputs get no cotangent."""
        def run(dtype):
            ts = [None if t is None else t.torch(dtype) for t in inputs]
            outs = fn(*ts)
            outs = list(outs) if isinstance(outs, (list, tuple)) else [outs]
            loss = sum((o * torch.tensor(rs[k].data, dtype=dtype)).sum() for k, o in enumerate(outs)
                       if k in rs)
            if any(t is not None and t.grad for t in inputs):
                loss.backward()
            grads = [np.zeros(i.data.shape) if t.grad is None else t.grad.numpy()
                     for t, i in zip(ts, inputs) if i is not None and i.grad]
            return [o.detach().numpy() for o in outs], grads

        rs = {}
        with torch.no_grad():
            probe = fn(*[None if t is None else t.torch(torch.float64) for t in inputs])
        probe = list(probe) if isinstance(probe, (list, tuple)) else [probe]
        for k, o in enumerate(probe[:len(probe) - n_state]):
            if o.dtype == torch.float64:
                rs[k] = c(self.normal(*o.shape) if r is None else r)
        outs, grads = run(torch.float64)
        outs32, grads32 = run(torch.float32)
        for what, rtol, w, g in [("output", OUT_RTOL, outs, outs32),
                                 ("gradient", GRAD_RTOL, grads, grads32)]:
            for k, (a, b) in enumerate(zip(w, g)):
                if error(b, a) > 0.5 * rtol:
                    sys.exit("%s case %d: %s %d is off by %.1e in f32"
                             % (self.name, len(self.cases), what, k, error(b, a)))
        whole = I32 if inputs[0].dtype in (F32, BOOL) else inputs[0].dtype
        kinds = {np.dtype(np.float64): F32, np.dtype(np.int64): whole, np.dtype(bool): BOOL}
        self.put(inputs, [Tensor(o, kinds[o.dtype]) for o in outs], rs, [c(g) for g in grads], attr,
                 flags)

    def put(self, inputs, outs, rs=None, grads=(), attr=(), flags=0):
        """One case whose results are known; rs maps an output's index to its cotangent."""
        rs = rs or {}
        b = struct.pack("<32sII", self.name.encode(), flags, len(attr))
        b += struct.pack("<%dd" % len(attr), *attr)
        b += struct.pack("<I", len(inputs))
        b += b"".join(struct.pack("<I", ABSENT) if t is None else header(t, t.grad) for t in inputs)
        b += struct.pack("<I", len(outs)) + b"".join(header(t, k in rs) for k, t in enumerate(outs))
        b += b"".join(rs[k].data.tobytes() for k in sorted(rs))
        b += b"".join(g.data.tobytes() for g in grads)
        assert len(grads) == sum(1 for t in inputs if t is not None and t.grad)
        self.cases.append(b)

    def file(self):
        assert len(self.cases) >= 20, self.name
        body = b"".join(self.cases)
        h = 0xCBF29CE484222325
        for byte in body:
            h = (h ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
        return b"SAMBAGLD" + struct.pack("<IIQ", 1, len(self.cases), h) + body


# ---- Elementwise ---------------------------------------------------------------------------------

PAIRS = [((), ()), ((1,), (1,)), ((7,), ()), ((), (17,)), ((33,), (1,)), ((1,), (33,)),
         ((17, 7), (7,)), ((7,), (17, 7)), ((17, 1), (1, 7)), ((1, 7), (17, 1)),
         ((2, 3, 4), (3, 1)), ((3, 1), (2, 3, 4)), ((2, 1, 4), (1, 3, 1)), ((7, 7), (7, 7)),
         ((1, 1, 1), (1,)), ((1031,), (1031,)), ((1, 129), (2, 1)), ((5, 1, 1), ()),
         ((2, 3, 1, 5), (1, 3, 4, 1)), ((2, 1, 2, 1, 2, 1, 2, 1), (1, 2, 1, 2, 1, 2, 1, 2)),
         ((33, 5), (33, 1)), ((1, 17), (7, 17)), ((64,), (64,)), ((3, 5, 7), (5, 7)),
         ((2, 3), (4, 2, 3))]

SHAPES = [(), (1,), (7,), (17,), (33,), (1, 1), (1, 7), (7, 1), (2, 3), (7, 33), (3, 1, 5),
          (1, 17, 1), (2, 3, 4), (2, 1, 3, 1), (1, 1, 1, 1), (2, 3, 2, 3), (7, 7), (1031,),
          (1, 129), (33, 1), (2, 2, 2, 2, 2), (1, 2, 1, 2, 1, 2), (2, 1, 2, 1, 2, 1, 2, 1), (64,)]


def binary(op, fn, a_of, b_of):
    for sa, sb in PAIRS:
        op.case([p(a_of(*sa)), p(b_of(*sb))], fn)
    op.case([p(a_of(7, 3)), c(b_of(3))], fn)                   # a gradient on one side only
    op.case([c(a_of(3)), p(b_of(7, 3))], fn)


def add(op):
    binary(op, torch.add, op.normal, op.normal)


def sub(op):
    binary(op, torch.sub, op.normal, op.normal)


def mul(op):
    binary(op, torch.mul, op.normal, op.normal)


def div(op):
    binary(op, torch.div, op.normal, lambda *s: op.off_zero(*s, low=0.5))


def pow_(op):
    binary(op, torch.pow, lambda *s: op.uniform(0.3, 3, *s), lambda *s: op.uniform(-2, 3, *s))
    whole = np.array([-2, -1, 1, 2, 3, 4], np.float32)
    # a < 0 with whole exponents
    op.case([p(op.off_zero(7, 6, low=0.5, high=2)), c(whole)], torch.pow)
    op.case([p(op.normal(17)), c(np.float32(2))], torch.pow)
    op.case([p(np.zeros(4)), c([0, 1, 2, 3])], torch.pow)


def extremum(op, fn):
    # Multiples of 0.1 against odd multiples of 0.05: never closer than 0.03.
    binary(op, fn, lambda *s: op.ints(-20, 20, *s) * 0.1 + op.uniform(-0.01, 0.01, *s),
           lambda *s: op.ints(-20, 20, *s) * 0.1 + 0.05 + op.uniform(-0.01, 0.01, *s))
    op.case([p(op.ints(-2, 3, 33)), p(op.ints(-2, 3, 33))], fn)    # ties share the gradient
    op.case([c([np.nan, 1, np.nan, np.inf, -np.inf]), c([1, np.nan, np.nan, 0, 0])], fn)


def minimum(op):
    extremum(op, torch.minimum)


def maximum(op):
    extremum(op, torch.maximum)


def comparison(op, fn):
    for sa, sb in PAIRS:
        op.case([c(op.ints(-2, 3, *sa)), c(op.ints(-2, 3, *sb))], fn)
    op.case([c(op.normal(33)), c(op.normal(33))], fn)
    op.case([i32(op.ints(-3, 4, 7, 17)), i32(op.ints(-3, 4, 17))], fn)
    op.case([i32(op.ints(-3, 4)), i32(op.ints(-3, 4, 33))], fn)
    big = 1 << 24
    op.case([i32([big, big - 1, -big, big - 1]), i32([big - 1, big - 1, 1 - big, big])], fn)
    op.case([c([np.nan, 1, np.nan, np.inf, -np.inf, 0.0]),
             c([1, np.nan, np.nan, np.inf, np.inf, -0.0])], fn)


def eq(op):
    comparison(op, torch.eq)


def ne(op):
    comparison(op, torch.ne)


def lt(op):
    comparison(op, torch.lt)


def le(op):
    comparison(op, torch.le)


def gt(op):
    comparison(op, torch.gt)


def ge(op):
    comparison(op, torch.ge)


def where(op):
    for k, (sa, sb) in enumerate(PAIRS):
        sc = [sa, sb, np.broadcast_shapes(sa, sb), ()][k % 4]
        op.case([boolean(op.bits(*sc)), p(op.normal(*sa)), p(op.normal(*sb))], torch.where)
    op.case([boolean(op.bits(4, 1, 3)), p(op.normal(5, 1)), p(op.normal(3))], torch.where)
    op.case([boolean(np.zeros(7)), p(op.normal(7)), p(op.normal(7))], torch.where)
    op.case([boolean(op.bits(7, 17)), p(op.normal(7, 17)), c(np.float32(-1e30))], torch.where)


def unary(op, fn, x_of, extreme=None, attr=()):
    for s in SHAPES:
        op.case([p(x_of(*s))], fn, attr)
    if extreme is not None:
        op.case([p(np.array(extreme, np.float32))], fn, attr)
    if extreme is WIDE:
        op.case([p(np.array(SMALL, np.float32))], fn, attr)


def at_zero(op, fn, attr=()):
    op.case([p([0.0, 1.0, -1.0, 0.0])], fn, attr, TIE)


def neg(op):
    unary(op, torch.neg, op.normal, [0.0, 1e30, -1e30])


def exp(op):
    unary(op, torch.exp, lambda *s: op.normal(*s, scale=2), [10, -10, 0, 5, -20])


def log(op):
    unary(op, torch.log, lambda *s: op.uniform(0.1, 10, *s), [1e10, 0.5, 2, 1, 1e5])


def sqrt(op):
    unary(op, torch.sqrt, lambda *s: op.uniform(0.1, 10, *s), [1e10, 0.01, 4, 1])


def rsqrt(op):
    unary(op, torch.rsqrt, lambda *s: op.uniform(0.1, 10, *s), [100, 0.01, 4, 1])


def abs_(op):
    unary(op, torch.abs, op.off_zero, [1e30, -1e30])
    op.case([p([0.0, 1.0, -1.0, 0.0])], torch.abs)    # the quotient at 0 is 0, too


def relu(op):
    unary(op, torch.relu, op.off_zero, [1e10, -1e10])
    at_zero(op, torch.relu)


def leaky_relu(op):
    for k, slope in enumerate([0.01, 0.2, 0.0, 1.5]):
        slope = f32(slope)
        for s in SHAPES[k::4]:
            op.case([p(op.off_zero(*s))], lambda x: F.leaky_relu(x, slope), [slope])
        at_zero(op, lambda x: F.leaky_relu(x, slope), [slope])


SMALL = [1e-3, -1e-3, 3e-3, -5e-3, 1e-2, 2e-2, -3e-2, 0.1, -0.15]
WIDE = [0, 1e-3, -1e-3, 4, -4, 8, -8, 15, -15, 30, -30, 50, -50, 90, -90]


def sigmoid(op):
    unary(op, torch.sigmoid, lambda *s: op.normal(*s, scale=3), WIDE)


def tanh(op):
    unary(op, torch.tanh, lambda *s: op.normal(*s, scale=1.5), WIDE)


def gelu(op):
    unary(op, lambda x: 0.5 * x * (1 + torch.erf(x * 0.5 ** 0.5)),
          lambda *s: op.normal(*s, scale=2), WIDE)


def gelu_tanh(op):
    unary(op, lambda x: F.gelu(x, approximate="tanh"), lambda *s: op.normal(*s, scale=2), WIDE)


def sin(op):
    unary(op, torch.sin, lambda *s: op.normal(*s, scale=5), [0, 1e-3, -1e-3, 50, -200])


def cos(op):
    unary(op, torch.cos, lambda *s: op.normal(*s, scale=5), [0, 1e-3, -1e-3, 50, -200])


def erf(op):
    unary(op, torch.erf, lambda *s: op.normal(*s), [0, 1e-3, -1e-3, 3, -3, 9, -20])


def log1p(op):
    unary(op, torch.log1p, lambda *s: op.uniform(-0.9, 5, *s), [0, 1e-3, -1e-3, 1e5, -0.99])


def expm1(op):
    unary(op, torch.expm1, lambda *s: op.normal(*s, scale=2), [0, 1e-3, -1e-3, 5, -20])


def steps(op, fn, extreme):
    for s in SHAPES:
        s = (131,) if s == (1031,) else s
        op.case([c(op.normal(*s, scale=3))], fn)
    op.case([c(np.array(STEPS, np.float32))], fn)
    op.case([c(np.array(extreme, np.float32))], fn)     # apart, as they hide errors of others


STEPS = [0, 0.5, -0.5, 1.5, -1.5, 2.5, 3, -4, 0.49999997, -0.3]
LARGE = [1e6 + 0.5, 8388607.5, 1e10, -1e30, np.inf, -np.inf]


def floor(op):
    steps(op, torch.floor, [*LARGE, np.nan])


def ceil(op):
    steps(op, torch.ceil, [*LARGE, np.nan])


def round_(op):
    steps(op, torch.round, [*LARGE, np.nan])


def sign(op):
    steps(op, torch.sign, LARGE)     # of NaN PyTorch makes 0


def detach(op):
    steps(op, torch.clone, [*LARGE, np.nan])


def silu(op):
    unary(op, F.silu, lambda *s: op.normal(*s, scale=3), WIDE)


def softplus(op):
    unary(op, lambda x: torch.logaddexp(x, torch.zeros_like(x)), lambda *s: op.normal(*s, scale=3),
          WIDE)


def scale(op):
    for k, v in enumerate([2.0, -0.37, 0.0, 1.0, 1e-3]):
        v = f32(v)
        for s in SHAPES[k::5]:
            op.case([p(op.normal(*s))], lambda x: x * v, [v])


def shift(op):
    for k, v in enumerate([2.0, -0.37, 0.0, 100.0]):
        v = f32(v)
        for s in SHAPES[k::4]:
            op.case([p(op.normal(*s))], lambda x: x + v, [v])


def half_bits(x, kind):
    t = torch.tensor(np.asarray(x, np.float32))
    t = t.to(torch.bfloat16 if kind == BF16 else torch.float16)
    return t.view(torch.int16).numpy().view(np.uint16)


def half_value(bits, kind):
    t = torch.tensor(np.asarray(bits, np.uint16).view(np.int16))
    return t.view(torch.bfloat16 if kind == BF16 else torch.float16).to(torch.float32).numpy()


def saturated(x, kind):
    low, high = {I32: (-2**31, 2**31 - 1), I16: (-2**15, 2**15 - 1), I8: (-128, 127),
                 U8: (0, 255)}[kind]
    x = np.trunc(np.where(np.isnan(x), 0, x).astype(np.float64))
    return np.clip(x, low, high).astype(np.int64)


def cast(op):
    edge = np.array([0, 0.5, -0.5, 1.9999999, -1.9999999, 127.9, 128, -128.9, -129, 255.5, 256, -1,
                     32767.5, 32768, -32769, 16777216, 2147483520, 2147483648, -2147483648, 3e9,
                     -3e9, np.inf, -np.inf, np.nan, 1e-30], np.float32)
    for kind in [I32, I16, I8, U8]:
        for x in [edge, op.normal(7, 17, scale=100)]:
            op.put([c(x)], [Tensor(saturated(x, kind), kind)], attr=[kind])
            op.put([c(x)], [c(saturated(x, kind))], attr=[kind, F32])
        x = np.array([[0, 1, 2, 3], [7, 100, 126, 127]])
        op.put([Tensor(x, kind)], [c(x)], attr=[F32])
    op.put([c(edge)], [boolean(edge != 0)], attr=[BOOL])
    op.put([c(np.float32(0))], [boolean(False)], attr=[BOOL])
    op.put([boolean([[1, 0, 1]])], [c([[1, 0, 1]])], attr=[F32])
    op.put([boolean([1, 0, 0, 1, 1])], [i32([1, 0, 0, 1, 1])], attr=[I32])
    op.put([i32([0, -5, 7])], [boolean([0, 1, 1])], attr=[BOOL])
    op.put([i32([16777216, -16777215, 0, 1, -1])], [c([16777216, -16777215, 0, 1, -1])], attr=[F32])
    for kind in [BF16, F16]:
        x = np.concatenate([op.normal(33), op.normal(17, scale=1e-6),
                            np.float32([0, 1, 65519, 65520, -1e6, 3e38, np.inf, 1 + 2**-8,
                                        1 + 3 * 2**-8, 1 + 2**-11, 1 + 3 * 2**-11, 6e-8, 2e-8,
                                        6.1e-5])])
        op.put([c(x)], [Tensor(half_bits(x, kind), kind)], attr=[kind])
        op.put([Tensor(half_bits(x, kind), kind)], [c(half_value(half_bits(x, kind), kind))],
               attr=[F32])
        for s in [(), (7, 3), (2, 1, 5)]:    # there and back: gradients are rounded, too
            x, r = op.normal(*s), half_value(half_bits(op.normal(*s), kind), kind)
            op.put([p(x)], [c(half_value(half_bits(x, kind), kind))], {0: c(r)}, [c(r)],
                   [kind, F32], TIE)
    for s in SHAPES:
        if s != (1031,):
            op.case([p(op.normal(*s))], lambda x: x * 1, [F32])


# ---- Reductions and products ---------------------------------------------------------------------

AXES = [((), []), ((1,), []), ((7,), [0]), ((17,), [-1]), ((33,), []), ((2, 3), [0]), ((2, 3), [1]),
        ((2, 3), [0, 1]), ((7, 33), [-1]), ((7, 33), [0]), ((33, 7), [-2]), ((1, 7), [0]),
        ((7, 1), [-1]), ((2, 3, 4), [1]), ((2, 3, 4), [0, 2]), ((2, 3, 4), [-1, -2]),
        ((2, 3, 4), [2, 0]), ((2, 3, 4), []), ((1031,), []), ((2, 1031), [1]), ((1031, 2), [0]),
        ((1, 1, 1), [1]), ((2, 3, 2, 3), [1, 3]), ((2, 3, 2, 3), [0, 2]),
        ((2, 1, 2, 1, 2, 1, 2, 1), [1, 4, 6]), ((3, 17, 5), [-2])]


def reduction(op, fn, x_of):
    for k, (s, axes) in enumerate(AXES):
        keep = k % 2 == 1
        op.case([p(x_of(*s))], lambda x: fn(x, axes or list(range(x.ndim)), keep), [keep] + axes)


def sum_(op):
    reduction(op, lambda x, a, k: torch.sum(x, a, k) if a else x * 1,
              lambda *s: op.normal(*s, shift=0.3))
    op.case([c(op.uniform(-1, 2, 8200))], torch.sum, [0])


def mean(op):
    reduction(op, lambda x, a, k: torch.mean(x, a, k) if a else x * 1,
              lambda *s: op.normal(*s, shift=0.3))


def max_(op):
    def amax(x, a, k):
        return torch.amax(x, a, k) if a else x * 1
    reduction(op, amax, op.distinct)
    # ties share the gradient
    op.case([p(op.ints(0, 3, 7, 17))], lambda x: amax(x, [1], False), [0, 1], TIE)
    op.case([p(np.ones((3, 4)))], lambda x: amax(x, [0, 1], False), [0], TIE)
    op.case([p(op.normal(3, 4, shift=-10))], lambda x: amax(x, [0], False), [0, 0])


def argmax(op):
    for k, (s, axes) in enumerate(AXES):
        if not s:
            continue
        axis, keep = (axes + [-1])[0], k % 2
        # many ties: the first one wins
        x = op.normal(*s) if k % 3 else op.ints(0, 3, *s).astype(np.float32)
        y = np.argmax(x, axis)
        op.put([c(x)], [i32(np.expand_dims(y, axis) if keep else y)], attr=[axis, keep])


def matmul(op):
    for a, b in [((1, 1), (1, 1)), ((7, 17), (17, 33)), ((1, 7), (7, 1)), ((7, 1), (1, 7)),
                 ((2, 3), (3, 4)), ((33, 7), (7, 1)), ((1, 33), (33, 17)), ((17,), (17,)),
                 ((1,), (1,)), ((7, 17), (17,)), ((17,), (17, 7)), ((2, 3, 7), (7,)),
                 ((7,), (2, 7, 3)), ((2, 3, 4), (2, 4, 5)), ((2, 3, 4), (4, 5)),
                 ((3, 4), (2, 4, 5)), ((1, 3, 4), (5, 4, 2)), ((2, 1, 3, 4), (1, 3, 4, 2)),
                 ((2, 3, 1, 4), (2, 3, 4, 1)), ((2, 1037), (1037, 2)), ((257, 2), (2, 1)),
                 ((1, 2), (2, 257)), ((2, 2, 2, 2, 3), (3, 2)), ((17, 17), (17, 17)),
                 ((6, 16), (16, 16)), ((13, 8), (8, 15))]:
        op.case([p(op.factor(*a)), p(op.factor(*b))], torch.matmul)
    op.case([p(op.normal(7, 5)), c(op.normal(5, 3))], torch.matmul)
    op.case([c(op.normal(7, 5)), p(op.normal(5, 3))], torch.matmul)


def affine(op):
    for k, (s, n) in enumerate([((1,), 1), ((7,), 3), ((1, 1), 1), ((7, 17), 13), ((33, 7), 1),
                                ((1, 33), 17), ((2, 3, 4), 5), ((2, 3, 7), 17), ((1, 1, 5), 7),
                                ((2, 2, 2, 3), 3), ((3, 1037), 2), ((517, 2), 1), ((1, 2), 517),
                                ((9, 17), 17), ((6, 16), 16), ((5, 1), 7), ((32, 3), 10),
                                ((13, 8), 15), ((2, 1, 2, 1, 2, 1, 2), 3)]):
        bias = [None, p(op.normal(n))]
        op.case([p(op.factor(*s)), p(op.factor(n, s[-1])), bias[k % 2]], F.linear)
    for s, n in [((1,), 1), ((7, 17), 5), ((2, 3, 4), 5)]:
        op.case([p(op.normal(*s)), p(op.normal(n, s[-1])), p(op.normal(n))], F.linear)
        op.case([c(op.normal(*s)), p(op.normal(n, s[-1])), None], F.linear)


# ---- Shape ---------------------------------------------------------------------------------------

def moved(op, fn, attr, *shapes):
    """Elements that are only moved may have any type; bf16 is moved by its bits here."""
    for kind in [I32, BF16, BOOL]:
        xs = [Tensor(op.ints(0, 2 if kind == BOOL else 1 << 14, *s), kind) for s in shapes]
        op.case(xs, fn, attr)


def reshape(op):
    for s, to in [((), (1,)), ((), (1, 1, 1)), ((1,), ()), ((1, 1), ()), ((7,), (7, 1)),
                  ((7,), (1, 7)), ((7,), (-1,)), ((6,), (2, 3)), ((2, 3), (6,)), ((2, 3), (3, 2)),
                  ((2, 3), (-1,)), ((2, 3, 4), (6, 4)), ((2, 3, 4), (2, 12)), ((2, 3, 4), (-1, 2)),
                  ((2, 3, 4), (4, -1, 2)), ((33, 17), (17, 33)), ((1031,), (1, -1)),
                  ((1, 1032), (8, 129)), ((2, 2, 2, 2), (16, 1)), ((16,), (2, 2, 2, 2)),
                  ((1, 2, 1, 2), (2, 2)), ((2, 128), (2, 2, 2, 2, 2, 2, 2, 2)), ((7, 7), (7, 7))]:
        op.case([p(op.normal(*s))], lambda x: x.reshape(to), to)
    moved(op, lambda x: x.reshape(3, -1), [3, -1], (2, 3, 5))


def flatten(op):
    for s, axis in [((1,), 0), ((7,), 0), ((7,), -1), ((2, 3), 0), ((2, 3), 1), ((2, 3), -1),
                    ((2, 3), -2), ((1, 1), 0), ((17, 33), 0), ((2, 3, 4), 0), ((2, 3, 4), 1),
                    ((2, 3, 4), 2), ((2, 3, 4), -2), ((2, 3, 4), -3), ((1, 3, 1), 1),
                    ((2, 1, 2, 1), 1), ((2, 3, 2, 3), 1), ((2, 3, 2, 3), 2), ((1031, 1), 0),
                    ((2, 1, 2, 1, 2, 1, 2, 1), 3), ((2, 3, 1, 5), -3)]:
        op.case([p(op.normal(*s))], lambda x: torch.flatten(x, axis), [axis])
    moved(op, lambda x: torch.flatten(x, 1), [1], (2, 3, 5))


def transpose(op):
    for s, a, b in [((1, 1), 0, 1), ((2, 3), 0, 1), ((3, 2), 1, 0), ((7, 17), -1, -2),
                    ((33, 9), 0, -1), ((1, 7), 0, 1), ((7, 1), 0, 1), ((2, 3, 4), 0, 1),
                    ((2, 3, 4), 1, 2), ((2, 3, 4), 0, 2), ((2, 3, 4), -1, 0), ((2, 3, 4), 1, 1),
                    ((1, 3, 1), 0, 2), ((2, 3, 4, 5), 1, 2), ((2, 3, 4, 5), 0, 3),
                    ((2, 3, 4, 5), -2, -3), ((2, 3, 1, 2), 2, 3), ((1031, 2), 0, 1),
                    ((2, 129), 1, 0), ((7,), 0, 0), ((2, 1, 2, 1, 2, 1, 2, 1), 0, 7),
                    ((8, 8), 0, 1), ((16, 24), 0, 1)]:
        op.case([p(op.normal(*s))], lambda x: x.transpose(a, b), [a, b])
    moved(op, lambda x: x.transpose(0, 1), [0, 1], (17, 9))
    moved(op, lambda x: x.transpose(0, 1), [0, 1], (2, 3, 5))


def permute(op):
    for s, axes in [((7,), (0,)), ((1,), (-1,)), ((2, 3), (0, 1)), ((2, 3), (1, 0)),
                    ((7, 17), (-1, 0)), ((33, 1), (1, 0)), ((2, 3, 4), (0, 1, 2)),
                    ((2, 3, 4), (0, 2, 1)), ((2, 3, 4), (1, 0, 2)), ((2, 3, 4), (1, 2, 0)),
                    ((2, 3, 4), (2, 0, 1)), ((2, 3, 4), (2, 1, 0)), ((2, 3, 4), (-1, -3, -2)),
                    ((1, 7, 1), (1, 2, 0)), ((2, 3, 4, 5), (0, 2, 1, 3)),
                    ((2, 3, 4, 5), (3, 2, 1, 0)), ((2, 3, 4, 5), (2, 3, 0, 1)),
                    ((2, 3, 4, 5), (0, 3, 1, 2)), ((2, 129), (1, 0)),
                    ((2, 3, 1, 2, 3), (4, 1, 3, 0, 2)),
                    ((2, 1, 2, 1, 2, 1, 2, 3), (7, 6, 5, 4, 3, 2, 1, 0)),
                    ((2, 2, 2, 2, 2, 2), (5, 0, 4, 1, 3, 2))]:
        op.case([p(op.normal(*s))], lambda x: x.permute(axes), axes)
    moved(op, lambda x: x.permute(2, 0, 1), [2, 0, 1], (3, 7, 5))


def slice_(op):
    for s, axis, begin, end, step in [((1,), 0, 0, 1, 1), ((7,), 0, 0, 7, 1), ((7,), 0, 2, 5, 1),
                                      ((7,), -1, 6, 7, 1), ((7,), 0, 0, 7, 2), ((7,), 0, 1, 7, 3),
                                      ((7,), 0, 0, 1, 5), ((17, 7), 0, 3, 11, 1),
                                      ((17, 7), 1, 1, 3, 1), ((17, 7), -2, 0, 17, 4),
                                      ((17, 7), 1, 0, 6, 5), ((33, 1), 0, 32, 33, 1),
                                      ((1, 33), 1, 16, 33, 2), ((2, 3, 4), 0, 1, 2, 1),
                                      ((2, 3, 4), 1, 0, 2, 1), ((2, 3, 4), 2, 1, 4, 2),
                                      ((2, 3, 4), -3, 0, 2, 1), ((1031,), 0, 30, 1000, 7),
                                      ((2, 1031), 1, 0, 1030, 10), ((2, 2, 3, 2), 2, 1, 3, 1),
                                      ((2, 1, 2, 1, 2, 1, 2, 3), 7, 1, 3, 1),
                                      ((5, 1, 5), 0, 2, 5, 2),
            ((7,), 0, -3, -1, 1), ((7, 17), 1, 2, 100, 3), ((2, 7), -1, -6, 7, 2)]:
        def fn(x):
            at = [slice(None)] * x.ndim
            at[axis] = slice(begin, end, step)
            return x[tuple(at)] * 1
        op.case([p(op.normal(*s))], fn, [axis, begin, end, step])
    moved(op, lambda x: x[:, 1:7:2], [1, 1, 7, 2], (3, 7))


def split(op):
    for s, size, axis in [((1,), 1, 0), ((7,), 7, 0), ((7,), 3, 0), ((7,), 1, -1), ((7,), 9, 0),
                          ((17, 7), 5, 0), ((17, 7), 2, 1), ((17, 7), 17, -2), ((33, 1), 11, 0),
                          ((1, 33), 8, 1), ((2, 3, 4), 1, 0), ((2, 3, 4), 2, 1), ((2, 3, 4), 3, 2),
                          ((2, 3, 4), 1, -1), ((1, 1, 1), 1, 1), ((1031,), 400, 0),
                          ((2, 516), 172, -1), ((2, 3, 2, 3), 2, 3), ((6, 12), 4, 1),
                          ((2, 1, 2, 1, 2, 1, 2, 3), 2, 7), ((8,), 1, 0)]:
        op.case([p(op.normal(*s))], lambda x: [y * 1 for y in torch.split(x, size, axis)],
                [size, axis])
    moved(op, lambda x: [y.clone() for y in torch.split(x, 3, 1)], [3, 1], (2, 7))


def cat(op):
    for shapes, axis in [([(1,)], 0), ([(7,)], -1), ([(1,), (1,)], 0), ([(7,), (3,)], 0),
                         ([(7,), (3,), (17,)], -1), ([(2, 3), (2, 3)], 0), ([(2, 3), (2, 3)], 1),
                         ([(2, 3), (5, 3)], 0), ([(2, 3), (2, 1)], -1), ([(9, 7), (9, 17)], 1),
                         ([(1, 7), (17, 7)], -2), ([(2, 3, 4), (2, 3, 4)], 1),
                         ([(2, 3, 4), (2, 1, 4), (2, 5, 4)], 1), ([(2, 3, 4), (2, 3, 1)], 2),
                         ([(2, 3, 4), (1, 3, 4)], -3), ([(1031,), (1,)], 0),
                         ([(2, 127), (2, 260)], 1), ([(1, 1, 1, 1)] * 4, 3),
                         ([(2, 3, 2, 3), (2, 3, 1, 3)], 2), ([(2, k + 1) for k in range(16)], 1),
                         ([(1 + k % 3, 2) for k in range(20)], 0),
                         ([(2, 1, 2, 1, 2, 1, 2, 1)] * 2, 5)]:
        op.case([p(op.normal(*s)) for s in shapes], lambda *x: torch.cat(x, axis), [axis])
    op.case([p(op.normal(3, 2)), c(op.normal(3, 4))], lambda *x: torch.cat(x, 1), [1])
    moved(op, lambda *x: torch.cat(x, 1), [1], (3, 2), (3, 5))


def stack(op):
    for n, s, axis in [(1, (), 0), (3, (), -1), (1, (7,), 0), (2, (7,), 0), (2, (7,), 1),
                       (2, (7,), -1), (3, (17,), -2), (2, (1,), 0), (2, (2, 3), 0), (2, (2, 3), 1),
                       (2, (2, 3), 2), (4, (2, 3), -1), (3, (7, 9), 0), (2, (7, 9), 2),
                       (2, (1, 33), 1), (2, (2, 3, 4), 0), (2, (2, 3, 4), 3), (2, (2, 3, 4), -2),
                       (2, (1031,), 0), (2, (129,), 1), (16, (3,), 0), (20, (2,), 1),
                       (2, (2, 1, 2, 1, 2, 1, 2), 4)]:
        op.case([p(op.normal(*s)) for _ in range(n)], lambda *x: torch.stack(x, axis), [axis])
    moved(op, lambda *x: torch.stack(x, 1), [1], (3, 2), (3, 2))


def expand(op):
    for s, to in [((), ()), ((), (1,)), ((), (7,)), ((), (2, 3)), ((1,), (7,)), ((7,), (7,)),
                  ((7,), (-1,)), ((7,), (17, 7)), ((7,), (17, -1)), ((7, 1), (7, 17)),
                  ((7, 1), (-1, 17)), ((1, 7), (17, 7)), ((1, 7), (33, -1)), ((1, 1), (3, 5)),
                  ((2, 1, 4), (2, 3, 4)), ((2, 1, 4), (-1, 3, -1)), ((2, 1, 4), (5, 2, 3, 4)),
                  ((1, 3, 1), (2, 3, 4)), ((3, 1, 1), (2, 3, 2, 2)), ((1,), (1031,)),
                  ((2, 1), (2, 517)), ((1, 517), (2, 517)),
                  ((2, 1, 2, 1), (2, 1, 2, 1, 2, 3, 2, 1))]:
        op.case([p(op.normal(*s))], lambda x: x.expand(to) * 1, to)
    moved(op, lambda x: x.expand(2, 3, 5).clone(), [2, 3, 5], (3, 1))


def squeeze(op):
    for s, axis in [((1,), 0), ((1,), -1), ((1, 7), 0), ((7, 1), 1), ((7, 1), -1), ((1, 7), -2),
                    ((1, 1), 0), ((1, 1), 1), ((2, 1, 3), 1), ((1, 2, 3), 0), ((2, 3, 1), 2),
                    ((2, 3, 1), -1), ((17, 1, 33), 1), ((1, 2, 3, 4), 0), ((2, 1, 3, 4), 1),
                    ((2, 3, 1, 4), -2), ((2, 3, 4, 1), 3), ((1, 1031), 0), ((129, 1), -1),
                    ((1, 1, 1, 1), 2), ((2, 1, 2, 1, 2, 1, 2, 1), 7)]:
        op.case([p(op.normal(*s))], lambda x: x.squeeze(axis), [axis])
    moved(op, lambda x: x.squeeze(1), [1], (3, 1, 5))


def unsqueeze(op):
    for s, axis in [((), 0), ((), -1), ((1,), 0), ((1,), 1), ((7,), 0), ((7,), 1), ((7,), -1),
                    ((7,), -2), ((2, 3), 0), ((2, 3), 1), ((2, 3), 2), ((2, 3), -1), ((2, 3), -3),
                    ((17, 33), 1), ((2, 3, 4), 0), ((2, 3, 4), 3), ((2, 3, 4), -2), ((1, 7, 1), 1),
                    ((1031,), 0), ((517,), -1), ((2, 1, 2, 1, 2, 1, 2), 7)]:
        op.case([p(op.normal(*s))], lambda x: x.unsqueeze(axis), [axis])
    moved(op, lambda x: x.unsqueeze(1), [1], (3, 5))


def gather(op):
    for s, axis, to in [((1,), 0, (1,)), ((7,), 0, (7,)), ((7,), 0, (17,)), ((7,), -1, (1,)),
                        ((7, 17), 0, (7, 17)), ((7, 17), 1, (7, 17)), ((7, 17), 1, (7, 1)),
                        ((7, 17), 1, (3, 5)), ((7, 17), 0, (33, 17)), ((7, 17), 0, (2, 4)),
                        ((7, 17), -1, (7, 33)), ((33, 1), 0, (5, 1)), ((1, 33), 0, (4, 33)),
                        ((2, 3, 4), 0, (2, 3, 4)), ((2, 3, 4), 1, (2, 5, 4)),
                        ((2, 3, 4), 2, (2, 3, 1)), ((2, 3, 4), 1, (1, 2, 3)),
                        ((2, 3, 4), -3, (7, 2, 4)), ((1031,), 0, (100,)), ((3, 517), 1, (3, 33)),
                        ((2, 3, 2, 3), 2, (2, 3, 5, 3)),
                        ((2, 1, 2, 1, 2, 1, 2, 3), 7, (2, 1, 2, 1, 2, 1, 2, 5))]:
        op.case([p(op.normal(*s)), i32(op.ints(0, s[axis], *to))],
                lambda x, at: torch.gather(x, axis, at), [axis])
    for kind in [I32, BF16, BOOL]:
        op.case([Tensor(op.ints(0, 2 if kind == BOOL else 1 << 14, 3, 7), kind),
                 i32(op.ints(0, 7, 3, 4))], lambda x, at: torch.gather(x, 1, at), [1])


def pad(op):
    for s, before, after, value in [
            ((1,), (0,), (0,), 0), ((1,), (1,), (1,), 0), ((7,), (2,), (3,), 0),
            ((7,), (0,), (5,), 1.5), ((7,), (10,), (0,), -2), ((2, 3), (1, 1), (1, 1), 0),
            ((2, 3), (0, 2), (0, 0), 1), ((2, 3), (2, 0), (0, 1), -0.3),
            ((7, 17), (1, 2), (3, 4), 0), ((33, 1), (0, 1), (0, 2), 7),
            ((1, 33), (2, 0), (3, 0), 0), ((2, 3, 4), (0, 0, 1), (0, 0, 1), 0),
            ((2, 3, 4), (1, 0, 0), (0, 2, 0), 3), ((2, 3, 4), (1, 2, 3), (3, 2, 1), 0),
            ((1, 1, 1), (1, 1, 1), (1, 1, 1), -1), ((2, 2, 3, 3), (0, 0, 1, 1), (0, 0, 1, 1), 0),
            ((2, 2, 3, 3), (0, 1, 0, 2), (1, 0, 2, 0), 0.5), ((1031,), (1,), (7,), 0),
            ((2, 517), (0, 3), (1, 0), 0), ((7, 7), (0, 0), (0, 0), 9),
            ((2, 1, 2, 1, 2, 1, 2, 1), (0, 0, 0, 1, 0, 0, 0, 1), (0, 0, 0, 0, 1, 0, 0, 0), 2)]:
        value = f32(value)
        sides = [n for pair in zip(reversed(before), reversed(after)) for n in pair]
        op.case([p(op.normal(*s))], lambda x: F.pad(x, sides, value=value),
                list(before) + list(after) + [value])
    moved(op, lambda x: F.pad(x, [0, 1, 2, 0]), [2, 0, 0, 1, 0], (3, 5))


# ---- Normalization -------------------------------------------------------------------------------

SOFT = [((1,), 0), ((7,), 0), ((7,), -1), ((17,), 0), ((33,), -1), ((1, 7), 0), ((1, 7), 1),
        ((7, 1), -1), ((2, 3), 0), ((2, 3), 1), ((5, 33), -1), ((17, 5), 0), ((33, 7), -2),
        ((2, 3, 4), 0), ((2, 3, 4), 1), ((2, 3, 4), 2), ((2, 3, 4), -2), ((1031,), 0),
        ((2, 517), 1), ((257, 2), 0), ((2, 3, 2, 3), 1), ((2, 3, 2, 3), -1),
        ((2, 1, 2, 1, 2, 1, 2, 3), 7)]


def soft(op, fn):
    for s, axis in SOFT:
        op.case([p(op.normal(*s, scale=1.5))], lambda x: fn(x, axis), [axis])
    op.case([p(op.normal(7, 17, shift=100))], lambda x: fn(x, -1), [-1])
    op.case([p(op.normal(7, 5, scale=30))], lambda x: fn(x, 1), [1])
    op.case([p(np.zeros((3, 4)))], lambda x: fn(x, 1), [1])


def softmax(op):
    soft(op, torch.softmax)


def log_softmax(op):
    soft(op, torch.log_softmax)


NORMED = [(7,), (17,), (33,), (1, 7), (2, 3), (7, 17), (33, 7), (5, 33), (1, 33), (2, 3, 4),
          (2, 7, 17), (1, 1, 7), (3, 1, 5), (1031,), (2, 257), (2, 3, 2, 7),
          (2, 1, 2, 1, 2, 1, 2, 3), (64, 2), (3, 64), (5, 16)]


def layer_norm(op):
    def fn(eps):
        return lambda x, w, b: F.layer_norm(x, x.shape[-1:], w, b, eps)
    for k, s in enumerate(NORMED):
        w, b = op.normal(s[-1], shift=1), op.normal(s[-1])
        eps = f32([1e-5, 1e-6, 0.1][k % 3])
        op.case([p(op.normal(*s)), p(w) if k % 4 < 3 else None, p(b) if k % 4 in (0, 1) else None],
                fn(eps), [eps])
    # dx, dw are 0 but for rounding
    op.case([c(op.normal(5, 1)), c(op.normal(1)), p(op.normal(1))], fn(0.5), [0.5])
    op.case([p(op.normal(7, 33, shift=10)), p(op.normal(33)), p(op.normal(33))], fn(EPS), [EPS])
    op.case([p(op.normal(7, 5)), c(op.normal(5)), None], fn(EPS), [EPS])
    op.case([c(op.normal(7, 5)), p(op.normal(5)), p(op.normal(5))], fn(EPS), [EPS])
    op.case([p(op.normal(7, 5)), None, p(op.normal(5))], fn(EPS), [EPS])


def rms_norm(op):
    def fn(eps):
        return lambda x, w: (x / torch.sqrt((x * x).mean(-1, keepdim=True) + eps)
                             * (1 if w is None else w))
    for k, s in enumerate(NORMED + [(1,), (5, 1)]):
        # of one element dx is 0 but for eps
        eps = f32([1e-5, 1e-6, 0.1][k % 3] if s[-1] > 1 else 0.1)
        op.case([p(op.normal(*s)), p(op.normal(s[-1], shift=1))], fn(eps), [eps])
    op.case([p(op.normal(7, 5)), c(op.normal(5))], fn(EPS), [EPS])
    op.case([c(op.normal(7, 5)), p(op.normal(5))], fn(EPS), [EPS])
    op.case([p(op.normal(2, 3, 7)), None], fn(EPS), [EPS])


def batch_norm(op):
    def fn(momentum, eps, train):
        def run(x, w, b, mean, var):
            mean, var = mean.clone(), var.clone()
            y = F.batch_norm(x, mean, var, w, b, bool(train), momentum, eps)
            return y, mean, var
        return run
    shapes = [(2, 1), (2, 3), (7, 17), (33, 7), (3, 1, 5), (2, 3, 4), (1, 7, 17), (5, 33, 1),
              (2, 3, 2, 2), (1, 1, 3, 3), (2, 4, 3, 5), (7, 2, 1, 1), (2, 2, 2, 2, 2), (257, 2),
              (2, 2, 129)]
    for k, s in enumerate(shapes):
        n = s[1]
        momentum, eps = f32([0.1, 0.25, 1.0][k % 3]), f32([1e-5, 1e-3][k % 2])
        for train in [1, 0]:
            if train == 0 and k % 2:
                continue
            state = [c(op.normal(n)), c(op.uniform(0.5, 2, n))]
            if np.prod(s) == 2 * n:
                eps = 0.5       # two values normalize to their signs, whose gradients cancel
            op.case([p(op.normal(*s, scale=2, shift=0.5)), p(op.normal(n, shift=1)),
                     p(op.normal(n))] + state,
                    fn(momentum, eps, train), [momentum, eps, train], n_state=2)
    for s in [(7, 5), (1, 3), (2, 3, 4)]:    # without gradients: an inference program
        state = [c(op.normal(s[1])), c(op.uniform(0.5, 2, s[1]))]
        op.case([c(op.normal(*s)), c(op.normal(s[1])), c(op.normal(s[1]))] + state,
                fn(f32(0.1), EPS, 0), [f32(0.1), EPS, 0], n_state=2)


# ---- Losses --------------------------------------------------------------------------------------

def labels(op, s, n, ignored):
    t = op.ints(0, n, *s)
    if ignored is not None and t.size > 1:
        t = np.where(op.bits(*s, p=0.3), ignored, t)
        t.flat[0] = 0 if ignored != 0 else n - 1
    return t


def class_loss(op, logits_of, loss, smoothing):
    sizes = [((), 7), ((1,), 1), ((1,), 7), ((7,), 1), ((7,), 2), ((7,), 17), ((33,), 3),
             ((9,), 33), ((2, 3), 4), ((2, 3), 17), ((1, 7), 5), ((2, 3, 4), 3), ((3,), 257),
             ((1,), 1031), ((129,), 2), ((2, 1, 2, 1, 2), 3)]
    k = 0
    for s, n in sizes:
        for reduction in [k % 3, (k + 1) % 3]:
            use, ignored = k % 2, [-1, 0, 255, -100][k % 4]
            smooth = f32([0.0, 0.1, 0.0, 1.0, 0.3][k % 5]) if smoothing else 0.0
            there = ignored if use else -100
            t = labels(op, s, n, there if k % 4 != 3 else None)
            if use and 0 <= ignored < n and np.all(t == ignored):
                t = t * 0 + n - 1
            if np.all(t == there):
                use, there = 0, -100
            def fn(x, y):
                z = loss(x.reshape(-1, n), y.reshape(-1), there, REDUCTION[reduction], smooth)
                return z.reshape(s if reduction == NONE else ())
            op.case([p(logits_of(*s, n)), i32(t)], fn,
                    [reduction, use, ignored if use else 0, smooth])
            k += 1


def cross_entropy(op):
    class_loss(op, lambda *s: op.normal(*s, scale=1.5), lambda x, y, i, how, smooth:
               F.cross_entropy(x, y, ignore_index=i, reduction=how, label_smoothing=smooth), True)
    x = np.array([[100, -100, 0], [-50, 0, 60], [0, 0, 0]], np.float32)    # far apart: no overflow
    op.case([p(x), i32([1, 2, 0])], lambda x, y: F.cross_entropy(x, y), [MEAN, 0, 0, 0])


def nll(op):
    def logp(*s):
        return torch.log_softmax(torch.tensor(op.normal(*s)), -1).numpy()
    class_loss(op, logp, lambda x, y, i, how, smooth:
               F.nll_loss(x, y, ignore_index=i, reduction=how), False)


def mse(op):
    for k, s in enumerate([(), (1,), (7,), (17,), (33,), (1, 1), (1, 7), (7, 1), (2, 3), (7, 17),
                           (33, 3), (2, 3, 4), (1, 17, 1), (1031,), (2, 129), (2, 3, 2, 3),
                           (2, 1, 2, 1, 2, 1, 2, 1)]):
        for reduction in [k % 3, (k + 1) % 3]:
            op.case([p(op.normal(*s)), p(op.normal(*s)) if k % 3 else c(op.normal(*s))],
                    lambda x, y: F.mse_loss(x, y, reduction=REDUCTION[reduction]), [reduction])


# ---- Images, tables, attention -------------------------------------------------------------------

def convolution(op):
    def one(x, w, bias, stride=1, padding=0, dilation=1, groups=1):
        attr = [stride, 0, padding, 0, dilation, 0, groups]
        op.case([p(op.normal(*x)), p(op.normal(*w)), p(op.normal(w[0])) if bias else None],
                lambda x, w, b: F.conv1d(x, w, b, stride, padding, dilation, groups), attr)

    def two(x, w, bias, stride=(1, 1), padding=(0, 0), dilation=(1, 1), groups=1):
        attr = [*stride, *padding, *dilation, groups]
        op.case([p(op.normal(*x)), p(op.normal(*w)), p(op.normal(w[0])) if bias else None],
                lambda x, w, b: F.conv2d(x, w, b, stride, padding, dilation, groups), attr)

    one((1, 1, 1), (1, 1, 1), True)
    one((2, 3, 7), (4, 3, 3), False)
    one((2, 3, 7), (4, 3, 3), True, padding=1)
    one((1, 2, 17), (3, 2, 5), True, stride=2)
    one((2, 4, 9), (6, 2, 3), False, stride=2, padding=2, groups=2)
    one((1, 5, 17), (5, 1, 3), True, dilation=3, padding=3, groups=5)           # depthwise
    one((1, 3, 33), (6, 1, 7), True, stride=3, padding=3, groups=3)
    one((1, 1, 1031), (1, 1, 3), True, padding=1)
    one((2, 2, 7), (1, 2, 7), False)
    two((1, 1, 1, 1), (1, 1, 1, 1), False)
    two((1, 1, 3, 3), (1, 1, 3, 3), True)
    two((2, 3, 5, 7), (4, 3, 3, 3), False)
    two((2, 3, 5, 7), (4, 3, 3, 3), True, padding=(1, 1))
    two((1, 2, 7, 5), (3, 2, 3, 2), True, stride=(2, 1), padding=(1, 0))
    two((1, 2, 9, 9), (2, 2, 3, 3), True, dilation=(2, 3), padding=(2, 3))
    two((2, 4, 5, 5), (6, 2, 3, 3), True, groups=2)
    two((1, 4, 5, 5), (4, 1, 3, 3), True, padding=(1, 1), groups=4)             # depthwise
    two((1, 3, 7, 7), (6, 1, 3, 3), False, stride=(2, 2), padding=(1, 1), groups=3)
    two((2, 7, 3, 3), (5, 7, 1, 1), True)                                       # pointwise
    two((1, 1, 17, 17), (1, 1, 5, 5), False, stride=(3, 3), padding=(2, 2))
    two((1, 3, 8, 8), (2, 3, 4, 4), True, stride=(4, 4))                        # patches
    two((1, 2, 5, 1), (2, 2, 3, 1), True, padding=(1, 0))
    two((1, 1, 2, 2), (3, 1, 3, 3), True, padding=(2, 2))    # larger than the picture
    two((3, 2, 6, 5), (4, 1, 2, 3), True, stride=(1, 2), padding=(0, 1), dilation=(2, 1), groups=2)
    two((1, 1, 3, 257), (2, 1, 3, 3), True, padding=(0, 1))
    two((1, 2, 7, 5), (2, 2, 3, 3), True, padding=(0, 1))
    two((2, 5, 7, 7), (6, 5, 1, 1), True, stride=(2, 2))     # steps over inputs
    two((1, 3, 7, 6), (4, 3, 1, 1), False, stride=(2, 2), padding=(1, 1))
    two((1, 3, 9, 8), (4, 3, 2, 2), True, stride=(3, 3))
    two((1, 4, 8, 9), (4, 2, 2, 3), True, stride=(4, 4), padding=(1, 1), groups=2)
    two((1, 2, 3, 40), (3, 2, 1, 2), True, stride=(3, 1))    # rows in one piece
    one((2, 3, 17), (4, 3, 1), True, stride=3)
    # Stride and dilation of one axis, which share a factor or not, with padding and groups.
    two((2, 4, 11, 12), (6, 2, 3, 3), True, stride=(2, 2), padding=(2, 3), dilation=(2, 3),
        groups=2)
    two((1, 3, 13, 10), (4, 3, 2, 3), False, stride=(3, 2), padding=(1, 0), dilation=(2, 2))
    two((2, 6, 12, 9), (6, 1, 3, 2), True, stride=(2, 3), padding=(0, 1), dilation=(3, 2), groups=6)
    two((1, 2, 9, 14), (3, 2, 3, 3), True, stride=(3, 2), padding=(3, 1), dilation=(3, 1))
    one((2, 4, 19), (6, 2, 3), True, stride=2, padding=2, dilation=3, groups=2)
    one((1, 2, 16), (3, 2, 4), False, stride=3, dilation=2)
    op.case([c(op.normal(2, 3, 5, 5)), p(op.normal(4, 3, 3, 3)), None],
            lambda x, w, b: F.conv2d(x, w, b), [1, 1, 0, 0, 1, 1, 1])
    op.case([p(op.normal(2, 3, 5, 5)), c(op.normal(4, 3, 3, 3)), None],
            lambda x, w, b: F.conv2d(x, w, b), [0, 0, 0, 0, 0, 0, 0])


POOLS = [((1, 1, 1, 1), (1, 1), (0, 0), (0, 0), 0), ((1, 1, 4, 4), (2, 2), (0, 0), (0, 0), 0),
         ((2, 3, 4, 6), (2, 2), (2, 2), (0, 0), 0), ((1, 1, 5, 5), (2, 2), (0, 0), (0, 0), 0),
         ((1, 1, 5, 5), (2, 2), (0, 0), (0, 0), 1), ((1, 2, 7, 7), (3, 3), (2, 2), (1, 1), 0),
         ((1, 2, 7, 7), (3, 3), (2, 2), (1, 1), 1), ((1, 1, 6, 6), (3, 3), (2, 2), (0, 0), 1),
         ((2, 1, 5, 7), (3, 2), (1, 2), (1, 0), 0), ((2, 1, 5, 7), (2, 3), (2, 1), (0, 1), 1),
         ((1, 2, 7, 1), (3, 1), (2, 1), (1, 0), 0), ((1, 2, 1, 7), (1, 3), (1, 1), (0, 1), 0),
         ((1, 1, 17, 17), (5, 5), (3, 3), (2, 2), 0), ((1, 1, 17, 17), (5, 5), (4, 4), (2, 2), 1),
         ((2, 3, 3, 3), (3, 3), (0, 0), (0, 0), 0), ((1, 1, 3, 3), (2, 2), (1, 1), (1, 1), 0),
         ((1, 7, 2, 2), (2, 2), (0, 0), (1, 1), 0), ((1, 1, 17, 33), (2, 2), (0, 0), (0, 0), 0),
         ((1, 1, 2, 257), (2, 3), (2, 3), (0, 0), 1), ((2, 1, 6, 6), (2, 2), (3, 3), (0, 0), 0),
         ((2, 1, 7, 6), (2, 2), (3, 3), (0, 0), 1), ((1, 1, 4, 4), (2, 2), (3, 3), (1, 1), 1),
         ((1, 3, 5, 4), (4, 4), (1, 1), (2, 2), 0)]


def max_pool2d(op):
    for s, kernel, stride, padding, ceil in POOLS:
        step = stride if stride[0] else kernel
        op.case([p(op.distinct(*s))],
                lambda x: F.max_pool2d(x, kernel, step, padding, 1, bool(ceil)),
                [*kernel, *stride, *padding, ceil, 0])
    # padding never wins
    op.case([p(op.distinct(1, 2, 5, 5) - 10)], lambda x: F.max_pool2d(x, 3, 2, 1),
            [3, 3, 2, 2, 1, 1, 0, 0])


def avg_pool2d(op):
    for k, (s, kernel, stride, padding, ceil) in enumerate(POOLS):
        for exclude in [0, 1]:
            if not any(padding) and not ceil and exclude != k % 2:
                continue
            step = stride if stride[0] else kernel
            op.case([p(op.normal(*s))],
                    lambda x: F.avg_pool2d(x, kernel, step, padding, bool(ceil), not exclude),
                    [*kernel, *stride, *padding, ceil, exclude])


def adaptive_avg_pool2d(op):
    for s, h, w in [((1, 1, 1, 1), 1, 1), ((1, 1, 4, 4), 1, 1), ((2, 3, 5, 7), 1, 1),
                    ((1, 1, 4, 4), 2, 2), ((1, 2, 6, 6), 3, 2), ((1, 1, 5, 5), 3, 3),
                    ((1, 1, 7, 5), 3, 2), ((2, 1, 7, 7), 4, 5), ((1, 3, 3, 3), 3, 3),
                    ((1, 1, 2, 2), 4, 4), ((1, 1, 3, 2), 7, 5), ((1, 2, 1, 7), 1, 3),
                    ((1, 2, 7, 1), 3, 1), ((1, 1, 17, 17), 7, 7), ((1, 1, 33, 33), 2, 3),
                    ((3, 7, 2, 2), 1, 1), ((1, 1, 1031, 1), 1, 1), ((1, 1, 2, 517), 2, 10),
                    ((2, 2, 8, 8), 4, 4), ((1, 1, 10, 9), 6, 7), ((5, 1, 1, 1), 2, 2)]:
        op.case([p(op.normal(*s, shift=0.2))], lambda x: F.adaptive_avg_pool2d(x, (h, w)), [h, w])


def lookup(op):
    for s, rows, n in [((), 1, 1), ((), 7, 3), ((1,), 1, 1), ((1,), 7, 17), ((7,), 1, 3),
                       ((7,), 3, 1), ((7,), 17, 5), ((17,), 7, 1), ((33,), 5, 4), ((2, 3), 7, 4),
                       ((2, 3), 2, 33), ((1, 7), 33, 2), ((7, 1), 3, 7), ((2, 3, 4), 5, 3),
                       ((1, 1, 1), 4, 4), ((3,), 2, 517), ((2,), 517, 1), ((100,), 11, 3),
                       ((1031,), 3, 1), ((2, 1, 2, 1, 2, 1, 2), 5, 3), ((64,), 64, 4)]:
        op.case([i32(op.ints(0, rows, *s)), p(op.normal(rows, n))], F.embedding)


def lookup_padded(op):
    """The row of padding is zero, as in nn.Embedding: gradcheck's quotients are right then, too."""
    for k, (s, rows, n) in enumerate([
            ((), 1, 1), ((), 7, 3), ((1,), 1, 1), ((1,), 7, 17), ((7,), 1, 3), ((7,), 3, 1),
            ((7,), 17, 5), ((17,), 7, 1), ((33,), 5, 4), ((2, 3), 7, 4), ((2, 3), 2, 33),
            ((1, 7), 33, 2), ((7, 1), 3, 7), ((2, 3, 4), 5, 3), ((1, 1, 1), 4, 4), ((3,), 2, 17),
            ((20,), 17, 1), ((50,), 11, 3), ((31,), 3, 1), ((2, 1, 2, 1, 2), 5, 3)]):
        at = k % rows if k % 2 else -1 - k % rows
        w = op.normal(rows, n)
        w[at] = 0
        op.case([i32(op.ints(0, rows, *s)), p(w)],
                lambda i, w: F.embedding(i, w, padding_idx=at), [at])


def attention(q, k, v, mask, causal, scale):
    s = q @ k.transpose(-1, -2) * (scale or q.shape[-1] ** -0.5)
    allow = torch.ones(s.shape, dtype=torch.bool)
    if mask is not None and mask.dtype == torch.bool:
        allow = allow & mask
    elif mask is not None:
        s = s + mask
    if causal:
        allow = allow & torch.ones(s.shape[-2:], dtype=torch.bool).tril()
    s = s.masked_fill(~allow, -np.inf)
    m = s.detach().amax(-1, keepdim=True)
    e = torch.exp(s - torch.where(torch.isinf(m), torch.zeros_like(m), m))
    total = e.sum(-1, keepdim=True)
    return e / torch.where(total == 0, torch.ones_like(total), total) @ v


def scaled_dot_product_attention(op):
    def run(lead, t, s, d, e, mask=None, causal=0, scale=0.0, grads=True):
        scale, one = f32(scale), p if grads else c
        op.case([p(op.normal(*lead, t, d)), one(op.normal(*lead, s, d)), p(op.normal(*lead, s, e)),
                 mask], lambda q, k, v, m: attention(q, k, v, m, causal, scale), [causal, scale])
    run((), 1, 1, 1, 1)
    run((), 7, 7, 4, 4)
    run((), 3, 5, 2, 7)
    run((), 5, 3, 4, 1)
    run((2,), 7, 7, 8, 8)
    run((2,), 1, 17, 4, 4)
    run((2, 3), 4, 5, 3, 2)
    run((1, 2), 17, 17, 7, 7, causal=1)
    run((), 7, 7, 4, 4, causal=1)
    run((), 1, 1, 3, 3, causal=1)
    run((2,), 33, 33, 3, 3, causal=1)
    run((), 4, 9, 3, 3, causal=1)
    run((), 9, 4, 3, 3, causal=1)
    run((), 7, 7, 4, 4, scale=1.0)
    run((2,), 3, 4, 5, 6, scale=0.3, causal=1)
    run((), 7, 5, 4, 4, mask=boolean(op.bits(7, 5, p=0.7)))
    run((), 7, 5, 4, 4, mask=boolean(np.arange(35).reshape(7, 5) % 5 != 2))
    dead = np.ones((4, 6))
    dead[2] = 0
    run((2,), 4, 6, 3, 3, mask=boolean(dead))    # row 2 has nothing to attend
    run((2, 2), 3, 4, 3, 3, mask=boolean(np.arange(8).reshape(2, 1, 1, 4) % 4 < 3))
    run((2,), 3, 4, 3, 3, mask=boolean([1, 1, 0, 1]))
    run((2,), 5, 5, 3, 3, mask=boolean(np.arange(10).reshape(2, 5, 1) % 5 != 3), causal=1)
    run((), 7, 5, 4, 4, mask=c(op.normal(7, 5)))
    run((2, 3), 3, 5, 4, 2, mask=c(op.normal(3, 1, 5)))
    run((2,), 4, 4, 3, 3, mask=c(np.triu(np.full((4, 4), -np.inf), 1)))
    run((2,), 4, 4, 3, 3, mask=c(op.normal(2, 4, 1)), causal=1)
    run((), 3, 4, 3, 3, mask=c(np.float32(0.5)))
    run((), 2, 257, 3, 2)
    run((), 129, 2, 3, 2)
    run((), 3, 4, 2, 3, grads=False)
    run((1, 1), 65, 65, 2, 2, causal=1)
    run((), 2, 1031, 2, 1)


# ---- Functions made of ops -----------------------------------------------------------------------

def clamp(op):
    for k, s in enumerate(SHAPES):
        low, high = [(-1, 1), (0, 2), (-0.5, -0.25), (-9, 9)][k % 4]
        x = op.normal(*s, scale=1.5)
        x = np.where(np.minimum(abs(x - low), abs(x - high)) < 0.01, x + np.float32(0.05), x)
        op.case([p(x)], lambda x: torch.clamp(x, low, high), [low, high])
    op.case([c([np.nan, np.inf, -np.inf, 0.5])], lambda x: torch.clamp(x, -1, 1), [-1, 1])


def reciprocal(op):
    unary(op, torch.reciprocal, lambda *s: op.off_zero(*s, low=0.3), [100, -0.2, 2])


def of_two_truths(op, fn):
    for sa, sb in PAIRS:
        op.case([c(op.ints(-1, 2, *sa)), c(op.ints(-1, 2, *sb))], fn)
    op.case([boolean(op.bits(3, 4)), boolean(op.bits(4))], fn)
    op.case([c([np.nan, np.nan, np.inf, 0, -0.0]), c([0, 1, 1, np.nan, 1])], fn)


def logical_and(op):
    of_two_truths(op, torch.logical_and)


def logical_or(op):
    of_two_truths(op, torch.logical_or)


def question(op, fn):
    for s in SHAPES:
        x = op.normal(*s)
        for value in [np.nan, np.inf, -np.inf, 0]:
            x = np.where(op.bits(*s, p=0.15), np.float32(value), x)
        op.case([c(x)], fn)


def logical_not(op):
    question(op, torch.logical_not)


def isnan(op):
    question(op, torch.isnan)


def isinf(op):
    question(op, torch.isinf)


def isfinite(op):
    question(op, torch.isfinite)


def masked_fill(op):
    for k, (sa, sb) in enumerate(PAIRS):
        if np.broadcast_shapes(sa, sb) != sa:
            sa, sb = sb, sa
        if np.broadcast_shapes(sa, sb) != sa:
            sb = sa
        value = [0, -1e9, 2.5, -np.inf][k % 4]
        op.case([p(op.normal(*sa)), boolean(op.bits(*sb))],
                lambda x, m: x.masked_fill(m, value), [value], TIE if value == -np.inf else 0)


REDUCED = [((), []), ((1,), [0]), ((7,), []), ((7,), [0]), ((33,), [-1]), ((2, 3), [0]),
           ((2, 3), [1]), ((2, 3), []), ((3, 1, 5), [1]), ((3, 1, 5), [0, 2]), ((2, 3, 4), [-1]),
           ((2, 3, 4), [0, 1]), ((2, 3, 4), [1]), ((1, 17, 1), [1]), ((7, 33), [0]),
           ((7, 33), [1]), ((2, 3, 2, 3), [1, 3]), ((2, 3, 2, 3), [0, 2]), ((257,), []),
           ((2, 2, 2, 2, 2), [0, 4]), ((5, 129), [1]), ((129, 2), [0]), ((1, 1, 1, 1), [2])]


def along(op, x_of, fn):
    """fn(axes, keep) makes a function of x."""
    for k, (s, axes) in enumerate(REDUCED):
        keep = k % 2
        where = axes or list(range(len(s)))
        op.case([p(x_of(*s))], fn(where, bool(keep)), [keep, *axes])


def min_(op):
    along(op, op.distinct, lambda axes, keep: lambda x: torch.amin(x, axes, keep))
    op.case([c([3, np.nan, 1])], lambda x: torch.amin(x, [0], False), [0])
    op.case([c([3, np.inf, -np.inf])], lambda x: torch.amin(x, [0], False), [0])


def logsumexp(op):
    along(op, lambda *s: op.normal(*s, scale=2), lambda axes, keep: lambda x: torch.logsumexp(
        x, axes, keep) if x.ndim else x + 0)
    op.case([p([500, 499, -800])], lambda x: torch.logsumexp(x, [0]), [0, 0], TIE)
    op.case([c([-np.inf, -np.inf])], lambda x: torch.logsumexp(x, [0]), [0, 0])
    op.case([c([1, np.inf])], lambda x: torch.logsumexp(x, [0]), [0, 0])
    op.case([c([-np.inf, 1, np.nan])], lambda x: torch.logsumexp(x, [0]), [0, 0])
    op.case([p([[-np.inf, 1], [2, 3]])], lambda x: torch.logsumexp(x, [1]), [0, 1], TIE)


def spread(op, root):
    for k, (s, axes) in enumerate(REDUCED):
        where, keep, correction = axes or list(range(len(s))), k % 2, k // 2 % 2
        n = int(np.prod([s[a] for a in where], dtype=np.int64))
        if n - correction < 1 or (root and n < 2):
            correction, s, where = 0, s + (4,), [len(s)]
            axes = where

        def fn(x):
            mean = x.mean(where, keepdim=True)
            n = x.numel() // mean.numel()
            v = ((x - mean) ** 2).sum(where, keepdim=bool(keep)) / (n - correction)
            return v.sqrt() if root else v
        op.case([p(op.normal(*s, shift=0.3))], fn, [correction, keep, *axes])
    op.case([p(op.normal(5, 7))], lambda x: (torch.std if root else torch.var)(x, 1), [1, 0, 1])


def var(op):
    spread(op, False)
    op.case([c([3.0])], lambda x: torch.var(x, 0), [1, 0, 0])     # 0 / 0


def std(op):
    spread(op, True)


LINES = [((1,), 0), ((7,), 0), ((17,), -1), ((33,), 0), ((2, 3), 0), ((2, 3), 1), ((3, 1, 5), 1),
         ((3, 1, 5), 2), ((2, 3, 4), 0), ((2, 3, 4), 1), ((2, 3, 4), -1), ((1, 17, 1), 1),
         ((7, 33), 0), ((7, 33), 1), ((2, 3, 2, 3), 2), ((2, 2, 2, 2, 2), 0), ((5, 64), 1),
         ((129,), 0), ((8,), 0), ((16, 2), 0), ((1, 1), 0), ((4, 5), -2)]


def argmin(op):
    for k, (s, axis) in enumerate(LINES):
        op.case([c(op.distinct(*s))],
                lambda x: torch.argmin(x, axis, bool(k % 2)).to(torch.int64), [axis, k % 2])


def prod(op):
    for k, (s, axis) in enumerate(LINES):
        x = op.off_zero(*s, low=0.7, high=1.3)
        op.case([p(x)], lambda x: torch.prod(x, axis, bool(k % 2)), [axis, k % 2])
    op.case([p([[0, 2, 3], [0, 0, 5], [1, 2, 3]])], lambda x: torch.prod(x, 1), [1, 0])
    op.case([c([0, np.inf, 2])], lambda x: torch.prod(x, 0), [0, 0])


def cumsum(op):
    for s, axis in LINES:
        op.case([p(op.normal(*s, shift=0.3))], lambda x: torch.cumsum(x, axis), [axis])
    op.case([c([1, np.inf, 2, -np.inf, 3, np.nan, 1])], lambda x: torch.cumsum(x, 0), [0])


def sort(op):
    for k, (s, axis) in enumerate(LINES):
        op.case([p(op.distinct(*s))],
                lambda x: torch.sort(x, dim=axis, descending=bool(k % 2), stable=True),
                [axis, k % 2], n_state=1)
    for down in [0, 1]:
        op.case([c([1, np.nan, -np.inf, 1, np.inf, 0, np.nan, 1])],
                lambda x: torch.sort(x, dim=0, descending=bool(down), stable=True), [0, down],
                n_state=1)


def topk(op):
    for k, (s, axis) in enumerate(LINES):
        n = s[axis]
        count = 1 + (5 * k) % n
        op.case([p(op.distinct(*s))], lambda x: torch.topk(x, count, axis, bool(k % 2)),
                [count, axis, k % 2], n_state=1)


def index_select(op):
    for s, axis in LINES:
        n = s[axis]
        op.case([p(op.normal(*s)), i32(op.ints(0, n, 3))],
                lambda x, i: torch.index_select(x, axis, i), [axis])


def scatter_add(op):
    for k, (s, axis) in enumerate(LINES):
        t = list(s)
        t[axis] = [s[axis], 3, 2 * s[axis]][k % 3]
        if k % 2 and axis not in (0, -len(s)):
            t[0] = max(1, t[0] - 1)
        op.case([p(op.normal(*s)), i32(op.ints(0, s[axis], *t)), p(op.normal(*t))],
                lambda x, i, y: torch.scatter_add(x, axis, i, y), [axis])


def one_hot(op):
    for k, s in enumerate(SHAPES):
        if len(s) > 7 or s == (1031,):
            continue
        n = 1 + k % 7
        op.case([i32(op.ints(0, n, *s))], lambda i: F.one_hot(i, n).to(torch.float64), [n])


# ---- Blocks and losses ---------------------------------------------------------------------------

def group_norm(op):
    for n, ch, rest, groups, affine in [
            (1, 1, (4,), 1, 1), (2, 4, (3,), 2, 1), (2, 4, (3,), 4, 1), (2, 4, (3,), 1, 1),
            (1, 6, (2, 3), 3, 1), (2, 6, (2, 3), 2, 0), (3, 4, (5,), 2, 0), (2, 8, (2, 2), 4, 1),
            (2, 3, (7,), 3, 1), (1, 12, (1,), 3, 1), (2, 10, (), 2, 1), (2, 4, (3, 3), 2, 1),
            (1, 2, (17,), 1, 1), (1, 2, (33,), 2, 0), (4, 4, (2, 3), 4, 0), (2, 10, (3,), 5, 1),
            (1, 5, (4, 4), 5, 1), (1, 5, (4, 4), 1, 1), (3, 2, (3, 2), 2, 1), (2, 16, (2,), 4, 1)]:
        w = p(op.normal(ch, shift=1.0)) if affine else None
        b = p(op.normal(ch)) if affine else None
        op.case([p(op.normal(n, ch, *rest, shift=0.3)), w, b],
                lambda x, w, b: F.group_norm(x, groups, w, b, EPS), [groups, EPS])


def instance_norm(op):
    for k, (n, ch, rest) in enumerate(
            [(1, 1, (4,)), (2, 4, (3,)), (2, 3, (5,)), (1, 6, (2, 3)), (2, 6, (2, 3)),
             (3, 4, (5,)), (2, 8, (2, 2)), (2, 3, (7,)), (1, 12, (5,)), (2, 4, (3, 3)),
             (1, 2, (17,)), (1, 2, (33,)), (4, 4, (2, 2)), (2, 10, (3,)), (1, 5, (4, 4)),
             (3, 2, (3, 2)), (2, 16, (4,)), (1, 1, (2, 9)), (2, 2, (1, 6)), (5, 1, (3,))]):
        w, b = (None, None) if k % 3 == 0 else (p(op.normal(ch, shift=1.0)), p(op.normal(ch)))
        op.case([p(op.normal(n, ch, *rest, shift=0.3)), w, b],
                lambda x, w, b: F.instance_norm(x, None, None, w, b, True, 0.1, EPS), [EPS])


def conv_transpose(op):
    def run(x, w, bias=True, stride=(1, 1), padding=(0, 0), more=(0, 0), dilation=(1, 1), groups=1):
        d = len(x) - 2
        fn = F.conv_transpose2d if d == 2 else F.conv_transpose1d
        b = p(op.normal(w[1] * groups)) if bias else None
        op.case([p(op.normal(*x)), p(op.normal(*w)), b],
                lambda x, w, b: fn(x, w, b, stride[:d], padding[:d], more[:d], groups,
                                   dilation[:d]),
                [*stride, *padding, *more, *dilation, groups])
    run((1, 1, 1, 1), (1, 1, 1, 1))
    run((1, 1, 3, 3), (1, 1, 2, 2))
    run((2, 3, 4, 5), (3, 2, 3, 3))
    run((2, 3, 4, 5), (3, 2, 3, 3), False, padding=(1, 1))
    run((1, 2, 3, 4), (2, 3, 2, 2), stride=(2, 2))
    run((1, 2, 3, 4), (2, 3, 3, 3), stride=(2, 2), padding=(1, 1), more=(1, 1))
    run((1, 2, 3, 4), (2, 3, 4, 4), stride=(2, 2), padding=(1, 1))
    run((1, 4, 3, 3), (4, 2, 3, 3), groups=2)
    run((1, 4, 3, 3), (4, 1, 3, 2), groups=4, stride=(2, 1))
    run((1, 2, 4, 3), (2, 2, 2, 3), dilation=(2, 2))
    run((1, 2, 4, 3), (2, 2, 3, 2), stride=(3, 2), dilation=(1, 2), padding=(1, 0), more=(2, 1))
    run((2, 1, 1, 7), (1, 4, 1, 3), stride=(1, 2))
    run((3, 2, 2, 2), (2, 5, 2, 2), False, stride=(2, 2))
    run((1, 3, 5, 5), (3, 1, 5, 5), padding=(2, 2))
    run((1, 1, 4), (1, 1, 3))
    run((2, 3, 5), (3, 2, 4), stride=(2, 2), padding=(1, 0))
    run((2, 4, 6), (4, 2, 3), groups=2, stride=(2, 2), more=(1, 0))
    run((1, 2, 7), (2, 3, 3), dilation=(3, 1), padding=(2, 0))
    run((1, 2, 1), (2, 3, 5), False)
    run((4, 1, 9), (1, 2, 2), stride=(3, 1))
    run((1, 6, 2, 3), (6, 2, 2, 2), groups=3, stride=(2, 2))


def interpolate(op):
    for s, out in [((1, 1, 1, 1), (1, 1)), ((1, 1, 2, 2), (4, 4)), ((2, 3, 3, 4), (6, 8)),
                   ((1, 2, 3, 3), (5, 7)), ((1, 1, 5, 7), (3, 4)), ((1, 2, 4, 4), (2, 2)),
                   ((1, 1, 3, 5), (3, 9)), ((2, 1, 4, 3), (1, 1)), ((1, 1, 1, 3), (4, 3)),
                   ((1, 2, 4), (8,)), ((2, 3, 5), (3,)), ((1, 1, 3), (7,)), ((1, 2, 1), (5,))]:
        size = [*out, 0][:2]
        flat = len(s) == 3
        op.case([p(op.normal(*s))], lambda x: F.interpolate(x, out, mode="nearest"), [*size, 0, 0])
        for align in [0, 1]:
            op.case([p(op.normal(*s))],
                    lambda x: F.interpolate(x, out, mode="linear" if flat else "bilinear",
                                            align_corners=bool(align)), [*size, 1, align])


def rotary(op):
    def turned(x, position, base, interleaved):
        d = x.shape[-1]
        speed = base ** (-torch.arange(0, d, 2, dtype=torch.float64) / d)
        angle = (position.to(torch.float64)[:, None] * speed).to(x.dtype)
        cos, sin = angle.cos(), angle.sin()
        if interleaved:
            a, b = x[..., 0::2], x[..., 1::2]
            return torch.stack([a * cos - b * sin, b * cos + a * sin], -1).flatten(-2)
        a, b = x[..., :d // 2], x[..., d // 2:]
        return torch.cat([a * cos - b * sin, b * cos + a * sin], -1)
    for k, (s, base) in enumerate(
            [((1, 2), 10000), ((3, 4), 10000), ((2, 5, 8), 10000), ((2, 3, 4, 6), 10000),
             ((1, 1, 1, 2), 100), ((17, 16), 10000), ((2, 33, 4), 500000), ((5, 64), 10000),
             ((2, 2, 3, 8), 10), ((1, 7, 10), 10000)]):
        for interleaved in [0, 1]:
            t = s[-2]
            position = c(np.arange(t) + 3 * k) if k % 2 else None
            op.case([p(op.normal(*s)), position],
                    lambda x, at: turned(x, torch.arange(t) if at is None else at, base,
                                         interleaved), [base, interleaved])


def attention_heads(op):
    def fn(q, k, v, length, causal, window, scale):
        share, (t, s) = q.shape[1] // k.shape[1], (q.shape[2], k.shape[2])
        at, key = torch.arange(t)[:, None] + s - t, torch.arange(s)
        mask = torch.ones(t, s, dtype=torch.bool)
        if causal:
            mask = mask & (key <= at)
        if window:
            mask = mask & (key > at - window)
        if length is not None:
            mask = mask & (key < length[:, None, None, None])
        return attention(q, k.repeat_interleave(share, 1), v.repeat_interleave(share, 1), mask, 0,
                         scale)

    def run(n, h, g, t, s, d, e, causal=0, window=0, lengths=None, scale=0.0):
        scale, one = f32(scale), c if window == 1 else p     # of one key no weight depends
        op.case([one(op.normal(n, h, t, d)), one(op.normal(n, g, s, d)), p(op.normal(n, g, s, e)),
                 None if lengths is None else i32(lengths)],
                lambda q, k, v, l: fn(q, k, v, l, causal, window, scale),
                [causal, window, scale])
    run(1, 1, 1, 1, 1, 1, 1)
    run(1, 2, 1, 3, 3, 4, 4)
    run(2, 4, 2, 3, 5, 4, 4)
    run(1, 4, 4, 5, 5, 3, 3, causal=1)
    run(1, 4, 1, 5, 5, 4, 2, causal=1)
    run(2, 6, 2, 4, 4, 4, 4, causal=1)
    run(1, 2, 2, 1, 7, 4, 4, causal=1)
    run(1, 2, 1, 3, 7, 4, 4, causal=1)
    run(1, 4, 2, 2, 9, 4, 4, causal=1, window=3)
    run(1, 2, 2, 6, 6, 4, 4, causal=1, window=2)
    run(1, 2, 2, 6, 6, 4, 4, causal=1, window=1)
    run(1, 2, 2, 6, 6, 4, 4, causal=1, window=100)
    run(2, 2, 2, 3, 4, 4, 4, lengths=[4, 2])
    run(3, 4, 2, 3, 4, 4, 4, lengths=[1, 4, 3])
    run(2, 4, 2, 4, 4, 4, 4, causal=1, lengths=[4, 2])
    run(2, 4, 1, 3, 6, 4, 3, causal=1, window=4, lengths=[6, 5])
    run(1, 2, 1, 3, 3, 4, 4, scale=1.0)
    run(1, 8, 2, 2, 3, 2, 2, scale=0.3, causal=1)
    run(1, 2, 1, 5, 3, 4, 4, causal=1)         # the first queries have no key
    run(1, 3, 1, 17, 33, 2, 2, causal=1)


def element_loss(op, x_of, y_of, fn, attrs=([],), flags=0):
    """fn(x, y, *attr, reduction)"""
    shapes = [((1,), (1,)), ((), ()), ((7,), (7,)), ((2, 3), (2, 3)), ((3, 1, 5), (3, 1, 5)),
              ((2, 3, 4), (4,)), ((33,), (33,)), ((5, 1), (1, 3))]
    for k, (sx, sy) in enumerate(shapes):
        for r in [MEAN, SUM, NONE]:
            attr = attrs[(k + r) % len(attrs)]
            op.case([p(x_of(*sx)), p(y_of(*sy))],
                    lambda x, y: fn(*torch.broadcast_tensors(x, y), *attr, REDUCTION[r]),
                    [*attr, r], flags)


def bce_with_logits(op):
    def fn(x, y, w, r):
        if w is not None:
            w = w.expand(x.shape)
        return F.binary_cross_entropy_with_logits(x, y, None, reduction=r, pos_weight=w)
    for k, s in enumerate(SHAPES[:12]):
        for r in [MEAN, SUM, NONE][k % 2:]:
            w = c(op.uniform(0.5, 2, *s[-1:])) if k % 3 == 1 else None
            op.case([p(op.normal(*s, scale=3)), p(op.uniform(0, 1, *s)), w],
                    lambda x, y, w: fn(x, y, w, REDUCTION[r]), [r])
    op.case([p([40, -40, 3, 90]), c([1, 0, 1, 0]), None], lambda x, y, w: fn(x, y, w, "none"),
            [NONE])


def apart(op):
    """y that are off x, and off 1 and 0.5 beyond it."""
    return lambda *s: op.normal(*s, scale=2) + np.float32(10)


def l1(op):
    element_loss(op, op.normal, lambda *s: op.normal(*s) + 6, lambda x, y, r: F.l1_loss(
        x, y, reduction=r))


def smooth_l1(op):
    element_loss(op, op.normal, lambda *s: op.normal(*s) + 3,
                 lambda x, y, beta, r: F.smooth_l1_loss(x, y, reduction=r, beta=beta),
                 ([1.0], [0.5], [20.0]))
    op.case([c([np.inf, 1, 0]), c([0, 1, np.nan])],
            lambda x, y: F.smooth_l1_loss(x, y, reduction="none"), [1, NONE])


def huber(op):
    element_loss(op, op.normal, lambda *s: op.normal(*s) + 3,
                 lambda x, y, delta, r: F.huber_loss(x, y, reduction=r, delta=delta),
                 ([1.0], [0.5], [20.0]))


def kl_div(op):
    def fn(x, y, log, r):
        return F.kl_div(x, y, reduction=r, log_target=bool(log))
    element_loss(op, lambda *s: op.normal(*s) - 3, lambda *s: op.uniform(0.1, 1, *s), fn,
                 ([0], [1]))
    op.case([p(op.normal(4)), c([0, 0.5, 0, 1])], lambda x, y: fn(x, y, 0, "none"), [0, NONE])


def cosine_embedding(op):
    for k, (n, d) in enumerate([(1, 3), (1, 4), (2, 3), (3, 2), (5, 7), (4, 17), (2, 33)]):
        for r in [MEAN, SUM, NONE]:
            y = np.where(op.bits(n), 1, -1).astype(np.float32)
            margin = f32([0.0, -0.9, 0.1][(k + r) % 3])
            op.case([p(op.normal(n, d)), p(op.normal(n, d)), c(y)],
                    lambda a, b, y: F.cosine_embedding_loss(a, b, y, margin,
                                                            reduction=REDUCTION[r]),
                    [margin, r])


def triplet_margin(op):
    for k, (n, d) in enumerate([(1, 1), (1, 4), (2, 3), (3, 2), (5, 7), (4, 17), (2, 33)]):
        for r in [MEAN, SUM, NONE]:
            margin = [1.0, 3.0, 20.0][(k + r) % 3]
            op.case([p(op.normal(n, d)), p(op.normal(n, d)), p(op.normal(n, d))],
                    lambda a, q, b: F.triplet_margin_loss(a, q, b, margin,
                                                          reduction=REDUCTION[r]), [margin, r])


def cross_entropy_weighted(op):
    for k, (lead, ch) in enumerate([((1,), 1), ((1,), 3), ((5,), 3), ((7,), 5), ((2, 3), 4),
                                    ((33,), 2), ((3, 2, 2), 6)]):
        for r in [MEAN, SUM, NONE]:
            target = op.ints(0, ch, *lead)
            ignore = [-100, 0, -100][(k + r) % 3] if lead != (1,) else -100
            if k % 2 and lead != (1,):
                target.flat[0] = ignore
            smooth = f32([0.0, 0.1, 0.3][(k + 2 * r) % 3])
            w = p(op.uniform(0.5, 2, ch)) if (k + r) % 4 else None

            def fn(x, t, w):
                y = F.cross_entropy(x.reshape(-1, ch), t.reshape(-1), w, ignore_index=ignore,
                                    reduction=REDUCTION[r], label_smoothing=smooth)
                return y.reshape(lead) if r == NONE else y
            if w is not None:
                w.grad = False
            op.case([p(op.normal(*lead, ch)), i32(target), w], fn, [r, 1, ignore, smooth, 0])
    op.case([c(op.normal(2, 3)), i32([-100, -100]), None],
            lambda x, t, w: F.cross_entropy(x, t), [MEAN, 0, 0, 0, 0])
    op.case([p(op.normal(2, 3)), i32([-100, -100]), None],
            lambda x, t, w: (x * 0).sum(), [MEAN, 0, 0, 0, 1])


def ctc(op):
    def run(t, n, ch, target, frames, lengths, blank=0, zero=0):
        x = op.normal(t, n, ch)
        op.case([p(x), i32(target), i32(frames), i32(lengths)],
                lambda x, y, f, l: F.ctc_loss(x.log_softmax(-1), y, f, l, blank, "none",
                                              bool(zero)), [blank, zero])
    run(1, 1, 2, [[1]], [1], [1])
    run(2, 1, 2, [[1]], [2], [1])
    run(3, 1, 3, [[1, 2]], [3], [2])
    run(3, 1, 3, [[1, 1]], [3], [2])              # one way: a blank between equals
    run(5, 2, 4, [[1, 2], [3, 1]], [5, 5], [2, 2])
    run(6, 2, 4, [[1, 2, 2], [3, 1, 1]], [6, 4], [3, 1])
    run(8, 3, 5, op.ints(1, 5, 3, 3), [8, 6, 7], [3, 2, 1])
    run(4, 1, 3, [[0, 1]], [4], [2], blank=2)
    run(7, 2, 3, op.ints(0, 2, 2, 2), [7, 7], [2, 2], blank=2)
    run(17, 2, 6, op.ints(1, 6, 2, 5), [17, 15], [5, 4])
    run(2, 1, 3, [[1, 2]], [2], [2])
    run(9, 1, 2, [[1, 1, 1]], [9], [3])
    run(4, 2, 3, [[1, 2], [1, 2]], [4, 3], [0, 2])
    run(5, 1, 8, [[3, 7, 4]], [5], [3])
    run(3, 4, 3, op.ints(1, 3, 4, 1), [3, 2, 1, 3], [1, 1, 1, 1])
    run(10, 1, 4, [[2, 2]], [10], [2])
    run(6, 1, 4, [[1, 3, 1]], [6], [3], zero=1)
    run(33, 1, 4, op.ints(1, 4, 1, 6), [33], [6])
    run(5, 2, 3, [[1, 2], [1, 1]], [1, 5], [2, 2], zero=1)   # the first cannot be written
    run(4, 1, 3, [[2, 1]], [4], [1])


def recurrent(op, kind, gates):
    """kind of torch._VF, batch first. Inputs x, lengths, h, c, then torch's flat weights."""
    def run(n, t, k, hidden, layers=1, both=False, bias=True, relu=False, lengths=None, state=True,
            grads=True):
        sides, one = 2 if both else 1, p if grads else c
        weights = []
        for layer in range(layers):
            for _ in range(sides):
                width = k if layer == 0 else sides * hidden
                shapes = [(gates * hidden, width), (gates * hidden, hidden)]
                shapes += [(gates * hidden,)] * 2 if bias else []
                weights += [p(op.normal(*s, scale=0.5 if hidden < 9 else 0.2)) for s in shapes]
        states = [one(op.normal(layers * sides, n, hidden, scale=0.7)) if state else None
                  for _ in range(2 if gates == 4 else 1)]
        states += [None] * (2 - len(states))

        def fn(x, length, h, cell, *ws):
            zero = torch.zeros(layers * sides, n, hidden, dtype=x.dtype)
            first = [zero if s is None else s for s in [h, cell][:2 if gates == 4 else 1]]
            first = tuple(first) if gates == 4 else first[0]
            call = getattr(torch._VF, kind + ("_relu" if relu else "_tanh") * (kind == "rnn"))
            rest = (list(ws), bias, layers, 0.0, True, both)
            if length is None:
                y, *last = call(x, first, *rest, True)
            else:
                packed = torch.nn.utils.rnn.pack_padded_sequence(x, length, True, False)
                order = packed.sorted_indices
                sort = lambda s: s.index_select(1, order)
                first = tuple(map(sort, first)) if gates == 4 else sort(first)
                data, *last = call(packed.data, packed.batch_sizes, first, *rest)
                y, _ = torch.nn.utils.rnn.pad_packed_sequence(
                    torch.nn.utils.rnn.PackedSequence(data, packed.batch_sizes, order,
                                                      packed.unsorted_indices), True,
                    total_length=t)
                last = [s.index_select(1, packed.unsorted_indices) for s in last]
            return [y, *last]
        length = None if lengths is None else i32(lengths)
        op.case([one(op.normal(n, t, k)), length, *states, *weights], fn,
                [layers, both, not bias, relu])
    run(1, 1, 1, 1)
    run(1, 1, 1, 1, state=False)
    run(1, 5, 3, 2, state=False)
    run(2, 4, 3, 5)
    run(3, 1, 2, 4)
    run(2, 7, 1, 3, bias=False)
    run(2, 3, 4, 3, both=True)
    run(1, 6, 2, 3, both=True, state=False)
    run(2, 3, 4, 3, layers=2)
    run(2, 4, 3, 2, layers=2, both=True)
    run(1, 3, 2, 2, layers=3, bias=False)
    run(3, 5, 2, 3, lengths=[5, 2, 3])
    run(3, 5, 2, 3, lengths=[1, 1, 4], state=False)
    run(2, 4, 3, 2, lengths=[2, 4], both=True)
    run(4, 6, 2, 3, lengths=[3, 6, 1, 5], both=True, layers=2)
    run(1, 4, 2, 2, lengths=[2])
    run(2, 5, 3, 4, lengths=[5, 5], both=True, bias=False)
    run(1, 19, 2, 2)
    run(1, 37, 1, 2, both=True, lengths=[35])
    run(5, 2, 7, 6, grads=False)
    run(2, 17, 3, 17)
    run(1, 3, 33, 5, state=False)
    if kind == "rnn":
        run(2, 4, 3, 4, relu=True)
        run(3, 4, 2, 3, relu=True, both=True, layers=2, lengths=[4, 1, 3])


def lstm(op):
    recurrent(op, "lstm", 4)


def gru(op):
    recurrent(op, "gru", 3)


def rnn(op):
    recurrent(op, "rnn", 1)


OPS = [sin, cos, erf, log1p, expm1, floor, ceil, round_, sign, detach, add, sub, mul, div, pow_,
       minimum, maximum, eq, ne, lt, le, gt, ge, where, neg, exp, log, sqrt, rsqrt, abs_, relu,
       leaky_relu, sigmoid, tanh, gelu, gelu_tanh, silu, softplus, scale, shift, cast, sum_, mean,
       max_, argmax, matmul, affine, reshape, flatten, transpose, permute, slice_, split, cat,
       stack, expand, squeeze, unsqueeze, gather, pad, softmax, log_softmax, layer_norm, rms_norm,
       batch_norm, cross_entropy, nll, mse, convolution, max_pool2d, avg_pool2d,
       adaptive_avg_pool2d, lookup, lookup_padded, scaled_dot_product_attention, lstm, gru, rnn,
       clamp,
       reciprocal, logical_and, logical_or, logical_not, isnan, isinf, isfinite, masked_fill, min_,
       logsumexp, var, std, argmin, prod, cumsum, sort, topk, index_select, scatter_add, one_hot,
       group_norm, instance_norm, conv_transpose, interpolate, rotary, attention_heads,
       bce_with_logits, l1, smooth_l1, huber, kl_div, cosine_embedding, triplet_margin,
       cross_entropy_weighted, ctc]


def write_all(folder):
    files, cases, size = [], 0, 0
    for make in OPS:
        op = Op(make.__name__.rstrip("_"))
        make(op)
        data = op.file()
        assert len(data) < 200000, (op.name, len(data))
        name = "ops_%s.bin" % op.name
        with open(os.path.join(folder, name), "wb") as f:
            f.write(data)
        files.append(name)
        cases, size = cases + len(op.cases), size + len(data)
    print("%d files, %d cases, %d bytes" % (len(files), cases, size))
    assert size < 4200000, size
    return files


def check(folder):
    bad = 0
    with tempfile.TemporaryDirectory() as fresh:
        names = write_all(fresh)
        stored = {n for n in os.listdir(folder) if n.startswith("ops_") and n.endswith(".bin")}
        for name in sorted(stored | set(names)):
            pair = []
            for d in [folder, fresh]:
                path = os.path.join(d, name)
                pair.append(open(path, "rb").read() if os.path.exists(path) else None)
            if pair[0] != pair[1]:
                bad += 1
                print("%s differs" % name if None not in pair
                      else "%s is missing or not ours" % name)
    print("%d passed, %d failed" % (len(names) - bad, bad))
    return 1 if bad else 0


def main():
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    here = os.path.dirname(os.path.abspath(__file__))
    if sys.argv[1:] == ["--check"]:
        return check(here)
    if sys.argv[1:]:
        sys.exit(__doc__)
    write_all(here)
    return 0


if __name__ == "__main__":
    sys.exit(main())
