#!/bin/sh
# tools/learn/learn.sh [COMMAND]: the exercises, judged. Your files lie in the folder learn (or in
# $LEARN), where they are copied from examples/exercises when they are first needed.
#   (nothing)         judges the first exercise that has not passed; on a terminal, again whenever
#                     you save it. Keys: h a hint, n skip, l list, q quit
#   list              which have passed
#   judge NAME        judges one, such as 07a
#   hint NAME LEVEL   a hint of level 1, 2 or 3
#   solution NAME     the solution and why; opens when the exercise has passed
#   reset NAME        the exercise as it was; yours is kept as NAME.c.old
# FAST=1: the fast track, one exercise of each chapter. CC: the compiler.
set -u
cd "$(dirname "$0")/../.." || exit 1
CC=${CC:-cc}
mine=${LEARN:-learn}
out=build/learn
passed=$mine/passed
limit=10                            # seconds that an exercise may run
mkdir -p "$mine" "$out" || exit 1
[ -e "$passed" ] || : >"$passed"

# ---- Exercises by name ----
every() { ls examples/exercises | sed -n "s/^\([0-9][0-9]${FAST:+a}[a-z_0-9]*\)\.c\$/\1/p"; }
has_passed() { grep -qxF "$1" "$passed"; }
first_open() {
    every | while read -r name; do
        has_passed "$name" || { echo "$name"; break; }
    done
}
full_name() {                       # 07a, 07a_softmax and 07a_softmax.c are 07a_softmax
    wanted=$(basename "$1" .c)
    found=$(every | grep -E "^$wanted(_|\$)" | head -n 1)
    [ -n "$found" ] && echo "$found" && return
    echo "there is no exercise $1; \"list\" has all" >&2
    return 1
}
fetch() {                           # the learner's copy, made once
    [ -e "$mine/$1.c" ] || cp "examples/exercises/$1.c" "$mine/$1.c"
}

# ---- The judge ----
run_limited() {
    if command -v timeout >/dev/null 2>&1; then timeout "$limit" "$@"; else "$@"; fi
}
build_judge() {                     # build_judge FILE NAME: the learner's file is included by path
    $CC -std=c99 -O1 -g -Wall -Wextra -DEXERCISE="\"$1\"" -o "$out/$2" \
        "tools/learn/judges/$2.c" -lm >"$out/$2.txt" 2>&1
}
judge_file() {                      # judge_file FILE NAME: 0 if it is right; says what is wrong
    path=$1
    case $path in /*) ;; *) path=$PWD/$path ;; esac
    if ! build_judge "$path" "$2"; then
        echo "Not yet. It does not compile:"
        grep -E 'error:|undefined reference' "$out/$2.txt" | sed "s|^.*/||; s/^/  /" | head -n 5
        return 1
    fi
    grep 'warning:' "$out/$2.txt" | sed 's|^.*/||; s/^/  the compiler says: /' | head -n 3
    run_limited "$out/$2" >"$out/$2.said" 2>&1
    code=$?
    case $code in
    124) echo "Not yet. It ran for more than $limit seconds: is there a loop that never ends?" ;;
    0 | 1) cat "$out/$2.said" ;;
    *)
        cat "$out/$2.said"
        echo "Not yet. It ended with code $code: did it write where it should not?" ;;
    esac
    [ $code = 0 ] && grep -q '^Right' "$out/$2.said"
}
judge() {                           # the learner's exercise NAME, with the score
    fetch "$1"
    echo "$mine/$1.c ($(cksum <"$mine/$1.c" | cut -d' ' -f1))"
    if judge_file "$mine/$1.c" "$1" >"$out/verdict"; then
        has_passed "$1" || echo "$1" >>"$passed"
        grep -v '^mistake:' "$out/verdict"
        score
        echo "Why, another way, and a tempting wrong way: tools/learn/learn.sh solution $1"
        return 0
    fi
    if has_passed "$1"; then        # it was changed since
        grep -vxF "$1" "$passed" >"$passed.new"
        mv "$passed.new" "$passed"
    fi
    grep -v '^mistake:' "$out/verdict"
    return 1
}
score() {
    total=$(every | wc -l)
    done=$(every | grep -cxFf "$passed")
    echo "$((done)) of $((total)) exercises done."
}

# ---- Hints and solutions: the comment at the top of tools/learn/solutions/NAME.c ----
section() {                         # section NAME 'Hint 2': its text, of one or more lines
    awk -v title="// $2: " '
        index($0, title) == 1 { inside = 1; print substr($0, length(title) + 1); next }
        inside && /^\/\/   / { print substr($0, 6); next }
        { inside = 0 }' "tools/learn/solutions/$1.c"
}
solution() {
    if ! has_passed "$1"; then
        echo "The solution of $1 opens when yours has passed. There are three hints."
        return 1
    fi
    sed '/^\/\//d' "tools/learn/solutions/$1.c"
    for title in 'Why' 'Another way' 'A tempting wrong way'; do
        echo "$title: $(section "$1" "$title")"
    done
}

# ---- On a terminal: judge again when the file is saved ----
changed() { cksum <"$mine/$1.c" 2>/dev/null; }
key() { dd bs=1 count=1 2>/dev/null; }      # the terminal waits half a second for one
restore() { stty "$terminal"; }
watch() {
    terminal=$(stty -g)
    trap 'restore; exit 0' INT TERM
    stty -icanon -echo min 0 time 5
    name=$(first_open)
    while [ -n "$name" ]; do
        fetch "$name"
        printf '\n==== %s ====\nEdit %s; it is judged when you save it. ' "$name" "$mine/$name.c"
        echo "Keys: h hint, n skip, l list, q quit"
        seen='' level=0
        while ! has_passed "$name" || [ -z "$seen" ]; do
            if [ "$(changed "$name")" != "$seen" ]; then
                seen=$(changed "$name")
                judge "$name" && break
            fi
            case $(key) in
            h) level=$((level % 3 + 1)); echo "Hint $level: $(section "$name" "Hint $level")" ;;
            l) list ;;
            n) skipped="${skipped:-}$name "; break ;;
            q) restore; return ;;
            esac
        done
        name=$(every | while read -r next; do
            has_passed "$next" && continue
            case " ${skipped:-} " in *" $next "*) continue ;; esac
            echo "$next"
            break
        done)
    done
    restore
    score
}
list() {
    every | while read -r name; do
        if has_passed "$name"; then echo "done  $name"; else echo "open  $name"; fi
    done
    score
}

case ${1:-} in
'')
    if [ -t 0 ] && [ -t 1 ]; then watch; exit; fi
    name=$(first_open)
    [ -n "$name" ] || { score; exit 0; }
    judge "$name" ;;
list) list ;;
judge) name=$(full_name "${2:-}") && judge "$name" ;;
judge-file) judge_file "$2" "$3" ;;         # for tests: any file as an answer to exercise $3
hint) name=$(full_name "${2:-}") && section "$name" "Hint ${3:-1}" ;;
solution) name=$(full_name "${2:-}") && solution "$name" ;;
reset)
    name=$(full_name "${2:-}") || exit 1
    [ ! -e "$mine/$name.c" ] || mv "$mine/$name.c" "$mine/$name.c.old"
    fetch "$name" ;;
*) sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//p;}' tools/learn/learn.sh; exit 2 ;;
esac
