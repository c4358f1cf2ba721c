#!/bin/sh
# tests/lessons/compilers.sh: what lessons print does not depend on compiler and optimization.
cd "$(dirname "$0")/../.." || exit 1
COMPILERS="gcc clang" OPTIONS="-O0 -O2" exec tests/lessons/lessons.sh
