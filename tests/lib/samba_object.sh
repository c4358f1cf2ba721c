#!/bin/sh
# tests/lib/samba_object.sh COMPILER FLAG...: prints the name of an object, which is samba.h, so
# compiled. Who asks first compiles it for all tests that ask for the same; the others wait. With it
# programs are linked that include samba.h with -DSAMBA__IMPLEMENTED and use public functions alone,
# and those that include the samba.h of build/inside/hollow, which has all prototypes.
set -u
cd "$(dirname "$0")/../.." || exit 1
inside=build/inside
# cc and gcc may be the same compiler.
version=$("$1" --version 2>/dev/null | sed -n '1s/^g\{0,1\}cc //p;q')
name=$({ echo "${version:-$1}" && shift && echo "$*"; } | tr -cs 'A-Za-z0-9.=\n-' _ | tr '\n' ' ')
object=$inside/$(echo $name | tr ' ' _).o
mkdir -p $inside

# What is made takes the time at which its sources were read, for one may be edited meanwhile.
is_new() { [ "$1" -nt samba.h ] && [ "$1" -nt tests/lib/inside.awk ]; }
text() {            # text BODIES FOLDER: samba.h with them (yes) or without (no)
    is_new "$inside/$2/samba.h" && return
    mkdir -p "$inside/$2"
    : >"$inside/$2/begun$$"
    awk -v bodies="$1" -f tests/lib/inside.awk samba.h >"$inside/$2/new$$" &&
        touch -r "$inside/$2/begun$$" "$inside/$2/new$$" &&
        mv "$inside/$2/new$$" "$inside/$2/samba.h"
    rm "$inside/$2/begun$$"
}
compile() {
    # A file there: what is read from stdin would include the samba.h of this folder.
    printf '#define SAMBA_IMPLEMENTATION\n#include "samba.h"\n' >"$inside/whole/$$.c"
    touch -r "$inside/whole/samba.h" "$inside/whole/$$.c"
    "$@" -c -o "$object.new" "$inside/whole/$$.c" >"$object.log" 2>&1 &&
        touch -r "$inside/whole/$$.c" "$object.new" && mv "$object.new" "$object"
    code=$?
    [ $code = 0 ] || cat "$object.log" >&2
    rm "$inside/whole/$$.c"
    return $code
}

if ! is_new "$object" && [ -z "${HELD:-}" ] && command -v flock >/dev/null; then
    HELD=yes exec flock "$object.lock" sh tests/lib/samba_object.sh "$@"
fi
text no hollow && text yes whole || exit 1
is_new "$object" || compile "$@" || exit 1
echo "$object"
