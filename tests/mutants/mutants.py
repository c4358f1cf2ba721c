#!/usr/bin/env python3
"""make mutants: would a test notice it if an operator or a constant were another one?

    make mutants [N=200] [SEED=1] [FILE=samba.h] [CHAPTER=conv] [TESTS='api plan'] [JOBS=1]
                 [AGAIN=1] [REACH=1]

draws N places of samba.h and of its companions, flips each, one at a time, and runs the tests that
come there until one fails: that kills the mutant. What survives is printed with its line as it is,
as it was, and the tests that ran. A survivor asks for a test, or for an entry in equivalent.txt
that says why it means the same; what stands there is drawn no more. AGAIN=1 takes what survived
last time: does the new test kill it? REACH=1 runs no mutant, and lists what no test can kill.

How. All flips are compiled at once: the copy in build/mutants/tree has `MUTANT(17) ? 4 : 3` where
the original has 3, and SAMBA_MUTANT=17 in the environment chooses. First every test runs without a
mutant, must pass, and writes down which places it reaches and where both values ever differed
(mutant.h). Only a test that saw them differ can fail, so the others do not run: "no test comes
here" and "always the same value" are known without a single run. Of the rest the quickest test is
first. Tests are compiled once, against a samba.h without bodies (build/mutants/hollow), and linked
with a mutated samba.o; those of companions with flips are compiled each time. Each run has limits
of time and memory; an endless loop is a kill, and so is any way to end but 0. SAMBA_ASSERTs are on,
as they are under the sanitizers of `make asan`.

Flipped are, within functions: comparisons (their border, and turned round), && and ||, + - * / %,
& | ^ << >>, assignments with these, ++ and --, the signs ! - ~ (left out), numbers (one more, one
less, or 0), true and false. A place is drawn once, whatever it may become.

Not flipped are: macros and tables; constants that have to be some for the compiler (enums, cases,
sizes of arrays, static variables); what means nothing at run time (sizeof, SAMBA_ASSERT, { 0 });
++ and += of a for's third part, which only make endless loops; lines that this compiler does not
compile with -DSAMBA_NO_SIMD (vectors, other systems, devices); what the compiler refuses.

Chapters need no list of tests: what each test reaches is the list. All of tests/core, tests/tools
and tests/sambaflow that are C, quick, and use what is installed take part, or those of TESTS.

Time. The first build compiles each test (2 to 4 s each), later ones samba.h alone (5 s) and the
tests of companions. A mutant costs what its tests take: those of compiler, errors, graphs,
microbatches, mistakes, nulls, ops, quantize and runtime a second all together, 20 to 30 mutants a
minute; train, resume, plan, convolution and api 3 to 25 s each, whenever a mutant survives till
there. Timing checks may fail on a busy machine, which counts as a kill.
"""
import hashlib
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.dont_write_bytecode = True
sys.path.insert(0, HERE)
import flips                                    # noqa: E402

OUT = 'build/mutants'
TREE = f'{OUT}/tree'                            # the mutated copies
HOLLOW = f'{OUT}/hollow'                        # samba.h without what is in samba.o
CELL = f'{OUT}/cell'                            # where tests run: worker I has cell I
FLAGS = ['-DSAMBA_NO_SIMD', '-DSAMBA_DEFAULT_SESSION', '-DSAMBA_ASSERTS', '-w', '-fwrapv']
INCLUDES = ['-I' + TREE, '-I' + TREE + '/tools/include', '-I.', '-Itools/include']
LIBRARIES = ['-lm', '-pthread']
SLOWEST = 30.0                                  # seconds: tests above do not take part
MEMORY = 6 << 30


def setting(name, default):
    return os.environ.get(name) or default


def say(text):
    print(text, flush=True)


# ---- The sources ----
def headers():
    found = ['samba.h']
    for folder, _, names in sorted(os.walk('tools/include/samba')):
        found += [os.path.join(folder, name) for name in sorted(names) if name.endswith('.h')]
    return found


def read(path):
    with open(path, encoding='utf-8') as file:
        return file.read()


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, 'w', encoding='utf-8') as file:
        file.write(text)


