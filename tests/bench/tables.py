"""The tables of SPEED.md, and figures of README and GPT2.md, of what `make bench` measured.

    python3 tests/bench/tables.py ROWS.json CHART.json

rewrites what stands between <!-- NAME --> and <!-- end --> there, and writes the rows of the
picture for tools/dev/chart_bench.sh. Ratios are to the best configuration of a peer in the same
precision; above 1 samba.h is ahead. Debian's PyTorch as it comes is not among them. What was not
measured is not in a table; a figure in a sentence stays as it was.
"""
import json
import math
import re
import sys
import textwrap

SPEED, README, GPT2 = "tests/bench/SPEED.md", "README.md", "examples/GPT2.md"
KNOWN = {"area", "what", "unit", "threads", "samba", "ceiling", "share", "peer", "best", "ratio"}
LESS = {"ms", "s", "MiB", "KiB"}                    # units of which less is better
OWN = {"samba f32"}                                 # samba.h without an option: no peer
SHOWN = {"torch": "PyTorch", "compile": "torch.compile", "autocast": "autocast",
         "a. compile": "autocast, compiled", "onnxruntime": "onnxruntime", "llama.cpp": "llama.cpp",
         "OpenBLAS": "OpenBLAS", "BLIS": "BLIS", "oneDNN": "oneDNN", "PyTorch": "PyTorch (MKL)"}


class Row:
    def __init__(self, entry):
        self.area, self.what, self.unit = entry["area"], entry["what"], entry["unit"]
        self.threads, self.mine, self.share = entry["threads"], entry["samba"], entry["share"]
        self.less = self.unit in LESS
        values = {name: value for name, value in entry.items() if name not in KNOWN}
        self.own = {name: value for name, value in values.items() if name in OWN}
        self.peers = {name: value for name, value in values.items()
                      if name not in OWN and name != "Debian's"}

    def best(self):
        return (min if self.less else max)(self.peers, key=self.peers.get, default=None)

    def ratio(self):
        best = self.best()
        if best is None or self.mine <= 0:
            return None
        return self.peers[best] / self.mine if self.less else self.mine / self.peers[best]


def number(x):
    if x >= 1000:
        return f"{x:,.0f}"
    return f"{x:.0f}" if x >= 100 else f"{x:.1f}" if x >= 10 else f"{x:.2f}"


def strong(ratio):
    """Losing rows are to be seen."""
    return f"{ratio:.2f}" if ratio >= 1 else f"**{ratio:.2f}**"


def line(label, row):
    best, ratio = row.best(), row.ratio()
    others = ", ".join(f"{SHOWN.get(name, name)} {number(value)}"
                       for name, value in row.peers.items() if name != best)
    peer = f"{number(row.peers[best])} ({SHOWN.get(best, best)})" if best else ""
    share = f"{100 * row.share:.0f} %" if row.share > 0 else ""
    return [label, f"{number(row.mine)} {row.unit}", peer, strong(ratio) if ratio else "", share,
            others]


def table(head, lines):
    if not lines:
        return "*Not measured on this machine.*"
    lines = [[str(cell) for cell in cells] for cells in [head, ["---"] * len(head), *lines]]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


HEAD = ["", "samba.h", "best peer", "ratio", "of the limit", "other configurations"]


class Rows:
    def __init__(self, path):
        self.rows, self.versions, self.limits = {}, {}, {}
        with open(path) as file:
            for text in file:
                entry = json.loads(text)
                if "text" in entry:
                    self.versions[entry["what"].removeprefix("version of ")] = entry["text"]
                elif entry["what"].startswith("ceiling ") and entry["area"] == "gpt2":
                    limit = entry["what"].removeprefix("ceiling "), entry["unit"]
                    self.limits.setdefault(limit, []).append(number(entry["ceiling"]))
                elif entry["samba"] > 0 and "share" in entry:
                    row = Row(entry)
                    self.rows[row.area, row.what, row.threads] = row
        self.threads = max(threads for _, _, threads in self.rows)

    def get(self, area, what, threads=None):
        return self.rows.get((area, what, threads or self.threads))

    def of(self, area, start="", threads=None):
        return [row for (where, what, n), row in self.rows.items()
                if where == area and what.startswith(start) and n == (threads or self.threads)]

    def pick(self, area, names):
        """Lines for those of {label: what} that were measured."""
        found = ((label, self.get(area, what)) for label, what in names.items())
        return [line(label, row) for label, row in found if row]


