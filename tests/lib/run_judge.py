"""run_judge.py TOOL FOLDER: what tools/samba run makes of nets of run_nets.c, beside numpy in
double with parameters that are made here once more. Prints what failed, and a last line."""
import json
import os
import subprocess
import sys

import numpy as np

tool, folder = os.path.abspath(sys.argv[1]), sys.argv[2]
os.chdir(folder)
passed = failed = 0


def check(what, fine):
    global passed, failed
    passed, failed = passed + bool(fine), failed + (not fine)
    if not fine:
        print("FAILED", what)


def run(*words):
    """Exit code, stdout, stderr."""
    done = subprocess.run([tool, "run", *words], capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


def parameter(*shape):
    i = np.arange(np.prod(shape))
    return (((7 * i + 3) % 11 - 5) / 16).reshape(shape)


def mlp(x):
    hidden = np.maximum(np.asarray(x, "f8") @ parameter(5, 3).T + parameter(5), 0)
    return hidden @ parameter(2, 5).T + parameter(2)


def several(x, ids):
    return mlp(x) + parameter(7, 2)[ids]


def close(got, want):
    got = np.asarray(got)
    return got.shape == want.shape and np.allclose(got, want, rtol=1e-5, atol=1e-6)


def writes(what, want, kind, *words):
    """A run writes this array, of this type, into out.npy."""
    if os.path.exists("out.npy"):
        os.remove("out.npy")
    code, _, said = run(*words, "--output", "y=out.npy")
    got = np.load("out.npy") if code == 0 else None
    check(what + ": " + said, got is not None and got.dtype == kind and close(got, want))


random = np.random.default_rng(5)
rows = {n: random.standard_normal((n, 3)).astype("f4") for n in (1, 2, 3, 4, 5, 8, 11)}
for n, x in rows.items():
    np.save("x.npy", x)
    for threads in "1", "2":
        writes(f"{n} rows", mlp(x), "f4", "mlp.ckpt", "--input", "x=x.npy", "--threads", threads)
np.save("x.npy", rows[1][0])
writes("a row without its batch", mlp(rows[1]), "f4", "mlp.ckpt", "--input", "x.npy")
writes("a PEF and its checkpoint", mlp(rows[1]), "f4", "mlp.pef", "--input", "x.npy",
       "--weights", "mlp.ckpt")

# Types of files. Doubles that f32 has not are rounded, and that is said.
whole = np.array([[1, 0, 1], [0, 1, 1], [1, 1, 1], [0, 0, 0], [1, 0, 0]])
for kind in "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "?":
    np.save("x.npy", whole.astype(kind))
    writes(f"{kind} is read", mlp(whole), "f4", "mlp.ckpt", "--input", "x=x.npy")
    check("nothing is rounded", run("mlp.ckpt", "--input", "x=x.npy")[2] == "")
np.save("x.npy", rows[4].astype("f8") + 1e-12)
check("rounding is said", "12 of 12 numbers are rounded to f32"
      in run("mlp.ckpt", "--input", "x=x.npy")[2])
rows[5].astype("<f4").tofile("x.raw")
writes("raw numbers", mlp(rows[5]), "f4", "mlp.ckpt", "--input", "x=x.raw")
with open("x.json", "w") as file:
    json.dump(rows[5].tolist(), file)
writes("JSON", mlp(rows[5]), "f4", "mlp.ckpt", "--input", "x.json")
with open("x.json", "w") as file:
    json.dump({"x": rows[5].tolist()}, file, indent=2)
writes("JSON by name", mlp(rows[5]), "f4", "mlp.ckpt", "--input", "x.json")
halves = np.array([[0.1, 1 + 2**-9, -3], [2**-130, 1e38, 0]], "f4")
np.save("x.npy", halves)
bits = halves.view("u4")
rounded = ((bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000).astype("u4").view("f4")
code, said, _ = run("halves.ckpt", "--input", "x.npy", "--json")
check("bf16 is rounded to nearest, and comes as f32",
      code == 0 and np.array_equal(np.array(json.loads(said)["y"], "f4"), 2 * rounded))
(bits >> 16).astype("<u2").tofile("x.raw")
code, said, _ = run("halves.ckpt", "--input", "x.raw", "--json")
check("raw bf16", code == 0 and np.array_equal(np.array(json.loads(said)["y"], "f4"),
                                               2 * (bits & 0xffff0000).view("f4")))

halves = np.array([[0.1, -1, 65504], [6e-8, 6.2e-5, -0.0], [np.inf, -np.inf, np.nan]], "f2")
halves.tofile("x.raw")
code, said, _ = run("f16.ckpt", "--input", "x.raw", "--json")
check("raw f16", code == 0 and np.array_equal(np.array(json.loads(said)["y"], "f2"), halves,
                                              equal_nan=True))

# Each type of output is numpy's, and the header of a .npy file ends where numpy's does.
x = np.array([[0, 1, 2], [3, 0, 0], [60, 7, 0], [0, 0, 5], [1, 1, 0], [0, 1, 0]], "f4")
np.save("x.npy", x)
types = {"types": {"bool": "?", "f16": "f4", "bf16": "f4", "i16": "i2", "i8": "i1", "u8": "u1"},
         "wide_types": {"i64": "i8", "u16": "u2", "u32": "u4"}}
for net, kinds in types.items():
    code, _, said = run(net + ".ckpt", "--input", "x.npy", "--output", "out.npz")
    check(f"all of {net} are written: {said}", code == 0)
    got = np.load("out.npz")
    told = json.loads(run(net + ".ckpt", "--input", "x.npy", "--json")[1])
    for name, kind in kinds.items():
        want = (2 * x).astype(kind)
        check(f"an output of {name}",
              got[name].dtype == want.dtype and np.array_equal(got[name], want))
        check(f"{name} in JSON", told[name] == want.tolist())
run("types.ckpt", "--input", "x.npy", "--output", "bool=b.npy")
with open("b.npy", "rb") as file:
    header = file.read(10)
check("the header is aligned", (10 + header[8] + 256 * header[9]) % 64 == 0)

# Several inputs and outputs, in one file and in many.
x, ids = rows[4], np.array([6, 0, 3, 3])
want = several(x, ids)
np.savez("in.npz", x=x, ids=ids)
code, _, said = run("several.ckpt", "--input", "in.npz", "--output", "out.npz", "--output",
                    "class=class.npy", "--output", "y=y.raw", "--output", "out.json")
check("several outputs: " + said, code == 0)
got = np.load("out.npz")
check("a .npz file has all", sorted(got.files) == ["class", "mean", "y"] and close(got["y"], want))
check("integers stay what they are",
      got["class"].dtype == "i4" and np.array_equal(got["class"], want.argmax(1)))
check("a scalar has no dimension", got["mean"].shape == () and close(got["mean"], want.mean()))
check("as .npy", np.array_equal(np.load("class.npy"), want.argmax(1)))
check("raw", close(np.fromfile("y.raw", "<f4").reshape(4, 2), want))
with open("out.json") as file:
    got_json = json.load(file)
check("JSON has the bits", np.array_equal(np.array(got_json["y"], "f4"), got["y"]))
code, said, _ = run("several.ckpt", "--input", "in.npz", "--output", "class", "--json")
check("one is printed", code == 0 and json.loads(said) == {"class": want.argmax(1).tolist()})
x, ids = rows[11], np.arange(11) % 7
np.savez("in.npz", x=x, ids=ids)
writes("two inputs in batches", several(x, ids), "f4", "several.ckpt", "--input", "in.npz")
np.save("ids.npy", ids[:4])
code, _, said = run("several.ckpt", "--input", "x=in.npz", "--input", "ids=ids.npy",
                    "--output", "y")
check("inputs of different length", code == 2 and "give as many of each" in said)
np.savez("in.npz", x=rows[4], ids=np.array([0.0, 1.5, 2, 3]))
code, _, said = run("several.ckpt", "--input", "in.npz")
check("1.5 is no integer", code == 2 and "element 1 is 1.5, which is no i32" in said)
np.savez("in.npz", x=rows[4], ids=np.array([0, 2**40, 2, 3]))
check("2^40 is no i32", "which is no i32" in run("several.ckpt", "--input", "in.npz")[2])
np.savez("in.npz", x=rows[4], ids=np.array([0, 7, 2, 3]))
code, _, said = run("several.ckpt", "--input", "in.npz")
check("a word that is not there: " + said, code == 2 and "ids" in said)

# A training is run as a test, with both microbatches; rows that look at each other.
np.save("label.npy", np.arange(8) % 2)
np.save("x.npy", rows[8])
for net, n in ("training", 4), ("microbatches", 8):
    np.save("x.npy", rows[8][:n])
    np.save("label.npy", np.arange(n) % 2)
    given = ["--input", "x=x.npy", "--input", "label=label.npy"]
    writes(f"{net} as a test", mlp(rows[8][:n]), "f4", net + ".ckpt", *given)
    y = mlp(rows[8][:n])
    loss = np.mean(np.log(np.exp(y).sum(1)) - y[np.arange(n), np.arange(n) % 2])
    said = json.loads(run(net + ".ckpt", *given, "--json")[1])
    check(f"the loss of {net}", np.isclose([v for k, v in said.items() if "loss" in k][0], loss))
np.save("x.npy", rows[4])
e = np.exp(mlp(rows[4]))
writes("rows that look at each other", e / e.sum(0), "f4", "mixed.ckpt", "--input", "x.npy")
for n in 1, 3, 5:
    np.save("x.npy", rows[n])
    code, _, said = run("mixed.ckpt", "--input", "x.npy")
    check(f"{n} of them are refused", code == 2 and "depends on the other rows" in said)

# Files that are damaged anywhere are read or refused, and what is refused has a reason.
np.savez("in.npz", x=rows[4], ids=np.arange(4))
with open("in.npz", "rb") as file:
    good = file.read()
fine = run("several.ckpt", "--input", "in.npz", "--json")
check("a good file", fine[0] == 0)
noticed = 0
for at in range(len(good)):
    with open("bad.npz", "wb") as file:
        file.write(good[:at] + bytes([good[at] ^ 0x41]) + good[at + 1:])
    code, out, said = run("several.ckpt", "--input", "bad.npz", "--json")
    refused = code == 2 and said.startswith("samba run: bad.npz") and not out
    noticed += refused
    if not refused and (code, out, said) != fine:
        check(f"byte {at} is wrong: {code} {said}", False)
check(f"most wrong bytes are noticed: {noticed} of {len(good)}", noticed > 0.7 * len(good))
cut = 0
for size in range(0, len(good), 7):
    with open("bad.npz", "wb") as file:
        file.write(good[:size])
    cut += run("several.ckpt", "--input", "bad.npz")[0] == 2
check("files that are cut off are refused", cut == len(range(0, len(good), 7)))
np.savez_compressed("in.npz", x=rows[4])
check("compressed arrays", "not savez_compressed" in run("mlp.ckpt", "--input", "in.npz")[2])

print(f"{passed} passed, {failed} failed")
sys.exit(failed > 0)
