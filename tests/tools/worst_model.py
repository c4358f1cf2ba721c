"""The worst model through every command: worst_model.py FOLDER TOOLS CC, run by worst_model.sh.

Names hold ends of comments, quotes, tags, control characters and bytes that are no UTF-8. Whatever
a command prints is text that a terminal can be given; C that is generated compiles, and has no
word of a name outside of comments and strings; pages and JSON parse. Files of others stay.
"""
import html.parser
import json
import os
import re
import struct
import subprocess
import sys

FOLDER, TOOLS, CC = sys.argv[1], sys.argv[2], sys.argv[3]
os.chdir(FOLDER)
passed = failed = 0


def check(what, holds, more=''):
    global passed, failed
    passed += bool(holds)
    failed += not holds
    if not holds:
        print('FAILED', what, more)


def text_of(data):
    """What a terminal is given, or None: control characters, or no UTF-8."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return None
    bad = [c for c in text if (ord(c) < 32 and c != '\n') or 127 <= ord(c) < 160
           or 0x202A <= ord(c) <= 0x202E or 0x2066 <= ord(c) <= 0x2069]
    return None if bad else text


def run(program, *words, code=0, says=''):
    """Runs a command, for a minute at most; checks its exit code and what it prints."""
    words = [w if isinstance(w, bytes) else w.encode() for w in words]
    what = f'{program} {b" ".join(words)[:100]!r}'
    try:
        r = subprocess.run([f'{TOOLS}/{program}'.encode(), *words], capture_output=True,
                           timeout=60, stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        check(what + ': within a minute', False)
        return ''
    out, err = text_of(r.stdout), text_of(r.stderr)
    check(what + ': exit code', r.returncode == code, f'{r.returncode}\n{r.stderr[:3000]!r}')
    check(what + ': a terminal can be given it', out is not None and err is not None,
          f'{r.stdout[:300]!r} {r.stderr[:300]!r}')
    check(what + f': says {says}', says in ((out or '') + (err or '')), f'{err!r}'[:500])
    return out or ''


# ---- XXH64 (Collet), for files that are changed and still have the right checksum ----
P = (11400714785074694791, 14029467366897019727, 1609587929392839161, 9650029242287828579,
     2870177450012600261)
M = (1 << 64) - 1


def turn(x, n):
    return (x << n | x >> 64 - n) & M


def lane(acc, x):
    return turn((acc + x * P[1]) & M, 31) * P[0] & M


def xxh64(data):
    at, n = 0, len(data)
    if n >= 32:
        v = [(P[0] + P[1]) & M, P[1], 0, -P[0] & M]
        for at in range(0, n - 31, 32):
            words = struct.unpack_from('<4Q', data, at)
            v = [lane(a, x) for a, x in zip(v, words)]
        at += 32
        h = sum(turn(a, r) for a, r in zip(v, (1, 7, 12, 18))) & M
        for a in v:
            h = ((h ^ lane(0, a)) * P[0] + P[3]) & M
    else:
        h = P[4]
    h = (h + n) & M
    for at in range(at, n - 7, 8):
        h = (turn(h ^ lane(0, struct.unpack_from('<Q', data, at)[0]), 27) * P[0] + P[3]) & M
    at = n - n % 8
    if n - at >= 4:
        h = (turn(h ^ struct.unpack_from('<I', data, at)[0] * P[0] & M, 23) * P[1] + P[2]) & M
        at += 4
    for byte in data[at:]:
        h = turn(h ^ byte * P[4] & M, 11) * P[0] & M
    for shift, p in ((33, P[1]), (29, P[2]), (32, 1)):
        h = (h ^ h >> shift) * p & M
    return h


def forge(name):
    """Puts ESC and newlines into the names of a checkpoint, and seals it again."""
    data = bytearray(open(name, 'rb').read())
    n_data = struct.unpack_from('<Q', data, 96)[0]
    tables = data[:len(data) - n_data].replace(b'ZE', b'\x1b\x1b').replace(b'ZN', b'\n\n')
    struct.pack_into('<Q', tables, 24, xxh64(bytes(tables[32:])))
    open(name, 'wb').write(bytes(tables) + bytes(data[len(data) - n_data:]))


def put(name, data):
    with open(name, 'wb') as f:
        f.write(data if isinstance(data, bytes) else data.encode())


def same(name, data):
    return open(name, 'rb').read() == data


# ---- C ----
def bare(code):
    """C without comments and strings, as a compiler reads it: trigraphs, then lines that go on."""
    code = code.replace('??/', '\\')
    code = re.sub(r'\\[ \t]*\n', '', code)
    part = r'/\*.*?\*/|//[^\n]*|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\''
    return re.sub(part, ' ', code, flags=re.S)


def check_c(name):
    data = open(name, 'rb').read()
    text = text_of(data.replace(b'\t', b' '))
    check(f'{name}: text without control characters', text is not None)
    code = bare(text or '')
    words = r'\bpwned\b', r'\bscript\b', r'\bEVIL', r'\btrojan\b', r'\bquoted\b'
    for word in (*words, '"', r'\*/', r'/\*'):
        check(f'{name}: no {word} outside of comments', not re.search(word, code))


def export_c():
    for name in ('named', 'step'):
        run('samba-device', 'export-c', f'{name}.ckpt', '-o', f'{name}_c')
        for end in ('.c', '.h', '_pef.h'):
            check_c(f'{name}_c{end}')
        put('main.c', f'#include "{name}_c.h"\nint main(void)\n{{\n'
            f'    return !{name}_c_run();\n}}\n')
        for words in (['-std=c99'], ['-std=gnu11', '-Wcomment', '-Wtrigraphs']):
            r = subprocess.run([*CC.split(), *words, '-Wall', '-Werror', '-Wno-unknown-pragmas',
                                '-o', 'main', 'main.c', f'{name}_c.c', '-lm'], capture_output=True)
            check(f'{name}_c.c compiles with {words}', r.returncode == 0, r.stderr[:2000])
        subprocess.run(['./main'], check=False)
    check('nothing was run', not os.path.exists('pwned'))
    # names that are one identifier, and a file name with an end of a line in it
    run('samba-device', 'export-c', 'many.ckpt', '-o', 'many_c')
    line = b'a\n#define SAMBA_USE_evil\n\x1b[2J*\\'
    put(line + b'.ckpt', open('step.ckpt', 'rb').read())
    out = run('samba-device', 'device-config', line + b'.ckpt')
    check('device-config: no line of a file name', 'evil\n' not in out
          and not re.search(r'^#define SAMBA_USE_evil', out, re.M))
    run('samba-device', 'export-c', line + b'.ckpt', '-o', 'line_c')
    check_c('line_c.c')
    # a header of somebody else stays
    mine = b'// mine, by hand\n'
    put('other_pef.h', mine)
    run('samba-device', 'export-c', 'step.ckpt', '-o', 'other', code=1, says='so it stays')
    put('config.h', mine)
    run('samba-device', 'device-config', 'step.ckpt', '-o', 'config.h', code=1, says='it stays')
    check('headers of others stay', same('other_pef.h', mine) and same('config.h', mine))


# ---- Pages ----
class Page(html.parser.HTMLParser):
    """The names of elements, and the data."""

    def __init__(self):
        super().__init__()
        self.tags, self.scripts, self.data, self.json = [], 0, '', False

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.scripts += tag == 'script' and not any(name == 'id' for name, _ in attrs)
        self.json = ('id', 'data') in attrs

    def handle_endtag(self, tag):
        self.json = False

    def handle_data(self, data):
        self.data += data if self.json else ''


def check_page(name, n_nodes):
    page = Page()
    page.feed(open(name, encoding='utf-8').read())
    data = json.loads(page.data)
    check(f'{name}: all nodes', len(data['nodes']) >= n_nodes)
    check(f'{name}: its own script alone', page.scripts == 1, page.scripts)
    check(f'{name}: its own elements alone', not set(page.tags) & {'img', 'iframe', 'b', 'object'})
    whole = open(name, 'rb').read()
    check(f'{name}: a name ends no script', b'</script><script>document' not in whole)
    return data


def view():
    for name in ('named', 'step'):
        run('samba-view', 'view', f'{name}.ckpt', '--runs', '0')
        data = check_page(f'{name}.ckpt.html', 17)
        names = [t['name'] for t in data['tensors']]
        for word in ('*/ {', 'voil\\xE0', '<script>', '\x1b\x1b\x1b\x1b[2J', 'a/b.c__d'):
            check(f'{name}: names keep {word!r}', any(word in n for n in names))
    run('samba-view', 'view', '--diff', 'named.ckpt', 'step.ckpt', '-o', 'diff.html', code=1)
    check_page('diff.html', 17)
    run('samba-view', 'view', 'many.ckpt', '--runs', '0', '--values', '1')
    check_page('many.ckpt.html', 6000)
    # the structure of a program with an op that no tool has
    run('samba-view', 'view', 'own.ckpt', says='3 nodes')
    data = check_page('own.ckpt.html', 3)
    check('own.ckpt: no values, and why', not data['snapshots']
          and any('has ops of its own' in note for note in data['notes']))
    run('samba-view', 'view', '--diff', 'own.ckpt', 'own.ckpt', code=2, says='register it')
    run('samba-view', 'view', 'own.ckpt', '--input', 'x=x.npy', code=2, says='leave --input out')
    run('samba-view', 'view', '.', code=2, says='this is a folder')
    put('-dash.ckpt', open('step.ckpt', 'rb').read())
    run('samba-view', 'view', '--runs', '0', '--', '-dash.ckpt', says='-dash.ckpt.html')
    run('samba-view', 'view', b'no\x1b[2J\n\xe0', code=2, says='no such file')
    run('samba-view', 'view', 'step.ckpt', b'--\x1b[2J', code=2, says='--\\x1B[2J')
    put('labels', b'<b>\n\xe0\xc0\x1b[2J\n"\\\n')
    run('samba-view', 'view', 'step.ckpt', '--runs', '0', '--tokens', 'labels')
    check_page('step.ckpt.html', 17)


def arrays():
    """Headers of .npy files that end anywhere, and say anything."""
    head = b"{'descr': '<f4', 'fortran_order': False, 'shape': (4, 3), }"
    cases = [head[:n] for n in range(0, head.index(b')'), 3)]
    cases += [b"{'descr':", b"{'descr': '", b"{'fortran_order': False, 'descr':\x1b",
              head.replace(b'<f4', b'\xe0\xc0\xf0'), head.replace(b'(4, 3)', b'(4,'),
              head.replace(b'(4, 3)', b'(99999999999999999999, 3)')]
    for i, header in enumerate(cases):
        size = struct.pack('<H', len(header))
        put('x.npy', b'\x93NUMPY\x01\x00' + size + header + bytes(48 if i % 2 else 0))
        run('samba-view', 'view', 'step.ckpt', '--input', 'x=x.npy', '--runs', '0', '-o', 'x.html',
            code=2, says='x.npy')
    put('x.npy', b'\x93NUMPY\x01\x00' + struct.pack('<H', len(head)) + head + bytes(48))
    run('samba-view', 'view', 'step.ckpt', '--input', 'x=x.npy', '--runs', '0', '-o', 'x.html')


# ---- Files of others ----
def files():
    mine = b'precious'
    others = ('nan.replay.tmp', 'x.tmp', 'none.tmp', 'p.html.tmp', 'step.ckpt.html.tmp', 'victim')
    for name in others:
        put(name, mine)
    put('x', b'no replay file')
    os.symlink('victim', 'link.replay.tmp')
    os.symlink('victim', 'samba-0123456789abcdef.dir')
    replay = open('nan.replay', 'rb').read()
    put('link.replay', replay)
    run('samba-view', 'replay', 'x', code=2, says='no replay file')
    run('samba-view', 'replay', 'none', code=2, says='No such file')
    run('samba-view', 'replay', 'link.replay', says='repeated')
    run('samba-view', 'replay', 'nan.replay', '--view', 'p.html', says='repeated')
    check_page('p.html', 17)
    run('samba-view', 'view', 'nan.replay', '-o', 'p.html', says='log')
    run('samba-view', 'replay', 'nan.replay', '--keep', 'nan.replay', code=2, says='itself')
    os.link('nan.replay', 'same.replay')
    run('samba-view', 'replay', 'nan.replay', '--keep', 'same.replay', code=2, says='itself')
    run('samba-view', 'replay', 'nan.replay', '--keep', 'victim', code=2, says='it stays')
    run('samba-view', 'replay', 'nan.replay', '--view', 'victim', code=2, says='it stays')
    run('samba-view', 'view', 'step.ckpt', '-o', 'nan.replay', code=2, says='it stays')
    run('samba-view', 'view', 'step.ckpt', '-o', 'step.ckpt', code=2, says='it stays')
    os.mkdir('folder')
    run('samba-view', 'view', 'step.ckpt', '-o', 'folder', code=2, says='this is a folder')
    run('samba-view', 'view', 'step.ckpt', '-o', '/dev/null', code=2, says='no regular file')
    run('samba-view', 'replay', 'nan.replay', '--keep', 'kept.ckpt', says='before the run')
    kept = open('kept.ckpt', 'rb').read()
    check('--keep writes a checkpoint', kept[:8] == b'SAMBAPEF')
    full = f'ulimit -f 4; trap "" XFSZ; {TOOLS}/samba-view replay nan.replay --keep kept.ckpt'
    r = subprocess.run(['sh', '-c', full], capture_output=True)
    check('a disk that fills up: the old checkpoint stays', same('kept.ckpt', kept), r.stderr)
    check('and an error', r.returncode == 2 and b'File too large' in r.stderr, r.stderr)
    run('samba-view', 'replay', 'nan.replay', '--keep', 'kept.ckpt', says='before the run')
    for name in (*others, 'link.replay.tmp'):
        check(f'{name} stays', same(name, mine))
    check('the replay file stays', same('nan.replay', replay) and same('link.replay', replay))
    left = [n for n in os.listdir('.') if n.startswith('samba-')]
    check('nothing is left behind', left == ['samba-0123456789abcdef.dir'], left)


# ---- Text and tokens ----
def data():
    every = bytes(range(1, 256)) * 40 + b'the cat sat on the mat. ' * 300
    put('text', every)
    run('samba', 'train-tokenizer', 'text', '--vocab_size', '300', '--output_path', 'words')
    json.load(open('words/vocab.json', encoding='utf-8'))
    lines = [b'{"prompt": "a", "completion": "b"}', b'{"prompt": "\xe0", "completion": "\xc0\xf0"}',
             b'{"prompt": "\\u00e9\\u001b", "completion": "<\\"\\\\>"}']
    put('lines.jsonl', b'\n'.join(lines * 20))
    words = ['--pretrained_tokenizer', 'words', '--max_seq_length', '32', '--output_path']
    run('samba', 'prepare-data', '--input_path', 'lines.jsonl', *words, 'rows.hdf5')
    put('rows.hdf5.part', b'precious')
    run('samba', 'prepare-data', '--input_path', 'lines.jsonl', *words, 'rows.hdf5',
        '--overwrite_output_path')
    check('rows.hdf5.part stays', same('rows.hdf5.part', b'precious'))
    put('bad.jsonl', b'{"prompt": "\x1b[2J\xe0", \n')
    run('samba', 'prepare-data', '--input_path', 'bad.jsonl', *words, 'bad.hdf5', code=1,
        says='bad.jsonl line 1')
    run('samba', 'decode-data', 'rows.hdf5', '--pretrained_tokenizer', 'words',
        '--output_decoded_file_path', 'decoded')
    rows = open('rows.hdf5', 'rb').read()
    run('samba', 'decode-data', 'rows.hdf5', '--pretrained_tokenizer', 'words',
        '--output_decoded_file_path', 'rows.hdf5', code=1, says='the file that is read')
    check('what is decoded stays', same('rows.hdf5', rows))
    odd = b'odd \x1b[2J\n\xe0"'
    put(odd + b'.jsonl', b'\n'.join(lines[:1] * 200))
    run('samba', 'prepare-data', '--pipeline', '--input_path', odd + b'.jsonl', *words, odd)
    meta = [os.path.join(p, f) for p, _, all in os.walk(odd) for f in all if f.endswith(b'.json')]
    for name in meta:
        if b'tokenizer' not in name:
            json.load(open(name, encoding='ascii'))
    check('hashes were written', any(b'files_metadata' in n for n in meta))
    run('samba', 'check-data', odd)
    # what is not read is named, with what to do
    chat = b'{"messages": [{"role": "user", "content": "a"}, {"role": "model", "content": "b"}]}'
    put('chat.jsonl', chat)
    run('samba', 'prepare-data', '--input_path', 'chat.jsonl', *words, 'chat.hdf5', code=1,
        says='say --apply_chat_template')
    for name, kind in (('tokenizer.model', 'SentencePiece'), ('vocab.txt', 'WordPiece')):
        os.mkdir(kind)
        put(f'{kind}/{name}', b'[PAD]\n')
        run('samba', 'prepare-data', '--input_path', 'lines.jsonl', '--pretrained_tokenizer', kind,
            '--max_seq_length', '32', '--output_path', 'kind.hdf5', code=1, says=kind)
    run('samba', 'prepare-data', '--pipeline', '--input_path', 'lines.jsonl', *words, 'shares',
        '--num_training_splits', '4', '--dev_ratio', '0.01', '--test_ratio', '0.3',
        says='--dev_ratio 0.01 of 5 files is none')
    put(b'words/tokenizer_config.json', b'{"model_type": "a\\nb: c"}')
    run('samba', b'\x1b[2J', code=2, says='no command')


def report():
    for name in ('named', 'step', 'many'):
        out = run('samba-device', 'device-report', f'{name}.ckpt')
        check(f'{name}: RAM is told', 'RAM' in out)
    run('samba-device', 'device-report', b'no\x1b\n\xf0', code=1)
    put('slots', bytes(8192))
    run('samba-device', 'device-import', 'named.ckpt', 'slots', '-o', 'learned.ckpt', code=1,
        says='slots')


for checkpoint in ('named.ckpt', 'step.ckpt'):
    forge(checkpoint)
export_c()
view()
arrays()
files()
report()
data()
print(f'{passed} passed, {failed} failed')
sys.exit(failed > 0)
