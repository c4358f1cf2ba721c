#!/bin/sh
# tests/tools/fuzz.sh: what fuzzing has found, and the inputs that it begins with, once more.
# run: quick
exec "$(dirname "$0")/../fuzz/run.sh" again
