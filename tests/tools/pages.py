"""What pages and pictures look like, at 1280 and 390 pixels, light and dark:
    pages.py BROWSER [--shots FOLDER] FILE...
FILE is a page, or a picture (.svg), which is looked at inside of a page, as README has it. What is
asked is in tests/lib/looks.py, and faults that are planted must be noticed. --shots: what was
looked at is drawn, too. The last line is "N passed, N failed"."""
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / 'tests/lib'))
from browser import Browser
from checks import check, end
from looks import SIZES, blind_to, each_look, faults

BROWSER, *WORDS = sys.argv[1:]
SHOTS = pathlib.Path(WORDS[1]) if WORDS[0] == '--shots' else None
FILES = WORDS[2:] if SHOTS else WORDS
# What shows a picture.
AROUND = '''<!DOCTYPE html><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1"><title>A picture</title>
<style>body { margin: 12px } svg { max-width: 100%%; height: auto }
@media (prefers-color-scheme: dark) { body { background: #0d1117 } }</style>%s'''


def address(file):
    """Of a page, and the sizes at which it is looked at."""
    if file.suffix != '.svg':
        return file.resolve().as_uri(), SIZES
    page = ROOT / 'build/pages' / (file.name + '.html')
    page.write_text(AROUND % file.read_text(encoding='utf-8'), encoding='utf-8')
    # The others are made for a column of text; on a phone one zooms.
    narrow = file.name in ('speed.svg', 'bench.svg')
    return page.as_uri(), SIZES if narrow else SIZES[:1]


def look(file):
    if not file.is_file():
        return check('%s is there' % file, False)
    uri, sizes = address(file)
    name = file.parent.name + '-' + file.stem
    with Browser(BROWSER, uri) as page:
        for where in each_look(page, sizes):
            seen = faults(page)
            check('%s, %s: it can be read and used' % (file, where), not seen, seen)
            if SHOTS:
                page.screenshot(SHOTS / ('%s-%s.png' % (name, where.replace(' ', '-'))))
        missed = blind_to(page, sizes[-1])
        check('%s: planted faults are noticed' % file, not missed, missed)
    return None


for word in FILES:
    look(pathlib.Path(word))
sys.exit(end())
