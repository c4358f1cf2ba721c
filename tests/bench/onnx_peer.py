"""onnxruntime's half of bench_onnx: answers as torch_peer.py does.

    python3 tests/bench/onnx_peer.py THREADS

    make STEM       the model STEM.onnx, with inputs as STEM.inputs says

All graph optimizations are on, as is its default. Threads of its pool stop spinning when a run
ends, so that they do not slow whoever runs next.
"""
import os
import sys
import time

import numpy as np
import onnxruntime

clock = time.process_time if "SAMBA_BENCH_CPU" in os.environ else time.perf_counter
threads = int(sys.argv[1])


def peak_memory():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) / 1024


def hashed(n, seed):
    """n integers of 32 bits: number() of bench.h"""
    x = (np.arange(n, dtype=np.uint32) + np.uint32(seed * 7919)) * np.uint32(2654435761)
    x ^= x >> np.uint32(15)
    x *= np.uint32(2246822519)
    return x ^ x >> np.uint32(13)


def values(line, seed):
    """What one line of NAME.inputs says: its name and numbers."""
    name, dtype, shape, least, most = line.rsplit(" ", 4)
    shape = [int(d) for d in shape.split(",")]
    bits, least, most = hashed(int(np.prod(shape)), seed), float(least), float(most)
    if "float" in dtype:
        numbers = least + (most - least) * (bits / 4294967296.0)
    else:
        numbers = int(least) + bits % np.uint32(int(most) - int(least) + 1)
    return name, numbers.astype(np.float32).astype(dtype).reshape(shape)


class Model:
    def __init__(self, stem):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        options.add_session_config_entry("session.force_spinning_stop", "1")
        self.session = onnxruntime.InferenceSession(stem + ".onnx", options,
                                                    providers=["CPUExecutionProvider"])
        with open(stem + ".inputs") as file:
            self.feed = dict(values(line, i + 1) for i, line in enumerate(file))

    def step(self):
        self.results = self.session.run(None, self.feed)

    def value(self):
        self.step()
        return sum(float(np.abs(y.astype(np.float64)).sum()) for y in self.results)


model = None


def answer(words):
    global model
    if words[0] == "make":
        model = Model(words[1])
        return "ok"
    if words[0] == "run":
        n = int(words[1])
        model.step()
        start = clock()
        for _ in range(n):
            model.step()
        return repr((clock() - start) / n)
    if words[0] == "value":
        return repr(model.value())
    if words[0] == "peak":
        return repr(peak_memory())
    return "what?"


print(f"onnxruntime {onnxruntime.__version__}", flush=True)
for request in sys.stdin:
    print(answer(request.split()), flush=True)
