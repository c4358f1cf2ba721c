"""What tests/tools/view_saves.sh asks of the files that the page saves, of the page of two models,
and of the keyboard:
    view_saves.py BROWSER FOLDER PAGE DIFF OTHER ATTENDS
DIFF is the page of a comparison, OTHER that of the second model alone, ATTENDS one with attention.
Files are saved in FOLDER.
The last line is "N passed, N failed"."""
import base64
import csv
import io
import json
import pathlib
import re
import struct
import sys
import time
import xml.etree.ElementTree as xml

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / 'lib'))
from browser import Browser
from checks import check, end

BROWSER, FOLDER = sys.argv[1], pathlib.Path(sys.argv[2]).resolve()
SVG = '{http://www.w3.org/2000/svg}'


class Page:
    """The data of a page, read from the file itself."""

    def __init__(self, file):
        self.file = pathlib.Path(file).resolve()
        text = self.file.read_text()
        self.data = json.loads(re.search(r'id="data">(.*?)</script>', text, re.S).group(1))
        self.blocks = dict(re.findall(r'<script type="text/plain" id="v(\d+)">(.*?)</script>',
                                      text, re.S))

    def values(self, one, dtype):
        raw = base64.b64decode(self.blocks[str(one['block'])])
        kind = 'i' if dtype in ('i32', 'i64', 'u8', 'i8', 'bool') else 'f'
        return struct.unpack('<%d%s' % (len(raw) // 4, kind), raw)


# ---- Files --------------------------------------------------------------------------------------

def saved(page, tab, name):
    """Presses the button, and returns the text of the file."""
    before = set(FOLDER.iterdir())
    page.evaluate('change({tab: %s})' % json.dumps(tab))
    page.evaluate("document.querySelector('[data-save=\"%s\"]').click()" % name)
    for _ in range(100):
        new = [file for file in set(FOLDER.iterdir()) - before
               if not file.name.endswith('.crdownload') and file.stat().st_size]
        if new:
            text = new[0].read_bytes().decode()
            new[0].unlink()
            return text
        time.sleep(0.1)
    raise RuntimeError('nothing was saved: ' + name)


def table(text):
    return list(csv.reader(io.StringIO(text, newline='')))


def drawing(what, text):
    """An SVG that needs nothing of the page: no classes, no variables, no scripts, no links."""
    root = xml.fromstring(text)
    check(what + ': is an SVG', root.tag == SVG + 'svg' and float(root.get('width')) > 100)
    bad = [e.tag for e in root.iter() if e.get('class') or e.tag in (SVG + 'script', SVG + 'image')]
    check(what + ': stands alone', not bad and 'var(' not in text and 'href' not in text, bad)
    return root


def save_drawings(page, data):
    page.evaluate('change({tab: "graph"}); foldAll(true)')
    root = drawing('graph', saved(page, 'graph', 'graph.svg'))
    texts = [e.text for e in root.iter(SVG + 'text')]
    numbers = {text for text in texts if text and text.isdigit()}
    check('graph: has each node', {str(i) for i in range(len(data['nodes']))} <= numbers, numbers)
    ops = {node['op'] for node in data['nodes'] if len(node['op']) < 12}
    check('graph: names the ops', ops <= set(texts), ops - set(texts))
    fills = {e.get('fill') for e in root.iter(SVG + 'rect')}
    check('graph: has its colours', any(one and one.startswith('rgb') for one in fills), fills)
    root = drawing('memory', saved(page, 'memory', 'memory.svg'))
    titles = [e.text for e in root.iter(SVG + 'title')]
    check('memory: has a block for each span', len(titles) == len(data['memory']['spans']), titles)
    root = drawing('roofline', saved(page, 'cost', 'roofline.svg'))
    points = sum(path.get('d').count('M') for path in root.iter(SVG + 'path')) - 1
    wanted = [n for n in data['nodes'] if n['flops'] and n['bytes'] and n.get('seconds')]
    check('roofline: has a point for each node', points == len(wanted), (points, len(wanted)))


def save_tables(page, data):
    rows = table(saved(page, 'cost', 'cost.csv'))
    costs = {int(row[0]): row for row in rows[1:]}
    check('costs: all nodes', sorted(costs) == list(range(len(data['nodes']))), rows[:3])
    for i, node in enumerate(data['nodes']):
        wanted = [node['flops'], node['bytes'], node.get('seconds', 0)]
        check('costs of node %d' % i, [float(text) for text in costs[i][3:]] == wanted, costs[i])
    rows = table(saved(page, 'memory', 'memory.csv'))
    sizes = [[span['offset'], span['bytes'], span['from'], span['to']]
             for span in data['memory']['spans']]
    check('memory: all spans', [[int(x) for x in row[3:]] for row in rows[1:]] == sizes, rows[:3])


def save_values(page, of):
    """A tensor of two axes and its gradient, value by value and bit by bit."""
    data = of.data
    one = next(s for s in data['snapshots'] if s['node'] >= 0 and 'block' in s and
               len(data['tensors'][s['tensor']]['shape']) == 2 and
               data['tensors'][s['tensor']].get('grad', -1) >= 0)
    tensor = data['tensors'][one['tensor']]
    page.evaluate('change({tab: "graph", step: %d, node: %d})' % (one['step'], one['node']))
    page.evaluate('change({tensor: %d, node: %d})' % (one['tensor'], one['node']))
    name = page.evaluate('document.querySelector("#values [data-save]").dataset.save')
    rows = table(saved(page, 'graph', name))
    check('values: their head', rows[0] == ['axis0', 'axis1', 'value', 'gradient'], rows[0])
    values, columns = of.values(one, tensor['dtype']), tensor['shape'][1]
    places = [[str(i // columns), str(i % columns)] for i in range(len(values))]
    check('values: their indices', [row[:2] for row in rows[1:]] == places, rows[:3])
    check('values: each is exact', [float(row[2]) for row in rows[1:]] == list(values), rows[:3])


def files(file):
    of = Page(file)
    with Browser(BROWSER, 'file://%s' % of.file) as page:
        page.call('Log.enable')
        page.call('Page.setDownloadBehavior', behavior='allow', downloadPath=str(FOLDER))
        save_drawings(page, of.data)
        save_tables(page, of.data)
        save_values(page, of)
        whole = json.loads(saved(page, 'overview', 'data.json'))
        check('data: the blocks', whole.pop('blocks') == of.blocks)
        check('data: all else', whole == of.data)
        asked = [url for url in page.requests() if not url.startswith(('data:', 'blob:'))]
        check('saving asks for nothing', set(asked) <= {'file://%s' % of.file}, asked)
        bad = [e['params'] for e in page.events if e.get('method') in (
            'Runtime.exceptionThrown', 'Runtime.consoleAPICalled', 'Log.entryAdded')]
        check('no error in the console', not bad, bad)


# ---- Two models ---------------------------------------------------------------------------------

def held_by(of):
    """What the page of a model says its tensors held."""
    return {(of.data['tensors'][s['tensor']]['name'], s['node'], s['step']): s
            for s in of.data['snapshots']}


def comparison(file, other):
    both, alone = Page(file), Page(other)
    diff, held = both.data['diff'], held_by(alone)
    changed = [row for row in diff['tensors'] if not row['equal']]
    check('something differs', len(changed) > 10, len(changed))
    for row in changed:
        node = diff['pair'][row['node']] if row['node'] >= 0 else -1
        want, got = held.get((row['name'], node, row['step'])), row.get('other')
        what = 'what b held in %s at step %d' % (row['name'], row['step'])
        if not check_held(what, want, got):
            continue
        dtype = both.data['tensors'][row['tensor']]['dtype']
        check(what + ', value by value', both.values(got, dtype) == alone.values(want, dtype))
    with Browser(BROWSER, 'file://%s' % both.file) as page:
        shown(page, both, changed)


def check_held(what, want, got):
    check(what, want and got, (want, got))
    if want and got:
        figures = ('min', 'max', 'mean', 'std', 'zeros', 'histogram')
        check(what + ', its figures', all(want[key] == got[key] for key in figures))
    return want and got


def shown(page, both, changed):
    """The first opens the page; marks are where values differ; a and b stand side by side."""
    data, first = both.data, both.data['diff']['tensors'][both.data['diff']['first']]
    check('the page opens at the difference', page.evaluate('state.tab') == 'difference')
    check('and at the first tensor', page.evaluate('[state.tensor, state.step]') ==
          [first['tensor'], first['step']])
    page.evaluate('change({node: 0, tab: "difference"})')
    page.evaluate('document.querySelector("#diff-first .link").click()')
    check('one click goes there', page.evaluate('[state.tensor, state.tab]') ==
          [first['tensor'], 'graph'])
    page.evaluate('foldAll(true); paintPart([-1e9, -1e9, 1e9, 1e9], "near")')
    marks = page.evaluate("""Array.from(document.querySelectorAll('.cards .node'), e =>
        [Number(e.dataset.id.slice(1)), e.classList.contains('differs'),
         e.classList.contains('only'), e.textContent.includes('≠')])""")
    differ = {row['node'] for row in changed}
    check('all nodes are drawn', len(marks) == len(data['nodes']), len(marks))
    for node, differs, only, sign in marks:
        alone = data['diff']['pair'][node] < 0
        check('the mark of node %d' % node, [differs, only, sign] ==
              [node in differ and not alone, alone, node in differ and not alone])
    row = next(row for row in changed if row['node'] >= 0)
    page.evaluate('change({step: %d, node: %d})' % (row['step'], row['node']))
    page.evaluate('look.view = "table"; change({tensor: %d})' % row['tensor'])
    figures = page.evaluate("""Array.from(document.querySelectorAll('#statistics tbody tr'), tr =>
        Array.from(tr.children, cell => cell.textContent))""")
    want = row['other']['min']
    check('statistics of b', abs(float(figures[0][2]) - want) <= 1e-6 * abs(want), figures)
    titles = page.evaluate("""Array.from(document.querySelectorAll('#values h4'),
        e => e.textContent)""")
    check('values of a and b', titles[:2] == ['a', 'b'], titles)
    cells = page.evaluate("""Array.from(document.querySelectorAll('#values .one'), one =>
        one.querySelector('tbody td').textContent)""")
    dtype = data['tensors'][row['tensor']]['dtype']
    value = both.values(row['other'], dtype)[0]
    check('the first value of b', abs(float(cells[1]) - value) <= 1e-6 * abs(value), cells)
    check('values that differ are marked',
          page.evaluate('document.querySelectorAll("#values .differs").length') > 0)


# ---- What the page leaves out -------------------------------------------------------------------

def left_out(file):
    """A page of which half was cut off says so: of attention, and of values."""
    of = Page(file)
    entry = of.data['attention'][0]
    samples, heads, queries, keys = entry['shape']
    whole = '"whole":[%d,%d,%d,%d]' % (samples, heads, queries, keys)
    text = of.file.read_text()
    check('the weights are all there', whole in text)
    cut = of.file.with_name('cut.html')
    text = text.replace(whole, '"whole":[%d,%d,%d,%d]' % (samples, heads, 99, 99))
    tall = next(s for s in of.data['snapshots'] if s['node'] >= 0 and 'block' in s and
                len(of.data['tensors'][s['tensor']]['shape']) == 3)
    _, rows, columns = of.data['tensors'][tall['tensor']]['shape']
    block = '<script type="text/plain" id="v%d">' % tall['block']
    raw = base64.b64decode(of.blocks[str(tall['block'])])[:4 * (columns + 1)]
    text = text.replace(block + of.blocks[str(tall['block'])],
                        block + base64.b64encode(raw).decode())
    cut.write_text(text)
    with Browser(BROWSER, 'file://%s' % cut) as page:
        note = page.evaluate('change({tab: "attention"}); $("attention-cut").textContent')
        check('queries that are left out', 'first %d of 99 queries' % queries in note, note)
        page.evaluate('change({tab: "graph", step: %d, node: %d})' % (tall['step'], tall['node']))
        page.evaluate('change({tensor: %d, node: %d})' % (tall['tensor'], tall['node']))
        lines = page.evaluate("""document.querySelectorAll(
            '#values .one:first-child tbody tr').length""")
        check('rows without a value are not shown', lines == 2 < rows, lines)
        text = page.evaluate('$("values").textContent')
        check('values that are left out', 'keeps the first %d of' % (columns + 1) in text, text)
        page.evaluate('look.lead[0] = 1; paintPanel()')
        text = page.evaluate('$("values").textContent')
        check('a slice without values', 'does not keep these values' in text, text)
    with Browser(BROWSER, 'file://%s' % of.file) as page:
        check('nothing is said of what is whole',
              page.evaluate('change({tab: "attention"}); !$("attention-cut")'))


# ---- The keyboard -------------------------------------------------------------------------------

def press(page, key, code, shift=False):
    for kind in ('rawKeyDown', 'keyUp'):
        page.call('Input.dispatchKeyEvent', type=kind, key=key, code=key,
                  windowsVirtualKeyCode=code, modifiers=8 if shift else 0)


AT = """(() => {
    const at = document.activeElement, box = at.getBoundingClientRect();
    const style = getComputedStyle(at);
    if (!at.dataset.walked) at.dataset.walked = String(++walked);
    return { id: at.dataset.walked, tag: at.tagName, text: at.textContent.slice(0, 30),
             seen: box.width > 0 && box.height > 0 && box.bottom > 0 && box.right > 0 &&
                   box.top < innerHeight && box.left < innerWidth,
             outline: style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 1 };
})()"""


def walk(page, tab, width):
    """Tab goes through all that can be used, shows where it is, and comes back to the start."""
    page.evaluate('change({tab: %s}); document.activeElement.blur(); globalThis.walked = 0; '
                  'document.querySelectorAll("[data-walked]").forEach(e => delete e.dataset.walked)'
                  % json.dumps(tab))
    way, back = [], False
    for _ in range(900):
        press(page, 'Tab', 9)
        at = page.evaluate(AT)
        if at['tag'] == 'BODY':
            continue
        if way and at['id'] == way[0]['id']:
            back = True
            break
        way.append(at)
    what = '%s at %d by keys' % (tab, width)
    check(what + ': no trap', back, way[-1:])
    check(what + ': goes far', len(way) > 8, len(way))
    check(what + ': the focus is in sight', all(at['seen'] for at in way),
          [at for at in way if not at['seen']][:3])
    check(what + ': the focus is seen', all(at['outline'] for at in way),
          [at for at in way if not at['outline']][:3])
    want = page.evaluate("""Array.from(document.querySelectorAll(
        'button, input, select, summary, [tabindex="0"]')).filter(
            e => e.checkVisibility() && !e.disabled && e.tabIndex >= 0 && !e.dataset.walked)
            .map(e => e.outerHTML.slice(0, 120))""")
    check(what + ': reaches everything', not want, want[:4])
    press(page, 'Tab', 9, shift=True)
    check(what + ': and backwards', page.evaluate(AT)['id'] in (way[-1]['id'], way[-2]['id']))


def keyboard(file):
    with Browser(BROWSER, 'file://%s' % pathlib.Path(file).resolve()) as page:
        tabs = page.evaluate('VIEWS.filter(view => view.there).map(view => view.id)')
        for width, height in ((1280, 900), (390, 844)):
            page.resize(width, height)
            for tab in tabs:
                walk(page, tab, width)


def main():
    page, diff, other, attends = sys.argv[3:]
    files(page)
    comparison(diff, other)
    left_out(attends)
    keyboard(page)
    sys.exit(end())


main()
