"""What tests/device/web.sh tries with the page of examples/devices/web in a browser:
    web_page.py train BROWSER FOLDER OUT    serve the page, train one pass, download to OUT
    web_page.py open BROWSER FOLDER FILE    open a checkpoint; prints the test accuracy
    web_page.py draw BROWSER FILE           without a server: learn from drawings
    web_page.py call BROWSER FILE WASM      what a function `check` of a module returns
Prints what the page says; fails with a reason."""
import base64
import functools
import http.server
import os
import pathlib
import sys
import threading
import time

from browser import Browser
from looks import SIZES, blind_to, each_look, faults


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


def serve(folder):
    handler = functools.partial(Quiet, directory=folder)
    server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return 'http://127.0.0.1:%d/' % server.server_port


def expect(holds, what):
    if not holds:
        sys.exit('does not hold: ' + what)


def text(page, name):
    return page.evaluate('document.getElementById("%s").textContent' % name)


def click(page, name):
    page.evaluate('document.getElementById("%s").click()' % name)


def wait(page, expression, seconds=60):
    """page.wait, and if that takes too long, what the page looks like."""
    try:
        page.wait(expression, seconds)
    except RuntimeError as error:
        sys.exit('%s; the page: %s; exceptions: %s' % (error, page.evaluate("""JSON.stringify([
            document.body.dataset.state, $("alert").textContent, $("note").textContent, asked,
            again, drawing.filter(value => value).length, $("classes").textContent])"""),
            [event['params'] for event in page.events if 'xception' in event.get('method', '')]))


def wait_for_images(page):
    wait(page, '!document.getElementById("train").disabled')


def stroke(page, points):
    """With the mouse, points in 0 ... 1 of the drawing."""
    left, top, side = page.evaluate('''(() => {
        const pad = document.getElementById("pad");
        pad.scrollIntoView({ block: "center" });
        const box = pad.getBoundingClientRect();
        return [box.left, box.top, box.width];
    })()''')
    places = [(left + side * x, top + side * y) for x, y in points]
    page.mouse('mousePressed', *places[0])
    for place in places[1:]:
        page.mouse('mouseMoved', *place)
    page.mouse('mouseReleased', *places[-1], buttons=0)


def judge(page, state):
    """At both widths, light and dark; afterwards the screen is that of a phone."""
    for look in each_look(page):
        seen = faults(page)
        expect(not seen, '%s, %s: the page can be read and used: %s' % (state, look, seen))
    missed = blind_to(page, SIZES[1])
    expect(not missed, 'planted faults are noticed: %s' % missed)


def best(page):
    """The class that the network takes the drawing for; None: nothing is drawn."""
    wait(page, '!asked && !again')
    return page.evaluate('(document.querySelector("#classes .best span") || {}).textContent')


def train(browser, folder, out):
    address = serve(folder)
    with Browser(browser, address) as page:
        wait_for_images(page)
        judge(page, 'with images')
        expect('60,000 training images, 10,000 test images' in text(page, 'data-state'),
               'the page finds the images in its folder')
        click(page, 'train')
        wait(page, 'document.body.dataset.state === "training"')
        wait(page, 'document.getElementById("loss").textContent !== "–"')
        first = float(text(page, 'loss'))
        stroke(page, [(0.3, 0.3), (0.7, 0.3), (0.7, 0.8), (0.3, 0.8), (0.3, 0.3)])
        wait(page, '!!document.querySelector("#classes .best")')
        slowest = 0
        while page.evaluate('document.body.dataset.state') == 'training':
            begin = time.monotonic()
            page.evaluate('1')
            slowest = max(slowest, time.monotonic() - begin)
            time.sleep(1)
        expect(page.evaluate('document.body.dataset.state') == 'done', 'the training ends')
        wait(page, '!document.getElementById("hash-line").hidden')
        expect(float(text(page, 'loss')) < first / 2, 'the loss has halved')
        expect(slowest < 2, 'the page stayed alive: %.1f s without an answer' % slowest)
        folder = os.path.abspath(out)
        page.call('Browser.setDownloadBehavior', behavior='allow', downloadPath=folder)
        click(page, 'save')
        file = pathlib.Path(out, 'res_ffn.ckpt')
        end = time.monotonic() + 60
        while not (file.exists() and file.stat().st_size > 5000000):
            expect(time.monotonic() < end, 'the checkpoint is downloaded')
            time.sleep(0.2)
        foreign = [url for url in page.requests()
                   if not url.startswith((address, 'blob:', 'data:'))]
        expect(not foreign, 'no requests to other places: %s' % foreign)
        print('test accuracy', text(page, 'test'))
        print('sha256', text(page, 'hash'))
        print('images a second', text(page, 'speed'))


