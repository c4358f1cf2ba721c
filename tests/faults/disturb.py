"""Ways to disturb a program. Each has run(), which returns whether it was disturbed, why that is a
defect (None: it is not), and what the program said; its text says how to do it by hand."""

import os
import resource
import signal
import subprocess
import tempfile

import calls
import folder
import judge
import run

KILL = "signal=KILL"
ALLOCATIONS = 150                   # of one play that fail, each once and for good
SIZES = 24                          # of files and disks that are too small


# ---- System calls -------------------------------------------------------------------------------

class Fault:
    """One disturbance: strace's option, and what comes of it."""

    def __init__(self, base, name, what, n, forever=False):
        self.base, self.name, self.what, self.n, self.forever = base, name, what, n, forever

    def options(self):
        when = f"{self.n}+" if self.forever else f"{self.n}"
        quicker = [] if self.what == KILL else ["--seccomp-bpf"]    # which forgets signals
        inject = f"inject={self.name}:{self.what}:when={when}"
        return ["-y", "-e", f"trace={self.name}", "-e", inject, *quicker]

    def run(self):
        """(was it disturbed, why that is a defect or None, what it printed)"""
        here = run.prepare(self.base.before)
        result = run.play_in(self.base.play, here, self.options())
        if not result.hit and result.code is not None and result.code >= 0:
            return False, None, ""
        if self.what == KILL:
            return True, judge.judge_kill(self.base, result, here), result.err
        return True, judge.judge(self.base, result, [self.what.split("=")[1]], here), result.err

    def __str__(self):
        return " ".join(self.options())


def faults_of(base):
    for name, (first, last) in sorted(base.calls.items()):
        for n in range(first, last + 1):
            for error in calls.FAILED.get(name, []):
                yield Fault(base, name, f"error={error}", n)
                if error not in calls.ONCE:
                    yield Fault(base, name, f"error={error}", n, forever=True)


def kills_of(base):
    if not base.play.kills:
        return
    for name, (first, last) in sorted(base.calls.items()):
        for n in range(first, last + 1):
            yield Fault(base, name, KILL, n)


# ---- Memory -------------------------------------------------------------------------------------

class Allocation:
    """The allocation of this number fails; as "7+", and all later ones."""

    def __init__(self, base, number):
        self.base, self.number = base, number

    def run(self):
        here = run.prepare(self.base.before)
        hit = os.path.join(run.place(), "hit")
        more = {"FAULTS_ALLOCATION": self.number, "FAULTS_HIT": hit}
        if self.base.play.spares:
            more["FAULTS_SPARES"] = self.base.play.spares
        result = run.play_in(self.base.play, here, None, more)
        if not os.path.exists(hit):
            return False, None, ""
        os.remove(hit)
        return True, judge.judge(self.base, result, ["ENOMEM"], here), result.err

    def __str__(self):
        return f"FAULTS_ALLOCATION={self.number}"


def spread(n, most):
    """At most so many of the numbers 1 ... n, evenly."""
    return sorted({1 + i * (n - 1) // max(1, min(n, most) - 1) for i in range(min(n, most))})


def allocations_of(base):
    count = os.path.join(run.place(), "count")
    run.play_in(base.play, run.prepare(base.before), None, {"FAULTS_COUNT": count})
    with open(count, encoding="ascii") as f:
        n = int(f.read())
    for number in spread(n, ALLOCATIONS):
        yield Allocation(base, f"{number}")
        yield Allocation(base, f"{number}+")


# ---- Room ---------------------------------------------------------------------------------------

def largest(base):
    """The size of the largest file that the play makes."""
    new = [name for name in base.after if base.after[name] != base.before.get(name)]
    return max((len(base.after[name][1]) for name in new if base.after[name]), default=0)


class FileSize:
    """No file may be longer than this: writes end in the middle, then fail."""

    def __init__(self, base, size):
        self.base, self.size = base, size

    def limit(self):
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (self.size, self.size))

    def run(self):
        here = run.prepare(self.base.before)
        result = run.play_in(self.base.play, here, None, preexec=self.limit)
        return True, judge.judge(self.base, result, ["EFBIG"], here), result.err

    def __str__(self):
        return f"trap '' XFSZ; RLIMIT_FSIZE={self.size}"


def sizes_of(base):
    for size in spread(largest(base), SIZES):
        yield FileSize(base, size - 1)


class Disk:
    """The folder is a disk with this many pages free."""

    def __init__(self, base, pages):
        self.base, self.pages = base, pages

    def run(self):
        here = run.prepare({})
        page = os.sysconf("SC_PAGE_SIZE")
        mount(here, (self.pages + pages_of(self.base.before)) * page)
        try:
            for name, value in self.base.before.items():
                folder.write_one(here, name, value)
            result = run.play_in(self.base.play, here)
        finally:
            subprocess.run(["umount", here], check=True)
        here = run.prepare(result.found)        # whoever goes on has made room
        return True, judge.judge(self.base, result, ["ENOSPC"], here), result.err

    def __str__(self):
        return f"a tmpfs with {self.pages} pages free"


def pages_of(files):
    page = os.sysconf("SC_PAGE_SIZE")
    return sum(-(-len(value[1]) // page) for value in files.values() if value)


def mount(place, size):
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", place], check=True,
                   stderr=subprocess.DEVNULL)


def can_mount():
    """May a file system be mounted here?"""
    place = tempfile.mkdtemp(dir=run.WORK)
    try:
        mount(place, 1 << 16)
    except (OSError, subprocess.CalledProcessError):
        return False
    subprocess.run(["umount", place], check=True)
    return True


def disks_of(base):
    for pages in spread(pages_of(base.after) + 1, SIZES):
        yield Disk(base, pages)


class FullOutput:
    """What the program prints finds no room."""

    def __init__(self, base):
        self.base = base

    def run(self):
        here = run.prepare(self.base.before)
        with open("/dev/full", "w", encoding="ascii") as full:
            result = run.play_in(self.base.play, here, None, stdout=full)
        if result.code == 0:
            return True, "it does not notice that nothing can be printed", result.err
        return True, judge.judge(self.base, result, ["ENOSPC"], here), result.err

    def __str__(self):
        return "> /dev/full"


def outputs_of(base):
    if base.out:
        yield FullOutput(base)
