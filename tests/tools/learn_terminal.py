# tests/tools/learn_terminal.py FOLDER: `make learn` on a pseudo terminal, as a learner uses it:
# saves files into FOLDER and presses keys. Prints what failed, then "N passed, M failed".
import fcntl, os, pty, re, select, shutil, signal, struct, subprocess, sys, termios, time

LEARN = 'tools/learn/learn.sh'
PATIENCE = 60       # seconds; on a machine that has nothing else to do, all comes within one
passed = failed = 0


def check(what, holds, seen=''):
    global passed, failed
    passed, failed = passed + bool(holds), failed + (not holds)
    if not holds:
        print('FAILED', what)
        print(seen[-1500:])


class Terminal:
    def __init__(self, folder, columns=80, words=(), **environment):
        self.folder = folder
        self.text = ''
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack('HHHH', 24, columns, 0, 0))
        self.before = termios.tcgetattr(slave)
        self.master, self.slave = master, slave
        self.program = subprocess.Popen(
            [LEARN, *words], stdin=slave, stdout=slave, stderr=slave, start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
            env={**os.environ, 'LEARN': folder, 'TERM': 'xterm', **environment})

    def read(self, seconds):
        if select.select([self.master], [], [], seconds)[0]:
            text = os.read(self.master, 65536).decode('utf-8', 'replace')
            self.text += text.replace('\r\n', '\n')
            return True
        return False

    # Waits for a text that was not awaited before; returns all up to it.
    def shows(self, what, text):
        end = time.time() + PATIENCE
        while not re.search(text, self.text) and time.time() < end:
            self.read(0.2)
        found = re.search(text, self.text)
        check(what, found, self.text)
        seen = self.text[:found.end()] if found else self.text
        self.text = self.text[len(seen):]
        return seen

    def press(self, keys):
        os.write(self.master, keys.encode())

    def save(self, name, text):
        with open(os.path.join(self.folder, name + '.c'), 'w') as file:
            file.write(text)

    def ends(self, what):
        end = time.time() + PATIENCE
        while self.program.poll() is None and time.time() < end:
            self.read(0.1)
        while self.read(0):
            pass
        check(what + ': it ends', self.program.poll() == 0, self.text)
        same = termios.tcgetattr(self.slave)[3] == self.before[3]
        check(what + ': the terminal is as it was', same)
        if self.program.poll() is None:
            self.program.kill()
        os.close(self.slave)
        os.close(self.master)


def file(path):
    with open(path) as text:
        return text.read()


def solution(name):
    return file('tools/learn/solutions/' + name + '.c')


def passed_in(folder):
    return file(os.path.join(folder, 'passed')).split()


# A first lesson: a wrong file, hints, the right file, the solution, the next exercise.
def a_learner(folder):
    one, two = '01a_row_major', '01b_strides'
    t = Terminal(folder)
    t.shows('the first exercise, and where its file lies', 'Edit this file')
    t.shows('in one piece', re.escape('\n%s/%s.c (' % (folder, one)))
    t.shows('the starter is judged', 'should be 5')
    t.shows('the keys are listed last', r'h hint, n next, l list, g go to, r reset, q quit\n$')
    t.save(one, solution(one).replace('return at', 'return at + 1'))
    t.shows('a wrong file is judged when it is saved', 'the first element lies at 0')
    t.save(one, 'int x = ;\n')
    t.shows('so is one that does not compile', 'line 1: expected expression')
    t.press('s')
    t.shows('the solution is closed', 'opens when yours has passed')
    for level, text in enumerate(('How many elements', 'A step of index', 'Go from left'), 1):
        t.press('h')
        t.shows('hint %d' % level, 'Hint %d: %s' % (level, text))
    t.press('h')
    t.shows('and from the first again', 'Hint 1: ')
    t.save(one, solution(one))
    t.shows('the right file passes', 'Right: [0-9]+ cases')
    seen = t.shows('the score', '1 of 46 exercises done')
    check('no verdict of red', '\033[31m' not in seen, seen)
    t.shows('now s is among the keys', 'n next, s solution')
    check('the score is written', passed_in(folder) == [one])
    t.press('s')
    t.shows('the solution is open', 'Another way: ')
    t.save(one, solution(one).replace('return at', 'return at + 1'))
    t.shows('what has passed is judged again when it changes', 'the first element lies at 0')
    t.shows('then s is no more among the keys', 'h hint, n next')
    check('and it counts no more', passed_in(folder) == [])
    t.save(one, solution(one))
    t.shows('it passes again', 'Right: [0-9]+ cases')
    t.press('l')
    t.shows('the list: done, and a mark here', 'done > 01a_row_major\nopen   01b_strides\n')
    t.press('n')
    t.shows('the next one', '==== 01b_strides ====')
    t.shows('is judged', 'Not yet')
    t.press('x?\033[A')
    t.press('n')
    t.shows('n skips one that has not passed, other keys do nothing', '==== 01c_slice ====')
    t.press('g')
    t.shows('g asks', 'Go to which')
    t.press('99z\n')
    t.shows('and knows what there is', 'There is no exercise 99z')
    t.press('g')
    t.shows('g asks again', 'Go to which')
    t.press('1c\x7f\x7f01b\n')
    t.shows('and goes', '==== 01b_strides ====')
    t.save(two, '// gone\n')
    t.shows('an emptied file', 'there is no code in it')
    t.press('rn')
    t.shows('r asks first', 'Back to the starter')
    check('n keeps the file', file(folder + '/' + two + '.c') == '// gone\n')
    t.press('ry')
    t.shows('y brings the starter back, which is judged', 'row_major of')
    check('and keeps the old one', file(folder + '/' + two + '.c.old') == '// gone\n')
    t.press('q')
    t.ends('q')


