"""The small nets of nets.c in PyTorch, for torch_peer.py: nets.Train NAME."""
import torch
from torch import nn
from torch.nn import functional as F
from torch_peer import choices, numbers, prepared

B = 64


class MLP(nn.Module):
    shape = (1, 28, 28)

    def __init__(self):
        super().__init__()
        self.fc1, self.fc2, self.fc3 = nn.Linear(784, 256), nn.Linear(256, 128), nn.Linear(128, 10)

    def forward(self, x):
        return self.fc3(F.relu(self.fc2(F.relu(self.fc1(x.view(-1, 784))))))


class ResFFN(nn.Module):
    shape, momentum = (1, 28, 28), 0.9

    def __init__(self):
        super().__init__()
        self.gemm1, self.gemm2 = nn.Linear(784, 512), nn.Linear(512, 512)
        self.gemm3 = nn.Linear(512, 10)
        self.norm1, self.norm2 = nn.LayerNorm(512), nn.LayerNorm(512)

    def forward(self, x):
        residual = torch.tanh(self.norm1(self.gemm1(x.view(-1, 784))))
        return self.gemm3(torch.sigmoid(self.norm2(self.gemm2(residual)) + residual))


class LeNet(nn.Module):
    shape = (1, 28, 28)

    def __init__(self):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, 6, 5, padding=2), nn.Conv2d(6, 16, 5)
        self.fc1, self.fc2, self.fc3 = nn.Linear(400, 120), nn.Linear(120, 84), nn.Linear(84, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2).flatten(1)
        return self.fc3(F.relu(self.fc2(F.relu(self.fc1(x)))))


class ResNet8(nn.Module):
    shape, momentum = (3, 32, 32), 0.9

    def __init__(self, channels=3):
        super().__init__()
        self.conv, self.norm = nn.Conv2d(channels, 16, 3, padding=1), nn.BatchNorm2d(16)
        before = 16
        for i in range(3):
            n, stride = 16 << i, 2 if i else 1
            setattr(self, f"conv_a{i + 1}", nn.Conv2d(before, n, 3, stride, 1))
            setattr(self, f"conv_b{i + 1}", nn.Conv2d(n, n, 3, 1, 1))
            setattr(self, f"norm_a{i + 1}", nn.BatchNorm2d(n))
            setattr(self, f"norm_b{i + 1}", nn.BatchNorm2d(n))
            if i:
                setattr(self, f"skip{i + 1}", nn.Conv2d(before, n, 1, stride))
            before = n
        self.fc = nn.Linear(64, 10)

    def forward(self, x):
        x = F.relu(self.norm(self.conv(x)))
        for i in "123":
            def part(name):
                return getattr(self, name + i)
            h = F.relu(part("norm_a")(part("conv_a")(x)))
            h = part("norm_b")(part("conv_b")(h))
            x = F.relu(h + (x if i == "1" else part("skip")(x)))
        return self.fc(x.mean((2, 3)))


class Train:
    warm = True

    def __init__(self, name):
        self.model = globals()[name]()
        own = sorted((n.replace(".", "__"), p) for n, p in self.model.named_parameters())
        own = [p for n, p in own if "norm" not in n]        # those are ones and zeros
        with torch.no_grad():
            for k, p in enumerate(own):
                inputs = p.numel() / p.shape[0] if p.dim() > 1 else 100
                p.copy_(numbers(p.shape, 100 + k, inputs ** -0.5))
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.01,
                                         momentum=getattr(self.model, "momentum", 0))
        self.image, self.label = numbers((B, *self.model.shape), 1), choices((B,), 2, 10)
        self.forward = prepared(self.losses)

    def losses(self, image, label):
        return F.cross_entropy(self.model(image), label)

    def step(self):
        loss = self.forward(self.image, self.label)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self.optimizer.step()
        return loss

    def value(self):
        """the loss before the first update, which this makes"""
        return self.step().item()
