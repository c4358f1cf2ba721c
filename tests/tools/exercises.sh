#!/bin/sh
# tests/tools/exercises.sh: of each exercise, the starter as it is fails, the solution passes, an
# empty and a commented-out file fail, and each wrong answer is refused by its name. Wrong answers
# are the solution with a change: NAME.wrong has lines "mistake: old => new", with \n for a new line
# and ;; between several changes. Prints a table.
# run: quick
cd "$(dirname "$0")/../.." || exit 1
out=build/exercises log=build/exercises/log
mkdir -p $out
. tests/lib/test.sh
learn=tools/learn/learn.sh

refused() { ! $learn judge-file "$1" "$2"; }        # and it must say so
refused_as() { fails_with 1 "mistake: $3" $learn judge-file "$1" "$2"; }

# Applies a change to the solution; without a place for it, the file stays empty.
plant() {           # plant SOLUTION 'old => new ;; old => new' RESULT
    CHANGE=$2 awk '
        { text = text $0 "\n" }
        function replaced(text, old, new,    at, out, n) {
            gsub(/\\n/, "\n", old)
            gsub(/\\n/, "\n", new)
            for (; (at = index(text, old)) > 0; n++) {
                out = out substr(text, 1, at - 1) new
                text = substr(text, at + length(old))
            }
            return n ? out text : ""
        }
        END {
            n = split(ENVIRON["CHANGE"], change, " ;; ")
            for (i = 1; i <= n && text != ""; i++) {
                at = index(change[i], " => ")
                text = replaced(text, substr(change[i], 1, at - 1), substr(change[i], at + 4))
            }
            printf "%s", text
        }' "$1" >"$3"
    [ -s "$3" ]
}

printf '%-22s %5s %6s %s\n' exercise lines wrong 'refused by name'
for starter in examples/exercises/*.c; do
    name=$(basename "$starter" .c) solution=tools/learn/solutions/$(basename "$starter")
    check "$name: the starter as it is fails" refused "$starter" "$name"
    check "$name: the solution passes" $learn judge-file "$solution" "$name"
    : >$out/empty.c
    check "$name: an empty file fails" refused $out/empty.c "$name"
    { echo '#if 0'; cat "$solution"; echo '#endif'; } >$out/comment.c
    check "$name: a file that is commented out fails" refused $out/comment.c "$name"
    for title in 'Hint 1' 'Hint 2' 'Hint 3' Why 'Another way' 'A tempting wrong way'; do
        check "$name has: $title" grep -q "^// $title: " "$solution"
    done
    wrong=0 before=$failed
    while IFS= read -r line; do
        mistake=${line%%:*} wrong=$((wrong + 1))
        check "$name: a place for $mistake" plant "$solution" "${line#*: }" $out/wrong.c
        check "$name: $mistake is refused by name" refused_as $out/wrong.c "$name" "$mistake"
    done <tests/tools/exercises/"$name".wrong
    check "$name has five wrong answers" [ $wrong -ge 5 ]
    printf '%-22s %5d %6d %d\n' "$name" "$(wc -l <"$starter")" $wrong $((wrong - failed + before))
done
finish
