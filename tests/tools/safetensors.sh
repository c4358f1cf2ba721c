#!/bin/sh
# safetensors.h against the format's own Python package: it reads our files, we read its files, and
# it is asked about every file that our tests say is broken or good.
# The package is put into a virtual environment below SAMBA_JUDGES (~/.cache/samba-judges).
cd "$(dirname "$0")/../.." || exit 1
judges=${SAMBA_JUDGES:-$HOME/.cache/samba-judges}/safetensors
python=$judges/bin/python
here=build/safetensors.judge.$$
log=$here/log
mkdir -p $here/corpus || exit 1
trap 'rm -rf $here' EXIT
. tests/lib/test.sh

echo '#include <cjson/cJSON.h>' | ${CC:-cc} -E -x c - >/dev/null 2>&1 ||
    skip_all 'safetensors beside its judge' '<cjson/cJSON.h>: tools/dev/install.sh test'
if ! $python -c 'import safetensors.numpy' 2>/dev/null; then
    python3 -m venv "$judges" >$here/log 2>&1 &&
        $python -m pip -q install safetensors numpy >>$here/log 2>&1 ||
        skip_all "safetensors beside its judge, $(tail -n 1 $here/log)" 'safetensors from PyPI'
fi
${CC:-cc} ${CFLAGS:--O2} -I. -o $here/safetensors tests/tools/safetensors.c -lm -lcjson || exit 1
$here/safetensors --corpus $here/corpus || exit 1
$here/safetensors --write $here/ours.safetensors || exit 1

cat >$here/judge.py <<'END'
import glob, json, os, subprocess, sys
import numpy as np
import safetensors
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

here = sys.argv[1]
passed = failed = 0


def check(what, fine):
    global passed, failed
    passed, failed = passed + bool(fine), failed + (not fine)
    if not fine:
        print("FAILED", what)


def raw(path):
    """name -> (dtype, shape, bytes), without the package: numpy has no bfloat16."""
    data = open(path, "rb").read()
    n = int.from_bytes(data[:8], "little")
    return {k: (v["dtype"], v["shape"], data[8 + n:][slice(*v["data_offsets"])])
            for k, v in json.loads(data[8:8 + n]).items() if k != "__metadata__"}


def bits(dtype, data):
    """The values as the bits of f32."""
    if dtype == "BF16":
        return np.frombuffer(data, "<u2").astype("<u4") << 16
    return np.frombuffer(data, {"F32": "<f4", "F16": "<f2"}[dtype]).astype("<f4").view("<u4")


def ours(path):
    """What our reader says of a file: name -> (dtype, shape, bits)."""
    out = subprocess.run([here + "/safetensors", "--read", path], capture_output=True, text=True)
    tensors, metadata = {}, {}
    for line in out.stdout.splitlines():
        if line.startswith("metadata "):
            key, value = line[9:].split("=")
            metadata[key] = value
            continue
        name, dtype, shape, *values = line.split(" ")
        shape = [int(d) for d in shape.strip("()").split(",") if d]
        tensors[name] = dtype, shape, np.array([int(v, 16) for v in values], "u4")
    return out.returncode, tensors, metadata


# It reads what we write.
i = np.arange(4096, dtype=np.int64)
x = ((i * 3701 % 4001 - 2000).astype(np.float32) / np.float32(77)).astype(np.float32)
with safe_open(here + "/ours.safetensors", "np") as f:
    check("metadata", f.metadata() == {"format": "pt", "by": "samba"})
    names = set(f.keys())
    shapes = {k: f.get_slice(k).get_shape() for k in names}
want = {"matrix": [33, 65], "scalar": [], "nothing": [0, 7], 'long "name" \u20ac\n': [3],
        "brain": [64, 32], "half": [2047]}
check("names and shapes", shapes == want)
for name, (dtype, shape, data) in raw(here + "/ours.safetensors").items():
    n = int(np.prod(shape))
    if dtype == "BF16":
        u = x[:n].view("u4").astype(np.uint64)
        check(name, (np.frombuffer(data, "<u2") == ((u + 0x7FFF + (u >> 16 & 1)) >> 16)).all())
    else:
        t = {"F32": "<f4", "F16": "<f2"}[dtype]
        check(name, data == x[:n].astype(t).tobytes())
    if dtype != "BF16":
        with safe_open(here + "/ours.safetensors", "np") as f:
            check(name + " by the package", f.get_tensor(name).tobytes() == data)

# We read what it writes.
rng = np.random.default_rng(1)
tensors = {f"layer.{k}.weight": rng.standard_normal((k, 7)).astype(np.float32) for k in range(9)}
tensors.update(scalar=np.array(3.25, np.float32), empty=np.zeros((4, 0, 2), np.float32))
tensors.update(half=rng.standard_normal((5, 3)).astype(np.float16))
for t in "bool u1 i1 u2 i2 u4 i4 u8 i8 f8".split():
    tensors["t_" + t] = np.ones((3, 2), np.dtype(t))
theirs = here + "/theirs.safetensors"
save_file(tensors, theirs, metadata={"format": "pt"})
code, got, metadata = ours(theirs)
check("we open its file", code == 0 and metadata == {"format": "pt"})
check("the same names", set(got) == set(tensors))
for name, (dtype, shape, data) in raw(theirs).items():
    fine = name in got and got[name][:2] == (dtype, shape)
    if fine and dtype in ("F32", "F16"):
        fine = (got[name][2] == bits(dtype, data)).all()
    check("its " + name, fine)
code, again, _ = ours(here + "/ours.safetensors")
check("we open ours", code == 0)

# What it refuses, we refuse; what we accept, it accepts. We refuse a little more, by intent.
stricter = 0
for path in sorted(glob.glob(here + "/corpus/*")):
    bad = os.path.basename(path).startswith("bad")
    header = open(path, "rb").read()[8:]
    try:
        with safe_open(path, "np") as f:
            f.keys()
        it = True
    except Exception:
        it = False
    stricter += bad and it
    if bad and it:
        print("we are stricter:", header[:90])
    check(f"{os.path.basename(path)}: {header[:90]}", bad or it)
print(f"safetensors {safetensors.__version__}, numpy {np.__version__}; "
      f"{stricter} files that it accepts are refused here")
check("not much stricter", stricter <= 20)
print(f"{passed} passed, {failed} failed")
sys.exit(failed > 0)
END
$python $here/judge.py $here
