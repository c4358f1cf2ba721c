#!/bin/sh
# tests/lessons/compilers.sh: what lessons print and draw depends neither on compiler, optimization
# nor processor; and the line of each lesson builds it as it stands there.
cd "$(dirname "$0")/../.." || exit 1
out=build/lessons log=build/lessons/compilers.log
mkdir -p $out
. tests/lib/test.sh

# The line is for who stands at the top of the repository.
line_builds() {
    sed -n '1,5s|^//  *\(cc .*\) && ./lesson$|\1|p' "$1" |
        sed "s|-o lesson|-o $out/lesson|" >$out/line
    [ -s $out/line ] && sh $out/line
}
for lesson in examples/lessons/*.c; do
    check "$lesson is built by its own line" line_builds "$lesson"
done
check 'gcc, clang and AArch64 print and draw the same' env \
    COMPILERS="gcc clang aarch64-linux-gnu-gcc" OPTIONS="-O0 -O2" tests/lessons/lessons.sh
cat $log
finish
