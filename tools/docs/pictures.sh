#!/bin/sh
# tools/docs/pictures.sh: draws the pictures of README and its pages anew: make pictures, after make
# run and make web. The pages of the glass box and of the net that learns need chromium and python3.
# how_it_works.svg is drawn by hand; make speed draws speed.svg.
set -e
cd "$(dirname "$0")/../.."
pictures=tools/docs/pictures lesson=examples/lessons/08_optimizers.c page=build/pictures.html

${CC:-cc} -O1 -DSAMBA_NO_SIMD -o build/picture $lesson -lm -pthread
build/picture $pictures/optimizers.svg >/dev/null
echo "$pictures/optimizers.svg"

tools/samba view build/res_ffn.ckpt --values 1 -o $page
python3 - "file://$PWD/$page#tab=graph" $pictures/glass_box.png <<'END'
import base64
import sys
sys.path.insert(0, 'tests/lib')
from browser import Browser

address, path = sys.argv[1:]
with Browser('chromium', address, 1200, 760) as page:
    page.wait('document.querySelector("svg, canvas") !== null')
    picture = page.call('Page.captureScreenshot', format='png')['data']
with open(path, 'wb') as file:
    file.write(base64.b64decode(picture))
END
echo "$pictures/glass_box.png"

python3 tools/docs/web_picture.py chromium build/web $pictures/web_page.png
echo "$pictures/web_page.png"
