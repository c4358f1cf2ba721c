"""What is disturbed: scenarios of tests/faults/scenarios.c, and commands of tools/samba."""

import json
import os

TEXT = [
    '{"prompt": "a fine film\\n", "completion": "good"}',
    '{"prompt": "a dull film\\n", "completion": "bad"}',
    '{"prompt": "fine music, dull words\\n", "completion": "neither"}',
] * 7


class Play:
    """A program to run in a folder of its own.

    command    words; BIN/... is a program that was built for the test
    before     commands that make the folder, in it
    files      texts that stand in it before
    clock      time is told by preload.c, so that results have the same bytes
    varies     patterns of names whose bytes differ from run to run: logs, and lists of dates
    partial    patterns of names that may be incomplete after a failure, and why that is right
    machine    names of files that say what machine it is, as far as that can be found out
    resumes    its files are those on the way, from which the next run ends as if undisturbed
    spares     a library whose own allocations do not fail
    quick      part of `make test`
    kills      a SIGKILL at each system call is tried
    power      names of files for which power cuts are tried
    """

    def __init__(self, name, command, before=(), files=None, clock=False, varies=(), partial=(),
                 quick=False, kills=False, power=(), machine=(), resumes=False, spares=""):
        self.name, self.command, self.before = name, command.split(), before
        self.files, self.clock, self.varies, self.partial = files or {}, clock, varies, partial
        self.machine, self.spares = machine, spares
        self.quick, self.kills, self.power, self.resumes = quick, kills, power, resumes


def scenario(name, **options):
    """A scenario of scenarios.c."""
    return Play(name, f"BIN/scenarios {name}", [f"BIN/scenarios {name} prepare"], **options)


def tool(name, command, before=(), **options):
    """A command of tools/samba, behind the inputs that it takes."""
    files = {"text.jsonl": "\n".join(TEXT) + "\n", "in.json": RUN_INPUTS}
    return Play(name, command, before, files, **options)


HDF5 = "libhdf5"                    # which calls itself without end when it has no memory
VOCABULARY = "BIN/samba train-tokenizer --vocab_size 280 --output_path vocabulary text.jsonl"
PREPARE = "BIN/samba prepare-data --input_path text.jsonl --pretrained_tokenizer vocabulary" \
    " --max_seq_length 16"
ONE_FILE = PREPARE + " --output_path rows.hdf5 --overwrite_output_path"
PIPELINE = PREPARE + " --pipeline --output_path rows --shuffle on_RAM --seed 1" \
    " --num_training_splits 2 --num_workers 1 --overwrite_output_path"
NET = "BIN/scenarios save prepare"
RUN_INPUTS = json.dumps({"x": [[0.5] * 16] * 8, "label": [1] * 8})   # of that net
PEF = "BIN/scenarios compile prepare"
TEXT_MODEL = "BIN/text-folder " + os.path.join(os.path.dirname(os.path.abspath(__file__)), "..",
                                               "golden", "llama_mha") + " model"

PLAYS = [
    scenario("compile", kills=True, power=("net.pef", "net.pef.log", "net.pef.map")),
    scenario("load"),
    scenario("save", quick=True, kills=True, power=("net.ckpt",)),
    scenario("restore"),
    scenario("map"),
    scenario("threads"),
    scenario("train", kills=True, resumes=True, power=("train.ckpt",)),
    scenario("replicas"),
    scenario("safetensors", kills=True, power=("out.safetensors",)),
    scenario("replace", quick=True, kills=True, power=("text",)),
    scenario("report", clock=True, partial=["report/log.csv", "report/events.out.*"],
             machine=["report/report.html"], kills=True),
    scenario("replay", kills=True, power=("nan.replay",)),
    scenario("replay-read"),
    scenario("profile", clock=True),
    scenario("idx"),
    tool("train-tokenizer", VOCABULARY, kills=True, clock=True),
    tool("prepare-data", ONE_FILE, [VOCABULARY], clock=True, varies=["logs.log"], kills=True,
         power=("rows.hdf5",), spares=HDF5),
    tool("pipeline", PIPELINE, [VOCABULARY], clock=True, partial=["rows"], resumes=True,
         varies=["rows/logs.log", "rows/sha256/files_metadata.json"], kills=True, spares=HDF5),
    tool("decode-data", "BIN/samba decode-data rows.hdf5 --pretrained_tokenizer vocabulary"
         " --output_decoded_file_path said.txt", [VOCABULARY, ONE_FILE],
         spares=HDF5),
    tool("check-data", "BIN/samba check-data rows", [VOCABULARY, PIPELINE], spares=HDF5),
    tool("export-c", "BIN/samba-device export-c net.ckpt -o net", [NET]),
    tool("device-config", "BIN/samba-device device-config net.ckpt", [NET]),
    tool("device-report", "BIN/samba-device device-report net.pef", [PEF]),
    tool("run", "BIN/samba-run run net.ckpt --input in.json --output out.npz --threads 1", [NET],
         kills=True, power=("out.npz",)),
    tool("generate", "BIN/samba-text generate model --prompt abc --max-tokens 3 --length 8"
         " --prompt-cache p.cache --threads 1", [TEXT_MODEL], kills=True, power=("p.cache",)),
    tool("chat", "BIN/samba-text chat model --max-tokens 2 --length 20 --threads 1", [TEXT_MODEL]),
    tool("view", "BIN/samba-view view net.ckpt -o page.html --runs 0 --threads 1", [NET],
         machine=["page.html"]),
    tool("replay-tool", "BIN/samba-view replay nan.replay", ["BIN/scenarios replay"]),
    tool("export-onnx", "BIN/samba-onnx export-onnx net.ckpt net.onnx", [NET], kills=True),
    tool("import-onnx", "BIN/samba-onnx import-onnx net.onnx net.pef",
         [NET, "BIN/samba-onnx export-onnx net.ckpt net.onnx"]),
    tool("onnx-ops", "BIN/samba-onnx onnx-ops"),
]


def words(command, bin_folder):
    """The command with the path of what was built."""
    words = command.split() if isinstance(command, str) else command
    return [word.replace("BIN", bin_folder, 1) if word.startswith("BIN/") else word
            for word in words]


def available(play, bin_folder):
    """Could its program be built here?"""
    return all(os.path.exists(words(command, bin_folder)[0])
               for command in [play.command, *play.before])