def everything():
    """C that includes the implementations of samba.h and of all companions."""
    lines = ['#define _GNU_SOURCE', '#define SAMBA_IMPLEMENTATION', '#include "samba.h"']
    for path in sorted(os.listdir('tools/include/samba')):
        if path.endswith('.h'):
            lines.append(f'#define SAMBA_{path[:-2].upper()}_IMPLEMENTATION')
            lines.append(f'#if __has_include("tools/include/samba/{path}")')
            lines.append(f'#include "tools/include/samba/{path}"')
            lines.append('#endif')
    return '\n'.join(lines) + '\n'


def compile_all(options, compiler):
    said = subprocess.run([f'{ROOT}/tools/dev/hdf5.sh'], capture_output=True, text=True).stdout
    flags = [flag for flag in said.split() if flag.startswith('-I')]
    write(f'{OUT}/everything.c', everything())      # there, for there is no other samba.h
    return subprocess.run([compiler, *FLAGS, '-Ibuild/onnx', *flags, *options,
                           f'{OUT}/everything.c'], capture_output=True, text=True)


def active_lines(compiler):
    """Which lines of which file this compiler compiles, from what its preprocessor gives."""
    out = compile_all(['-I.', '-Itools/include', '-E'], compiler)
    if out.returncode:
        sys.exit(out.stderr)
    active = {path: set() for path in headers()}
    path, line = None, 0
    for text in out.stdout.split('\n'):
        marker = re.match(r'# (\d+) "([^"]*)"', text)
        if marker:
            line, path = int(marker[1]), os.path.relpath(marker[2])
            continue
        if text.strip() and path in active:
            active[path].add(line)
        line += 1
    return active


# ---- What means the same ----
def read_equivalent():
    """Entries: a line "FILE: FUNCTION", "- line", "+ line", and the reason, indented."""
    known, place, old, new = {}, None, None, None
    for line in read(f'{HERE}/equivalent.txt').split('\n'):
        if line.startswith('- '):
            old = line[2:].strip()
        elif line.startswith('+ '):
            new = line[2:].strip()
        elif line.startswith('  ') and place:
            key = (*place, old, new)
            known[key] = (known.get(key, '') + ' ' + line.strip()).strip()
        elif ': ' in line and not line.startswith('#'):
            place = tuple(line.strip().split(': '))
    return known


def read_again():
    try:
        return [tuple(line.split('\t')) for line in read(f'{OUT}/survived.txt').splitlines()]
    except FileNotFoundError:
        sys.exit('AGAIN: nothing survived before')


# ---- Drawing ----
def draw(sources, active, n, seed):
    known, candidates = read_equivalent(), []
    only_file, only_chapter = setting('FILE', ''), setting('CHAPTER', '')
    for source in sources:
        if only_file and not source.path.endswith(only_file):
            continue
        lines = active[source.path]
        for flip in source.flips(lambda line, lines=lines: line in lines):
            if only_chapter and source.chapter(flip.line) != only_chapter:
                continue
            candidates.append(flip)
    every = set(f.key() for f in candidates) if not only_file and not only_chapter else None
    if every is not None:
        for key in known:
            if key not in every:
                say(f'equivalent.txt: nothing is like this any more: {key[0]}: {key[1]}\n'
                    f'- {key[2]}\n+ {key[3]}')
    asked = [f for f in candidates if f.source.holds(f) and f.key() not in known]
    if os.environ.get('AGAIN'):
        again = set(read_again())
        return [f for f in asked if f.key() in again]
    # A place once, whatever it may become.
    random_places = random.Random(seed)
    places = {}
    for flip in asked:
        places.setdefault((flip.source.path, flip.column), []).append(flip)
    drawn = random_places.sample(sorted(places), min(n, len(places)))
    say(f'{len(places)} places, {len(known)} known as equivalent; drawn {len(drawn)}, seed {seed}')
    return [random_places.choice(places[place]) for place in drawn]


def write_tree(sources, chosen):
    prelude = '#include "tests/mutants/mutant.h"\n#line 1\n'
    for source in sources:
        here = [f for f in chosen if f.source is source]
        write(f'{TREE}/{source.path}', prelude + source.write(here))
        if source.path == 'samba.h':
            write(f'{HOLLOW}/samba.h', '#line 1\n' + source.write([], hollow=True))


