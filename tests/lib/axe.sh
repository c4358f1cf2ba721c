#!/bin/sh
# tests/lib/axe.sh [install]: prints where axe.min.js is, of axe-core, whose rules tell whether all
# can use a page. $AXE says it; else it is that of the Python package axe-playwright-python, in
# python3's own folders or in a virtual environment below SAMBA_JUDGES (~/.cache/samba-judges),
# where `install` puts it. Fails, and says why, if there is none.
judges=${SAMBA_JUDGES:-$HOME/.cache/samba-judges}/axe
find_axe() {
    if [ -n "${AXE:-}" ]; then file=$AXE
    else
        for python in python3 "$judges/bin/python"; do
            file=$($python -c 'import importlib.util
print(importlib.util.find_spec("axe_playwright_python").submodule_search_locations[0])' \
                2>/dev/null)/axe.min.js
            [ ! -f "$file" ] || break
        done
    fi
    [ -f "$file" ] && echo "$file"
}
find_axe && exit
[ -z "${AXE:-}" ] || { echo "AXE=$AXE: there is no such file" >&2; exit 1; }
if [ "${1:-}" != install ]; then
    echo 'axe-core is not there: tests/lib/axe.sh install gets it from PyPI' >&2
    exit 1
fi
# Without what it depends on: the file alone is used, not the package's Playwright.
python3 -m venv "$judges" >&2 &&
    "$judges/bin/python" -m pip -q install --no-deps axe-playwright-python==0.1.8 >&2 &&
    find_axe
