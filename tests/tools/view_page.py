"""What the page of the glass box must do in a browser, with the network off:
    view_page.py BROWSER AXE [--shots FOLDER] FILE|KIND...
FILE is a page of the tool, KIND one of view_data.py (res_ffn ...). AXE is axe.min.js, or - if it is
not there. --shots: all views are drawn, too, and what can be open in that of the graph is judged. A
line for each page tells what was measured; the last line is "N passed, N failed"."""
import array
import base64
import html
import itertools
import json
import math
import pathlib
import re
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / 'lib'))
import view_data
from broadcast import stretched
from browser import Browser
from checks import check, end
from looks import SIZES, blind_to, faults, settle

BROWSER, AXE, *WORDS = sys.argv[1:]
SHOTS = pathlib.Path(WORDS[1]) if WORDS[0] == '--shots' else None
PAGES = WORDS[2:] if SHOTS else WORDS
# What a page must have at least: one that has lost it would pass with nothing looked at.
USUAL = {'views': 'overview graph memory cost', 'nodes': 2, 'clicks': 20}
LEAST = {
    'hostile': {'views': 'overview graph cost', 'clicks': 0},
    'res_ffn': {'views': USUAL['views'] + ' difference'},
    'transformer': {'views': USUAL['views'] + ' attention'},
    'large': {'nodes': 10000},
    'ResFFN': {'views': USUAL['views'] + ' rewrites', 'nodes': 30, 'parameters': 671754},
    'LeNet': {'views': USUAL['views'] + ' rewrites', 'nodes': 40, 'parameters': 61706},
    'GPT-2-small': {'views': USUAL['views'] + ' attention rewrites', 'nodes': 900,
                    'parameters': 124439808},
    'graph-of-10000': {'views': USUAL['views'] + ' rewrites', 'nodes': 10000},
}


# ---- The file -----------------------------------------------------------------------------------
def contents(text):
    """The data of a page and the values of its blocks, as the page itself cannot change them."""
    data = json.loads(re.search(r'<script[^>]*id="data">(.*?)</script>', text, re.S).group(1))
    blocks = dict(re.findall(r'<script type="text/plain" id="v(\d+)">(.*?)</script>', text, re.S))
    return data, blocks


