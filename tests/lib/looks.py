"""How a page looks to a reader: at 1280 and at 390 pixels, on a light and on a dark screen.
    for look in each_look(page): check(look, not faults(page), ...)
What is judged: that nothing makes the page scroll sideways, is cut off, too small, or lies on other
text (layout.js), contrast (contrast.js), names of controls and the reach of keys (controls.js)."""
import pathlib

LIB = pathlib.Path(__file__).parent
JUDGES = [(LIB / (name + '.js')).read_text(encoding='utf-8')
          for name in ('layout', 'contrast', 'controls')]
SIZES = ((1280, 900), (390, 844))
# Faults that a judge who sleeps would let pass: what is done to a page, and what must be told.
PLANTED = {
    'a width of 1900 pixels': ('<div style="width: 1900px">wide</div>', 'wider than the page'),
    'a pale text': ('<p style="color: #999; background: #aaa">pale</p>', 'pale'),
    'a small text': ('<p style="font-size: 7px">small</p>', 'smaller than'),
    'a text that is cut off': ('<p style="width: 40px; overflow: hidden; white-space: nowrap">'
                               'Here is more than fits</p>', 'cut off'),
    'texts on each other': ('<svg width="90" height="40"><text y="20">first</text>'
                            '<text x="9" y="22">second</text></svg>', 'on another text'),
    'a button without a name': ('<button></button>', 'no name'),
}


def settle(page):
    """Until it is drawn, and transitions of colours have ended."""
    page.evaluate("""new Promise(done => requestAnimationFrame(() => setTimeout(done)))
        .then(() => Promise.allSettled(document.getAnimations().map(one => one.finished)))
        .then(() => 0)""")


def faults(page):
    settle(page)
    return [one for judge in JUDGES for one in page.evaluate(judge)]


def each_look(page, sizes=SIZES):
    for width, height in sizes:
        for dark in (False, True):
            page.resize(width, height, dark)
            yield '%d %s' % (width, 'dark' if dark else 'light')


def blind_to(page, size=SIZES[1]):
    """The planted faults that nobody notices, on a phone."""
    page.resize(*size)
    missed = []
    for what, (html, told) in PLANTED.items():
        page.evaluate("""(html => {
            const box = document.createElement('div');
            box.id = 'planted';
            box.innerHTML = html;
            document.body.prepend(box);
        })(%r)""" % html)
        if not any(told in str(one) for one in faults(page)):
            missed.append(what)
        page.evaluate('document.getElementById("planted").remove()')
    return missed
