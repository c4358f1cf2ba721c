"""ResFFNLogReg training steps in PyTorch, on request: reads a number of steps per line, answers seconds per step.

    python3 tests/bench/torch_step.py THREADS BATCH HIDDEN
"""
import sys
import time

import torch

threads, batch, hidden = (int(a) for a in sys.argv[1:4])
torch.set_num_threads(threads)
torch.manual_seed(256)


class ResFFNLogReg(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.gemm1 = torch.nn.Linear(784, hidden)
        self.gemm2 = torch.nn.Linear(hidden, hidden)
        self.gemm3 = torch.nn.Linear(hidden, 10)
        self.norm1 = torch.nn.LayerNorm(hidden)
        self.norm2 = torch.nn.LayerNorm(hidden)

    def forward(self, x):
        residual = torch.tanh(self.norm1(self.gemm1(x)))
        return self.gemm3(torch.sigmoid(self.norm2(self.gemm2(residual)) + residual))


model = ResFFNLogReg()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
image, label = torch.rand(batch, 784), torch.randint(0, 10, (batch,))


def step():
    loss = torch.nn.functional.cross_entropy(model(image), label)
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()


for _ in range(20):
    step()
print(torch.__version__, flush=True)
for line in sys.stdin:
    n = int(line)
    start = time.perf_counter()
    for _ in range(n):
        step()
    print((time.perf_counter() - start) / n, flush=True)
