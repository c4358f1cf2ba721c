"""What tests/tools/view_page.sh asks of the page of the glass box in a browser:
    view_page.py BROWSER AXE FILE|KIND...   a page of the tool, or one of view_data.py (res_ffn ...)
AXE is axe.min.js, or - if it is not there. The last line is "N passed, N failed"."""
import base64
import html
import json
import pathlib
import re
import struct
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / 'lib'))
import view_data
from browser import Browser

BROWSER, AXE = sys.argv[1:3]
SIZES = ((1280, 900), (390, 844))
passed = failed = 0


def check(what, holds, found=''):
    global passed, failed
    passed += bool(holds)
    failed += not holds
    if not holds:
        print('FAILED %s %s' % (what, str(found)[:1200]))


def contents(text):
    """The data of a page and the values of its blocks, as the page itself cannot change them."""
    data = json.loads(re.search(r'<script[^>]*id="data">(.*?)</script>', text, re.S).group(1))
    blocks = dict(re.findall(r'<script type="text/plain" id="v(\d+)">(.*?)</script>', text, re.S))
    return data, blocks


def bad_events(page):
    return [event['params'] for event in page.events if event.get('method') in (
        'Runtime.exceptionThrown', 'Runtime.consoleAPICalled', 'Log.entryAdded')]


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