def block_values(data, blocks, one):
    raw = base64.b64decode(blocks[str(one['block'])])
    whole = data['tensors'][one['tensor']]['dtype'] in ('i32', 'i64', 'u8', 'i8', 'bool')
    return struct.unpack('<%d%s' % (len(raw) // 4, 'i' if whole else 'f'), raw)


def same(shown, value):
    """To 6 digits and more."""
    if value is None:
        return shown == '–'
    try:
        seen = float(shown.replace('∞', 'inf'))
    except ValueError:
        return False
    if value != value or value in (float('inf'), float('-inf')):
        return str(seen) == str(value)
    return abs(seen - value) <= 1e-6 * abs(value)


def viewer_size(name, text):
    """The page as the tool writes it, without the data and the values."""
    viewer = re.sub(r'<script[^>]*id="(data|v\d+)">.*?</script>\n?', '', text, flags=re.S)
    size = len(viewer.encode())
    check(name + ': the viewer is at most 150 kB', size <= 150000, size)


def complete(name, page, data):
    """The page has what the net has."""
    least = {**USUAL, **LEAST.get(name, {})}
    views = page.evaluate('VIEWS.filter(view => view.there).map(view => view.id)')
    check(name + ': its views', set(least['views'].split()) <= set(views), views)
    check(name + ': its nodes', len(data['nodes']) >= least['nodes'], len(data['nodes']))
    if 'parameters' in least:
        there = sum(math.prod(t['shape']) for t in data['tensors'] if t['role'] == 'parameter')
        check(name + ': its parameters', there == least['parameters'], there)
    return views, least['clicks']


def quickest(measure, limit):
    """The best of up to five times, as other programs run, too: measure() gives [time, ...]."""
    best = measure()
    for _ in range(4):
        if best[0] >= limit:
            best = min(best, measure())
    return best


def decoded(name, page, data, blocks):
    """The page reads the values of each block as they are in the file."""
    right = page.evaluate("""snapshots.filter(one => one.block >= 0).map(one => {
        const values = block(one.block, INTEGERS.has(tensors[one.tensor].dtype));
        return new Uint32Array(values.buffer).reduce((sum, word) => (sum + word) % 4294967296, 0);
    })""")
    sums = {number: sum(array.array('I', base64.b64decode(text))) % 2 ** 32
            for number, text in blocks.items()}
    wanted = [sums[str(one['block'])] for one in data['snapshots'] if 'block' in one]
    check(name + ': the values of all blocks', right == wanted)


# ---- Opening ------------------------------------------------------------------------------------
def reload(page, file):
    page.call('Page.navigate', url='about:blank')
    page.call('Page.navigate', url='file://%s' % file)
    page.wait('document.readyState === "complete"')


def first_paint(name, page, file):
    """Until the graph is on the screen."""
    def measure():
        reload(page, file)
        return [page.wait('window.seenAfter', 20, 0.1)]

    page.call('Page.addScriptToEvaluateOnNewDocument', source="""new PerformanceObserver(list => {
        if (list.getEntriesByName('ready').length) {
            requestAnimationFrame(() => setTimeout(() => window.seenAfter = performance.now()));
        }
    }).observe({ type: 'mark', buffered: true })""")
    best = quickest(measure, 1500)[0]
    check(name + ': first paint in 1.5 s', best < 1500, best)
    return best


def bad_events(page):
    return [event['params'] for event in page.events if event.get('method') in (
        'Runtime.exceptionThrown', 'Runtime.consoleAPICalled', 'Log.entryAdded')]


def silent(name, page, file):
    """After all else: nothing was asked for, nothing was said."""
    page.evaluate('new Promise(done => setTimeout(done, 300))')
    asked = {url for url in page.requests() if not url.startswith('data:')}
    asked -= {'about:blank', 'file://%s' % file}
    check(name + ': no request', not asked, asked)
    check(name + ': no error in the console', not bad_events(page), bad_events(page))


# ---- Using it -----------------------------------------------------------------------------------
FIND = '$("find").value = "%s"; $("find").dispatchEvent(new Event("input"))'


def find(page, text):
    """[milliseconds that the page computes, how many answers, what is written, milliseconds on the
    clock], in the first frame after a text is typed."""
    before = page.computed()
    rows, note, clock = page.evaluate("""new Promise(done => requestAnimationFrame(() => {
        const start = performance.now();
        %s;
        requestAnimationFrame(() => setTimeout(() => done([
            search.rows.length, $('found').textContent, performance.now() - start])));
    }))""" % FIND % text)
    return [1000 * (page.computed() - before), rows, note, clock]


def search(name, page, data):
    """Each answer in 100 ms, with all folds closed and open; what is found in a fold opens it.
    What counts is the time that the page's thread computes: it is the same on a busy machine.
    Returns the slowest, and on the clock."""
    last, place, slowest = data['nodes'][-1], len(data['nodes']) - 1, [0, 0]
    for folds in ('false', 'true'):
        page.evaluate('change({tab: "graph"}); foldAll(%s)' % folds)
        for text in (last['op'], last['name'] or last['op'], 'none of these', 'a', str(place)):
            spent, rows, note, clock = quickest(lambda: find(page, text), 100)
            slowest = [max(slowest[0], spent), max(slowest[1], clock)]
            check('%s: search for %r in 100 ms' % (name, text), spent < 100, spent)
            right = (rows == 0) == (text == 'none of these') == ('Nothing matches' in note)
            check('%s: search for %r finds' % (name, text), right, (rows, note[:80]))
    page.evaluate('foldAll(false); openFound({node: %d})' % place)
    check(name + ': what is found is opened', page.evaluate(
        'visibleOf(leafOf[%d]) === leafOf[%d] && state.node === %d' % (place, place, place)))
    page.evaluate(FIND % '')
    return slowest


def shows_gradient(what, page, data, blocks, one):
    """Beside the values of the chosen tensor are those of its gradient, of this step."""
    tensor = data['tensors'][one['tensor']]
    said = page.evaluate('($("no-gradient") || {}).textContent || ""')
    check(what + ', or says why it has no gradient', said == tensor.get('no_grad', ''), said)
    parts = tensor.get('grads', [])
    if 'grad' in tensor:
        parts = [{'tensor': tensor['grad']}]
    if not parts:
        return
    row = page.evaluate("""Array.from(document.querySelectorAll(
        '#values .one:nth-child(2) tbody tr:first-child td'), cell => cell.textContent)""")
    right = any(all(map(same, row, values))
                for values in gradients(data, blocks, one, parts, len(row)))
    check(what + ', and its gradient', row and right, row)
    told = page.evaluate('document.querySelector(".links").textContent')
    wanted = ['; its gradient is '] + [data['tensors'][part['tensor']]['name'] for part in parts]
    check(what + ', whose name is told', all(one in told for one in wanted), told)


def gradients(data, blocks, one, parts, n):
    """What the first n elements of a gradient may be in a step: what is kept of each part, as it is
    after one node or another, summed."""
    shape, held = data['tensors'][one['tensor']]['shape'], []
    for part in parts:
        from_shape = data['tensors'][part['tensor']]['shape']
        axes, size = part.get('axes'), math.prod(shape)
        places = list(range(n))
        if axes:
            steps = [math.prod(from_shape[axis + 1:]) for axis in axes]
            places = [sum(e // math.prod(shape[d + 1:]) % shape[d] * steps[d]
                          for d in range(len(shape))) for e in range(n)]
        elif math.prod(from_shape) != size:
            places = [stretched(from_shape, shape, e) for e in range(n)]
        kept = [block_values(data, blocks, s) for s in data['snapshots']
                if s['tensor'] == part['tensor'] and s['step'] == one['step'] and 'block' in s]
        held.append([[values[e] for e in places] for values in kept if len(values) > max(places)])
    return [[struct.unpack('f', struct.pack('f', sum(of)))[0] for of in zip(*choice)]
            for choice in itertools.product(*held)]


def clicks(name, page, data, blocks, least):
    """Clicks with the mouse on nodes of the graph and on a tensor of each: its statistics and first
    values are those of the run. Returns how many."""
    newest = {(one['step'], one['node'], one['tensor']): one for one in data['snapshots']
              if one['node'] >= 0 and str(one.get('block')) in blocks}
    made = list(newest.values())
    page.evaluate('change({tab: "graph"}); look.view = "table"')
    done = 0
    for one in made[::max(1, len(made) // 20)][:20]:
        node, tensor = one['node'], one['tensor']
        what = '%s: tensor %d of node %d shows what the run gave' % (name, tensor, node)
        other = (node + 1) % len(data['nodes'])
        page.evaluate('change({step: %d, node: %d})' % (one['step'], other))
        page.evaluate('reveal(leafOf[%d]); relayout(); intoSight(leafOf[%d])' % (node, node))
        page.click('$("stage").querySelector(`[data-id="${leafOf[%d].id}"]`)' % node)
        check(what + ': the node is chosen', page.evaluate('state.node') == node)
        page.click('$("panel").querySelector("[data-tensor=\'%d\']")' % tensor)
        figures, row = page.evaluate("""['#statistics dd',
            '#values .one:first-child tbody tr:first-child td'].map(selector =>
            Array.from(document.querySelectorAll(selector), cell => cell.textContent))""")
        wanted = [one[key] for key in ('min', 'max', 'mean', 'std')]
        check(what, len(figures) >= 4 and all(map(same, figures, wanted)), (figures, wanted))
        values = block_values(data, blocks, one)[:len(row)]
        right = row and len(values) == len(row) and all(map(same, row, values))
        check(what + ', value by value', right, (row, values))
        shows_gradient(what, page, data, blocks, one)
        done += 1
    check('%s: %d clicks' % (name, least), done >= least, done)
    return done


def keyboard(name, page, data):
    """By keys alone: search, step, go through the graph, read the plan, change the view."""
    page.evaluate('change({tab: "graph", node: 0}); document.activeElement.blur()')
    page.key('/')
    check(name + ': / goes to the search', page.evaluate('document.activeElement.id') == 'find')
    page.evaluate('$("find").blur()')
    page.key(']')
    check(name + ': ] goes to the next node', page.evaluate('state.node') == 1)
    page.key('[')
    page.evaluate('foldAll(true); change({node: 0}); $("stage").focus()')
    page.key('ArrowDown')
    check(name + ': arrows go through the graph', page.evaluate('stage.current !== leafOf[0]'))
    page.evaluate('foldAll(false)')
    address = page.evaluate('change({tab: "cost", node: 1}); location.hash')
    kept = 'tab=cost' in address and 'node=1' in address
    check(name + ': the address keeps what is chosen', kept, address)
    if data['memory']['spans']:
        page.evaluate('change({tab: "memory"}); document.querySelector(".plan").focus()')
        page.key('ArrowUp')
        reading = page.evaluate('$("plan-reading").textContent')
        check(name + ': the plan tells the owner', ' B at ' in reading, reading)


def peak(name, page, data):
    """At the peak, and elsewhere, the owners' bytes and the free ones together are the promise."""
    if not data['memory']['spans']:
        return
    peak = page.evaluate('change({tab: "memory"}), plan.peak')
    for node in (0, peak, len(data['nodes']) - 1):
        page.evaluate('change({node: %d})' % node)
        verdict, total = page.evaluate("""[$('plan-verdict').textContent,
            owners(%d).reduce((sum, row) => sum + row.bytes, 0)]""" % node)
        right = verdict.startswith('✓') and total == data['memory']['promised']
        check('%s: sum and promise at node %d' % (name, node), right, (verdict, total))
    own = sum(one['bytes'] for one in data['memory']['spans'] if one['from'] <= peak <= one['to'])
    owned, free = page.evaluate("""change({node: %d}), owners(%d).reduce(
        (sums, row) => (sums[row.span ? 0 : 1] += row.bytes, sums), [0, 0])""" % (peak, peak))
    check(name + ': at the peak every byte has an owner', (owned, free) == (own, 0), (owned, free))


def special(name, page, data, blocks):
    """What single pages must tell."""
    if name == 'transformer':
        text = page.evaluate('change({tab: "attention"}); $("attention-leaks").textContent')
        told = all(word in text for word in ('leaks', 'token 3', '0.25'))
        check('the leak of the causal mask is told', told, text)
    steps = sorted({one['step'] for one in data['snapshots']})
    for step in steps if data.get('attention') else []:
        node = data['attention'][0]['node']
        held = [one for one in data['attention'] if one['node'] == node and
                one.get('step', 0) <= step]
        seen = page.evaluate("""change({tab: "attention", step: %d}),
            Array.from(attentionValues(entryOf(0)).subarray(0, 20))""" % step)
        raw = base64.b64decode(blocks[str(held[-1]['block'])])[:80]
        right = seen == list(struct.unpack('<%df' % (len(raw) // 4), raw))
        check('%s: attention of step %d' % (name, step), right, seen)
        note = page.evaluate('!!$("attention-step")')
        check('%s: says if it is of another step' % name, note == (held[-1].get('step', 0) != step))
    about = page.evaluate("""change({tab: "cost"}), cost.shown = 1000, paintCost(),
        Array.from(document.querySelectorAll("#cost-table tbody tr")).filter(
            row => row.textContent.includes("≈")).length""")
    wanted = sum(one.get('about', False) for one in data['nodes'])
    check(name + ': what is an estimate', about == wanted or len(data['nodes']) > 1000,
          (about, wanted))
    if page.evaluate('change({tab: "cost"}), !!roof.element'):
        node = page.evaluate("""(() => {
            const { i, x, y } = roof.points[roof.points.length >> 1], scale = roofScales();
            const box = roof.element.firstChild.getBoundingClientRect(), unit = box.width / ROOM.w;
            const near = nearestPoint({ clientX: box.left + scale.x(x) * unit,
                                        clientY: box.top + scale.y(y) * unit });
            return near && near.x === x && near.y === y && nodes[i] !== undefined;
        })()""")
        check(name + ': the roofline tells the node under the pointer', node)
    beside = page.evaluate("""change({tab: "graph"}), Array.from(inputLeaf.values()).filter(
        one => one.parent.open && one.parent.children.some(
            other => other.kind !== 'input' && other.y === one.y)).length""")
    check(name + ': no input widens a chain', beside == 0, beside)
    if name == 'hostile':
        check('names are text', page.evaluate('document.querySelectorAll("img").length') == 0)
    if data.get('diff'):
        text = page.evaluate('change({tab: "difference"}); $("view-difference").textContent')
        first = data['diff'].get('first')
        wanted = data['diff']['tensors'][first]['name'] if first is not None else 'are equal'
        check(name + ': the first tensor that diverges', wanted in text, text[:300])
    message = data.get('open', {}).get('message')
    if message:
        said = page.evaluate('$("alert").textContent')
        check(name + ': says why it opens there', message in said, said)


# ---- How it looks -------------------------------------------------------------------------------
# What can be open in the view of the graph, and how it is closed again.
AS = 'look.view = "%s"; paintPanel()'
WIDE = 'document.body.classList.toggle("wide", %s); paintPanel()'
STATES = {
    'found': (FIND % 'a', FIND % ''),
    'heat': (AS % 'heat', AS % 'table'),
    'images': (AS % 'image', AS % 'table'),
    'wide': (WIDE % 'true', WIDE % 'false'),
    'walking': ('step(5)', 'change({walking: false})'),
    'keys': ('showKeys()', '$("keys").close()'),
    'details': ('document.querySelectorAll("details").forEach(one => one.open = true)',
                'paintPanel()'),
}

def judge(what, page):
    """axe, and what tests/lib/looks.py asks; returns how many rules of axe are broken."""
    settle(page)
    found = [] if AXE == '-' else page.evaluate("""axe.run({ resultTypes: ['violations'] }).then(
        all => all.violations.map(one => [one.id, one.nodes.length,
            one.nodes[0].html.slice(0, 200),
            one.nodes[0].any.map(why => why.message).join(' ').slice(0, 200)]))""")
    check(what + ': axe', not found, found)
    seen = faults(page)
    check(what + ': it can be read and used', not seen, seen)
    over = page.evaluate('''innerWidth < 1000 ? 0 :
        document.documentElement.scrollHeight - innerHeight''')
    check(what + ': nothing sticks out below on a wide screen', over <= 0, over)
    return len(found)


def looks(name, page, file, views):
    """Each view at both widths, light and dark. Returns how many were judged, and how many rules of
    axe they break."""
    reload(page, file)                      # as it opens
    if AXE != '-':
        page.evaluate(pathlib.Path(AXE).read_text() + '; 0')
    page.evaluate("""change({ node: Math.max(0,
        nodes.findIndex(one => kindOf(one) === 'forward' && one.flops > 0)) })""")
    all_looks = [(view, None, size, dark)
                 for view in views for size in SIZES for dark in (False, True)]
    if SHOTS:
        all_looks += [('graph', state, size, size[0] < 500) for state in STATES for size in SIZES]
    broken = 0
    for view, state, (width, height), dark in all_looks:
        page.evaluate('change({tab: "%s"})' % view)
        page.resize(width, height, dark)
        page.evaluate(STATES[state][0] if state else '0')
        look = '%s-%s-%d-%s' % (name, state or view, width, 'dark' if dark else 'light')
        broken += judge(look, page)
        if SHOTS:
            page.screenshot(SHOTS / (look + '.png'))
        page.evaluate(STATES[state][1] if state else '0')
    missed = blind_to(page)
    check(name + ': planted faults are noticed', not missed, missed)
    return len(all_looks), broken


# ---- All of it ----------------------------------------------------------------------------------
def whole(name, file):
    text = file.read_text()
    data, blocks = contents(text)
    opened = data.get('open', {}).get('node')
    with Browser(BROWSER, 'about:blank') as page:
        page.call('Log.enable')
        page.offline()
        paint = first_paint(name, page, file)
        if opened is not None:
            check(name + ': opens at the guilty node', page.evaluate('state.node') == opened)
        title = html.unescape(page.evaluate('document.querySelector("h1").textContent'))
        check(name + ': its title', title == data['title'])
        views, least = complete(name, page, data)
        slowest, clicked = [0, 0], 0
        if name != 'hostile':
            slowest = search(name, page, data)
            clicked = clicks(name, page, data, blocks, least)
            keyboard(name, page, data)
        decoded(name, page, data, blocks)
        peak(name, page, data)
        special(name, page, data, blocks)
        judged, broken = looks(name, page, file, views)
        silent(name, page, file)
    axe = '%d rules of axe broken in' % broken if AXE != '-' else 'no axe for'
    print('%s: %d nodes, %.1f MB, the graph is seen after %.0f ms, a search computes %.0f ms at '
          'most (%.0f ms on the clock), %d clicks, %s %d looks' % (
              name, len(data['nodes']), file.stat().st_size / 1e6, paint, *slowest, clicked, axe,
              judged), flush=True)


def main():
    for word in PAGES:
        file = pathlib.Path(word)
        if file.suffix != '.html':
            file = pathlib.Path('build/view_page') / (word + '.html')
            net, data = view_data.make(word)
            file.write_text(view_data.page(data, net.values))
        else:
            viewer_size(file.stem, file.read_text())
        whole(file.stem, file.resolve())
    sys.exit(end())


main()
