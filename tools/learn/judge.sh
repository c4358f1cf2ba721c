#!/bin/sh
# tools/learn/judge.sh: how a learner's file is judged. learn.sh reads this file, and sets CC and
# out (a folder, absolute). What the learner's code does, prints or breaks must end in a sentence,
# and must never be taken for a verdict.
#
# Mistakes that are known are listed in tools/learn/mistakes/NAME.txt, as changes of the solution:
#     sum_of_indices: at * shape[d] + index[d] => at + index[d]
#         the indices are added as they are; each counts as many elements as the dimensions behind
#         it have.
# The old text may stand there more than once; \n is a new line, and ;; stands between changes that
# make one mistake. Several lines may share the sentence below them, with one name. A learner whose
# results are those of the changed solution is answered with the sentence: where a judge compares
# results, the first mistake in the list that gives all of them. A judge may also find a mistake by
# itself, and ask for its sentence by the name: judge_holds, judge_clue. Such a name may stand at
# the end without a change, if none is known. A line without a sentence is for the test: what the
# guards of judge.c tell. tests/tools/exercises.sh NAME says which mistakes do not get their name.
limit=${LEARN_SECONDS:-5}           # of the processor that an exercise may use
clock=$((3 * limit))                # and by the clock: others may use the processor, too
token=verdict$(od -An -N8 -tx8 /dev/urandom 2>/dev/null || echo " $$")

