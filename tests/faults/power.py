"""Power cuts, from what a program asked of the disk: strace records its calls with all they write.

The model: the disk keeps what fsync has put there. Of what was written to a file since, each block
of 512 bytes may be there or not, and the file may have any length it had. Of the names that were
made, replaced and removed in a folder since that was flushed, any may have happened. So it is with
ext4 and its kin or worse; disks that lie about a flush are not modelled. (Pillai et al., "All file
systems are not created equal", OSDI 2014, is where the model comes from.)"""

import re

BLOCK = 512
CALLS = "open,openat,creat,write,pwrite64,writev,lseek,fsync,fdatasync,rename,unlink,ftruncate," \
    "mmap,msync,close,mkdir,rmdir"
OPTIONS = ["-xx", "-s", "1000000", "-e", f"trace={CALLS},access"]
LINE = re.compile(r"^(\d+) +(\w+)\((.*)\) += (-?\d+)")
TEXT = re.compile(r'"((?:\\x[0-9a-f]{2})*)"')


def unescape(text):
    return bytes.fromhex(text.replace("\\x", ""))


class File:
    """What is on the disk for certain, what was written since, and the length now."""

    def __init__(self, data=b"", certain=True):
        self.disk = data if certain else b""
        self.now = bytearray(data)
        self.written = []               # (place, bytes) since the last flush
        self.lengths = []               # that it had since

    def write(self, place, data):
        end = place + len(data)
        self.now.extend(bytes(max(0, end - len(self.now))))
        self.now[place:end] = data
        for at in range(place - place % BLOCK, end, BLOCK):
            first, last = max(at, place), min(at + BLOCK, end)
            self.written.append((first, data[first - place:last - place]))
        self.lengths.append(len(self.now))

    def truncate(self, size):
        self.now = bytearray(bytes(self.now[:size]).ljust(size, b"\0"))
        self.lengths.append(size)

    def flush(self):
        self.disk, self.written, self.lengths = bytes(self.now), [], []

    def after_cut(self, random):
        """The bytes that may be found after the power was cut."""
        if random.random() < 0.25:      # all lost, or all kept: the ends of what may happen
            return self.disk
        if random.random() < 0.25:
            return bytes(self.now)
        found = bytearray(self.disk)
        for place, data in self.written:
            if random.random() < 0.5:
                found.extend(bytes(max(0, place + len(data) - len(found))))
                found[place:place + len(data)] = data
        size = random.choice([len(self.disk), *self.lengths])
        return bytes(found[:size]).ljust(size, b"\0")


class Disk:
    """The files of the folder in which the program runs, and their names."""

    def __init__(self, before):
        self.certain = {name: File(value[1]) for name, value in before.items() if value}
        self.names = dict(self.certain)
        self.pending = []               # (name, file or None) since the folder was flushed
        self.open = {}                  # (process, number): [file or "folder", place]

    def name(self, name, file):
        if file is None:
            self.names.pop(name, None)
        else:
            self.names[name] = file
        self.pending.append((name, file))

    def flush_folder(self):
        self.certain, self.pending = dict(self.names), []

    def after_cut(self, random, name):
        """The bytes of the file of this name after the power was cut; None: there is none."""
        file = self.certain.get(name)
        for other, new in self.pending:
            if other == name and random.random() < 0.5:
                file = new
        return file and file.after_cut(random)

    # What the program calls; process and number name an open file.

    def opened(self, key, name, flags):
        if name == ".":
            self.open[key] = ["folder", 0]
        elif "/" not in name and (name in self.names or "O_CREAT" in flags):
            if name not in self.names:
                self.name(name, File())
            if "O_TRUNC" in flags:
                self.names[name].truncate(0)
            place = len(self.names[name].now) if "O_APPEND" in flags else 0
            self.open[key] = [self.names[name], place]
        else:
            self.open.pop(key, None)

    def wrote(self, key, data):
        at = self.open[key]
        at[0].write(at[1], data)
        at[1] += len(data)

    def flushed(self, key):
        if self.open[key][0] == "folder":
            self.flush_folder()
        else:
            self.open[key][0].flush()

    def renamed(self, old, new):
        file = self.names.get(old)
        self.name(new, file)
        self.name(old, None)


def play_call(disk, process, call, arguments, result):
    """One line of the trace on the disk."""
    texts = [unescape(text) for text in TEXT.findall(arguments)]
    number = arguments.split(",")[0].split("<")[0]
    key = (process, int(number)) if number.isdigit() else None
    if call in ("openat", "open", "creat"):
        disk.opened((process, result), texts[0].decode("utf-8", "replace"), arguments)
    elif call == "rename":
        disk.renamed(texts[0].decode(), texts[1].decode())
    elif call == "unlink":
        disk.name(texts[0].decode(), None)
    elif call == "mmap":
        shared = "MAP_SHARED" in arguments and "PROT_WRITE" in arguments
        assert not shared or "MAP_ANONYMOUS" in arguments, "files are written by mmap: model it"
    elif key in disk.open:
        if call == "write":
            disk.wrote(key, texts[0][:result])
        elif call == "pwrite64":
            disk.open[key][0].write(int(arguments.split(",")[-1]), texts[0][:result])
        elif call == "lseek":
            disk.open[key][1] = result
        elif call == "ftruncate":
            disk.open[key][0].truncate(int(arguments.split(",")[1]))
        elif call in ("fsync", "fdatasync"):
            disk.flushed(key)
        elif call == "close":
            del disk.open[key]
        else:
            raise AssertionError(f"{call} is not modelled")


def calls_of(log, mark):
    """(process, call, arguments, result) of each call that did not fail, after main began."""
    began = False
    for line in log.splitlines():
        found = LINE.match(line)
        if began and found and int(found.group(4)) >= 0:
            process, call, arguments, result = found.groups()
            yield process, call, arguments, int(result)
        began = began or mark in line


def states(log, mark, before, name):
    """All that the file of this name was, complete: before, and whenever a call had given the name
    to another file. Without a power cut a reader sees nothing else."""
    disk = Disk(before)
    seen = [bytes(disk.names[name].now) if name in disk.names else None]
    for call in calls_of(log, mark):
        play_call(disk, *call)
        if call[1] == "rename":
            now = disk.names.get(name)
            seen.append(now and bytes(now.now))
    return seen


def cuts(log, mark, before, names, n, random):
    """Cuts the power n times at places drawn at random; yields (where, {name: bytes or None}), the
    last time when the program has ended and says that it succeeded."""
    calls = list(calls_of(log, mark))
    places = sorted(random.randrange(len(calls) + 1) for _ in range(n)) + [len(calls)] * 50
    disk, done = Disk(before), 0
    for place in places:
        while done < place:
            play_call(disk, *calls[done])
            done += 1
        where = calls[place][1] if place < len(calls) else "the end"
        yield f"before call {place}, {where}", {m: disk.after_cut(random, m) for m in names}
