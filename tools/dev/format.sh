#!/bin/sh
# tools/dev/format.sh [check | list] [FILE...]: formats C as .clang-format says, these files or all;
# check: only prints what it would change; list: prints which files are all. Other versions than 14
# break some lines elsewhere. Left out are lessons, which are pages of their own form; exercises
# with what judges them, in which learners write; a file that tries all ways to write C.
mode=format
case ${1:-} in
check | list)
    mode=$1
    shift
    ;;
esac
all_files() {
    git ls-files '*.c' '*.h' '*.cpp' |
        grep -vE -e '^examples/lessons/[0-9][^/]*\.c$' -e '^(examples/exercises|tools/learn)/' \
            -e '^tests/mutants/nasty\.c$' -e '^tools/parts/'    # text of samba.h
}
if [ $mode = list ]; then
    all_files
    exit 0
fi
here=build/format.$$
mkdir -p $here || exit 1
trap 'rm -rf $here' EXIT

# samba.h goes chapter by chapter, for clang-format takes a minute for the whole file and three
# seconds for its parts.
in_chapters() {     # in_chapters FILE
    # 000.h is what stands before the first chapter. Blank lines at the end of a chapter stay.
    awk -v here=$here '
        /^\/\* ==== \[/ { n++ }
        { printf "%s\n", $0 > sprintf("%s/%03d.h", here, n) }' "$1"
    for chapter in $here/*.h; do
        clang-format "$chapter" >$chapter.new || exit 1
        blank=$(awk '/./ { last = NR } END { print NR - last }' $chapter)
        awk -v blank=$blank '
            /./ { for (; kept > 0; kept--) print ""; print; next }
            { kept++ }
            END { while (blank-- > 0) print "" }' $chapter.new >>$here/all
    done
    if [ $mode = check ]; then
        diff "$1" $here/all
    else
        cmp -s "$1" $here/all || cat $here/all >"$1"
    fi
    rm -f $here/*
}

[ $# -gt 0 ] || set -- $(all_files)
for file in "$@"; do
    shift
    case $file in
    samba.h | */samba.h) in_chapters "$file" ;;
    *) set -- "$@" "$file" ;;
    esac
done
[ $# -gt 0 ] || exit 0
how=-i
[ $mode != check ] || how=--dry-run
printf '%s\n' "$@" | xargs -n 20 -P "$(nproc 2>/dev/null || echo 1)" clang-format $how 2>&1 |
    grep 'warning: ' | sort -u -t : -k 1,1
exit 0