def plant(sources, chosen, compiler):
    """Writes the copies; what the compiler refuses, such as a flip in a constant, is left out."""
    for path in headers():
        write(f'{TREE}/{path}', read(path))
    while True:
        write_tree(sources, chosen)
        out = compile_all([*INCLUDES, '-fsyntax-only', '-fmax-errors=0'], compiler)
        write(f'{OUT}/refused.txt', out.stderr)
        if out.returncode == 0:
            return chosen
        bad = set()
        for path, line in re.findall(r'^([^\s:]+):(\d+):(?:\d+:)? (?:error|fatal error)',
                                     out.stderr, re.M):
            bad.add((os.path.relpath(path, TREE), int(line)))
        def lines(flip):
            last = flip.line + flip.source.text.count('\n', flip.start, flip.end)
            first = flip.source.text.count('\n', 0, flip.start) + 1
            return range(first, last + 1)
        good = [f for f in chosen if not any((f.source.path, line) in bad for line in lines(f))]
        if len(good) == len(chosen):
            sys.exit(out.stderr)
        for flip in set(chosen) - set(good):
            say(f'    not written: {describe(flip)}')
        chosen = good


# ---- Tests ----
class Test:
    def __init__(self, path):
        self.path, self.name = path, os.path.splitext(os.path.basename(path))[0]
        self.program = f'{OUT}/test/{self.name}'
        self.flags, self.missing = [], ''
        self.seconds = self.processor = 0.0
        head = '\n'.join(read(path).split('\n')[:10])
        self.words = ' '.join(re.findall(r'^// run: *(.*)', head, re.M)).split()

    def is_shared(self):
        """Can it be linked with samba.o: does it set nothing for its own samba.h?"""
        before, include, _ = read(self.path).partition('#include "samba.h"')
        own = re.search(r'^#define (SAMBA_(?!\w*IMPLEMENTATION|DEFAULT|\w*_(MALLOC|FREE))|[a-z])',
                        before, re.M)
        return include and not own


def tests(compiler):
    found, only = [], setting('TESTS', '').split()
    for folder in ('core', 'tools', 'sambaflow'):
        for name in sorted(os.listdir(f'tests/{folder}')):
            if not name.endswith('.c'):
                continue
            test = Test(f'tests/{folder}/{name}')
            for word in test.words:
                if word.startswith('-'):
                    test.flags.append(word)
                elif word.startswith('needs:'):
                    probe = subprocess.run([compiler, '-E', '-x', 'c', '-'], text=True,
                                           input=f'#include <{word[6:]}>', capture_output=True)
                    if probe.returncode:
                        test.missing = word[6:]
                elif word == 'onnx':
                    if not os.path.exists('build/onnx/onnx.pb-c.c'):
                        test.missing = 'onnx.pb-c.h'
                    test.flags += ['-Ibuild/onnx', 'build/onnx/onnx.pb-c.c']
            if 'slow' in test.words or test.name not in (only or [test.name]):
                continue
            if test.missing:
                say(f'skipped: {test.path}, there is no <{test.missing}>')
                continue
            found.append(test)
    return found


def build(test, compiler):
    """Compiles it, unless all that it reads is as it was, and links it with the mutants."""
    # What a test includes by its name alone stands beside it.
    folders = [*INCLUDES, '-I' + os.path.dirname(test.path)]
    link = [f'{OUT}/mutant.o']
    if test.is_shared():
        folders.insert(0, '-I' + HOLLOW)
        # Before the test, whose own functions are without flips.
        link += [f'{OUT}/samba.o', '-Wl,--allow-multiple-definition']
    libraries = [f for f in test.flags if f.startswith('-l') or f.endswith('.c')]
    flags = [f for f in test.flags if f not in libraries]
    made = compile_once(test.program + '.o', [compiler, *FLAGS, *folders, *flags], test.path)
    subprocess.run([compiler, '-Ibuild/onnx', '-o', test.program, *link, made, *libraries,
                    *LIBRARIES], check=True)


