#!/bin/sh
# The old path of tools/dev/lint.sh.
exec sh "$(dirname "$0")/dev/lint.sh" "$@"
