#!/bin/sh
# Do the flips of `make mutants` mean what they say? The last line is "N passed, N failed".
# run: quick
cd "$(dirname "$0")/../.." || exit 1
. tests/lib/test.sh
have python3 || skip_all 'flips of operators' 'python3: apt-get install python3'
exec python3 tests/mutants/check.py
