"""llama.cpp's half of the GPT-2 rows: answers as torch_peer.py does.

    python3 tests/bench/llama_peer.py THREADS f32|bf16|q8_0|q4_0

    make gpt2.Prefill LAYERS PROMPT LENGTH FOLDER
    make gpt2.Decode LAYERS PROMPT LENGTH FOLDER

FOLDER/model.safetensors, which bench_gpt2 writes, becomes FOLDER/model.WEIGHTS.gguf. All matrices
are kept in WEIGHTS, those of the tokens, too. The cache of keys and values is f32 with weights in
f32, and else f16, which is llama.cpp's default.
"""
import ctypes
import json
import os
import struct
import sys
import time

import gguf
import llama_cpp as llama
import numpy as np

VOCAB, POSITIONS, C, H = 50257, 1024, 768, 12
clock = time.process_time if "SAMBA_BENCH_CPU" in os.environ else time.perf_counter
threads, weights = int(sys.argv[1]), sys.argv[2]
NAMES = {
    "ln_1": "attn_norm", "attn.c_attn": "attn_qkv", "attn.c_proj": "attn_output",
    "ln_2": "ffn_norm", "mlp.c_fc": "ffn_up", "mlp.c_proj": "ffn_down",
}
WHOLE = {
    "wte.weight": "token_embd.weight", "wpe.weight": "position_embd.weight",
    "ln_f.weight": "output_norm.weight", "ln_f.bias": "output_norm.bias",
}


@llama.llama_log_callback
def say_nothing(level, text, user):
    pass


def peak_memory():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) / 1024


def choices(n, seed, most):
    """choices() of bench.h"""
    x = (np.arange(n, dtype=np.uint32) + np.uint32(seed * 7919)) * np.uint32(2654435761)
    x ^= x >> np.uint32(15)
    x *= np.uint32(2246822519)
    x ^= x >> np.uint32(13)
    return (x % np.uint32(most)).astype(np.int32)


def tensors(path):
    """name in llama.cpp, values: a product's matrix as (out, in)"""
    with open(path, "rb") as file:
        size, = struct.unpack("<Q", file.read(8))
        head = json.loads(file.read(size))
    for name, entry in head.items():
        if name == "__metadata__":
            continue
        begin, end = entry["data_offsets"]
        value = np.fromfile(path, np.float32, (end - begin) // 4, offset=8 + size + begin)
        value = value.reshape(entry["shape"])
        name = name.replace("transformer.", "")
        if name in WHOLE:
            yield WHOLE[name], value
            continue
        _, block, rest = name.split(".", 2)
        part, kind = rest.rsplit(".", 1)
        yield f"blk.{block}.{NAMES[part]}.{kind}", value.T.copy() if value.ndim == 2 else value


def convert(folder, layers):
    source, path = folder + "/model.safetensors", f"{folder}/model.{weights}.gguf"
    if os.path.exists(path) and os.path.getmtime(path) > os.path.getmtime(source):
        return path
    kind = getattr(gguf.GGMLQuantizationType, weights.upper())
    writer = gguf.GGUFWriter(path, "gpt2")
    writer.add_vocab_size(VOCAB)
    writer.add_tokenizer_model("no_vocab")
    writer.add_context_length(POSITIONS)
    writer.add_embedding_length(C)
    writer.add_feed_forward_length(4 * C)
    writer.add_block_count(layers)
    writer.add_head_count(H)
    writer.add_layer_norm_eps(1e-5)
    for name, value in tensors(source):
        matrix = value.ndim == 2 and name != "position_embd.weight"
        if matrix and weights != "f32":
            writer.add_tensor(name, gguf.quants.quantize(value, kind), raw_dtype=kind)
        else:
            writer.add_tensor(name, value)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


class Model:
    def __init__(self, layers, prompt, length, folder):
        self.prompt, self.length = int(prompt), int(length)
        path = convert(folder, int(layers))
        self.model = llama.llama_model_load_from_file(path.encode(),
                                                      llama.llama_model_default_params())
        if not self.model:
            raise RuntimeError(f"llama.cpp refuses {path}")
        options = llama.llama_context_default_params()
        options.n_ctx, options.n_batch, options.n_ubatch = self.length, self.prompt, self.prompt
        options.n_threads = options.n_threads_batch = threads
        if weights == "f32":
            options.type_k = options.type_v = llama.GGML_TYPE_F32
        self.context = llama.llama_init_from_model(self.model, options)
        self.memory = llama.llama_get_memory(self.context)
        self.ids = choices(self.length, 1, VOCAB)
        self.tokens = self.ids.ctypes.data_as(ctypes.POINTER(ctypes.c_int32))
        self.feed(0, self.prompt)

    def feed(self, at, n):
        """Tokens at ... at + n - 1; what was behind them is forgotten."""
        llama.llama_memory_seq_rm(self.memory, 0, at, -1)
        first = ctypes.cast(ctypes.addressof(self.tokens.contents) + 4 * at,
                            ctypes.POINTER(ctypes.c_int32))
        if llama.llama_decode(self.context, llama.llama_batch_get_one(first, n)):
            raise RuntimeError("llama_decode failed")
        llama.llama_synchronize(self.context)

    def value(self):
        logits = llama.llama_get_logits_ith(self.context, -1)
        return float(np.abs(np.ctypeslib.as_array(logits, (VOCAB,)).astype(np.float64)).sum())


class Prefill(Model):
    def step(self):
        self.feed(0, self.prompt)


class Decode(Model):
    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.at = self.prompt

    def step(self):
        self.feed(self.at, 1)
        self.at = self.at + 1 if self.at + 1 < self.length else self.prompt


thing = None


def answer(words):
    global thing
    if words[0] == "make":
        thing = {"gpt2.Prefill": Prefill, "gpt2.Decode": Decode}[words[1]](*words[2:])
        return "ok"
    if words[0] == "run":
        n = int(words[1])
        start = clock()
        for _ in range(n):
            thing.step()
        return repr((clock() - start) / n)
    if words[0] == "value":
        return repr(thing.value())
    if words[0] == "peak":
        return repr(peak_memory())
    return "what?"


if __name__ == "__main__":
    llama.llama_log_set(say_nothing, None)
    llama.llama_backend_init()
    print(f"llama-cpp-python {llama.__version__}", flush=True)
    for line in sys.stdin:
        print(answer(line.split()), flush=True)
