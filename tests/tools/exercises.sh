#!/bin/sh
# tests/tools/exercises.sh [NAME]: of each exercise, the starter as it is fails, the solution
# passes, an empty and a commented-out file fail, and each mistake of tools/learn/mistakes is
# refused by its name: all of them in one program, and two as files of a learner. Prints a table;
# with a NAME such as 07a_softmax, judges that one alone.
# run: quick
cd "$(dirname "$0")/../.." || exit 1
out=$PWD/build/exercises name=${1:-}
log=$out/log${name:+_$name}
mkdir -p "$out"
. tests/lib/test.sh
learn=tools/learn/learn.sh compiler=${CC:-cc}

# The exit code is that of a refusal, and a sentence says so.
refused() { fails_with 1 'Not yet. ' $learn judge-file "$1" "$name"; }
refused_as() {
    fails_with 1 "mistake: $2" $learn judge-file "$1" "$name" ||
        CC=$compiler fails_with 1 "mistake: $2" $learn judge-file "$1" "$name"
}

# The solution with the change of mistake K, as a file. Those without a change stand at the end.
plant() {           # plant K RESULT
    awk -v only="$1" -f tools/learn/known.awk "$solution" "$listed" >"$2"
    [ -s "$2" ]
}
names_of_judge() {  # what it asks the list for
    sed -n 's/.*judge_\(holds\|clue\)(.*"\([A-Za-z_0-9]*\)");$/\2/p' "tools/learn/judges/$name.c" |
        sort -u
}
listed_with_sentence() {
    awk -F: -v name="$1" '
        /^[A-Za-z]/       { found = $1 == name }
        /^    / && found  { n++ }
        END               { exit !n }' "$listed"
}

# ---- A learner in chapter k: a tree with the chapters up to k ----
chapters_up_to() {                  # chapters_up_to K FOLDER
    rm -rf "$2"
    for folder in tools/learn/judges tools/learn/mistakes tools/learn/solutions \
        examples/exercises examples/lessons; do
        mkdir -p "$2/$folder"
        for file in "$folder"/[0-9]*; do
            number=${file#"$folder/"}
            [ "${number%%[!0-9]*}" -gt "$1" ] || echo "$file"
        done | xargs sh -c 'cp -p "$@" "$0"' "$2/$folder"
    done
    cp -p tools/learn/*.* "$2/tools/learn"
}
# What all judges share is compiled here, once, and not in each tree.
share_common() (                    # share_common TREE
    CC=$compiler out=$PWD/build/learn
    mkdir -p "$out" "$1/build/learn"
    . tools/learn/judge.sh
    build_common
    cp -p "$common" "$1/build/learn"
)
judged_in() (                       # judged_in FOLDER ANSWER CODE: as the learner's own file
    cp "$2" "$1/learn/$name.c"
    cd "$1" || exit
    fails_with "$3" "learn/$name.c ($(cksum <"learn/$name.c" | cut -d' ' -f1))" \
        $learn judge "$name"
)
spent() {                           # seconds: of the processor, since the last call
    times >"$here/times"            # its second line is that of finished processes: 0m1.23s 0m0.45s
    now=$(sed -n '2{s/[ms]/ /g;p;}' "$here/times" | awk '{ print $1 * 60 + $2 + $3 * 60 + $4 }')
    seconds=$(echo "$now ${before:-0}" | awk '{ printf "%.2f", $1 - $2 }')
    before=$now
}
not() { ! "$@"; }
below() { echo "$1 $2" | awk '{ exit !($1 < $2) }'; }

# ---- One exercise: a line of the table, then how many checks passed ----
exercise() {
    starter=examples/exercises/$name.c solution=tools/learn/solutions/$name.c
    listed=tools/learn/mistakes/$name.txt known=build/learn/$name.known
    here=$out/$name tree=$out/$name/tree
    mkdir -p "$here"
    chapters_up_to "$(echo "$name" | cut -c1-2)" "$tree"
    mkdir "$tree/learn"
    share_common "$tree"
    spent
    check "$name: the solution passes in a tree of its chapters" judged_in "$tree" "$solution" 0
    spent
    build=$seconds
    check "$name: and again without a compiler" "$tree/build/learn/$name"
    spent
    run=$seconds
    check "$name builds in 3 s" below "$build" 3
    check "$name runs in 10 s" below "$run" 10
    check "$name: the score counts it" grep -qx "$name" "$tree/learn/passed"
    export LEARN_FLAGS=-O0 LEARN_SANITIZER=no           # a refusal needs neither
    # tcc is ten times as fast as gcc; it lacks a little of C.
    ! CC=tcc $learn judge-file "$solution" "$name" >/dev/null 2>&1 || export CC=tcc
    check "$name: the starter fails in its place" judged_in "$tree" "$starter" 1
    check "$name: and counts no more" not grep -qx "$name" "$tree/learn/passed"
    : >"$here/empty.c"
    check "$name: an empty file fails" refused "$here/empty.c"
    { echo '#if 0'; cat "$solution"; echo '#endif'; } >"$here/comment.c"
    check "$name: a file that is commented out fails" refused "$here/comment.c"
    for title in 'Hint 1' 'Hint 2' 'Hint 3' Why 'Another way' 'A tempting wrong way'; do
        check "$name has: $title" grep -q "^// $title: " "$solution"
    done
    wrong=$(grep -c ' => ' "$listed")
    "$tree/$known.program" check "$tree/$known" >"$here/unnamed" 2>&1
    check "$name: all mistakes were judged" grep -qx '[0-9]* mistakes' "$here/unnamed"
    sed -i '/^[0-9]* mistakes$/d' "$here/unnamed"
    check "$name: each mistake is refused by its name" not grep . "$here/unnamed"
    for k in 1 $((wrong / 2)); do
        mistake=$(grep ' => ' "$listed" | sed -n "${k}s/:.*//p")
        check "$name: a place for $mistake" plant "$k" "$here/wrong.c"
        check "$name: $mistake is refused by name" refused_as "$here/wrong.c" "$mistake"
    done
    for asked in $(names_of_judge); do
        check "$name: a sentence for $asked" listed_with_sentence "$asked"
    done
    check "$name has five wrong answers" [ "$wrong" -ge 5 ]
    named=$((wrong - $(wc -l <"$here/unnamed")))
    printf '%-26s %5d %8.2f %6.2f %12s\n' "$name" "$(wc -l <"$starter")" "$build" "$run" \
        "$named of $wrong"
    echo "$passed $failed" >"$here/counts"
}

if [ -n "$name" ]; then
    exercise
    finish
fi

# ---- All of them, as many at once as there are processors ----
names=$(ls examples/exercises | sed -n 's/\.c$//p')
both=$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)
rm -f "$out"/*/counts
printf '%-26s %5s %8s %6s %12s\n' exercise lines 'build s' 'run s' 'by name'
for name in $names; do echo "$name"; done |
    xargs -n 1 -P "$both" sh -c 'tests/tools/exercises.sh "$1" >"$0/said_$1" 2>&1 || :' "$out"
for name in $names; do
    grep -v -x '[0-9]* passed, [0-9]* failed' "$out/said_$name"
    if [ -e "$out/$name/counts" ]; then read -r p f <"$out/$name/counts"; else p=0 f=1; fi
    passed=$((passed + p)) failed=$((failed + f))
done
echo "$names" | wc -l | sed 's/$/ exercises/'
finish
