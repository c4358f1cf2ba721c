"""Folders before and after: what stands in them, byte for byte."""

import os
import re
import shutil

TEMPORARY = re.compile(r"samba-[0-9a-f]{16}\.(tmp|dir)")


def read(folder, varies=()):
    """(mode, bytes) of each file by its name; of a folder None. Names in `varies` are left out."""
    found = {}
    for place, folders, files in os.walk(folder):
        for name in folders + files:
            path = os.path.join(place, name)
            short = os.path.relpath(path, folder)
            if any(re.fullmatch(pattern, short) for pattern in varies):
                continue
            if os.path.isdir(path):
                found[short] = None
            else:
                with open(path, "rb") as f:
                    found[short] = (os.fstat(f.fileno()).st_mode & 0o777, f.read())
    return found


def write_one(folder, name, value):
    """Makes a file, or with None a folder."""
    path = os.path.join(folder, name)
    if value is None:
        os.makedirs(path, exist_ok=True)
        return
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as f:
        os.fchmod(f.fileno(), value[0])
        f.write(value[1])


def write(folder, files):
    """Makes the folder anew, with these files."""
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    for name in sorted(files):
        write_one(folder, name, files[name])


def is_temporary(name):
    """A file that a killed program left, and the next one sweeps away."""
    return any(TEMPORARY.fullmatch(part) for part in name.split(os.sep))


def difference(found, before, after):
    """A sentence if a file is neither what it was before nor what it is after; else None."""
    for name in sorted(set(found) | set(before) | set(after)):
        allowed = [files.get(name, "absent") for files in (before, after)]
        if found.get(name, "absent") in allowed:
            continue
        if name not in found:
            return f"{name} is gone"
        if allowed == ["absent", "absent"]:
            return f"{name} was left behind"
        return f"{name} is neither the old nor the new one"
    return None
