#!/bin/sh
# tests/tools/linear.sh: each reader takes linear time, by inputs of 1, 2, 4 and 8 MB.
exec "$(dirname "$0")/../fuzz/run.sh" linear
