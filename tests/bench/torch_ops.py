"""The ops of ops.c in PyTorch, for torch_peer.py: ops.NAME N BACKWARD."""
import torch
from torch.nn import functional as F
from torch_peer import adamw, attention, choices, clock, numbers, prepared


class Op:
    """forward() of some inputs; with backward, their gradients for a given dy, too"""

    def __init__(self, n, backward):
        self.n, self.backward = int(n), backward == "1"
        self.inputs = self.make()
        for x in self.inputs:
            x.requires_grad_(self.backward)
        self.forward = prepared(self.forward)
        with torch.no_grad():
            self.dy = self.upstream(self.forward(*self.inputs))

    def upstream(self, y):
        return numbers(y.shape, 9)

    def step(self):
        if self.backward:
            y = self.forward(*self.inputs)
            self.results = [y, *torch.autograd.grad(y, self.inputs, self.dy)]
        else:
            with torch.no_grad():
                self.results = [self.forward(*self.inputs)]

    def value(self):
        self.step()
        return sum(x.detach().double().abs().sum() for x in self.results)


class Attention(Op):
    def make(self):
        return [numbers((1, 12, self.n, 64), seed) for seed in (1, 2, 3)]

    def forward(self, q, k, v):
        return attention(q, k, v)


class GELU(Op):
    def make(self):
        return [numbers((self.n, 3072), 1)]

    def forward(self, x):
        return F.gelu(x, approximate="tanh")


class CrossEntropy(Op):
    def make(self):
        self.label = choices((self.n,), 2, 50257)
        return [numbers((self.n, 50257), 1)]

    def upstream(self, y):
        return torch.ones(())

    def forward(self, x):
        return F.cross_entropy(x, self.label)


class LayerNorm(Op):
    def make(self):
        return [numbers((self.n, 768), 1), numbers((768,), 2), numbers((768,), 3)]

    def forward(self, x, w, b):
        return F.layer_norm(x, (768,), w, b)


class Softmax(Op):
    def make(self):
        return [numbers((4, 12, self.n, self.n), 1)]

    def forward(self, x):
        return torch.softmax(x, -1)


class Embedding(Op):
    """the gradient alone"""

    def make(self):
        self.ids = choices((self.n,), 1, 50257)
        return [torch.rand(50257, 768)]

    def forward(self, w):
        return F.embedding(self.ids, w)

    def step(self):
        y = self.forward(*self.inputs)
        begin = clock()
        self.results = torch.autograd.grad(y, self.inputs, self.dy)
        self.parts = [clock() - begin]


class AdamW:
    warm = True

    def __init__(self, *_):
        shapes = 12 * ([(2304, 768), (768, 768), (3072, 768), (768, 3072), (2304,), (3072,)]
                       + 6 * [(768,)]) + [(50257, 768), (1024, 768), (768,), (768,)]
        self.parameters = [torch.nn.Parameter(torch.rand(s)) for s in shapes]
        self.parameters[0].data.copy_(numbers(shapes[0], 1))
        for p in self.parameters:
            p.grad = torch.empty_like(p)
        self.optimizer = adamw(self.parameters, 1e-3)

    def step(self):
        for p in self.parameters:
            p.grad.copy_(p.data)
        begin = clock()
        self.optimizer.step()
        self.parts = [clock() - begin]

    def value(self):
        return self.parameters[0].detach().double().abs().sum()
