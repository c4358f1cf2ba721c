"""Runs a play in a folder of its own, undisturbed or under strace, which disturbs it."""

import os
import re
import signal
import subprocess
import tempfile
import threading

import folder
import plays

SECONDS = 30                        # until a program counts as one that hangs
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BIN = os.path.join(ROOT, "build", "faults")
MEMORY = "/dev/shm"                 # where fsync costs nothing
WORK = tempfile.mkdtemp(prefix="faults.", dir=MEMORY if os.access(MEMORY, os.W_OK) else BIN)
PRELOAD = os.path.join(BIN, "preload.so")
MARK_PATH = "/faults/begin"
MARK = f'access("{MARK_PATH}"'
CALL = re.compile(r"^(\d+) +([a-z_0-9]+)\(")


class Result:
    """How a program ended, and what it left in its folder."""

    def __init__(self, code, out, err, found, log):
        self.code, self.out, self.err, self.found, self.log = code, out, err, found, log
        self.hit = "(INJECTED)" in log or "killed by SIGKILL" in log


def place():
    """The folder of this thread: "here" is where programs run, "tmp" their TMPDIR."""
    return os.path.join(WORK, f"{threading.get_ident():x}")


def prepare(files):
    """Makes "here" with these files, and an empty "tmp"."""
    here = os.path.join(place(), "here")
    folder.write(here, files)
    folder.write(os.path.join(place(), "tmp"), {})
    return here


def environment(play, more=None):
    """What the program's environment has beside the usual."""
    added = {"TMPDIR": os.path.join(place(), "tmp"), "LC_ALL": "C", "MALLOC_PERTURB_": "165"}
    if play and play.clock:
        added["FAULTS_CLOCK"] = "1"
    added.update(more or {})
    return added


def finish(process):
    """What the process printed; None if it hangs, and then it is killed with its children."""
    try:
        return process.communicate(timeout=SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return None


def traced(options, log, added, command):
    """The command under strace, which alone loads preload.so into it."""
    settings = [word for name in added for word in ("-E", f"{name}={added[name]}")]
    return ["strace", "-f", "-q", "-o", log, *options, "-E", f"LD_PRELOAD={PRELOAD}", *settings,
            *command]


def start(play, here, options=None, more=None, preexec=None, stdout=subprocess.PIPE):
    """Starts the play in the folder; options: those of strace, None: without it."""
    added = environment(play, more)
    command = plays.words(play.command, BIN)
    env = dict(os.environ)
    if options is None:
        env.update(added, LD_PRELOAD=PRELOAD)
    else:
        command = traced(options, os.path.join(place(), "log"), added, command)
    return subprocess.Popen(command, cwd=here, env=env, stdin=subprocess.DEVNULL, stdout=stdout,
                            stderr=subprocess.PIPE, start_new_session=True, preexec_fn=preexec)


def read_log():
    path = os.path.join(place(), "log")
    if not os.path.exists(path):
        return ""
    with open(path, encoding="latin-1") as f:
        return f.read()


def play_in(play, here, options=None, more=None, preexec=None, stdout=subprocess.PIPE):
    """As start, and waits for the end."""
    process = start(play, here, options, more, preexec, stdout)
    said = finish(process)
    log = read_log() if options is not None else ""
    found = folder.read(here, play.varies)
    for name in os.listdir(os.path.join(place(), "tmp")):
        found[os.path.join("TMPDIR", name)] = None
    if said is None:
        return Result(None, "", "", found, log)
    out, err = [(text or b"").decode("utf-8", "replace") for text in said]
    return Result(process.returncode, out, err, found, log)


def files_before(play):
    """What stands in the play's folder before it runs."""
    here = prepare({name: (0o600, text.encode()) for name, text in play.files.items()})
    for command in play.before:
        env = dict(os.environ, **environment(None))
        subprocess.run(plays.words(command, BIN), cwd=here, env=env, check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    files = folder.read(here)
    return {name: files[name] and (0o600, files[name][1]) for name in files}    # nobody else's


def calls_of(log):
    """{name: (first, last)}: which calls of each name are made after main began, counted in each
    process from 1, as strace counts them."""
    counts, before, began, main = {}, {}, False, None
    for line in log.splitlines():
        found = CALL.match(line)
        if not found:
            continue
        process, name = found.groups()
        main = main or process
        if MARK in line:
            before, began = dict(counts), True
        counts[process, name] = counts.get((process, name), 0) + 1
    assert began, "preload.so was not loaded"
    ranges = {}
    for (process, name), n in counts.items():
        ranges[name] = max(ranges.get(name, 0), n)
    first = {name: before.get((main, name), 0) + 1 for name in ranges}
    first["access"] = first.get("access", 1) + 1                # the mark itself
    return {name: (first[name], last) for name, last in ranges.items() if first[name] <= last}