def compile_once(object, command, path):
    """Compiles path, and notes of which texts; does nothing if they are the same."""
    note = object + '.from'
    try:
        then = [line.rsplit(' ', 1) for line in read(note).splitlines()]
        if os.path.exists(object) and all(hashed(name) == hash for name, hash in then[1:]) and \
                then[0][0] == ' '.join(command):
            return object
    except FileNotFoundError:
        pass
    made = subprocess.run([*command, '-MD', '-MF', object + '.d', '-c', '-o', object, path],
                          text=True, capture_output=True)
    if made.returncode:
        sys.exit(f'{path} does not build:\n{made.stderr}')
    names = read(object + '.d').replace('\\\n', ' ').split()[1:]
    names = [name for name in names if not name.startswith('/usr')]
    write(note, ' '.join(command) + ' -\n' + ''.join(f'{n} {hashed(n)}\n' for n in names))
    return object


def hashed(path):
    try:
        with open(path, 'rb') as file:
            return hashlib.sha256(file.read()).hexdigest()
    except FileNotFoundError:
        return ''


def in_turn(jobs, n):
    """Starts each job, n at a time; job(i, worker) for i in order."""
    import concurrent.futures
    import queue
    workers = queue.Queue()
    for worker in range(n):
        workers.put(worker)

    def one(job):
        worker = workers.get()
        try:
            return job(worker)
        finally:
            workers.put(worker)
    with concurrent.futures.ThreadPoolExecutor(n) as pool:
        return list(pool.map(one, jobs))


def build_all(found, compiler, jobs):
    os.makedirs(f'{OUT}/test', exist_ok=True)
    write(f'{OUT}/samba.c', '#define SAMBA_IMPLEMENTATION\n#include "samba.h"\n')
    command = [compiler, *FLAGS, *INCLUDES]
    compile_once(f'{OUT}/samba.o', [*command, '-O1'], f'{OUT}/samba.c')
    compile_once(f'{OUT}/mutant.o', command, 'tests/mutants/mutant.c')

    def one(test):
        build(test, compiler)
        if os.environ.get('VERBOSE'):
            say(f'    {test.name} is built')
    in_turn([lambda worker, t=t: one(t) for t in found], jobs)


def make_cell(worker):
    """A copy of what tests read, where they may write build/: workers do not meet."""
    cell = f'{CELL}{worker}'
    shutil.rmtree(cell, ignore_errors=True)
    os.makedirs(f'{cell}/build/test')
    for name in ('tests', 'examples', 'tools', 'samba.h', 'README.md', 'Makefile'):
        if os.path.isdir(name):
            shutil.copytree(name, f'{cell}/{name}', symlinks=True)
        else:
            shutil.copy(name, cell)


def run(test, worker, environment, seconds, processor):
    """What a test ended with, and the seconds and those of the processor that it took."""
    def limits():
        os.setsid()
        resource.setrlimit(resource.RLIMIT_CPU, (processor, processor + 1))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 30, 1 << 30))
    begin = time.time()
    with open(f'{OUT}/log{worker}', 'wb') as out:
        child = subprocess.Popen([os.path.abspath(test.program)], cwd=f'{CELL}{worker}',
                                 env={**os.environ, **environment}, stdin=subprocess.DEVNULL,
                                 stdout=out, stderr=subprocess.STDOUT, preexec_fn=limits)
    timer = threading.Timer(seconds, os.killpg, (child.pid, signal.SIGKILL))
    timer.start()
    _, status, used = os.wait4(child.pid, 0)
    timer.cancel()
    child.returncode = os.waitstatus_to_exitcode(status)
    try:
        os.killpg(child.pid, signal.SIGKILL)    # its children, too
    except ProcessLookupError:
        pass
    return child.returncode, time.time() - begin, used.ru_utime + used.ru_stime


def watch(test, worker, n):
    """Runs a test without a mutant; returns for each (reached, differed); None: it failed."""
    path = os.path.abspath(f'{OUT}/seen{worker}')
    if os.path.exists(path):
        os.remove(path)
    code, test.seconds, test.processor = run(test, worker, {'SAMBA_MUTANTS_SEEN': path}, 900, 600)
    if code != 0:
        with open(f'{OUT}/log{worker}', errors='replace') as log:
            said = [line.rstrip() for line in log if line.startswith('FAILED')]
        say(f'    {test.name} fails without a mutant ({code}), and does not take part: {said}')
        return None
    say(f'    {test.name}: {test.seconds:.1f} s, processor {test.processor:.1f} s')
    with open(path, 'rb') as file:
        bytes = file.read()
    return [(bytes[2 * i], bytes[2 * i + 1]) for i in range(n + 1)]


