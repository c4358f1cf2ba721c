#!/bin/sh
# tests/tools/learn_terminal.sh: `make learn` and its keys, on a pseudo terminal, by
# learn_terminal.py.
# run: quick
cd "$(dirname "$0")/../.." || exit 1
mkdir -p build
log=build/learn_terminal.log
. tests/lib/test.sh
have python3 || skip_all 'make learn in a terminal' 'python3: apt-get install python3'
exec python3 tests/tools/learn_terminal.py build/learn_terminal
