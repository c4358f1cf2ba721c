#!/bin/sh
# What companions write is the same to the byte in a locale that has decimal commas; and they read
# it there.
# run: quick
set -e
cd "$(dirname "$0")/../.."
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
. tests/lib/test.sh
build_with_samba -o "$out/locale" tests/tools/locale.c
if ! { command -v localedef && localedef -i de_DE -f UTF-8 "$out/de_DE.UTF-8"; } >"$out/why" 2>&1
then
    skip_all 'companions in a locale with decimal commas' \
        'localedef and the sources of locales: apt-get install locales'
fi

log=$out/log
write_in() { # LOCALE: log.csv and report.html, without what the clock says
    mkdir "$out/in_$1"
    (cd "$out/in_$1" && ../locale "$1" >said 2>&1) || return 1
    cut -d, -f1,3- "$out/in_$1/log.csv" >"$out/$1.csv"
    grep -o ' d="[^"]*"\|x1="[^"]*"\|y1="[^"]*"\|[cr]*[xy]="[^"]*"' \
        "$out/in_$1/report.html" >"$out/$1.svg"
}
export LOCPATH="$out"
check "the locale has commas" sh -c "\"$out/locale\" de_DE.UTF-8 look"
check "the companions write in C" write_in C
check "the companions write in German" write_in de_DE.UTF-8
check "log.csv is the same" cmp "$out/C.csv" "$out/de_DE.UTF-8.csv"
check "curves are drawn" test -s "$out/C.svg"
check "curves are the same" cmp "$out/C.svg" "$out/de_DE.UTF-8.svg"
finish