def the_next_day(folder):
    t = Terminal(folder)
    t.shows('after a restart, it goes on behind what has passed', '==== 01b_strides ====')
    t.shows('its keys', 'q quit')
    t.press('\003')
    t.ends('Ctrl-C')
    t = Terminal(folder, words=('watch', '01a'))
    t.shows('what has passed can be looked at again', '==== 01a_row_major ====')
    t.shows('and is judged', 'Right: [0-9]+ cases')
    t.program.send_signal(signal.SIGTERM)
    t.ends('a signal')


def the_fast_track(folder):
    t = Terminal(folder, FAST='1')
    t.shows('the fast track begins with 02a', '==== 02a_broadcast ====')
    t.shows('its keys', 'q quit')
    t.press('n')
    t.shows('then 03a', '==== 03a_gradient ====')
    t.press('q')
    t.shows('of 21 exercises', '1 of 21 exercises')
    t.ends('the fast track')


# An editor that writes a new file and renames it, and one that empties the file first.
def editors(folder):
    name = '04b_order'
    path = os.path.join(folder, name + '.c')
    t = Terminal(folder, words=('watch', name))
    t.shows('an exercise in the middle', 'q quit')
    with open(path + '.new', 'w') as new:
        new.write(solution(name).replace('? n : -1', '? 0 : -1'))
    os.rename(path + '.new', path)
    t.shows('a file that was renamed is judged', 'should return n')
    open(path, 'w').close()
    time.sleep(0.3)
    t.save(name, solution(name))
    seen = t.shows('a file that was emptied for a moment', 'Right: ')
    check('is not judged meanwhile', 'no code' not in seen, seen)
    os.remove(path)
    t.shows('a file that was removed comes back', 'Not yet')
    check('as the starter', file(path) == file('examples/exercises/%s.c' % name))
    t.press('q')
    t.ends('editors')


def the_last_one(folder):
    names = sorted(name[:-2] for name in os.listdir('examples/exercises'))
    os.makedirs(folder)
    with open(folder + '/passed', 'w') as score:
        score.write('\n'.join(name for name in names if name != '20a_average') + '\n')
    t = Terminal(folder)
    t.shows('the only one that is open', '==== 20a_average ====')
    t.shows('its keys', 'q quit')
    t.save('20a_average', solution('20a_average'))
    t.shows('passes', '46 of 46 exercises done')
    t.press('\n')
    t.shows('Enter goes on: to the end', 'All exercises have passed')
    t.ends('the last one')


def narrow(folder):
    t = Terminal(folder, columns=40, NO_COLOR='1')
    seen = t.shows('40 columns', 'q quit')
    t.press('h')
    seen += t.shows('a hint', 'Hint 1: [^~]*q quit')
    t.save('01a_row_major', solution('01a_row_major').replace('return at', 'return at + 1'))
    seen += t.shows('a refusal', 'lies at 0[^~]*q quit')
    widest = max((line for line in seen.split('\n') if folder not in line), key=len)
    check('no line is wider', len(widest) <= 40, widest)
    check('and none has color', '\033' not in seen, seen)
    t.press('q')
    t.ends('narrow')


def closed_window(folder):
    t = Terminal(folder)
    t.shows('a window', 'q quit')
    os.close(t.slave)
    os.close(t.master)
    try:
        t.program.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        t.program.kill()
    check('a window that is closed ends it', t.program.poll() not in (None, -signal.SIGKILL))


def without_a_terminal(folder):
    def run(*words, **environment):
        return subprocess.run([LEARN, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=PATIENCE, text=True,
                              env={**os.environ, 'LEARN': folder, **environment})
    ran = run()
    check('without a terminal, one judging', ran.returncode == 1 and 'Not yet' in ran.stdout,
          ran.stdout)
    check('without keys and colors', 'Keys' not in ran.stdout and '\033' not in ran.stdout,
          ran.stdout)
    ran = run('list', LEARN='/dev/null/learn')
    check('a folder that cannot be written', ran.returncode == 1 and
          'cannot be written. Choose another' in ran.stdout, ran.stdout)
    ran = run('judge', '99z')
    check('an exercise that is not there', ran.returncode == 1 and 'There is no' in ran.stdout)


def main():
    os.environ.pop('NO_COLOR', None)
    base = os.path.abspath(sys.argv[1])
    shutil.rmtree(base, ignore_errors=True)
    os.makedirs(base)
    mine = os.path.join(base, 'a folder with spaces in a path that is wider than 80 columns are')
    a_learner(mine)
    the_next_day(mine)
    the_fast_track(mine)
    editors(mine)
    the_last_one(os.path.join(base, 'last'))
    narrow(os.path.join(base, 'narrow'))
    closed_window(os.path.join(base, 'closed'))
    without_a_terminal(os.path.join(base, 'none'))
    print('%d passed, %d failed' % (passed, failed))
    return failed > 0


sys.exit(main())