def open_checkpoint(browser, folder, file):
    with Browser(browser, serve(folder)) as page:
        wait_for_images(page)
        page.choose('#restore-file', [__file__])
        wait(page, '!document.getElementById("alert").hidden')
        print('refused:', text(page, 'alert'))
        page.choose('#restore-file', [file])
        wait(page, 'document.getElementById("test").textContent !== "–"', 300)
        expect(page.evaluate('document.getElementById("alert").hidden'), 'no error stands')
        wait(page, '!document.getElementById("hash-line").hidden')
        print('test accuracy', text(page, 'test'))
        print('sha256', text(page, 'hash'))


def draw(browser, file):
    """Lines that lie are trousers, lines that stand are T-shirts: what the page is told."""
    with Browser(browser, pathlib.Path(file).resolve().as_uri(), width=390, height=844) as page:
        wait(page, 'document.getElementById("data-state").textContent.includes("Drop")')
        expect(page.evaluate('document.getElementById("train").disabled'), 'nothing to learn from')
        judge(page, 'without images')
        page.choose('#files', [__file__])
        wait(page, '!document.getElementById("alert").hidden')
        expect('not an IDX file' in text(page, 'alert'), 'a file that is none is refused')
        for label in ('0', '1'):
            for place in (0.3, 0.45, 0.6, 0.75):
                line = [(place, 0.15), (place, 0.85)]
                stroke(page, line if label == '0' else [(y, x) for x, y in line])
                page.evaluate('document.getElementById("label").value = "%s"' % label)
                click(page, 'add')
        wait(page, 'document.getElementById("drawn").textContent === "8 drawings"')
        page.evaluate('document.getElementById("passes").value = 5')
        click(page, 'train')
        wait(page, 'document.body.dataset.state === "done"', 300)
        judge(page, 'trained')
        for points, name in (([(0.6, 0.15), (0.6, 0.9)], 'T-shirt'),
                             ([(0.15, 0.6), (0.9, 0.6)], 'Trousers')):
            click(page, 'clear')
            expect(best(page) is None, 'nothing is seen where nothing is drawn')
            stroke(page, points)
            expect(best(page) == name, 'a new drawing is seen as %s, not %s' % (name, best(page)))
        click(page, 'clear')
        page.evaluate('document.getElementById("pad").focus()')
        page.key('ArrowLeft')
        page.key(' ', ' ')
        ink = 'drawing.reduce((sum, value) => sum + value)'
        expect(page.evaluate(ink) > 0, 'keys draw')
        page.key('x', 'x')
        expect(page.evaluate(ink) == 0, 'keys rub out')
        click(page, 'reset')
        wait(page, 'document.getElementById("loss").textContent === "–"')
        print('drawings are learned')


def call(browser, file, wasm):
    code = base64.b64encode(pathlib.Path(wasm).read_bytes()).decode()
    with Browser(browser, pathlib.Path(file).resolve().as_uri()) as page:
        print(page.evaluate('''(async () => {
            const code = Uint8Array.from(atob("%s"), c => c.charCodeAt(0));
            const imports = { page: { now: () => 0, log: () => 0 } };
            return (await WebAssembly.instantiate(code, imports)).instance.exports.check();
        })()''' % code))


{'train': train, 'open': open_checkpoint, 'draw': draw, 'call': call}[sys.argv[1]](*sys.argv[2:])
