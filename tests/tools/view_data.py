"""Data for the page of `tools/samba view` without the tool: small programs, planned and filled.
    view_data.py res_ffn|transformer|large|hostile OUT.html
The values are random but of the right shape; what the page shows is compared with them."""
import array
import base64
import itertools
import json
import math
import pathlib
import random
import re
import sys

PAGE = pathlib.Path(__file__).resolve().parents[2] / 'tools/cli/view/page'


class Net:
    """A graph that is written down in the order in which it runs."""

    def __init__(self, title, seed=1):
        self.random = random.Random(seed)
        self.tensors, self.nodes, self.sections, self.values = [], [], [], {}
        self.attention = []
        self.title, self.kind = title, 'forward'

    def tensor(self, name, role, shape, dtype='f32'):
        self.tensors.append(dict(name=name, role=role, dtype=dtype, shape=list(shape), made=-1,
                                 bytes=4 * math.prod(shape), used=[]))
        return len(self.tensors) - 1

    def node(self, name, op, inputs, shape, role='temporary', **attr):
        made = self.tensor(name, role, shape)
        number = len(self.nodes)
        self.tensors[made]['made'] = number
        for i in inputs:
            self.tensors[i]['used'].append(number)
        sizes = [math.prod(self.tensors[i]['shape']) for i in inputs]
        flops = math.prod(shape) * (attr.pop('depth', 0) * 2 or 1)
        total = 4 * (sum(sizes) + math.prod(shape))
        seconds = (flops / 6e10 + total / 9e9 + 4e-7) * self.random.uniform(1, 2)
        self.nodes.append(dict(name=name.replace('.', '/'), op=op, section=len(self.sections),
                               attr=attr, flops=flops, bytes=total, seconds=seconds,
                               view=op in ('reshape', 'transpose'), kind=self.kind,
                               layer=name.split('.')[:-1], out=[made], **{'in': list(inputs)}))
        return made

    def close(self, kind):
        first = self.sections[-1]['end'] if self.sections else 0
        part = self.nodes[first:]
        self.sections.append(dict(type=kind, graph=0, first=first, end=len(self.nodes), **{
            key: sum(node[key] for node in part) for key in ('flops', 'bytes', 'seconds')}))

    def linear(self, name, x, to, width):
        w = self.tensor(name + '.weight', 'parameter', [to, width])
        b = self.tensor(name + '.bias', 'parameter', [to])
        shape = self.tensors[x]['shape'][:-1] + [to]
        return self.node(name + '.affine', 'affine', [x, w, b], shape, depth=width)

    def backward(self, loss):
        """One node for each forward node that has parameters or makes a value, last first."""
        self.close('FWD')
        self.kind, grads = 'backward', {}
        for number in range(self.sections[0]['end'] - 1, -1, -1):
            node = self.nodes[number]
            made = node['out'][0]
            above = [grads[made]] if made in grads else []
            for i in node['in']:
                role = self.tensors[i]['role']
                if role == 'input' or i in grads or self.tensors[i]['dtype'] != 'f32':
                    continue
                name = self.tensors[i]['name']
                grads[i] = self.node(name + '.grad', node['op'] + '_grad', above + [i],
                                     self.tensors[i]['shape'], 'gradient')
                self.tensors[i]['grad'] = grads[i]
        self.close('BCKWD')
        self.kind = 'optimizer'
        for i in [i for i in grads if self.tensors[i]['role'] == 'parameter']:
            self.node(self.tensors[i]['name'] + '.adamw', 'adamw', [i, grads[i]],
                      self.tensors[i]['shape'], lr=0.001, beta1=0.9)
        self.close('OPT')

    def fill(self, steps=3, keep=32768, small=False):
        """Snapshots with their blocks; the values of each are kept in self.values for the tests."""
        snapshots = []
        for step in range(steps):
            for i, tensor in enumerate(self.tensors):
                count = math.prod(tensor['shape'])
                kept = min(count, 8 if small else keep)
                data = self.numbers(i, kept, step)
                finite = [v for v in data if math.isfinite(v)]
                low, high = min(finite), max(finite)
                mean = sum(finite) / len(finite)
                counts = [0] * 32
                for v in finite:
                    counts[min(31, int((v - low) / ((high - low) or 1) * 32))] += 1
                block = len(self.values)
                self.values[block] = data
                snapshots.append(dict(
                    tensor=i, step=step, node=tensor['made'], min=low, max=high, mean=mean,
                    std=math.sqrt(sum((v - mean) ** 2 for v in finite) / len(finite)),
                    zeros=data.count(0), nan=sum(v != v for v in data), inf=0, block=block,
                    histogram=dict(low=low, high=high, counts=counts)))
                if kept < count:
                    snapshots[-1]['kept'] = kept
        return snapshots

    def numbers(self, i, count, step):
        tensor, pick = self.tensors[i], self.random
        if tensor['dtype'] == 'i32':
            return array.array('i', [pick.randrange(50) for _ in range(count)])
        if tensor['name'].endswith('softmax') and len(tensor['shape']) == 4:
            return self.softmax(tensor['shape'], count)
        scale = 0.01 if tensor['role'] == 'gradient' else 0.5 + 0.1 * step
        data = array.array('f', [pick.gauss(0, scale) for _ in range(count)])
        if tensor['name'].endswith('relu'):
            data = array.array('f', [max(v, 0) for v in data])
        if len(tensor['shape']) == 2 and tensor['shape'][1] == 784:
            for at in range(count):
                x, y, row = at % 28 / 28, at // 28 % 28 / 28, at // 784
                wave = math.sin(x * (1 + row % 5) * 3 + row) * math.cos(y * (1 + row // 5) * 3)
                data[at] = wave + data[at] * 0.2
        return data

    def softmax(self, shape, count):
        data = array.array('f', [0.0]) * count
        keys = shape[3]
        for at in range(0, count - keys + 1, keys):
            q = at // keys % shape[2]
            weights = [math.exp(self.random.gauss(0, 1.5) - 0.15 * (q - k)) for k in range(q + 1)]
            for k, w in enumerate(weights):
                data[at + k] = w / sum(weights)
        return data

    def memory(self):
        """First fit: parameters have a pool of their own, what is made lives in the arena."""
        spans, live, own, top = [], [], 0, 0
        end = len(self.nodes) - 1
        for i, tensor in enumerate(self.tensors):
            size = (tensor['bytes'] + 63) // 64 * 64
            if tensor['made'] < 0:
                spans.append(dict(pool=1, offset=own, bytes=size, to=end, tensor=i, **{'from': 0}))
                tensor['place'] = dict(pool=1, offset=own)
                own += size
                continue
            start, last = tensor['made'], max(tensor['used'] + [tensor['made']])
            live = [s for s in live if s[2] >= start]
            offset = 0
            for low, high, _ in sorted(live):
                if low - offset >= size:
                    break
                offset = max(offset, high)
            live.append((offset, offset + size, last))
            top = max(top, offset + size)
            tensor['place'] = dict(pool=0, offset=offset)
            spans.append({'pool': 0, 'offset': offset, 'bytes': size, 'from': start, 'to': last,
                          'tensor': i})
        spans.append({'pool': 2, 'offset': 0, 'bytes': 4096, 'from': 0, 'to': end,
                      'owner': 'packed weights'})
        pools = [dict(name='arena', bytes=top), dict(name='parameters', bytes=own),
                 dict(name='scratch', bytes=4096)]
        peak = self.fill_gaps(spans, top)
        return dict(promised=top + own + 4096, peak=peak, pools=pools, spans=spans)

    def fill_gaps(self, spans, top):
        """At the first node at which the most is alive all bytes of the arena get an owner."""
        grows = [0] * (len(self.nodes) + 1)
        for s in spans:
            if s['pool'] == 0:
                grows[s['from']] += s['bytes']
                grows[s['to'] + 1] -= s['bytes']
        sums = list(itertools.accumulate(grows))
        peak, at = sums.index(max(sums)), 0
        live = [(s['offset'], s['bytes']) for s in spans
                if s['pool'] == 0 and s['from'] <= peak <= s['to']]
        for offset, size in sorted(live) + [(top, 0)]:
            if offset > at:
                spans.append({'pool': 0, 'offset': at, 'bytes': offset - at, 'from': peak,
                              'to': peak, 'owner': 'free at the peak'})
            at = offset + size
        return peak

    def data(self, **more):
        memory = self.memory()
        return dict(format=1, title=self.title, command='tools/samba view ' + self.title,
                    samba='1.0', graphs=['main'], tensors=self.tensors, nodes=self.nodes,
                    machine=dict(name='Synthetic CPU', threads=2, gflops=90.1, gbytes=12.3),
                    sections=self.sections, memory=memory, attention=self.attention,
                    runs=[dict(step=s, loss=2.3 * 0.8 ** s) for s in range(3)], rewrites=[
                        rewrite('fuse relu into affine', 'affine ffn/fc1, relu ffn/relu',
                                'affine_relu ffn/fc1'),
                        rewrite('fold transpose into matmul',
                                'transpose h/0/attn/t, matmul h/0/attn/m',
                                'matmul_nt h/0/attn/m')], **more)


def rewrite(name, before, after):
    """'affine fc1, relu r' is two nodes, by op and name."""
    def ops(text):
        return [dict(zip(('op', 'name'), one.split(' '))) for one in text.split(', ')]
    return {'pass': name, 'before': ops(before), 'after': ops(after)}


def res_ffn():
    net = Net('res_ffn.pef')
    x = net.tensor('image', 'input', [32, 784])
    label = net.tensor('label', 'input', [32], 'i32')
    x = net.linear('ffn.fc1', x, 64, 784)
    x = net.node('ffn.relu', 'relu', [x], [32, 64])
    for name in ('res1', 'res2'):
        y = net.linear(name + '.fc1', x, 64, 64)
        y = net.node(name + '.relu', 'relu', [y], [32, 64])
        y = net.linear(name + '.fc2', y, 64, 64)
        x = net.node(name + '.add', 'add', [x, y], [32, 64])
    x = net.linear('head.logits', x, 10, 64)
    net.backward(net.node('loss.cross_entropy', 'cross_entropy', [x, label], [1], 'output'))
    snapshots = net.fill()
    return net, net.data(snapshots=snapshots, diff=difference(net), open=dict(
        node=3, message='relu made 3 NaN of 2,048 values in step 2'))


def difference(net):
    rows = [dict(name=t['name'], tensor=i, node=t['made'], step=0, equal=i % 7 < 5,
                 count=math.prod(t['shape'])) for i, t in enumerate(net.tensors)]
    for row in rows:
        if not row['equal']:
            row.update(different=17, max_abs=1.2e-6, max_rel=3e-5, index=[0] * len(
                net.tensors[row['tensor']]['shape']), a=0.5, b=0.50000012)
    return dict(a='before.pef', b='after.pef', tensors=rows,
                structure=['node 12 is affine in before.pef, relu in after.pef'],
                first=next(i for i, row in enumerate(rows) if not row['equal']))


def transformer(layers=12, heads=4, length=12, width=48, train=True):
    net = Net('transformer.pef', 2)
    ids = net.tensor('ids', 'input', [1, length], 'i32')
    shape = [1, length, width]
    x = net.node('wte.embedding', 'embedding',
                 [ids, net.tensor('wte.weight', 'parameter', [50, width])], shape)
    for layer in range(layers):
        name = 'h.%d.' % layer

        def norm(at, x):
            gains = [net.tensor(name + at + p, 'parameter', [width]) for p in ('.weight', '.bias')]
            return net.node(name + at + '.layer_norm', 'layer_norm', [x] + gains, shape)
        y = norm('ln_1', x)
        qkv = [net.linear(name + 'attn.' + part, y, width, width) for part in 'qkv']
        maps = [1, heads, length, length]
        scores = net.node(name + 'attn.scores', 'matmul', qkv[:2], maps, depth=width)
        soft = net.node(name + 'attn.softmax', 'softmax', [scores], maps)
        net.attention.append(dict(node=len(net.nodes) - 1, shape=maps, tensor=soft))
        y = net.node(name + 'attn.mix', 'matmul', [soft, qkv[2]], shape, depth=length)
        y = net.linear(name + 'attn.out', y, width, width)
        x = net.node(name + 'add_1', 'add', [x, y], shape)
        y = net.linear(name + 'mlp.fc', norm('ln_2', x), 4 * width, width)
        y = net.node(name + 'mlp.gelu', 'gelu', [y], [1, length, 4 * width])
        y = net.linear(name + 'mlp.out', y, width, 4 * width)
        x = net.node(name + 'add_2', 'add', [x, y], shape)
    x = net.linear('head', x, 50, width)
    loss = net.node('loss.cross_entropy', 'cross_entropy', [x, ids], [1], 'output')
    if train:
        net.backward(loss)
    else:
        net.close('FWD')
    snapshots = net.fill(1, 2000)
    for one in net.attention:
        tensor = one.pop('tensor')
        one['block'] = next(s['block'] for s in snapshots if s['tensor'] == tensor)
    leaky = net.values[net.attention[1]['block']]
    leaky[length * 3 + 7] = 0.25                           # query 3 looks at key 7
    words = ' the cat sat on a mat and the dog sat by it'.split(' ')[1:]
    return net, net.data(snapshots=snapshots, text=dict(tokens=words[:length]))


def large(count=10000):
    net = Net('large.pef', 3)
    x = net.tensor('x', 'input', [4, 4])
    last = [x, x]
    for i in range(count):
        op = ('add', 'mul', 'tanh', 'relu', 'matmul')[i % 5]
        name = 'n%05d.%s' % (i, op) if i % 2 else 'part%d.n%05d.%s' % (i // 400, i, op)
        inputs = last if op in ('add', 'mul', 'matmul') else last[:1]
        last = [net.node(name, op, inputs, [4, 4])] + last[:1]
    net.close('FWD')
    return net, net.data(snapshots=net.fill(1, small=True))


def hostile():
    """Names that would do something if the page took them for HTML, and values that are none."""
    net = Net('</script><img src=x onerror=alert(1)>')
    x = net.tensor('<img src=x onerror=alert(1)>', 'input', [2, 3])
    net.node('a<b>.</script>."quoted"', 'relu', [x], [2, 3])
    net.node('', 'odd op', [1], [], axis='<i>')
    net.close('FWD')
    data = net.data(snapshots=net.fill(1))
    net.values[1][2:5] = array.array('f', [math.nan, math.inf, -math.inf])
    data['snapshots'][1].update(nan=1, inf=2, min=None)
    return net, data


def page(data, values):
    """What the tool does with the files of the page."""
    def put(match):
        name, words = match.group(1), match.group(2).split()
        if name == 'title':
            return data['title'].replace('&', '&amp;').replace('<', '&lt;')
        if name == 'style':
            return (PAGE / 'style.css').read_text()
        if name == 'summary':
            fact = '<dl class="facts"><div><dt>Nodes</dt><dd>%d</dd></div></dl>'
            return fact % len(data['nodes'])
        if name == 'data':
            text = json.dumps(data, separators=(',', ':')).replace('<', '\\u003c')
            return '<script type="application/json" id="data">%s</script>' % text
        if name == 'values':
            blocks = [(number, base64.b64encode(block.tobytes()).decode())
                      for number, block in values.items()]
            return '\n'.join('<script type="text/plain" id="v%d">%s</script>' % one
                             for one in blocks)
        return ''.join((PAGE / word).read_text() for word in words)
    return re.sub(r'<!--(title|style|summary|data|script|values)((?: [\w.]+)*)-->', put,
                  (PAGE / 'index.html').read_text())


def make(kind):
    return dict(res_ffn=res_ffn, transformer=transformer, large=large, hostile=hostile)[kind]()


if __name__ == '__main__':
    made, content = make(sys.argv[1])
    pathlib.Path(sys.argv[2]).write_text(page(content, made.values))