STEPS = {"4 x 64": "B4 T64", "4 x 256": "B4 T256", "1 x 1024": "B1 T1024"}


def steps(rows, ending=""):
    return {f"{label} tokens": f"GPT-2 train {size}{ending}" for label, size in STEPS.items()}


def training(rows):
    names = steps(rows)
    for part in "forward", "backward", "AdamW":
        names[f"1 x 1024 tokens, {part}"] = f"GPT-2 train B1 T1024, {part}"
    lines = rows.pick("gpt2", names)
    lines += rows.pick("gpt2", {f"{label}, peak memory": f"{what}, peak memory"
                                for label, what in steps(rows).items()})
    lines += rows.pick("gpt2", {"threads 1 to 2, 4 x 256 tokens":
                                "GPT-2 train B4 T256, 1 -> 2 threads"})
    return table(HEAD, lines)


def options(rows):
    """Beside samba.h without the option, which is no peer."""
    lines = []
    for option, label in (("spatial", "mapping spatial"), ("bf16 parameters", "matrices in bf16")):
        for size, name in STEPS.items():
            time = rows.get("gpt2", f"GPT-2 train {name}, {option}")
            peak = rows.get("gpt2", f"GPT-2 train {name}, {option}, peak memory")
            if not time or not peak:
                continue
            lines.append([f"{label}, {size} tokens", f"{number(time.mine)} ms",
                          number(time.own.get("samba f32", 0)), f"{number(peak.mine)} MiB",
                          number(peak.own.get("samba f32", 0)),
                          number(peak.peers[peak.best()]) if peak.best() else ""])
    return table(["", "a step", "without", "peak memory", "without", "the best peer"], lines)


def half(rows):
    lines = rows.pick("gpt2", steps(rows, ", products in bf16"))
    lines += rows.pick("gpt2", {f"{label}, peak memory": f"{what}, peak memory" for label, what
                                in steps(rows, ", products in bf16").items()})
    lines += rows.pick("gpt2", {"prompt of 512 tokens": "GPT-2 prefill 512, products in bf16"})
    return table(HEAD, lines)


def inference(rows):
    names = {"prompt of 512 tokens": "GPT-2 prefill 512"}
    for kind in "f32", "bf16", "int8", "int4":
        names[f"a token after it, weights in {kind}"] = f"GPT-2 decode 64 after 512, {kind}"
    return table(HEAD, rows.pick("gpt2", names))


def ops(rows):
    return table(HEAD, [line(row.what, row) for row in rows.of("ops") if row.best()])


def nets(rows):
    return table(HEAD, [line(f"{row.what}, batch 64", row) for row in rows.of("nets")])


def start(rows):
    return table(HEAD, rows.pick("start", {
        "process start to first trained step": "process to first step",
        "its memory": "process to first step, memory"}))


def products(rows):
    lines = []
    sets = {"squares from 64 to 2048": r"nn (\d+),\1,\1$",
            "GPT-2's shapes, 256 rows": r"(n. 256,|tn .*,256$)",
            "GPT-2's shapes, 1024 rows": r"(n. 1024,|tn .*,1024$)"}
    square = re.compile(sets["squares from 64 to 2048"])
    for label, pattern in sets.items():
        chosen = [row for row in rows.of("gemm", "sgemm ") if row.ratio() and
                  re.match(pattern, row.what[6:]) and
                  (label.startswith("squares") or not square.match(row.what[6:]))]
        lines += summary(label, chosen)
    for m in 1, 4, 16:
        chosen = [row for row in rows.of("gemm", f"skinny, cold {m},") if row.ratio()]
        lines += summary(f"{m} row{'s' * (m > 1)}, weights that are not in cache", chosen)
    return table(["", "on average", "at worst", "which", "of the limit"], lines)


def mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def summary(label, chosen):
    if not chosen:
        return []
    worst = min(chosen, key=Row.ratio)
    shares = [row.share for row in chosen if row.share > 0]
    return [[label, strong(mean([row.ratio() for row in chosen])), strong(worst.ratio()),
             f"{worst.what.split()[-2]} {worst.what.split()[-1]} ({worst.best()})",
             f"{100 * mean(shares):.0f} %" if shares else ""]]


def onnx(rows):
    counts = sorted({1, rows.threads})              # of threads
    models = [row.what for row in rows.of("onnx", threads=1)
              if row.ratio() and not row.what.endswith("peak memory")]
    lines = []
    for what in models:
        cells = [what.removeprefix("onnx ")]
        for threads in counts:
            cells += both(rows.get("onnx", what, threads), "ms")
        peak = rows.get("onnx", f"{what}, peak memory", 1)
        lines.append(cells + both(peak, "MiB")[:1])
    if models:
        cells = [f"mean of {len(models)}"]
        for threads in counts:
            found = (rows.get("onnx", what, threads) for what in models)
            ratios = [row.ratio() for row in found if row]
            cells += ["", strong(mean(ratios)) if ratios else ""]
        lines.append(cells + [""])
    head = ["samba.h / onnxruntime"]
    for threads in counts:
        head += [f"{threads} thread{'s' * (threads > 1)}", "ratio"]
    return table(head + ["peak memory"], lines)


def both(row, unit):
    """samba.h and its only peer; the ratio."""
    if not row or not row.ratio():
        return ["", ""]
    return [f"{number(row.mine)} / {number(row.peers[row.best()])} {unit}", strong(row.ratio())]


def losing(rows):
    """All of them, the worst first: nobody has to look for them."""
    chosen = [row for row in rows.rows.values() if row.ratio() and row.ratio() < 0.95
              and not row.what.endswith(("tokens/s", "by flops"))]
    lines = [[row.what, row.threads, f"{number(row.mine)} {row.unit}",
              f"{number(row.peers[row.best()])} ({SHOWN.get(row.best(), row.best())})",
              f"{row.ratio():.2f}"] for row in sorted(chosen, key=Row.ratio)]
    count = sum(1 for row in rows.rows.values() if row.ratio())
    head = f"{len(chosen)} of {count} rows with a peer are below 0.95:\n\n"
    return head + table(["", "threads", "samba.h", "best peer", "ratio"], lines)


def machine(rows):
    names = {"processor": "Processor", "clock": "Clock", "compiler": "Compiler of samba.h",
             "torch": "PyTorch", "onnxruntime": "onnxruntime", "llama.cpp": "llama.cpp",
             "OpenBLAS": "OpenBLAS", "BLIS": "BLIS", "oneDNN": "oneDNN"}
    lines = [f"- {label}: {rows.versions[name]}" for name, label in names.items()
             if name in rows.versions]
    limits = [f"{name} {' and '.join(values)} {unit}"
              for (name, unit), values in rows.limits.items()]
    if limits:
        lines.append("- Limits, with one thread and with all: " + ", ".join(limits))
    return "\n".join(textwrap.fill(text, 118, subsequent_indent="  ") for text in lines)


