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
limit=5                             # seconds of the processor that an exercise may use
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

# ---- The judge: a program that includes the learner's file by its path ----
build_judge() {                     # build_judge FILE NAME PROGRAM FLAG...
    file=$1 program=$3 source=tools/learn/judges/$2.c
    shift 3
    $CC -std=c99 -g -Wall -Wextra -Werror=implicit-function-declaration "$@" \
        -DEXERCISE="\"$file\"" -o "$program" "$source" -lm >"$program.txt" 2>&1
}
compiler_says() {                   # compiler_says error|warning FILE MESSAGES: those about FILE
    awk -v kind=" $1: " -v file="$2" '
        FILENAME == file { line[FNR] = $0; next }
        index($0, file ":") == 1 && (at = index($0, kind)) && n++ < 3 {
            split(substr($0, length(file) + 2), number, ":")
            print "  line " number[1] ": " substr($0, at + length(kind))
            text = line[number[1]]
            sub(/^[ \t]+/, "", text)
            if (text != seen) print "      " text
            seen = text
        }' "$2" "$3"
}
misfit() {                          # misfit MESSAGES: the file compiles, but not with the judge
    awk '
        function say(text) { print "  " text; exit }
        function name() { match($0, /[`\047‘][A-Za-z_0-9]+/); return substr($0, RSTART, RLENGTH) }
        { known = name(); gsub(/[^A-Za-z_0-9]/, "", known) }
        /implicit declaration|undefined reference|undeclared|unknown type/ {
            say("the judge needs " known ", as in the starter; your file has none.")
        }
        /(few|many) arguments/ { say(known " has not the arguments that it has in the starter.") }
        /error: .*redefinition|conflicting types/ {
            say("the judge has a " known " of its own: give yours another name.")
        }
        /error: / { say("a } is missing, or one function stands within another.") }' "$1"
}
# Limits are those of the processor's time and of what is written; a learner's input is empty.
run_limited() (                     # run_limited PROGRAM: what it prints, and what the judge says
    ulimit -c 0
    ulimit -t "$limit"
    ulimit -f 2048
    exec "$1" </dev/null >"$1.printed" 2>"$1.said"
)
printed() {                         # what the learner's code has printed
    [ -s "$1.printed" ] || return
    echo "Your code printed:"
    head -c 2000 "$1.printed" | head -n 10 | awk '{ print "  | " $0 }'  # ends its last line, too
    lines=$(wc -l <"$1.printed")
    [ "$lines" -le 10 ] || echo "  | ... and $((lines - 10)) more lines"
}
sanitized() {                       # sanitized FILE NAME: whether nothing strange happens in it
    strict=$out/$2.strict
    build_judge "$1" "$2" "$strict" -O0 -DJUDGE_LEAVES_SIGNALS -fsanitize=address,undefined \
        -fno-sanitize-recover=all || return 0           # this compiler cannot
    { ASAN_OPTIONS=detect_leaks=0 run_limited "$strict"; } 2>/dev/null && return 0
    awk -v file="$1:" '
        FILENAME == ARGV[2]   { line[FNR] = $0; next }
        (at = index($0, file)) && !number { number = substr($0, at + length(file)) + 0 }
        / runtime error: /    { sub(/.* runtime error: /, ""); what = $0 }
        /^READ of size/       { what = "this reads outside of an array" }
        /^WRITE of size/      { what = "this writes outside of an array" }
        /Sanitizer: stack-ov/ { what = "the stack is full: does a function call itself forever?" }
        /SEGV on/             { what = "at this address is nothing" }
        END {
            if (what == "") exit
            print number ? "  line " number ": " what : "  " what
            sub(/^[ \t]+/, "", line[number])
            if (number) print "      " line[number]
        }' "$strict.said" "$1" >"$strict.where"
    [ ! -s "$strict.where" ]
}
judge_file() {                      # judge_file FILE NAME: 0 if it is right; says what is wrong
    path=$1 program=$out/$2
    case $path in /*) ;; *) path=$PWD/$path ;; esac
    if ! build_judge "$path" "$2" "$program" ${LEARN_FLAGS:--O1}; then
        echo "Not yet. It does not compile:"
        compiler_says error "$path" "$program.txt" >"$program.said"
        [ -s "$program.said" ] || misfit "$program.txt" >"$program.said"
        cat "$program.said"
        return 1
    fi
    { run_limited "$program"; } 2>/dev/null             # the shell would say "Killed"
    code=$?
    compiler_says warning "$path" "$program.txt" >"$program.warned"
    [ ! -s "$program.warned" ] || { echo "The compiler warns:"; cat "$program.warned"; }
    printed "$program"
    case $code in
    0 | 1)
        cat "$program.said"
        grep -q 'Right: [0-9]* cases' "$program.said" && return 0
        [ $code = 1 ] || echo "Not yet. Your code ended the program: no exit, please."
        return 1 ;;
    137 | 152) echo "Not yet. It ran for $limit seconds: is there a loop that never ends?" ;;
    153) echo "Not yet. It prints without end." ;;
    *)
        cat "$program.said"
        echo "Not yet. It crashed, with code $code." ;;
    esac
    return 1
}
judge() {                           # the learner's exercise NAME, with the score
    fetch "$1"
    echo "$mine/$1.c ($(cksum <"$mine/$1.c" | cut -d' ' -f1))"
    verdict=right
    judge_file "$mine/$1.c" "$1" >"$out/verdict" || verdict=wrong
    if ! grep -qE 'not compile|seconds' "$out/verdict" && ! sanitized "$path" "$1"; then
        [ $verdict = wrong ] || echo "Not yet. The results are right, but:" >"$out/verdict"
        cat "$out/$1.strict.where" >>"$out/verdict"
        verdict=wrong
    fi
    grep -v '^mistake:' "$out/verdict"
    if [ $verdict = right ]; then
        has_passed "$1" || echo "$1" >>"$passed"
        score
        echo "Why, another way, and a tempting wrong way: tools/learn/learn.sh solution $1"
        return 0
    fi
    if has_passed "$1"; then        # it was changed since
        grep -vxF "$1" "$passed" >"$passed.new"
        mv "$passed.new" "$passed"
    fi
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
