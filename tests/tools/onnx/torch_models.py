# torch_models.py FOLDER: models that PyTorch exports, with inputs and its outputs, as cases of
# ONNX's test set. Needs torch alone; prints the names of the cases.
import inspect
import os
import struct
import sys
import warnings

import torch
from torch import nn

warnings.filterwarnings("ignore")
torch.manual_seed(0)
torch.set_num_threads(1)


class Images(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(3, 16, 3, stride=2, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(16)
        self.second = nn.Conv2d(16, 32, 3, padding=1, groups=4)
        self.up = nn.Upsample(scale_factor=2, mode="bilinear", align_corners=False)
        self.back = nn.ConvTranspose2d(32, 8, 4, stride=2, padding=1)
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.last = nn.Linear(8, 10)

    def forward(self, x):
        x = nn.functional.max_pool2d(torch.relu(self.norm(self.first(x))), 2)
        x = self.up(nn.functional.hardswish(self.second(x)))
        x = self.pool(nn.functional.silu(self.back(x))).flatten(1)
        return torch.log_softmax(self.last(x), -1)


class Series(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(12, 16, num_layers=2, bidirectional=True, batch_first=True)
        self.gru = nn.GRU(32, 8)
        self.last = nn.Linear(8, 3)

    def forward(self, x):
        x, _ = self.lstm(x)
        x, _ = self.gru(x)
        return self.last(x[:, -1])


# Without being told, today's encoder looks at the values of the mask, which no export can follow.
known = inspect.signature(nn.TransformerEncoder.forward).parameters
causal = {"is_causal": True} if "is_causal" in known else {}


class Words(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(50, 32)
        layer = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True, dropout=0.0)
        self.layers = nn.TransformerEncoder(layer, 2)
        self.last = nn.Linear(32, 50)

    def forward(self, ids):
        n = ids.shape[1]
        mask = torch.triu(torch.full((n, n), float("-inf")), 1)
        return self.last(self.layers(self.embedding(ids), mask=mask, **causal))


class Indices(nn.Module):
    def forward(self, x, index):
        y = x[:, ::2].clone()
        y[:, 0] = 1
        values, places = torch.topk(x, 3)
        outer = torch.einsum("bi,bj->bij", x, x).sum(-1)
        return (y * 2, torch.gather(x, 1, index).cumsum(1), values, places, outer, x.std(1),
                torch.where(x > 0, x, -x))


def varint(n):
    out = b""
    while n >= 128:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def tensor_proto(t):        # dims 1, data_type 2, raw_data 9
    kind, code = {torch.float32: (1, "f"), torch.int64: (7, "q")}[t.dtype]
    raw = struct.pack("<%d%s" % (t.numel(), code), *t.flatten().tolist())
    dims = b"".join(b"\x08" + varint(d) for d in t.shape)
    return dims + b"\x10" + varint(kind) + b"\x4a" + varint(len(raw)) + raw


cases = {
    "images": (Images(), (torch.randn(2, 3, 32, 32),)),
    "series": (Series(), (torch.randn(4, 5, 12),)),
    "words": (Words(), (torch.randint(0, 50, (2, 9)),)),
    "indices": (Indices(), (torch.randn(3, 8), torch.randint(0, 8, (3, 4)))),
}
for name, (model, inputs) in cases.items():
    for opset in (13, 16, 18, 23):      # older ones by old exporters, newer ones by new ones
        folder = "%s/torch_%s_%d" % (sys.argv[1], name, opset)
        os.makedirs(folder + "/test_data_set_0", exist_ok=True)
        model.eval()
        try:
            torch.onnx.export(model, inputs, folder + "/model.onnx", opset_version=opset)
        except Exception:           # this PyTorch cannot write this model in this op set
            continue
        with torch.no_grad():
            outputs = model(*inputs)
        outputs = outputs if isinstance(outputs, tuple) else (outputs,)
        for kind, values in (("input", inputs), ("output", outputs)):
            for i, value in enumerate(values):
                with open("%s/test_data_set_0/%s_%d.pb" % (folder, kind, i), "wb") as f:
                    f.write(tensor_proto(value))
        print("torch_%s_%d" % (name, opset))
