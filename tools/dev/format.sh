#!/bin/sh
# tools/dev/format.sh [check] [HEADER]: formats samba.h as .clang-format says; check: only prints
# what it would change. It goes chapter by chapter, for clang-format takes a minute for the whole
# file and three seconds for its parts. Other versions than 14 break some lines elsewhere.
mode=format
if [ "${1:-}" = check ]; then
    mode=check
    shift
fi
header=${1:-samba.h}
here=build/format.$$
mkdir -p $here || exit 1
trap 'rm -rf $here' EXIT

# 000.h is what stands before the first chapter. Blank lines at the end of a chapter stay.
awk -v here=$here '
    /^\/\* ==== \[/ { n++ }
    { printf "%s\n", $0 > sprintf("%s/%03d.h", here, n) }' "$header"
for chapter in $here/*.h; do
    clang-format "$chapter" >$chapter.new || exit 1
    blank=$(awk '/./ { last = NR } END { print NR - last }' $chapter)
    awk -v blank=$blank '
        /./ { for (; kept > 0; kept--) print ""; print; next }
        { kept++ }
        END { while (blank-- > 0) print "" }' $chapter.new >>$here/all
done
if [ $mode = check ]; then
    diff "$header" $here/all
else
    cmp -s "$header" $here/all || cat $here/all >"$header"
fi
