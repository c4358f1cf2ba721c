#!/bin/sh
# tests/tools/exercises_outside.sh [NAME]: one step too far. In each loop of each solution, in turn,
# < becomes <=, and <= t becomes <= 1 + t, and make learn has to refuse that: by what it knows, or
# because the sanitizer says that an array was left. Prints how many were refused by a sentence that
# helps. 01c, 11c, 16a and 18b have none: their solutions are formulas, without a loop or an array.
cd "$(dirname "$0")/../.." || exit 1
out=$PWD/build/exercises_outside name=${1:-}
mkdir -p "$out"
log=$out/log${name:+_$name}
. tests/lib/test.sh
can=$out/can_${name:-all}           # two exercises are judged at the same time
echo 'int main(void) { return 0; }' >"$can.c"
${CC:-cc} -fsanitize=address,undefined "$can.c" -o "$can" 2>"$log" ||
    skip_all 'exercises under sanitizers' 'a compiler that has them, such as gcc'
export LEARN="$out/learn" LEARN_FLAGS=-O0 LEARN_SECONDS=1

# Loops that touch nothing outside with one pass more, and change nothing, either: an exercise, and
# the number of its loop. In 19a, no tensor is alive behind the last node.
harmless='
19a_peak 1
'
too_far() {                         # too_far K FILE: one more in the K-th for, or nothing
    awk -v k="$1" '
        /^ *\/\// { next }
        /for \(/ && / <=? / && ++n == k {
            if (!sub(/ < /, " <= ")) sub(/ <= /, " <= 1 + ")
            found = 1
        }
        /slot s\[2\]/ && ++n == k { slots = found = 1 }         # 21a, without a loop
        slots { sub(/&s\[1\]/, "\\&s[2]") }
        { text = text $0 "\n" }
        END { if (found) printf "%s", text }' "$2"
}
exercise() {
    k=1 named=0
    while too_far $k "tools/learn/solutions/$name.c" >"$out/$name.c" && [ -s "$out/$name.c" ]; do
        case $harmless in
        *"
$name $k
"*) ;;
        *)
            check "$name: one step too far in loop $k is refused" \
                fails_with 1 'Not yet' tools/learn/learn.sh sanitize-file "$out/$name.c" "$name"
            grep -v -e '^Not yet' -e 'should be [-0-9.a-z]*[.]$' "$log.said" |
                grep -q '^  [a-z]' && named=$((named + 1))
            total=$((${total:-0} + 1)) ;;
        esac
        k=$((k + 1))
    done
    echo "$name: $named of ${total:-0} by a sentence"
    echo "$passed $failed $named ${total:-0}" >"$out/$name.counts"
}
if [ -n "$name" ]; then
    exercise
    finish
fi
names=$(ls examples/exercises | sed -n 's/\.c$//p')
both=$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)
rm -f "$out"/*.counts
for name in $names; do echo "$name"; done |
    xargs -n 1 -P "$both" sh -c '"$1" "$3" >"$2/said_$3" 2>&1 || :' sh "$0" "$out"
named=0 total=0
for name in $names; do
    grep -v -x '[0-9]* passed, [0-9]* failed' "$out/said_$name"
    p=0 f=1 s=0 t=0
    [ ! -e "$out/$name.counts" ] || read -r p f s t <"$out/$name.counts"
    passed=$((passed + p)) failed=$((failed + f)) named=$((named + s)) total=$((total + t))
done
echo "$named of $total by a sentence"
finish
