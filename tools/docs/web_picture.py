"""web_picture.py BROWSER FOLDER PICTURE.png: serves the page of `make web`, which trains one pass
over the images beside it, some minutes; draws something on it; takes a picture of it."""
import base64
import functools
import http.server
import sys
import threading

sys.path.insert(0, 'tests/lib')
from browser import Browser

TROUSERS = [(0.37, 0.1), (0.37, 0.92), (0.42, 0.92), (0.42, 0.12), (0.58, 0.12), (0.58, 0.92),
            (0.63, 0.92), (0.63, 0.1), (0.37, 0.16), (0.63, 0.22), (0.37, 0.28), (0.63, 0.3)]


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


def draw(page, points):
    left, top, side = page.evaluate('''(() => {
        const box = document.getElementById("pad").getBoundingClientRect();
        return [box.left, box.top, box.width];
    })()''')
    places = [(left + side * x, top + side * y) for x, y in points]
    page.mouse('mousePressed', *places[0])
    for place in places[1:]:
        page.mouse('mouseMoved', *place)
    page.mouse('mouseReleased', *places[-1], buttons=0)


browser, folder, picture = sys.argv[1:]
handler = functools.partial(Quiet, directory=folder)
server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
with Browser(browser, 'http://127.0.0.1:%d/' % server.server_port, 1160, 950) as page:
    page.wait('!document.getElementById("train").disabled')
    page.evaluate('document.getElementById("train").click()')
    page.wait('document.body.dataset.state === "training"')
    draw(page, TROUSERS)
    page.wait('document.body.dataset.state !== "training"', 3600, each=2)
    page.wait('!document.getElementById("hash-line").hidden')
    # The speed is that of this machine, at this time.
    page.evaluate('document.getElementById("speed").parentElement.style.visibility = "hidden"')
    page.evaluate('document.body.style.overflow = "hidden"')
    page.evaluate('window.scrollTo(0, 0)')
    shot = page.call('Page.captureScreenshot', format='png')['data']
with open(picture, 'wb') as file:
    file.write(base64.b64decode(shot))
