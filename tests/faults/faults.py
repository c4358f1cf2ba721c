#!/usr/bin/env python3
"""tests/faults/faults.py [quick|all] [PLAY ...]: programs whose system calls fail, one after
another; that are killed at each; that run out of memory and of room; and power cuts. After each the
program must have told what failed, and its files must be the old ones or the new ones. strace does
the disturbing. Ends with "N passed, N failed"; tests/faults/run.sh builds what this runs."""

import concurrent.futures
import os
import random
import shutil
import sys
import time

import disturb
import judge
import plays
import power
import run

JOBS = int(os.environ.get("JOBS") or os.cpu_count())
CUTS = 2000                         # of the power, for each play
MOST = 700                          # disturbances of one kind of a play; of more, a sample
SHOWN = 3                           # of defects of one kind


# ---- Power cuts ---------------------------------------------------------------------------------

def judge_cut(base, allowed, where, found):
    """Are the files the old ones or the new ones; at the end, as success was told, the new ones?"""
    for name in base.play.power:
        values = allowed[name][-1:] if where.endswith("the end") else allowed[name]
        if found[name] not in values:
            what = "gone" if found[name] is None else "an old one, or damaged"
            return f"{name} is {what} after a power cut"
    return None


def cut_power(base, counts):
    """How many power cuts were tried; a play that saves again and again has states in between."""
    play = base.play
    if not play.power:
        return 0
    log = base.again(power.OPTIONS).log
    mark = "".join(f"\\x{byte:02x}" for byte in run.MARK_PATH.encode())
    allowed = {name: power.states(log, mark, base.before, name) for name in play.power}
    cuts = list(power.cuts(log, mark, base.before, play.power, CUTS, random.Random(1)))
    found = []
    for where, files in cuts:
        problem = judge_cut(base, allowed, where, files)
        found += [(where, problem, "")] if problem else []
        counts.passed += not problem
    counts.tell(play, "power cuts", found)
    return len(cuts)


# ---- Two who save, one who loads ----------------------------------------------------------------

def share(counts):
    """Two programs save to one file while a third loads it, 2,000 times: a whole one each time."""
    here = run.prepare({})
    play = {name: plays.scenario(name) for name in ("save-ones", "save-twos", "load-shared")}
    savers = [run.start(play[name], here) for name in ("save-ones", "save-twos")]
    while not os.path.exists(os.path.join(here, "shared.ckpt")):
        time.sleep(0.01)
    loads = run.start(play["load-shared"], here)
    out, err = [text.decode() for text in run.finish(loads) or (b"", b"it hangs")]
    with open(os.path.join(here, "stop"), "w", encoding="ascii"):
        pass
    for saver in savers:
        run.finish(saver)
    codes = [saver.returncode for saver in savers]
    seen = [int(word) for word in out.split() if word.isdigit()]
    fine = loads.returncode == 0 and codes == [0, 0] and len(seen) == 2 and min(seen) > 0
    left = [name for name in os.listdir(here) if name.startswith("samba-")]
    if fine and not left:
        counts.passed += sum(seen)
    else:
        counts.fail(f"two save, one loads: {codes} {loads.returncode} {out} {err} {left}")
    print(f"two save, one loads: {out.splitlines()[0] if out else 'nothing'}")


KINDS = {
    "faults": disturb.faults_of,
    "kills": disturb.kills_of,
    "failed allocations": disturb.allocations_of,
    "limits of files": disturb.sizes_of,
    "small disks": disturb.disks_of,
    "full outputs": disturb.outputs_of,
}


# ---- Counting -----------------------------------------------------------------------------------

class Counts:
    """Of all plays: what was tried, and what was found."""

    def __init__(self):
        self.passed, self.failed = 0, 0

    def fail(self, what):
        self.failed += 1
        print(f"FAILED {what}")

    def tell(self, play, kind, found):
        """Prints defects, a few of each kind; found: (where, problem, stderr)."""
        shown = {}
        for where, problem, err in found:
            self.failed += 1
            shown[problem] = shown.get(problem, 0) + 1
            if shown[problem] <= SHOWN:
                print(f"FAILED {play.name}, {kind}: {problem}: {where}")
                print("".join(f"    {line}\n" for line in err.splitlines()[-3:]), end="")
        for problem, n in shown.items():
            if n > SHOWN:
                print(f"    ... {n} times in all: {problem}")


def try_all(pool, counts, play, kind, faults):
    """Tries them all; returns how many of them took place."""
    faults = list(faults)
    if len(faults) > MOST:
        faults = random.Random(1).sample(faults, MOST)
    found, n = [], 0
    for fault, (hit, problem, err) in zip(faults, pool.map(lambda f: f.run(), faults)):
        n += hit
        if hit and problem:
            found.append((fault, problem, err))
        counts.passed += hit and not problem
    counts.tell(play, kind, found)
    if faults and not n:
        counts.fail(f"{play.name}, {kind}: none of {len(faults)} took place")
    return n


def test(pool, counts, play, kinds):
    base = judge.Base(play)
    if base.problem:
        counts.fail(f"{play.name}: {base.problem}")
        return
    did = {}
    for kind, ways in KINDS.items():
        if kind in kinds:
            did[kind] = try_all(pool, counts, play, kind, ways(base))
    did["power cuts"] = cut_power(base, counts)
    if play.power and not did["power cuts"]:
        counts.fail(f"{play.name}: the power was never cut")
    print(f"{play.name}: {', '.join(f'{n:,} {kind}' for kind, n in did.items() if n)}", flush=True)


def chosen(mode, names):
    for play in plays.PLAYS:
        wanted = play.name in names if names else mode == "all" or play.quick
        if wanted and plays.available(play, run.BIN):
            yield play


def mistake(mode, names):
    """What is wrong with the command line; None if nothing is."""
    if mode not in ("quick", "all"):
        return f"no mode is called '{mode}'; there are quick and all"
    known = {play.name: play for play in plays.PLAYS}
    for name in names:
        if name not in known:
            return f"no play is called '{name}'; there are {', '.join(known)}"
        if not plays.available(known[name], run.BIN):
            return f"what {name} runs is not built: tests/faults/run.sh all {name} builds it"
    return None


def test_all(mode, names, counts):
    kinds = list(KINDS)
    if mode == "quick":
        kinds = ["faults", "kills", "limits of files"]
    elif not disturb.can_mount():
        kinds.remove("small disks")
        print("skipped: disks that are full; it takes the right to mount a tmpfs")
    with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
        for play in chosen(mode, names):
            test(pool, counts, play, kinds)
        if mode == "all":
            share(counts)


def main():
    mode, *names = sys.argv[1:] or ["all"]
    counts = Counts()
    try:
        problem = mistake(mode, names)
        if problem:
            counts.fail(problem)
        else:
            test_all(mode, names, counts)
    finally:
        shutil.rmtree(run.WORK)
    print(f"{counts.passed} passed, {counts.failed} failed")
    return counts.failed != 0


if __name__ == "__main__":
    sys.exit(main())
