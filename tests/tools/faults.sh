#!/bin/sh
# tests/tools/faults.sh: a selection of make faults. Ends with "N passed, N failed".
# run: quick
exec sh "$(dirname "$0")/../faults/run.sh" quick
