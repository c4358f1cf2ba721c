"""What bench_start does, in PyTorch: one process, one training step."""
import torch

B, F, H, C = 64, 784, 128, 10


class ResFFNLogReg(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.gemm1, self.gemm2 = torch.nn.Linear(F, H), torch.nn.Linear(H, H)
        self.gemm3 = torch.nn.Linear(H, C)
        self.norm1, self.norm2 = torch.nn.LayerNorm(H), torch.nn.LayerNorm(H)

    def forward(self, x):
        residual = torch.tanh(self.norm1(self.gemm1(x)))
        return self.gemm3(torch.sigmoid(self.norm2(self.gemm2(residual)) + residual))


torch.manual_seed(256)
model = ResFFNLogReg()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
loss = torch.nn.functional.cross_entropy(model(torch.rand(B, F)), torch.arange(B) % C)
loss.backward()
optimizer.step()
with open("/proc/self/status") as status:
    peak = next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) / 1024
print(loss.item(), peak)