# ---- Before the compiler: what an answer may not contain ----
# A link may lead to a device that never ends, or to a pipe that nobody writes to.
is_text() { [ -f "$1" ] && [ "$(head -c 1000001 <"$1" | wc -c)" -le 1000000 ]; }
sum_of() {                          # of a file that is no file, nothing is read
    if is_text "$1"; then cksum <"$1"; else echo 0; fi
}
# Comments and what stands in quotes do not count. Code that runs before the judge does could read
# how a verdict begins, and write one: in C that takes an attribute, or assembler.
unfit() {                           # unfit FILE: a sentence if the file cannot be an answer
    if ! is_text "$1"; then
        echo "  it is no file of text, or has more than 1,000,000 bytes."
        return
    fi
    awk '
        function refuse(text) { print "  line " NR ": " text; found = 1; exit }
        function bare(line,    i, c, two, code) {
            for (i = 1; i <= length(line); i++) {
                c = substr(line, i, 1)
                two = substr(line, i, 2)
                if (quote != "") {
                    if (c == "\\" && quote != "*/") i++
                    if (c == quote) quote = ""
                    if (two == quote) { quote = ""; i++ }
                    continue
                }
                if (two == "//") break
                if (two == "/*") { quote = "*/"; i++; continue }
                if (c == "\"" || c == "\047") quote = c
                code = code c
            }
            if (quote != "*/") quote = ""
            return code
        }
        {
            # a line that ends with a backslash goes on, as a word may: ??/ is one, too
            text = before $0
            if (sub(/(\\|\?\?\/)[ \t\r]*$/, "", text)) { before = text; next }
            before = ""
            code = bare(text)
            if (code ~ /[^ \t\r]/) any = 1
            if (code ~ /^[ \t]*#[ \t]*(include|import|embed)/ &&
                    code !~ /^[ \t]*#[ \t]*include[ \t]*<[a-z0-9]+\.h>[ \t\r]*$/)
                refuse("an answer includes headers of C in < > only, such as <math.h>. The rest " \
                    "is your code, in this file.")
            define = 0
            if (code ~ /##|%:%:/)
                refuse("## makes words that the judge cannot read: write them out.")
            while (match(code, /[A-Za-z_][A-Za-z_0-9]*/)) {
                word = substr(code, RSTART, RLENGTH)
                code = substr(code, RSTART + RLENGTH)
                if (word == "main")
                    refuse("the judge has a main of its own: take yours out. To look at numbers, " \
                        "call printf in your function.")
                if (word ~ /^(__attribute(__)?|__?asm(__)?|asm|_Pragma|getenv|environ)$/)
                    refuse("an answer is plain C; take " word " out.")
                if (word ~ /^(judge|JUDGE|EXERCISE)/)
                    refuse("names that begin with judge belong to the judge: take another.")
                if (define && word ~ keyword)
                    refuse("a macro " word " changes the language for the judge, too.")
                define = word == "define"
            }
        }
        BEGIN {
            keyword = "^(if|else|for|while|do|switch|return|int|float|double|char|const|static|" \
                "void|long|short|unsigned|signed|struct|enum|sizeof|break|continue)$"
        }
        END {
            if (!found && !any) print "  there is no code in it: it is empty, or all a comment."
        }' "$1"
}

# ---- What is known: what the solution and each listed mistake give in all cases of a judge ----
# It is found once, and again when one of the files that it comes from is newer.
newer_than() {                      # newer_than FILE SOURCE...: FILE is there, and newer
    made=$1
    shift
    [ -s "$made" ] && [ -z "$(find "$@" -newer "$made")" ]
}
build_common() {                    # sets common: judge.c, compiled once for each compiler
    common=$out/judge_$(echo "$CC" | tr -c 'A-Za-z0-9\n' _).o
    newer_than "$common" tools/learn/judge.[ch] ||
        { $CC -std=c99 -w -O0 -c -o "$common.$$" tools/learn/judge.c && mv "$common.$$" "$common"; }
}
know() {                            # know NAME: sets known, a file; 1 if there is no such file
    known=$out/$1.known listed=tools/learn/mistakes/$1.txt solved=tools/learn/solutions/$1.c
    build_common >"$known.txt" 2>&1 || return 1
    ! newer_than "$known" tools/learn/judge.[ch] tools/learn/known.[ah]* "$listed" "$solved" \
        "tools/learn/judges/$1.c" || return 0
    awk -f tools/learn/known.awk "$solved" "$listed" >"$known.c" &&
        $CC -std=c99 -w -O0 -Itools/learn -DJUDGE_KNOWS -DJUDGE_SECONDS=20 \
            -DEXERCISE="\"$known.c\"" -o "$known.program" "tools/learn/judges/$1.c" "$common" -lm \
            >"$known.txt" 2>&1 &&
        (ulimit -t 1 && exec "$known.program" "$known.new") >>"$known.txt" 2>&1 &&
        mv "$known.new" "$known"
}

# ---- The compiler: a program that includes the learner's file by its path ----
build_judge() {                     # build_judge FILE NAME PROGRAM FLAG...
    file=$1 program=$3 source=tools/learn/judges/$2.c
    shift 3
    $CC -std=c99 -g -Wall -Wextra -Werror=implicit-function-declaration "$@" \
        -DEXERCISE="\"$file\"" -DJUDGE_KNOWN="\"$known\"" -DJUDGE_SECONDS=$clock \
        -o "$program" "$source" "$common" -lm >"$program.txt" 2>&1
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
        }
        /expansion of macro/ && index($0, "judges/") {
            sub(/.*expansion of macro/, "")
            gsub(/[^A-Za-z_0-9]/, "")
            print "  the judge uses the name " $0 ", too: give your macro another one."
            exit
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
        /error: .*(redefinition|redeclared|conflicting types|follows non-static)/ {
            say("the judge has a " known " of its own: give yours another name.")
        }
        /error: / { say("a } is missing, or one function stands within another.") }' "$1"
}

# ---- A run: with limits of time, memory and of what is written ----
# A learner's input is empty, and its folder holds nothing. The judge writes its verdict behind a
# line with a number that only it knows; what comes before that line is the learner's.
run_limited() (                     # run_limited PROGRAM [KB]: PROGRAM.printed, .cried, .verdict
    mkdir -p "$out/empty"
    (
        cd "$out/empty" || exit
        ulimit -c 0
        ulimit -t "$limit"
        ulimit -f 2048
        [ -z "${2:-}" ] || ulimit -v "$2"
        JUDGE_TOKEN=$token exec "$1" </dev/null >"$1.printed" 2>"$1.said"
    )
    code=$?
    awk -v token="$token" -v verdict="$1.verdict" -v cried="$1.cried" '
        BEGIN { printf "" >verdict; printf "" >cried }
        judged { print >verdict; next }
        held != "" || ($0 != token && n) { print held >cried }
        { held = $0; n++ }
        $0 == token { judged = 1 }
        END { if (!judged && n) print held >cried }' "$1.said"
    exit $code
) 2>/dev/null                       # the shell would say "Killed"
printed() {                         # what the learner's code has printed, on stdout and stderr
    [ -s "$1.printed" ] || [ -s "$1.cried" ] || return
    echo "Your code printed:"
    lines=$(awk 1 "$1.printed" "$1.cried" | wc -l)
    awk 1 "$1.printed" "$1.cried" | head -c 2000 | tr -d '\000-\010\013-\037\177' | head -n 10 |
        awk '{ print "  | " substr($0, 1, 90) (length($0) > 90 ? " ..." : "") }'
    [ "$lines" -le 10 ] || echo "  | ... and $((lines - 10)) more lines"
}
ended_how() {                       # ended_how CODE: of a program that ended without a verdict
    case $1 in
    137 | 152) echo "It ran for $limit seconds: is there a loop that never ends?" ;;
    142) echo "It is not done after $clock seconds. Does it wait, or loop for ever?" ;;
    153) echo "It prints without end." ;;
    135 | 138 | 139)
        echo "It crashed. Does a function call itself for ever, or is an array huge?" ;;
    *) echo "Your code ended the program, with code $1: no exit, please. Return instead." ;;
    esac
}
sanitized() {                       # sanitized FILE NAME: whether nothing strange happens in it
    [ "${LEARN_SANITIZER:-yes}" = yes ] || return 0
    strict=$out/$2.strict
    build_judge "$1" "$2" "$strict" -O0 -DJUDGE_LEAVES_SIGNALS -fsanitize=address,undefined \
        -fno-sanitize-recover=all || return 0           # this compiler cannot
    ASAN_OPTIONS=detect_leaks=0 run_limited "$strict" && return 0
    awk -v file="$1:" '
        FILENAME == ARGV[2]   { line[FNR] = $0; next }
        (at = index($0, file)) && !number { number = substr($0, at + length(file)) + 0 }
        / runtime error: /    { sub(/.* runtime error: /, ""); what = $0 }
        freed                 { next }
        /^READ of size/       { what = "this reads outside of an array" }
        /^WRITE of size/      { what = "this writes outside of an array" }
        /Sanitizer: stack-ov/ { what = "the stack is full: does a function call itself forever?" }
        /heap-use-after-free/ { what = "this uses memory that was freed before"; freed = 1 }
        /attempting .*free/   { what = "this frees what is freed, or was never allocated" }
        /SEGV on/             { what = "at this address is nothing" }
        END {
            if (what == "") exit
            print number ? "  line " number ": " what : "  " what
            sub(/^[ \t]+/, "", line[number])
            if (number) print "      " line[number]
        }' "$strict.said" "$1" >"$strict.where"
    [ ! -s "$strict.where" ]
}

