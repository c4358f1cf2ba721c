#!/usr/bin/env python3
"""view_page.py PAGE [EXPECTED]: the data of a page that tools/samba view wrote, proved: values have
the statistics that are said, memory adds up, attention's rows are probabilities; and EXPECTED, lines
of a tensor's name and its first values, is what the page shows of the last step. Prints a summary."""
import base64, html.parser, json, math, struct, sys


class Scripts(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.by_id, self.kinds, self.now = {}, [], None

    def handle_starttag(self, tag, attrs):
        if tag == 'script':
            a = dict(attrs)
            self.now = a.get('id', '')
            self.kinds.append(a.get('type', 'code'))
            self.by_id[self.now] = ''

    def handle_data(self, data):
        if self.now is not None:
            self.by_id[self.now] += data

    def handle_endtag(self, tag):
        if tag == 'script':
            self.now = None


def close(a, b, scale):
    return abs(a - b) <= 1e-5 * max(scale, 1e-30) + 1e-30


def single(x):
    return struct.unpack('<f', struct.pack('<f', x))[0]


def main():
    page = Scripts()
    page.feed(open(sys.argv[1], encoding='utf-8').read())
    page.close()
    d = json.loads(page.by_id['data'])
    assert d['format'] == 1
    floats = ('f32', 'bf16', 'f16')
    n_code = page.kinds.count('code')
    assert n_code <= 1, f'{n_code} scripts'     # the viewer: no name has made another one

    def values(block, dtype):
        raw = base64.b64decode(page.by_id[f'v{block}'])
        return struct.unpack(f'<{len(raw) // 4}{"f" if dtype in floats else "i"}', raw)

    whole = 0
    for s in d['snapshots']:
        t = d['tensors'][s['tensor']]
        n = math.prod(t['shape'])
        finite = n - s['nan'] - s['inf']
        if finite:
            assert sum(s['histogram']['counts']) == finite, t['name']
        if 'block' not in s:
            continue
        v = values(s['block'], t['dtype'])
        assert len(v) == s.get('kept', n), (t['name'], len(v), n)
        if 'kept' in s:
            continue
        whole += 1
        f = [x for x in v if math.isfinite(x)]
        assert len(f) == finite and sum(x == 0 for x in f) == s['zeros'], t['name']
        if not f:
            continue
        scale = max(abs(x) for x in f)
        mean = math.fsum(f) / len(f)
        std = math.sqrt(math.fsum((x - mean) ** 2 for x in f) / len(f))
        for name, want in ('min', min(f)), ('max', max(f)), ('mean', mean), ('std', std):
            assert close(s[name], want, scale), (t['name'], name, s[name], want)

    # The gradient that is said of what a layer makes is right: dW = dy^T x.
    def last(i):
        found = [s for s in d['snapshots'] if s['tensor'] == i and s['step'] == 0 and 'block' in s]
        if not found or 'kept' in found[-1]:
            return None
        return values(found[-1]['block'], 'f32')

    proved = 0
    for n in d['nodes'] if d['microbatches'] == 1 else []:
        t = d['tensors']
        if n['op'] != 'affine':
            continue
        x, w, y = n['in'][0], n['in'][1], n['out'][0]
        if 'grad' not in t[w] or 'grad' not in t[y] or t[y]['dtype'] != 'f32':
            continue
        dw, dy, vx = last(t[w]['grad']), last(t[y]['grad']), last(x)
        rows, cols = t[w]['shape']
        if sum(q['kind'] == 'forward' for q in (d['nodes'][i] for i in t[w]['used'])) != 1:
            continue                        # a sum over several layers
        if not dw or not dy or not vx or t[w]['role'] != 'parameter' or len(vx) * rows > 1 << 20:
            continue
        scale = max(map(abs, dw))
        for at in range(0, rows * cols, 7):
            i, k = divmod(at, cols)
            want = math.fsum(dy[r * rows + i] * vx[r * cols + k] for r in range(len(vx) // cols))
            assert close(dw[at], want, scale), (n['name'], dw[at], want)
        proved += 1

    m = d['memory']
    at_peak = [s for s in m['spans'] if s['from'] <= m['peak'] <= s['to']]
    assert sum(s['bytes'] for s in at_peak) == m['promised'] == sum(p['bytes'] for p in m['pools'])

    for n in d['nodes']:
        assert all(-1 <= i < len(d['tensors']) for i in n['in'] + n['out']), n
    for a in d['attention']:
        b, h, q, k = a['shape']
        p = values(a['block'], 'f32')
        assert len(p) == b * h * q * k
        for r in range(b * h * q):
            row = p[r * k:(r + 1) * k]
            if a['shape'] == a['whole'] or a['causal']:
                assert close(sum(row), 1.0, 1.0), sum(row)
            assert not a['causal'] or not any(row[r % q + 1:])

    right = 0
    if len(sys.argv) > 2:
        lines = open(sys.argv[2], encoding='utf-8', errors='replace').read().split('\n')
        inner = ('temporary', 'scratch')
        names = {t['name']: i for i, t in enumerate(d['tensors']) if t['role'] not in inner}
        for name, want in zip(lines[0::2], lines[1::2]):
            last = [s for s in d['snapshots'] if s['tensor'] == names[name]]
            assert last, f'{name} is not on the page'
            if d['microbatches'] > 1:       # a sum is complete in the last one, rows begin in the first
                batched = d['tensors'][names[name]].get('batch_dim', -1) >= 0
                last = [s for s in last if s['microbatch'] == 0] if batched else last
            got = values(last[-1]['block'], d['tensors'][names[name]]['dtype'])
            want = [single(float(x)) for x in want.split()]
            got = [single(x) for x in got[:len(want)]]
            assert got == want, (name, got[:4], want[:4])
            right += 1
    print(f'{len(d["nodes"])} nodes, {len(d["snapshots"])} snapshots, {whole} whole, {right} as read, '
          f'{len(d["rewrites"])} rewrites, {len(d["attention"])} attentions, '
          f'{proved} gradients proved')


main()
