#!/usr/bin/env python3
"""view_page.py PAGE [EXPECTED [GRADIENTS NET]]: the data of a page that tools/samba view wrote,
proved: values have the statistics that are said and are made of what their nodes read, memory adds
up, attention's probabilities give what the op made, and gradients of what layers make give those of
their parameters. EXPECTED, lines of a tensor's name and its first values, is what the page shows of
the last step. GRADIENTS is what view_grads says of many files, of which this is NET. Prints a
summary."""
import base64, html.parser, json, math, struct, sys
from broadcast import stretched

FLOATS = ('f32', 'bf16', 'f16')


class Scripts(html.parser.HTMLParser):
    """The texts of all script elements, by id."""
    def __init__(self, text):
        super().__init__()
        self.by_id, self.kinds, self.now = {}, [], None
        self.feed(text)
        self.close()

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


class Page:
    def __init__(self, path):
        self.scripts = Scripts(open(path, encoding='utf-8').read())
        self.data = json.loads(self.scripts.by_id['data'])
        self.tensors, self.nodes = self.data['tensors'], self.data['nodes']
        self.halves = any(t['dtype'] in ('bf16', 'f16') for t in self.tensors)

    def block(self, number, dtype):
        raw = base64.b64decode(self.scripts.by_id[f'v{number}'])
        return struct.unpack(f'<{len(raw) // 4}{"f" if dtype in FLOATS else "i"}', raw)

    def held(self, tensor, end, part=None, step=0):
        """What a tensor holds before node `end` of a step, of microbatch `part` or the last
        one; None: not all of it is kept."""
        found = [s for s in self.data['snapshots']
                 if s['tensor'] == tensor and s['step'] == step and s['node'] < end
                 and s.get('microbatch', 0) == (s.get('microbatch', 0) if part is None else part)]
        if not found or 'kept' in found[-1] or 'block' not in found[-1]:
            return None
        return self.block(found[-1]['block'], self.tensors[tensor]['dtype'])


def single(x):
    return struct.unpack('<f', struct.pack('<f', x))[0]


def close(a, b, scale):
    return abs(a - b) <= 1e-5 * max(scale, 1e-30) + 1e-30


def prove_statistics(page):
    """Of all snapshots; returns how many have all of their values."""
    whole = 0
    for s in page.data['snapshots']:
        t = page.tensors[s['tensor']]
        n = math.prod(t['shape'])
        finite = n - s['nan'] - s['inf']
        assert not finite or sum(s['histogram']['counts']) == finite, t['name']
        if 'block' not in s:
            continue
        v = page.block(s['block'], t['dtype'])
        assert len(v) == s.get('kept', n), (t['name'], len(v), n)
        if 'kept' in s:
            continue
        whole += 1
        f = [x for x in v if math.isfinite(x)]
        assert len(f) == finite and sum(x == 0 for x in f) == s['zeros'], t['name']
        if not f:
            continue
        scale = max(abs(x) for x in f)
        low, high = single(s['histogram']['low']), single(s['histogram']['high'])
        bins = [0] * 32
        for x in f if t['dtype'] == 'f32' and low < high else []:
            bins[min(31, int((x - low) * (32 / (high - low))))] += 1
        moved = sum(abs(a - b) for a, b in zip(bins, s['histogram']['counts']))
        # Nine digits name an f32, which the ends are unless all elements are the same.
        assert t['dtype'] != 'f32' or moved == 0 or s['min'] == s['max'], (t['name'], moved)
        mean = math.fsum(f) / len(f)
        std = math.sqrt(math.fsum((x - mean) ** 2 for x in f) / len(f))
        for name, want in ('min', min(f)), ('max', max(f)), ('mean', mean), ('std', std):
            assert close(s[name], want, scale), (t['name'], name, s[name], want)
    return whole


# ---- What nodes make ----------------------------------------------------------------------------
ELEMENTWISE = {
    'add': lambda a, b: a + b, 'sub': lambda a, b: a - b, 'mul': lambda a, b: a * b,
    'div': lambda a, b: a / b, 'neg': lambda a: -a, 'relu': lambda a: max(a, 0.0),
    'abs': abs, 'tanh': math.tanh, 'exp': math.exp, 'log': math.log, 'sqrt': math.sqrt,
    'sigmoid': lambda a: 1 / (1 + math.exp(-a)), 'maximum': max, 'minimum': min,
}