def baseline(found, n, jobs):
    """What each test has seen without a mutant, but for those that do not take part: tests that are
    too slow, and tests that fail here. A test that compares ops by their address in samba.h's table
    fails: linked with samba.o, it has a table of its own."""
    seen = dict(zip(found, in_turn([lambda worker, t=t: watch(t, worker, n) for t in found], jobs)))
    slow = [test for test in found if seen[test] and test.processor > SLOWEST]
    for test in slow:
        say(f'{test.path} takes {test.processor:.0f} s, and does not take part')
    ready = [test for test in found if seen[test] and test not in slow]
    return ready, {test: seen[test] for test in ready}


# ---- Mutants ----
def describe(flip):
    chapter = flip.source.chapter(flip.line)
    where = f'{flip.source.path}:{flip.line}' + (f' [{chapter}]' if chapter else '')
    return f'{where} {flip.source.function(flip.line)}: {flip.old} => {flip.new or "nothing"}'


def try_mutant(flip, ready, seen, worker):
    """(killed by, what it ended with, tests that ran, how far it came)"""
    reach = [t for t in ready if seen[t][flip.id][0]]
    differ = sorted((t for t in reach if seen[t][flip.id][1]), key=lambda t: t.processor)
    ran = []
    for test in differ:
        code, _, _ = run(test, worker, {'SAMBA_MUTANT': str(flip.id)},
                         20 + 20 * test.seconds, int(3 + 4 * test.processor))
        ran.append(test.name)
        if code != 0:
            return test.name, code, ran, ''
    if differ:
        return '', 0, ran, 'nobody noticed: ' + ' '.join(ran)
    if reach:
        return '', 0, ran, 'always the same value in ' + ' '.join(t.name for t in reach)
    return '', 0, ran, 'no test comes here'


def main():
    if len(sys.argv) > 1:                       # all is said by the environment
        sys.exit(__doc__)
    os.chdir(ROOT)
    start = time.time()
    compiler = setting('CC', 'cc')
    n, seed, jobs = int(setting('N', 200)), int(setting('SEED', 1)), int(setting('JOBS', 1))
    os.makedirs(OUT, exist_ok=True)
    if shutil.which('protoc-c'):
        subprocess.run(['make', '-s', 'build/onnx/onnx.pb-c.c'], check=True)
    texts = {path: read(path) for path in headers()}
    types = flips.types_of(texts.values())
    sources = [flips.Source(path, text, types) for path, text in texts.items()]
    chosen = draw(sources, active_lines(compiler), n, seed)
    for i, flip in enumerate(chosen):
        flip.id = i + 1
    chosen = plant(sources, chosen, compiler)
    say(f'{time.time() - start:.0f} s: {len(chosen)} mutants are written')
    found = tests(compiler)
    build_all(found, compiler, jobs)
    say(f'{time.time() - start:.0f} s: {len(found)} tests are built')
    for worker in range(jobs):
        make_cell(worker)
    ready, seen = baseline(found, n, jobs)
    say(f'{time.time() - start:.0f} s: the tests pass without a mutant')
    if os.environ.get('REACH'):
        chosen = [f for f in chosen if not any(seen[t][f.id][1] for t in ready)]

    def one(flip, worker):
        result = try_mutant(flip, ready, seen, worker)
        killer, code, ran, why = result
        if killer:
            say(f'killed   {describe(flip)}; {killer} ({code}), {len(ran)} ran')
        else:
            old, new = flip.lines()
            say(f'SURVIVED {describe(flip)}\n    - {old}\n    + {new}\n    {why}')
        return result
    results = in_turn([lambda worker, f=f: one(f, worker) for f in chosen], jobs)
    survived = [f for f, r in zip(chosen, results) if not r[0]]
    with open(f'{OUT}/survived.txt', 'w') as file:
        for flip in survived:
            file.write('\t'.join(flip.key()) + '\n')
    killed = len(chosen) - len(survived)
    for kind in ('nobody noticed', 'always the same value', 'no test comes here'):
        say(f'    {kind}: {sum(r[3].startswith(kind) for r in results)}')
    say(f'{len(chosen)} mutants: {killed} killed, {len(survived)} survived '
        f'({100 * killed / max(len(chosen), 1):.1f} % killed), {time.time() - start:.0f} s')


if __name__ == '__main__':
    main()