def clicks(name, page, data, blocks):
    """20 tensors, chosen by clicking in the panel of their node: statistics and first values."""
    made = [one for one in data['snapshots'] if one['node'] >= 0 and str(one.get('block')) in blocks]
    newest = {}
    for one in made:
        newest[one['step'], one['node'], one['tensor']] = one
    made = list(newest.values())
    for one in made[::max(1, len(made) // 20)][:20]:
        page.evaluate('change({tab: "graph", step: %d, node: %d})' % (one['step'], one['node']))
        page.evaluate('document.querySelector("#panel [data-tensor=\'%d\']").click()' % one['tensor'])
        page.evaluate('look.view = "table"; paintPanel()')
        shown = page.evaluate("""[Array.from(document.querySelectorAll('#statistics dd'), e => e.textContent),
            Array.from(document.querySelectorAll('#values .one:first-child tbody tr:first-child td'),
                       e => e.textContent), $('tensor-title').textContent]""")
        what = '%s: tensor %d of node %d shows what the run gave' % (name, one['tensor'], one['node'])
        wanted = [one[key] for key in ('min', 'max', 'mean', 'std')]
        check(what, all(map(same, shown[0], wanted)), (shown[0], wanted))
        values = block_values(data, blocks, one)[:len(shown[1])]
        check(what + ', value by value', shown[1] and all(
            same(text, value) for text, value in zip(shown[1], values)), (shown[1], values))


def search(name, page, data):
    """Each answer in 100 ms; what is found in a fold opens it."""
    last = data['nodes'][-1]
    page.evaluate('change({tab: "graph"}); foldAll(false)')
    for text in (last['op'], last['name'] or last['op'], 'no such thing', 'a', str(len(data['nodes']) - 1)):
        spent, rows = page.evaluate("""(() => {
            const start = performance.now();
            $('find').value = %s;
            $('find').dispatchEvent(new Event('input'));
            return [performance.now() - start, search.rows.length];
        })()""" % json.dumps(text))
        check('%s: search for %r in 100 ms' % (name, text), spent < 100, spent)
        check('%s: search for %r finds' % (name, text), (rows == 0) == (text == 'no such thing'), rows)
    place = len(data['nodes']) - 1
    page.evaluate('openFound({node: %d})' % place)
    check(name + ': what is found is opened', page.evaluate(
        'visibleOf(leafOf[%d]) === leafOf[%d] && state.node === %d' % (place, place, place)))
    page.evaluate("$('find').value = ''; $('find').dispatchEvent(new Event('input'))")


def first_paint(name, page, file):
    page.call('Page.navigate', url='about:blank')
    page.call('Page.navigate', url='file://%s' % file)
    page.wait('document.readyState === "complete"')
    spent = page.wait("""(performance.getEntriesByType('paint')[0] || {startTime: 0}).startTime &&
        Math.max(performance.getEntriesByName('ready')[0].startTime,
                 performance.getEntriesByType('paint')[0].startTime)""", 20, 0.1)
    print('%s: first paint with the graph after %.0f ms' % (name, spent))
    check(name + ': first paint in 1.5 s', spent < 1500, spent)


def accessible(name, page):
    if AXE == '-':
        return
    page.evaluate(pathlib.Path(AXE).read_text() + '; 0')
    large = page.evaluate('nodes.length') > 2000        # axe takes 20 s there
    tabs = page.evaluate('VIEWS.filter(view => view.there).map(view => view.id)')
    for tab in ['graph'] if large else tabs:
        page.evaluate('change({tab: "%s"})' % tab)
        for width, height in SIZES[:1] if large else SIZES:
            for dark in (False,) if large else (False, True):
                page.resize(width, height, dark)
                time.sleep(0.3)                         # transitions of colours end
                found = page.evaluate("""axe.run().then(all => all.violations.map(
                    one => [one.id, one.nodes.length, one.nodes[0].html.slice(0, 200),
                            one.nodes[0].any.map(why => why.message).join(' ').slice(0, 200)]))""")
                check('%s, %s at %d, %s: axe' % (name, tab, width, 'dark' if dark else 'light'), not found, found)
                wide = page.evaluate('document.documentElement.scrollWidth - innerWidth')
                check('%s, %s at %d: nothing sticks out' % (name, tab, width), wide <= 0, wide)
    page.resize(*SIZES[0])


def keyboard(name, page, data):
    """By keys alone: search, step, go through the graph, read the plan, change the view."""
    page.evaluate('change({tab: "graph", node: 0}); document.activeElement.blur()')
    page.key('/')
    check(name + ': / goes to the search', page.evaluate('document.activeElement.id') == 'find')
    page.evaluate('$("find").blur()')
    page.key(']')
    check(name + ': ] goes to the next node', page.evaluate('state.node') == min(1, len(data['nodes']) - 1))
    page.key('[')
    page.evaluate('foldAll(true); change({node: 0}); $("stage").focus()')
    page.key('ArrowDown')
    check(name + ': arrows go through the graph', page.evaluate('stage.current !== leafOf[0]'))
    page.evaluate('foldAll(false)')
    address = page.evaluate('change({tab: "cost", node: 1}); location.hash')
    check(name + ': the address keeps what is chosen', 'tab=cost' in address and 'node=1' in address, address)
    if data['memory']['spans']:
        page.evaluate('change({tab: "memory"}); document.querySelector(".plan").focus()')
        page.key('ArrowUp')
        reading = page.evaluate('$("plan-reading").textContent')
        check(name + ': the plan tells the owner', ' B at ' in reading, reading)


def peak(name, page, data):
    """At the peak, and elsewhere, the sum over the owners of bytes and what is free is the promise."""
    if not data['memory']['spans']:
        return
    peak = page.evaluate('change({tab: "memory"}), plan.peak')
    for node in (0, peak, len(data['nodes']) - 1):
        page.evaluate('change({node: %d})' % node)
        verdict, total = page.evaluate('[$("plan-verdict").textContent, owners(%d).reduce((s, row) => s + row.bytes, 0)]' % node)
        check('%s: sum and promise at node %d' % (name, node), verdict.startswith('✓') and
              total == data['memory']['promised'], (verdict, total))


def special(name, page, data):
    """What single pages must tell."""
    if name == 'transformer':
        text = page.evaluate('change({tab: "attention"}); $("attention-leaks").textContent')
        check('the leak of the causal mask is told', 'leaks' in text and 'token 3' in text and '0.25' in text, text)
    if page.evaluate('change({tab: "cost"}), !!roof.element'):
        node = page.evaluate("""(() => {
            const { i, x, y } = roof.points[roof.points.length >> 1], scale = roofScales();
            const box = roof.element.firstChild.getBoundingClientRect(), unit = box.width / ROOM.w;
            const near = nearestPoint({ clientX: box.left + scale.x(x) * unit, clientY: box.top + scale.y(y) * unit });
            return near && near.x === x && near.y === y && nodes[i] !== undefined;
        })()""")
        check(name + ': the roofline tells the node under the pointer', node)
    if name == 'hostile':
        check('names are text', page.evaluate('document.querySelectorAll("img, i img").length') == 0)
    if data.get('diff'):
        text = page.evaluate('change({tab: "difference"}); $("view-difference").textContent')
        first = data['diff'].get('first')
        wanted = data['diff']['tensors'][first]['name'] if first is not None else 'are equal'
        check(name + ': the first tensor that diverges', wanted in text, text[:300])
    if data.get('open', {}).get('message'):
        check(name + ': says why it opens there', data['open']['message'] in page.evaluate('$("alert").textContent'))


def viewer_size(name, text):
    """The page as the tool writes it, without the data and the values."""
    viewer = re.sub(r'<script[^>]*id="(data|v\d+)">.*?</script>', '', text, flags=re.S)
    size = len(viewer.encode())
    print('%s: the viewer has %d bytes' % (name, size))
    check(name + ': the viewer is at most 150 kB', size <= 150000, size)


def whole(name, file):
    text = file.read_text()
    data, blocks = contents(text)
    if name.startswith('tool_'):
        viewer_size(name, text)
    with Browser(BROWSER, 'file://%s' % file) as page:
        page.call('Log.enable')
        first_paint(name, page, file)
        if data.get('open', {}).get('node') is not None:
            check(name + ': opens at the guilty node', page.evaluate('state.node') == data['open']['node'])
        requests = [url for url in page.requests() if not url.startswith('data:') and url != 'about:blank']
        check(name + ': no request', set(requests) <= {'file://%s' % file}, requests)
        check(name + ': its title', html.unescape(page.evaluate('document.querySelector("h1").textContent')) ==
              data['title'])
        if name != 'hostile':
            search(name, page, data)
            clicks(name, page, data, blocks)
            keyboard(name, page, data)
        peak(name, page, data)
        special(name, page, data)
        accessible(name, page)
        check(name + ': no error in the console', not bad_events(page), bad_events(page))


def main():

    for word in sys.argv[3:]:
        file = pathlib.Path(word)
        if file.suffix != '.html':
            file = pathlib.Path('build/view_page') / (word + '.html')
            net, data = view_data.make(word)
            file.write_text(view_data.page(data, net.values))
        whole(file.stem, file.resolve())
    print('%d passed, %d failed' % (passed, failed))
    sys.exit(failed > 0)


main()