def first_step(rows):
    time, memory = (rows.get("start", name) for name in
                    ("process to first step", "process to first step, memory"))
    if not time or not memory or not time.best():
        return None
    version = re.match(r"PyTorch (\d+\.\d+)", rows.versions["torch"])
    passes = "of processor time pass" if "clock" in rows.versions else "pass"
    text = (f"**{number(time.mine)} milliseconds** {passes} from the start of a process to its "
            f"first trained step, in {number(memory.mine)} MiB of memory. "
            f"PyTorch {version[1]} takes "
            f"{number(time.peers['torch'])} ms and {number(memory.peers['torch'])} MiB for the "
            "same net. [Speed](tests/bench/SPEED.md) has the steps after it, too.")
    return textwrap.fill(text, 118, subsequent_indent="  ", break_long_words=False)


def gpt2(rows):
    step, plain, int8 = (rows.get("gpt2", f"GPT-2 {what}") for what in
                         ("train B1 T1024", "decode 64 after 512, f32",
                          "decode 64 after 512, int8"))
    if not step or not plain or not int8:
        return None
    return (f"a training step over 1024 tokens takes {number(step.mine)} ms,\n"
            f"and writing afterwards runs at {number(plain.mine)} tokens a second, "
            f"or {number(int8.mine)} with int8 weights")


def rewrite(path, parts, rows, inline=False):
    with open(path) as file:
        text = file.read()
    for name, make in parts.items():
        gap = "" if inline else "\n"
        pattern = re.compile(f"(<!-- {name} -->).*?(<!-- end -->)", re.S)
        if not pattern.search(text):
            sys.exit(f"{path}: <!-- {name} --> ... <!-- end --> is not there")
        made = make(rows)
        if made is None:
            continue
        text = pattern.sub(lambda m: m[1] + gap + made + gap + m[2], text)
    with open(path, "w") as file:
        file.write(text)


def chart(rows, path):
    chosen = [("GPT-2", f"step, {label} tokens", rows.get("gpt2", what))
              for label, what in zip(STEPS, steps(rows).values())]
    chosen += [("GPT-2", f"step in bf16, {label} tokens", rows.get("gpt2", what))
               for label, what in zip(STEPS, steps(rows, ", products in bf16").values())]
    chosen += [("GPT-2", "prompt of 512 tokens", rows.get("gpt2", "GPT-2 prefill 512"))]
    chosen += [("GPT-2", f"a token, weights in {kind}",
                rows.get("gpt2", f"GPT-2 decode 64 after 512, {kind}"))
               for kind in ("f32", "bf16", "int8", "int4")]
    chosen += [("ops, forward and backward", row.what.removesuffix(", both"), row)
               for row in rows.of("ops") if row.what.endswith(", both") or "AdamW" in row.what]
    chosen += [("small nets", row.what, row) for row in rows.of("nets")]
    chosen += [("ONNX, 1 thread", row.what.removeprefix("onnx "), row)
               for row in rows.of("onnx", threads=1) if not row.what.endswith("peak memory")]
    chosen += [("start", "process to first step", rows.get("start", "process to first step"))]
    with open(path, "w") as file:
        for area, what, row in chosen:
            if row and row.ratio():
                print(json.dumps({"area": area, "what": what, "unit": row.unit, "samba": row.mine,
                                  "peer": SHOWN.get(row.best(), row.best()),
                                  "ratio": round(row.ratio(), 3)}), file=file)


def main():
    rows = Rows(sys.argv[1])
    if not rows.versions.get("torch", "PyTorch 1.").startswith("PyTorch 2"):
        sys.exit("these rows are not beside PyTorch of today: make peers")
    rewrite(SPEED, {"machine": machine, "training": training, "half": half, "inference": inference,
                    "ops": ops, "nets": nets, "start": start, "products": products, "onnx": onnx,
                    "options": options, "losing": losing}, rows)
    rewrite(README, {"start": first_step}, rows, inline=True)
    rewrite(GPT2, {"speed": gpt2}, rows, inline=True)
    chart(rows, sys.argv[2])


main()
