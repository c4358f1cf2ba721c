#!/bin/sh
# tools/learn/learn.sh [COMMAND]: the exercises, judged. Your files lie in the folder learn (or in
# $LEARN), where they are copied from examples/exercises when they are first needed.
#   (nothing)         judges the first exercise that has not passed; on a terminal, again whenever
#                     you save it, with keys for all that follows
#   watch NAME        the same, and begins with this one, such as 07a
#   list              which have passed
#   judge NAME        judges one
#   hint NAME LEVEL   a hint of level 1, 2 or 3
#   solution NAME     the solution and why; opens when the exercise has passed
#   reset NAME        the exercise as it was; yours is kept as NAME.c.old
# FAST=1: the fast track, one exercise of each chapter. CC: the compiler. NO_COLOR: no colors.
set -u
case ${LEARN:=learn} in learn | /*) ;; *) LEARN=$PWD/$LEARN ;; esac
cd "$(dirname "$0")/../.." || exit 1
CC=${CC:-cc}
mine=$LEARN
passed=$mine/passed
writable() { mkdir -p "$1" 2>/dev/null && [ -w "$1" ]; }
if ! writable "$mine" || ! { : >>"$passed"; } 2>/dev/null; then
    echo "$mine cannot be written. Choose another folder: LEARN=\$HOME/learn make learn" >&2
    exit 1
fi
out=$PWD/build/learn
writable "$out" || { out=$(cd "$mine" && pwd)/build && mkdir -p "$out"; } || exit 1
. tools/learn/judge.sh

# ---- Exercises by name ----
every() { ls examples/exercises | sed -n "s/^\([0-9][0-9]${FAST:+a}[a-z_0-9]*\)\.c\$/\1/p"; }
has_passed() { grep -qxF "$1" "$passed"; }
next_open() {                       # next_open [NAME]: the open one behind it, or the first
    every | awk -v now="${1:-}" '
        FILENAME == ARGV[1] { done[$0] = 1; next }
        { all[++n] = $0; if ($0 == now) at = n }
        END {
            for (k = 1; k <= n; k++) {
                name = all[(at + k - 1) % n + 1]
                if (!(name in done)) { print name; exit }
            }
        }' "$passed" -
}
full_name() {                       # 07a, 07a_softmax and 07a_softmax.c are 07a_softmax
    wanted=$(basename "${1:-none}" .c)
    found=$(every | grep -E "^$wanted(_|\$)" | head -n 1)
    [ -n "$found" ] && echo "$found" && return
    echo "There is no exercise $wanted; \"list\" has all." >&2
    return 1
}
fetch() {                           # the learner's copy, made once
    [ -e "$mine/$1.c" ] || cp "examples/exercises/$1.c" "$mine/$1.c"
}
score() {
    total=$(every | wc -l)
    done=$(every | grep -cxFf "$passed")
    echo "$((done)) of $((total)) exercises done."
}
list() {                            # list [NAME]: with a mark at this one
    every | while read -r name; do
        if has_passed "$name"; then state=done; else state=open; fi
        [ "$name" = "${1:-}" ] && state="$state >" || state="$state  "
        echo "$state $name"
    done
    score
}
judge_mine() {                      # the learner's exercise NAME, and what it does to the score
    fetch "$1" || return
    echo "$mine/$1.c ($(sum_of "$mine/$1.c" | cut -d' ' -f1))"
    if judge "$mine/$1.c" "$1"; then
        has_passed "$1" || echo "$1" >>"$passed"
        score
        return 0
    fi
    if has_passed "$1"; then        # it was changed since
        grep -vxF "$1" "$passed" >"$passed.new"
        mv "$passed.new" "$passed"
    fi
    return 1
}
reset() {
    [ ! -e "$mine/$1.c" ] || mv "$mine/$1.c" "$mine/$1.c.old"
    fetch "$1"
}

# ---- Hints and solutions: the comment at the top of tools/learn/solutions/NAME.c ----
section() {                         # section NAME 'Hint 2': its text, with its title
    awk -v title="// $2: " '
        index($0, title) == 1 { text = substr($0, 4); next }
        text && /^\/\/   /    { text = text " " substr($0, 6); next }
        text                  { exit }
        END                   { print text }' "tools/learn/solutions/$1.c" |
        fold -s -w "${columns:-96}"
}
solution() {
    if ! has_passed "$1"; then
        echo "The solution of $1 opens when yours has passed. There are three hints."
        return 1
    fi
    sed '/^\/\//d' "tools/learn/solutions/$1.c"
    for title in 'Why' 'Another way' 'A tempting wrong way'; do
        section "$1" "$title"
    done
}

# ---- On a terminal: judge again when the file is saved ----
raw() { stty -icanon -echo min 0 time 5; }
leave() {                           # the terminal as it was
    stty "$terminal"
    score
    exit 0
}
key() { dd bs=1 count=1 2>/dev/null | tr '\n\r' ee; }   # "" after half a second; e is Enter
awaited_key() {
    pressed=''
    while [ -z "$pressed" ] && [ -t 0 ]; do pressed=$(key); done
}
measure() {                         # the terminal, which may have another width now
    columns=$(stty size 2>/dev/null | cut -d' ' -f2)
    [ "${columns:-0}" -ge 20 ] || columns=80
}
shown() {                           # as wide as the terminal, in color; a path stays in one piece
    escape=$(printf '\033')
    color="s/^Right:.*/$escape[32m&$escape[0m/;s/^Not yet.*/$escape[31m&$escape[0m/"
    if [ -n "${NO_COLOR:-}" ] || [ "${TERM:-dumb}" = dumb ]; then color=''; fi
    while IFS= read -r line; do
        case $line in
        "$mine"/*) printf '%s\n' "$line" ;;
        *) printf '%s\n' "$line" | fold -s -w "$columns" ;;
        esac
    done | sed "$color"
}
keys() {                            # keys NAME: what can be pressed
    if has_passed "$1"; then
        echo "Keys: n next, s solution, l list, g go to, r reset, q quit"
    else
        echo "Keys: h hint, n next, l list, g go to, r reset, q quit"
    fi | shown
}
# An editor may have moved or emptied the file, to write it in a moment: that gets a second.
saved() {                           # whether exercise NAME has changed since it was judged
    now=$(sum_of "$mine/$1.c" 2>/dev/null)
    [ "$now" != "$seen" ] || return 1
    if [ ! -s "$mine/$1.c" ] && [ "$waited" -lt 2 ]; then
        waited=$((waited + 1))
        return 1
    fi
    waited=0
    fetch "$1"
    seen=$(sum_of "$mine/$1.c")
}
ask_reset() {
    printf 'Back to the starter? Yours is kept as\n%s\nKeys: y yes, n no\n' "$mine/$1.c.old" | shown
    awaited_key
    [ "$pressed" != y ] || reset "$1"
}
ask_name() {                        # sets chosen
    stty "$terminal"
    printf 'Go to which, such as 07a? '
    read -r answer
    raw
    chosen=$(full_name "${answer:-$1}")
}
watch_one() {                       # until another exercise is chosen
    fetch "$1"
    measure
    printf '\n==== %s ====\n' "$1"
    echo 'Edit this file; it is judged when you save it:' | shown
    seen='' level=0 waited=0
    while [ -t 0 ]; do
        if saved "$1"; then
            measure
            judge_mine "$1" | shown
            keys "$1"
        fi
        pressed=$(key)
        case $pressed in
        h) level=$((level % 3 + 1)); section "$1" "Hint $level" ;;
        s) solution "$1" | shown ;;
        n) chosen=$(next_open "$1") && return ;;
        e) if has_passed "$1"; then chosen=$(next_open "$1") && return; else seen=''; fi ;;
        l) list "$1" ;;
        g) ask_name "$1" && [ "$chosen" != "$1" ] && return ;;
        r) ask_reset "$1" ;;
        q) leave ;;
        *) continue ;;
        esac
        [ -z "$seen" ] || keys "$1"
    done
}
watch() {                           # watch NAME
    terminal=$(stty -g)
    trap leave INT TERM HUP
    trap raw CONT
    raw
    chosen=$1
    while [ -n "$chosen" ] && [ -t 0 ]; do watch_one "$chosen"; done
    echo "All exercises have passed."
    leave
}

command=${1:-}
case $command in
watch | judge | hint | solution | reset) name=$(full_name "${2:-}") || exit ;;
esac
case $command in
'')
    name=$(next_open)
    [ -n "$name" ] || { score; exit 0; }
    if [ -t 0 ] && [ -t 1 ]; then watch "$name"; fi
    judge_mine "$name" ;;
watch) watch "$name" ;;
list) list ;;
judge)
    judge_mine "$name" || exit
    echo "Why, another way, and a tempting wrong way: tools/learn/learn.sh solution $name" ;;
judge-file) judge_file "$2" "$3" ;;         # for tests: any file as an answer to exercise $3
sanitize-file) judge "$2" "$3" ;;           # and with a sanitizer
hint) section "$name" "Hint ${3:-1}" ;;
solution) solution "$name" ;;
reset) reset "$name" ;;
*) sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//p;}' tools/learn/learn.sh; exit 2 ;;
esac
