"""What the undisturbed program does, and whether a disturbed one is a defect."""

import errno
import fnmatch
import os
import re

import calls
import folder
import run

# What a reason may name but files.
RESOURCES = ["memory", "ENOMEM", "thread", "folder", "bytes", "output"]


# ---- What the undisturbed program does ----------------------------------------------------------

class Base:
    """The undisturbed run of a play, with which others are compared."""

    def __init__(self, play):
        self.play = play
        self.before = run.files_before(play)
        first = self.again(["-e", "trace=all"])
        second = self.again(None)
        self.out, self.after, self.log = first.out, first.found, first.log
        self.calls = run.calls_of(first.log)
        self.problem = self.unfit(first, second)

    def again(self, options):
        return run.play_in(self.play, run.prepare(self.before), options)

    def unfit(self, first, second):
        """Why nothing can be compared with it; None if it can."""
        if first.code != 0:
            return f"undisturbed, it exits with {first.code}: {first.err.strip()}"
        if (first.out, first.found) != (second.out, second.found):
            different = [n for n in first.found if first.found[n] != second.found.get(n)]
            return f"two runs differ: {different}"
        unknown = sorted(set(self.calls) - set(calls.FAILED) - set(calls.NOT_FAILED))
        if unknown:
            return f"tests/faults/calls.py does not say what to do with {' '.join(unknown)}"
        return None


# ---- Judging ------------------------------------------------------------------------------------

def names_reason(text, base, errors):
    """Does the text on stderr say what failed: a file, memory, or the error's own words?"""
    if not text.strip() or ": Success" in text:
        return False
    known = [os.path.basename(name) for name in {**base.before, **base.after}]
    words = [os.strerror(getattr(errno, name)) for name in errors] + RESOURCES
    return any(word in text for word in known + words) or folder.TEMPORARY.search(text)


def is_partial(play, name):
    return any(fnmatch.fnmatch(name, other) or name.startswith(other + "/")
               for other in play.partial)


def without(files, leave):
    return {name: files[name] for name in files if not leave(name)}


def crashed(result):
    if result.code is None:
        return "it hangs"
    if result.code < 0:
        return f"it is ended by signal {-result.code}"
    if " close(" in result.log and "(INJECTED)" in result.log:
        return None                             # strace leaves the file open, which Linux would not
    if "defect: " in result.err or "runtime error" in result.err or "Sanitizer" in result.err:
        return "it is a defect by its own words"
    return None


def after_of(base, result):
    """What the folder holds after success: what says which machine this is may say less."""
    same = {name: result.found[name] for name in base.play.machine
            if result.found.get(name, ("", b""))[1].rstrip().endswith(b"</html>")}
    return {**base.after, **same}


def prints_the_same(base, result):
    """But what there is no memory to show is "?", or a line that says so; and a page that tells
    less of the machine has another size."""
    less = base.play.machine or "?" in result.out or "no memory" in result.out
    return less or result.out == base.out


def judge_success(base, result):
    """A file that could not be removed may stay, if it is one that the next program sweeps."""
    found, after = result.found, after_of(base, result)
    if any(call in result.log for call in (" unlink(", " rmdir(", " openat(")):
        found = without(found, folder.is_temporary)
    if found != after:
        return folder.difference(found, after, after) + ", and it says nothing"
    if not prints_the_same(base, result):
        return "it prints something else"
    return None


def judge(base, result, errors, here):
    """Why the disturbed run is a defect; None if it is not."""
    problem = crashed(result)
    if problem:
        return problem
    if result.code == 0:
        return judge_success(base, result)
    mute = re.search(r"write\(2[<,]", result.log)       # stderr is what failed
    if not mute and not names_reason(result.err + result.out, base, errors):
        return "it fails, and stderr does not say why"
    if base.play.resumes:
        return goes_on(base, here)
    found = without(result.found, lambda name: is_partial(base.play, name))
    before = without(base.before, lambda name: is_partial(base.play, name))
    after = without(after_of(base, result), lambda name: is_partial(base.play, name))
    return folder.difference(found, before, after)


def goes_on(base, here):
    """The program runs again where a killed one left its files."""
    again = run.play_in(base.play, here)
    if again.code != 0:
        return f"the next run fails: {again.err.strip()[-300:]}"
    problem = judge_success(base, again)
    return f"the next run: {problem}" if problem else None


def judge_kill(base, result, here):
    """Of files that a kill left: those of before or after, and the next run copes."""
    if result.code is None:
        return "it hangs"
    if result.code not in (0, -9) and not result.err.strip():
        return "it fails, and stderr does not say why"
    leave = lambda name: folder.is_temporary(name) or is_partial(base.play, name)
    if base.play.resumes:
        return goes_on(base, here)
    problem = folder.difference(without(result.found, leave), without(base.before, leave),
                                without(base.after, leave))
    return problem or goes_on(base, here)
