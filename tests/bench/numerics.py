"""What numerics.c does, in PyTorch:

    python3 tests/bench/numerics.py THREADS  lenet | resnet8  f32 | autocast  SEED  DATA

Its initial weights and its order of the data are its own. autocast: torch.autocast("cpu",
torch.bfloat16), as its documentation has it, around the forward pass."""
import gzip
import os
import sys
import numpy as np
import torch
from torch.nn import functional as F
from torch_nets import LeNet, ResNet8

BATCH, POINTS = 64, 8
NETS = {"lenet": (LeNet, 60000, 5), "resnet8": (lambda: ResNet8(1), 20000, 3)}


def idx(folder, name, head):
    path = os.path.join(folder, name)
    opened = gzip.open(path + ".gz") if os.path.exists(path + ".gz") else open(path, "rb")
    with opened as file:
        return np.frombuffer(file.read()[head:], np.uint8)


def data(folder, which):
    x = idx(folder, which + "-images-idx3-ubyte", 16).reshape(-1, 1, 28, 28)
    y = idx(folder, which + "-labels-idx1-ubyte", 8)
    x = (x.astype(np.float32) / 255 - 0.2860) / 0.3530
    return torch.from_numpy(x), torch.from_numpy(y.astype(np.int64))


def optimizer(name, model):
    if name == "lenet":
        return torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.01)
    return torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)


def main(name, mode, seed, folder):
    make, images, epochs = NETS[name]
    torch.manual_seed(int(seed))
    model = make()
    x, y = data(folder, "train")
    x, y = x[:images], y[:images]
    steps = images // BATCH * epochs
    how = optimizer(name, model)
    first = how.param_groups[0]["lr"]
    step, since = 0, []

    def forward(image):
        with torch.autocast("cpu", torch.bfloat16, enabled=mode == "autocast"):
            return model(image)

    for _ in range(epochs):
        order = torch.randperm(images)
        for at in range(0, images - BATCH + 1, BATCH):
            rows = order[at:at + BATCH]
            how.param_groups[0]["lr"] = first * (steps - step) / steps
            loss = F.cross_entropy(forward(x[rows]).float(), y[rows])
            how.zero_grad(set_to_none=True)
            loss.backward()
            how.step()
            step += 1
            since.append(loss.item())
            if step * POINTS // steps != (step - 1) * POINTS // steps:
                print(name, "torch-" + mode, seed, step, f"{np.mean(since):.4f}", flush=True)
                since = []

    model.eval()
    x, y = data(folder, "t10k")
    with torch.no_grad():
        right = sum((forward(x[at:at + 500]).argmax(1) == y[at:at + 500]).sum().item()
                    for at in range(0, len(x), 500))
    print(name, "torch-" + mode, seed, "final", f"{100 * right / len(x):.2f}")


if __name__ == "__main__":
    main(*sys.argv[2:])      # torch_peer.py takes the threads
