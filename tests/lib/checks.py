"""Counts checks, for tests in Python: check(what, holds, found), and end(), which prints the last
line and is the exit code."""
passed = failed = 0


def check(what, holds, found=''):
    global passed, failed
    passed += bool(holds)
    failed += not holds
    if not holds:
        print('FAILED %s %s' % (what, str(found)[:1200]))


def end():
    print('%d passed, %d failed' % (passed, failed))
    return failed > 0