def made_by(page, n, at):
    """A function from an element's index to its value and to how large what it sums is, from what
    node n, number `at`, reads; None: it is not known, or not all of that is kept."""
    t, op = page.tensors, n['op']
    held = [page.held(i, at, 0) if i >= 0 else None for i in n['in']]
    shape = [t[i]['shape'] if i >= 0 else [] for i in n['in']]
    to = t[n['out'][0]]['shape']
    if None in held or any(t[i]['dtype'] != 'f32' for i in n['in'] + n['out']):
        return None
    if op in ELEMENTWISE:
        def one(e):
            of = [v[stretched(s, to, e)] for v, s in zip(held, shape)]
            return ELEMENTWISE[op](*of), max(map(abs, of))
        return one
    if op == 'scale':
        return lambda e: (held[0][e] * n['attr']['factor'], 0.0)
    if op == 'affine':
        x, w, rows, cols = held[0], held[1], shape[1][0], shape[1][1]

        def product(e):
            r, o = divmod(e, rows)
            terms = [x[r * cols + k] * w[o * cols + k] for k in range(cols)]
            terms += [held[2][o]] if len(held) > 2 else []
            return math.fsum(terms), math.fsum(map(abs, terms))
        return product
    return None


def prove_values(page):
    """What nodes of the forward pass make is made of what they read. Returns of how many."""
    proved = 0
    for at, n in enumerate(page.nodes):
        t = page.tensors[n['out'][0]] if n['out'] and n['out'][0] >= 0 else None
        made = [s for s in page.data['snapshots'] if t and s['tensor'] == n['out'][0]
                and s['node'] == at and s['step'] == 0 and s.get('microbatch', 0) == 0]
        value = made_by(page, n, at) if n['kind'] == 'forward' and made else None
        if not value or 'block' not in made[0]:
            continue
        block = page.block(made[0]['block'], t['dtype'])
        # Halves are rounded: where anything on the page is one, f32 may hold what was rounded.
        rough = 1e-2 if page.halves else 2e-5
        n = len(block)
        for e in sorted({*range(min(64, n)), *range(0, n, n // 200 + 1)}):
            try:
                want, scale = value(e)
            except (ValueError, OverflowError, ZeroDivisionError):
                continue                        # log of a negative number
            fits = abs(block[e] - want) <= rough * max(abs(want), scale) + 1e-30
            assert fits or not math.isfinite(want), (n['name'], n['op'], e, block[e], want)
        proved += 1
    return proved


def prove_gradients(page):
    """dW = dy^T x of linear layers, where dy is said to be the gradient of what the layer makes."""
    proved, end, t = 0, len(page.nodes), page.tensors
    for at, n in enumerate(page.nodes if page.data['microbatches'] == 1 else []):
        if n['op'] != 'affine':
            continue
        x, w, y = n['in'][0], n['in'][1], n['out'][0]
        forward = sum(page.nodes[i]['kind'] == 'forward' for i in t[w]['used'])
        known = 'grad' in t[w] and 'grad' in t[y] and t[w]['role'] == 'parameter'
        if not known or t[y]['dtype'] != 'f32' or forward != 1:     # several: a sum over layers
            continue
        rows, cols = t[w]['shape']
        dw, dy, vx = page.held(t[w]['grad'], end), page.held(t[y]['grad'], end), page.held(x, at)
        if not dw or not dy or not vx or len(vx) * rows > 1 << 20:
            continue
        if not all(map(math.isfinite, dw + dy + vx)):
            continue
        scale = max(map(abs, dw))
        rough = 1e-5 if t[x]['dtype'] == 'f32' else 1e-2    # in bf16 dy is rounded, too
        for e in range(0, rows * cols, 7):
            i, k = divmod(e, cols)
            terms = [dy[r * rows + i] * vx[r * cols + k] for r in range(len(vx) // cols)]
            want, room = math.fsum(terms), max(scale, math.fsum(map(abs, terms)), 1e-30)
            assert abs(dw[e] - want) <= rough * room + 1e-30, (n['name'], dw[e], want)
        proved += 1
    return proved


def products_of(page, n):
    """Multiply-adds of a product, from the shapes of what it reads and makes; None: it is none."""
    shape = [page.tensors[i]['shape'] if i >= 0 else [] for i in n['in']]
    made = math.prod(page.tensors[n['out'][0]]['shape']) if n['out'] else 0
    op, attr = n['op'], n['attr']
    if op in ('affine', 'affine_packed', 'affine_int8'):
        return made * shape[0][-1]
    if op in ('matmul', 'matmul_accumulate'):
        return made * (shape[0][-2] if attr['transpose_a'] and len(shape[0]) > 1 else shape[0][-1])
    if op in ('convolution', 'convolution_int8'):
        return made * math.prod(shape[1][1:])
    if op == 'convolution_backward_input':      # dy, w: each dx sums over channels of y and taps
        return made * (shape[1][0] // attr['groups']) * math.prod(shape[1][2:])
    if op == 'convolution_backward_weight':     # x, dy
        return math.prod(shape[1]) * math.prod(page.tensors[n['out'][0]]['shape'][1:])
    return None


def prove_costs(page):
    """FLOPs of products are two for each multiply-add; a table is read as far as ids reach."""
    for n in page.nodes:
        products = products_of(page, n)
        # With strides, taps that meet a zero are computed as well.
        strided = n['op'] == 'convolution_backward_input' and n['attr']['stride'] != [1, 1]
        about = strided or n['op'].startswith('scaled_dot_product_attention')
        assert n.get('about', False) == about, n['name']
        exact = products is None or about or n['flops'] == 2 * products
        assert exact, (n['name'], n['flops'], products)
        if n['op'] == 'lookup':
            table, places = (page.tensors[i]['shape'] for i in reversed(n['in'][:2]))
            ids, (rows, width) = math.prod(places), table
            if {page.tensors[i]['dtype'] for i in n['in']} == {'i32', 'f32'}:
                want = 4 * (ids + min(rows, ids) * width + ids * width)
                assert n['bytes'] == want, (n['name'], n['bytes'], want)


def prove_losses(page):
    """The loss of a step is the sum of all there are. A loss has an argin or input of ones."""
    names = {t['name']: i for i, t in enumerate(page.tensors)}
    losses = [i for i, t in enumerate(page.tensors) if t['role'] == 'output' and 'grad' in t
              and t['grad'] == names.get(t['name'] + '__grad')]
    for run in page.data['runs'] if page.data['microbatches'] == 1 else []:
        held = [[s for s in page.data['snapshots'] if s['tensor'] == i and s['step'] == run['step']]
                for i in losses]
        whole = all(h and 'block' in h[-1] and 'kept' not in h[-1] for h in held)
        if 'loss' not in run or not whole:
            continue
        want = math.fsum(math.fsum(page.block(h[-1]['block'], 'f32')) for h in held)
        if run['loss'] is None:
            assert not math.isfinite(want), want
            continue
        assert close(run['loss'], want, abs(want)), (run['loss'], want)


def prove_attention(page):
    """Rows are probabilities, the future has none; y = P v, unless dropout zeroes some of P."""
    proved = 0
    for a in page.data['attention']:
        b, h, q, k = a['shape']
        n, p = page.nodes[a['node']], page.block(a['block'], 'f32')
        assert len(p) == b * h * q * k
        for r in range(b * h * q):
            row = p[r * k:(r + 1) * k]
            if any(map(math.isnan, row)):
                assert all(map(math.isnan, row))
                continue
            if a['shape'] == a['whole'] or a['causal']:
                assert close(sum(row), 1.0, 1.0) or not any(row), sum(row)
            assert not a['causal'] or not any(row[r % q + 1:])
        y = page.held(n['out'][0], a['node'] + 1, 0, a['step'])
        v = page.held(n['in'][2], a['node'], 0, a['step'])
        f32 = page.tensors[n['out'][0]]['dtype'] == 'f32'
        if a['shape'] != a['whole'] or not y or not v or len(n['in']) > 4 or not f32:
            continue
        width, scale = len(v) // (b * h * k), max(map(abs, v))
        for r in range(b * h * q if math.isfinite(scale) else 0):
            first = r // q * k
            lost = math.isnan(p[r * k])
            assert lost == any(map(math.isnan, y[r * width:(r + 1) * width])), (n['name'], r)
            for e in range(0 if lost else width):
                want = math.fsum(p[r * k + s] * v[(first + s) * width + e] for s in range(k))
                assert close(y[r * width + e], want, scale), (n['name'], r, e)
        proved += 1
    return proved


def prove_peak(page):
    """At the peak the bytes of all owners are the promise, and tensors own their places: no gap
    has taken one."""
    m = page.data['memory']
    there = [s for s in m['spans'] if s['from'] <= m['peak'] <= s['to']]
    assert sum(s['bytes'] for s in there) == m['promised'] == sum(p['bytes'] for p in m['pools'])
    owned = [(s['pool'], s['offset'], s['offset'] + s['bytes']) for s in there if 'tensor' in s]
    for t in page.tensors:
        pool, begin = t['place']['pool'], t['place']['offset']
        lives = t['role'] != 'temporary' or t['made'] <= m['peak'] <= max(t['used'] + [-1])
        if 'view_of' in t or t['role'] == 'scratch' or not lives:
            continue
        end = begin + t['bytes']
        inside = sum(max(0, min(end, high) - max(begin, low))
                     for p, low, high in owned if p == pool)
        assert inside == t['bytes'], (t['name'], inside, t['bytes'])


def compare(page, path):
    """With what samba_read gave; returns how many tensors."""
    lines = open(path, encoding='utf-8', errors='replace').read().split('\n')
    inner, right = ('temporary', 'scratch'), 0
    names = {t['name']: i for i, t in enumerate(page.tensors) if t['role'] not in inner}
    for name, want in zip(lines[0::2], lines[1::2]):
        t = page.tensors[names[name]]
        last = [s for s in page.data['snapshots'] if s['tensor'] == names[name]]
        assert last, f'{name} is not on the page'
        if page.data['microbatches'] > 1 and t.get('batch_dim', -1) >= 0:
            last = [s for s in last if s['microbatch'] == 0]        # where its rows begin
        want = [single(float(x)) for x in want.split()]
        got = [single(x) for x in page.block(last[-1]['block'], t['dtype'])[:len(want)]]
        assert got == want, (name, got[:4], want[:4])
        right += 1
    return right


def compare_gradients(page, path, net):
    """With the lines "NET: gradient of TENSOR: TENSOR ..." of view_grads; returns how many."""
    lines = [line.split() for line in open(path) if line.startswith(f'{net}: gradient of ')]
    for _, _, _, tensor, *parts in lines:
        t = page.tensors[int(tensor[:-1])]
        said = [t['grad']] if 'grad' in t else [part['tensor'] for part in t.get('grads', [])]
        assert said == [int(part) for part in parts], (t['name'], said, parts)
    return len(lines)


def main():
    page = Page(sys.argv[1])
    d = page.data
    assert d['format'] == 1
    n_code = page.scripts.kinds.count('code')
    assert n_code <= 1, f'{n_code} scripts'     # the viewer: no name has made another one
    whole = prove_statistics(page)
    prove_peak(page)
    for n in page.nodes:
        assert all(-1 <= i < len(page.tensors) for i in n['in'] + n['out']), n
    prove_costs(page)
    prove_losses(page)
    attended, gradients = prove_attention(page), prove_gradients(page)
    values = prove_values(page)
    right = compare(page, sys.argv[2]) if len(sys.argv) > 2 else 0
    if len(sys.argv) > 4:
        gradients = compare_gradients(page, *sys.argv[3:5])
    print(f'{len(page.nodes)} nodes, {len(d["snapshots"])} snapshots, {whole} whole, '
          f'{values} made of what is read, {right} as read, {len(d["rewrites"])} rewrites, '
          f'{attended} of {len(d["attention"])} attentions proved, {gradients} gradients proved')


main()
