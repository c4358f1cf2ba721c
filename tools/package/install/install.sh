#!/bin/sh
# tools/package/install/install.sh PREFIX [DESTDIR]: copies samba.h and its companions below
# DESTDIR/PREFIX, with what pkg-config and CMake want to know about them. make install calls it.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../.." && pwd)
prefix=${1:?usage: install.sh PREFIX [DESTDIR]}
case $prefix in /*) ;; *) prefix=$PWD/$prefix ;; esac
to=${2:-}$prefix
. "$root/tools/package/description.conf"
VERSION=$(sed -n 's/^#define SAMBA_VERSION "\(.*\)"$/\1/p' "$root/samba.h")

# copy FOLDER FILE...: into a folder below PREFIX.
copy() {
    folder=$to/$1
    shift
    install -d "$folder"
    install -m 644 "$@" "$folder"
}

# fill FILE FOLDER: FILE.in with its @NAMES@ replaced.
fill() {
    escaped=$(printf '%s' "$prefix" | sed 's/[&|\\]/\\&/g')
    install -d "$to/$2"
    sed -e "s|@PREFIX@|$escaped|" -e "s|@VERSION@|$VERSION|" -e "s|@SENTENCE@|$SENTENCE|" \
        -e "s|@LICENSE@|$LICENSE|" "$here/$1.in" >"$to/$2/$1"
    chmod 644 "$to/$2/$1"
}

copy include "$root/samba.h"
(cd "$root/tools/include" && find samba -type d) | while read -r folder; do
    copy "include/$folder" "$root/tools/include/$folder"/*.h
done
fill samba.pc share/pkgconfig
copy share/cmake/samba "$here/samba-config.cmake"
fill samba-config-version.cmake share/cmake/samba
