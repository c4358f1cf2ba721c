#!/usr/bin/env python3
"""Flips all of nasty.c at once: the copy must do what the original does, and a flip that never gave
another value must change nothing. The last line is "N passed, N failed"."""
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True
sys.path.insert(0, HERE)
import flips                                    # noqa: E402

OUT = 'build/mutants_check'
failed = passed = 0


def check(what, holds):
    global failed, passed
    passed, failed = passed + bool(holds), failed + (not holds)
    if not holds:
        print('FAILED', what)


def run(program, **environment):
    done = subprocess.run(['timeout', '5', program], capture_output=True,
                          env={**os.environ, **environment})
    return done.returncode, done.stdout


os.makedirs(OUT, exist_ok=True)
compiler = os.environ.get('CC') or 'cc'
with open(f'{HERE}/nasty.c') as file:
    text = file.read()
source = flips.Source('nasty.c', text, flips.types_of([text]))
found = [f for f in source.flips(lambda line: True) if source.holds(f)]
for i, flip in enumerate(found):
    flip.id = i + 1
with open(f'{OUT}/nasty.c', 'w') as file:
    file.write('#include "mutant.h"\n#line 1\n' + source.write(found))
programs = {'plain': [f'{HERE}/nasty.c'], 'copy': [f'{OUT}/nasty.c', f'{HERE}/mutant.c']}
for name, files in programs.items():
    subprocess.run([compiler, '-w', '-fwrapv', '-I' + HERE, '-o', f'{OUT}/{name}', *files],
                   check=True)
want = run(f'{OUT}/plain')
seen_file = f'{OUT}/seen'
if os.path.exists(seen_file):
    os.remove(seen_file)
check('the copy does what the original does',
      run(f'{OUT}/copy', SAMBA_MUTANTS_SEEN=seen_file) == want)
with open(seen_file, 'rb') as file:
    seen = file.read()

killed = 0
for flip in found:
    same = run(f'{OUT}/copy', SAMBA_MUTANT=str(flip.id)) == want
    killed += not same
    differed = seen[2 * flip.id + 1]
    check(f'line {flip.line}: {flip.old} => {flip.new}: changes something unseen', same or differed)
check('more than half of the flips are noticed', killed > 0.5 * len(found))


def is_constant(flip):
    """Is it in an enum, a table, or in what stands between case and its colon?"""
    old, new = flip.lines()
    if old.startswith('case'):
        return old.split(':')[0] != new.split(':')[0]
    return 'enum' in old or 'static const' in old


check('constants of the compiler are left alone', not any(is_constant(f) for f in found))
# What a flip is written as is what stands in the line.
lines = [f.lines() for f in found]
check('the border of a loop', ('while (k-- > 0 && !found) found = local[k] == 5;',
                               'while (k-- >= 0 && !found) found = local[k] == 5;') in lines)
print(f'{killed} of {len(found)} flips are noticed')
print(f'{passed} passed, {failed} failed')
sys.exit(failed > 0)