# ---- The verdict ----
# Sets found: right; named (a mistake that was recognized); unbuilt; endless; or wrong.
judge_file() {                      # judge_file FILE NAME: 0 if it is right; says what is wrong
    path=$1 program=$out/$2 found=unbuilt
    case $path in /*) ;; *) path=$PWD/$path ;; esac
    why=$(unfit "$path")
    if [ -n "$why" ]; then
        printf 'Not yet. This cannot be an answer:\n%s\n' "$why"
        return 1
    fi
    if ! know "$2"; then
        echo "Not yet. The judge itself does not work here; $known.txt may say why:"
        head -n 5 "$known.txt"
        return 1
    fi
    if ! build_judge "$path" "$2" "$program" ${LEARN_FLAGS:--O1}; then
        echo "Not yet. It does not compile:"
        compiler_says error "$path" "$program.txt" >"$program.verdict"
        [ -s "$program.verdict" ] || misfit "$program.txt" >"$program.verdict"
        cat "$program.verdict"
        return 1
    fi
    run_limited "$program" 2000000
    code=$?
    compiler_says warning "$path" "$program.txt" >"$program.warned"
    [ ! -s "$program.warned" ] || { echo "The compiler warns:"; cat "$program.warned"; }
    printed "$program"
    found=right
    if [ $code = 0 ] && grep -q '^Right: ' "$program.verdict"; then
        cat "$program.verdict"
        return 0
    fi
    found=wrong
    ! grep -q '^mistake: [^ ]*$' "$program.verdict" || found=named
    case $code in 137 | 142 | 152 | 153) found=endless ;; esac
    if grep -q '^Not yet' "$program.verdict"; then cat "$program.verdict"
    else echo "Not yet. $(ended_how $code)"; fi
    return 1
}
judge() {                           # judge FILE NAME: with a sanitizer, if one is there
    judge_file "$1" "$2" >"$out/$2.all"
    looked=yes
    case $found in
    unbuilt) looked=no ;;
    endless) limit=1 ;;             # a compiler may have made an endless loop of an error
    named)                          # a sanitizer says in which line, too
        grep -Eq '^mistake: (crash|reads_outside|past_the_end|before_the_start)$' "$out/$2.all" ||
            looked=no ;;
    esac
    if [ $looked = yes ] && ! sanitized "$path" "$2"; then
        [ $found != right ] ||
            echo "Not yet. The results are right, but:" >"$out/$2.all"
        cat "$out/$2.strict.where" >>"$out/$2.all"
        found=wrong
    fi
    grep -v '^mistake:' "$out/$2.all"
    [ $found = right ]
}
