#!/bin/sh
# tools/dev/lint.sh [samba.h]: the style that compilers do not check. The last line is
# "N passed, N failed".
cd "$(dirname "$0")/../.." || exit 1
header=${1:-samba.h}
passed=0 failed=0
LC_ALL=C
export LC_ALL

# check 'what holds' "findings": without any, it does.
check() {
    findings=$2
    if [ -z "$findings" ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED $1"
        printf '%s\n' "$findings" | sed 's/^/    /' | head -n 20
        extra=$(($(printf '%s\n' "$findings" | wc -l) - 20))
        [ $extra -le 0 ] || echo "    ... and $extra more"
    fi
}

if ! [ -f "$header" ]; then
    echo "no $header"
    echo "0 passed, 1 failed"
    exit 1
fi

# A file, else the header, without comments and strings, line for line: what the rules about code
# look at.
code() {
    awk '{
        line = $0; out = ""
        while (line != "") {
            if (inside) {
                at = index(line, "*/")
                if (!at) { line = ""; break }
                line = substr(line, at + 2); inside = 0
                continue
            }
            if (!match(line, /\/\/|\/\*|"([^"\\]|\\.)*"|\047([^\047\\]|\\.)*\047/)) break
            if (substr(line, RSTART, 2) == "//") { line = substr(line, 1, RSTART - 1); break }
            inside = substr(line, RSTART, 2) == "/*"
            out = out substr(line, 1, RSTART - 1) (inside ? "" : "\"\"")
            line = substr(line, RSTART + (inside ? 2 : RLENGTH))
        }
        sub(/[ \t]+$/, "", line)
        print out line
    }' "${1:-$header}"
}
# What statements and functions may be; one line for each finding: rule, line, text. Macros have
# their own rule. A statement ends with ; or a brace, and the ; of a for does not end it.
statements() {
    code "$1" | awk '
        function finding(rule, at, what) {
            gsub(/^ +/, "", what)
            print rule "\tline " at ": " substr(what, 1, 90)
        }
        # Is a ? b : c part of another one, outside of the arguments of a call within it?
        function nested(s,    i, c, depth, marks, n) {
            depth = 0; marks[0] = 0
            for (i = 1; i <= length(s); i++) {
                c = substr(s, i, 1)
                if (c == "(" || c == "[") { depth++; marks[depth] = 0 }
                else if (c == ")" || c == "]") { if (depth) depth-- }
                else if (c == ",") marks[depth] = 0
                else if (c == "?") {
                    for (n = 0; n <= depth; n++) if (marks[n]) return 1
                    marks[depth]++
                }
            }
            return 0
        }
        # Drops what stands before the statement proper: if (...), for (...), else, case x:.
        function bare(s,    i, c, depth) {
            while (1) {
                sub(/^ +/, "", s)
                if (s ~ /^(else|do)[ {]/) { sub(/^[a-z]+/, "", s); continue }
                if (s ~ /^(case [A-Za-z0-9_]+|default) *:/) { sub(/^[^:]*:/, "", s); continue }
                if (s !~ /^(if|for|while|switch) *\(/) return s
                depth = 0
                for (i = 1; i <= length(s); i++) {
                    c = substr(s, i, 1)
                    if (c == "(") depth++
                    if (c == ")" && --depth == 0) break
                }
                s = substr(s, i + 1)
            }
        }
        function commas(s,    i, c, depth, n) {
            depth = n = 0
            for (i = 1; i <= length(s); i++) {
                c = substr(s, i, 1)
                if (c ~ /[(\[{]/) depth++
                else if (c ~ /[)\]}]/) depth--
                else if (c == "," && depth == 0) n++
            }
            return n
        }
        function statement(s, at) {
            if (nested(s)) finding("nested", at, s)
            if (s !~ /;$/) return
            s = bare(s)
            if (s ~ /^,/ || !commas(s)) return
            # The names that a type with braces is given; a pointer to a function.
            if (s ~ /^[*A-Za-z_0-9, ]+;$/ || s ~ /^[A-Za-z_0-9 ]+\(\*/) return
            if (s !~ /^return / &&
                s ~ /^([A-Za-z_0-9]+ +)*[A-Za-z_][A-Za-z_0-9]*( +|[ *]+\*)[*A-Za-z_]/) return
            finding("comma", at, s)
        }
        macro || /^#/ { macro = /\\$/; next }
        /^[A-Za-z].*\(/ && !open { head = ""; start = NR }
        !open { head = head $0 }
        /^\{$/ { open = 1; n = gsub(/[ (]bool [a-z_0-9]+[,)]/, "&", head)
                 if (n > 3) finding("bools", start, head) }
        /^\}/ { if (open && NR - start + 1 > 60) finding("long", start, NR - start + 1 " lines")
                open = 0; head = "" }
        {
            for (i = 1; i <= length($0); i++) {
                c = substr($0, i, 1)
                if (text == "" && c == " ") continue
                if (text == "") begin = NR
                text = text c
                if (c == "(" || (c == "{" && depth)) depth++
                else if (c == ")" || (c == "}" && depth)) depth--
                else if (c == "{" || c == "}" || (c == ";" && depth == 0)) {
                    statement(text, begin); text = ""; depth = 0
                }
            }
            if (text != "") text = text " "
        }'
}
manual() {          # all before the second chapter
    awk '/^\/\* ==== \[/ && !/\[manual\]/ { exit } { print }' "$header"
}
sources() {         # all that is written by hand; parts are the header's text
    find "$header" Makefile README.md examples tests tools .ci -type f \
        \( -name '*.[ch]' -o -name '*.cpp' -o -name '*.sh' -o -name '*.py' -o -name '*.md' \
           -o -name Makefile -o -name run \) 2>/dev/null | grep -v '^tools/parts/' | sort
}

pages() {           # what browsers run
    find examples tests tools -name '*.js' -o -name '*.css' | sort
}

# ---- Text ----
check 'no tabs' "$(
    grep -n "$(printf '\t')" "$header")"
check 'no tabs in C files' "$(
    sources | grep '\.[ch]$' | xargs grep -n "$(printf '\t')" /dev/null)"
check 'no blanks at ends of lines' "$(
    { sources; pages; } | grep -v '\.md$' | xargs grep -nE '[ 	]+$' /dev/null)"
check 'no line above 100 columns' "$(
    { sources | grep -E "^$header\$|^examples/.*\.c\$|\.(sh|py)\$"; pages; } |
        while read -r file; do
        # A byte 10xxxxxx of UTF-8 is no new column. A text may go beyond: it is searched for.
        tr -d '\200-\277' <"$file" | awk -v f="$file" -v header="$header" '
            f == header { gsub(/"([^"\\]|\\.)*"/, "") }
            length > 100 { print f ":" NR ": " length " columns" }'
    done)"
check 'no text of the header is broken, but behind a line of its own' "$(
    awk '/^[ \t]*"/ && open { print FILENAME ":" NR ": join it to the line above" }
        { open = /"$/ && !/\\n"$/ && !/^#/ && !/\*\/$/ }' $header)"
# A function begins at the left edge and ends with a brace there.
check 'no function of a page above 60 lines' "$(
    pages | grep '\.js$' | xargs awk '
        /^(async )?function |^const .* => \{$/ { start = FNR; name = $0 }
        /^\}/ && start {
            n = FNR - start + 1
            if (n > 60) print FILENAME ":" start ": " n " lines"
            start = 0
        }')"
check 'no paths of one machine' "$(
    sources | xargs grep -nE '(^|[^A-Za-z0-9_.-])/(h[o]me|r[o]ot|w[o]rk|f[a]rm|Users)/' /dev/null)"
check 'nothing in samba.h and the tools asks the locale what a letter is' "$(
    grep -nE '<ctype\.h>|\b(is(alpha|alnum|digit|lower|upper|space|print)|to(lower|upper))\(' \
        samba.h $(git ls-files 'tools/include/*.h' 'tools/cli/*.[ch]'))"
check 'nothing unfinished' "$(
    sources | xargs grep -nwE 'TO[D]O|FIX[M]E|XX[X]|HA[C]K' /dev/null)"


# Other versions break some lines elsewhere.
if command -v clang-format >/dev/null && clang-format --version | grep -q 'version 14\.'; then
    formatted=''
    [ "$header" = samba.h ] || formatted=$header
    check 'C is as .clang-format says (tools/dev/format.sh)' "$(
        tools/dev/format.sh check $formatted | head -n 40)"
else
    echo 'skipped: the format of C; it takes clang-format 14'
fi

# ---- Chapters ----
banners=$(sed -n 's/^\/\* ==== \(\[[a-z-]*\]\) =* \*\/$/\1/p' "$header" | grep -vxF '[manual]')
contents=$(manual | sed -n 's/^ *\(\[[a-z-]*\]\)  *[^ ].*/\1/p' | grep -vxF '[manual]')
check 'the contents in [manual] are the banners' "$(
    if [ "$banners" != "$contents" ]; then
        echo "banners:  $(echo $banners)"
        echo "contents: $(echo $contents)"
    fi)"
check 'banners are /* ==== [tag] ==== */ on one line' "$(
    grep -nE '^/\* ====' "$header" | grep -vE '^[0-9]+:/\* ==== \[[a-z-]+\] =+ \*/$')"

check 'no chapter above 1,200 lines' "$(
    awk '
        function ends() {
            if (start && NR - start > 1200)
                print tag " has " NR - start " lines"
        }
        /^\/\* ==== \[/ { ends(); tag = $3; start = NR }
        END { ends() }' "$header")"

# Under how many #if a half of the header begins; its other chapters begin under as many.
check 'no #if crosses the border of a chapter' "$(
    awk '
        BEGIN {
            n = split("manual 0 api 1 functions-api 2 device-api 1 simd-sets 0 packed-weights 1 " \
                      "pef-records 2 end 0", word)
            for (i = 1; i < n; i += 2) begins[word[i]] = word[i + 1]
        }
        /^#if/ { depth++ }
        /^#endif/ { depth-- }
        /^\/\* ==== \[/ {
            tag = substr($3, 2, length($3) - 2)
            if (tag in begins) want = begins[tag]
            if (depth != want)
                print "line " NR ": [" tag "] begins under " depth + 0 " #if, not " want
        }' "$header")"
check 'samba.h is its parts (make samba.h, make parts)' "$(tools/dev/parts.sh check 2>&1)"

# ---- Functions ----
statements=$(statements "$header")
# found RULE: what the rule finds.
found() {
    printf '%s\n' "$statements" | awk -F '\t' -v rule="$1" '$1 == rule { print $2 }'
}
check 'no function above 60 lines' "$(found long)"
# Setup, loop and result are paragraphs. A list of cases may be one.
check 'no more than 16 lines of a function without a blank one' "$(
    awk '
        /^\{$/ { open = 1; n = 0; next }
        /^\}/ { open = 0 }
        !open || /^ *$/ { n = 0; next }
        { n++ }
        n == 17 { print FILENAME ":" NR ": make paragraphs" }' "$header")"
check 'no condition a ? b : c within another one' "$(found nested)"
check 'no function takes more than 3 bools' "$(found bools)"
check 'one statement a line: no commas between expressions' "$(found comma)"
check 'nor in other C' "$(
    tools/dev/format.sh list | grep -vxF samba.h | while read -r file; do
        statements "$file" | sed -n "s|^comma	line |$file:|p"
    done)"
check 'no macro above 12 lines but tables' "$(
    awk '
        /^#define .*\\$/ && !inside { inside = 1; start = NR; rows = 0; name = $2 }
        inside && /^ +[A-Z]+\(/ { rows++ }
        inside && !/\\$/ {
            n = NR - start + 1
            if (n > 12 && rows < n / 2) print "line " start ": " n " lines: " name
            inside = 0
        }' "$header")"
# Inputs 0 and 1 are mostly x, or a and b. Kernels and gradients of ops stand before the PEF.
check 'the compiler and the session call inputs and attributes of ops by their names' "$(
    code | awk '
        NR == FNR { if (/^\/\* ==== \[pef-read\]/) first = NR; next }
        FNR > first && /(->|\.)(in|in_spec|out|out_spec|din|dout|attr)\[[2-9]\]/ {
            print "line " FNR ": " $0
        }' "$header" -)"
# Tracers and makers of leaves, by their prototypes.
tracers=$(sed -n 's/^SAMBA__\{0,1\}\(OP_\)\{0,1\}API samba_tensor \*\(samba_[a-z0-9_]*\)(.*/\2/p
    s/^SAMBA_API samba_tensor \*\(samba_[a-z0-9_]*\)(.*/\1/p' "$header" |
    grep -vx 'samba_sn_grad\|samba_tensor_by_name' | sort -u | tr '\n' ' ')
# And what traces within the header: what makes a tensor in the chapters that do nothing else.
inner=$(sed -n 's/^\(SAMBA__FN\|static\) samba_tensor \*\(samba__[a-z0-9_]*\)(.*/\2/p' \
    tools/parts/autodiff.h tools/parts/layers.h tools/parts/functions.h tools/parts/recurrent.h \
    tools/parts/blocks.h tools/parts/losses.h | grep -vx samba__tape_grad | sort -u | tr '\n' ' ')
check 'two arguments of a call do not both call ops' "$(
    awk -v ops="$tracers $inner samba__emit samba__emit1 samba__emit2 samba__emit3" \
        -f tools/dev/argument_order.awk "$header" \
        $(git ls-files 'tools/*.h' 'tools/*.c' 'examples/*.h' 'examples/*.c' ':!tools/parts'))"
check 'no prototypes of static functions' "$(
    code | awk '
        /\\$/ || /^#/ { macro = /\\$/; next }
        macro { macro = 0; next }
        /^(static|SAMBA__FN|SAMBA__INLINE|SAMBA__KERNEL|SAMBA__HOST)[A-Z_]* .*\(/ {
            text = ""; start = NR; on = 1
        }
        on { text = text $0 }
        on && text ~ /[{=]/ { on = 0 }
        on && text ~ /__asm__/ { on = 0 }       # names the symbol, which a definition cannot
        on && text ~ /;/ {
            on = 0
            defined_below = text ~ /samba__(emit|warn|find_groups|run_nodes|set_of)/
            defined_below = defined_below || text ~ /stbds_|samba__ds_/
            if (!defined_below) print "line " start ": " text
        }')"
check 'nothing ends the process of the caller' "$(
    code | grep -nE '(^|[^A-Za-z0-9_])(abort|exit|_Exit|quick_exit|assert|raise) *\(')"

# SAMBA_ASSERT alone, which is off but in builds with a sanitizer.
check 'nothing traps but a SAMBA_ASSERT that is switched on' "$(
    code | awk '
        /^#if defined\(SAMBA_ASSERTS\)/ { on = 1 }
        /^#else|^#endif/ { on = 0 }
        /__builtin_(trap|unreachable)|__debugbreak/ && !on { print "line " NR ": " $0 }')"
check 'a SAMBA_ASSERT changes nothing' "$(
    code | awk '
        /SAMBA_ASSERT\(/ && !/^#/ { text = ""; start = NR; on = 1 }
        on { text = text $0 }
        on && /;/ {
            on = 0
            gsub(/[=!<>]=/, "", text)
            if (text ~ /=|\+\+|--/) print "line " start ": " text
        }')"

# ---- What must be written down ----
# A comment documents the declarations that follow it without an empty line between.
check 'every public function has a comment' "$(
    awk '
        /^\/\* (====|----)/ { doc = 0; next }
        /^\}|^enum .*};/ { type = 1; next }         # of the type that the same comment is about
        /^[ \t]*$/ { doc = doc && type; type = 0; next }
        { type = 0 }
        /^#if defined\(SAMBA_IMPLEMENTATION\)/ { exit }
        /^\/\*/ { inside = 1 }
        inside { if (/\*\//) { inside = 0; doc = 1 } next }
        /^SAMBA_(API|_OP_API)/ { open = 1; start = NR; text = $0 }
        open && /;/ {
            if (!doc && !/\*\/[ \t]*$/) print "line " start ": " text
            open = 0
        }' "$header")"
check 'every option macro is in [manual]' "$(
    code | grep -E '^# *(el)?if' | grep -oE '(^|[^A-Z_])SAMBA_[A-Z0-9][A-Z0-9_]*' |
        grep -oE 'SAMBA_.*' | grep -v __ | sort -u | grep -vx SAMBA_H | while read -r macro; do
        manual | grep -qw "$macro" || echo "$macro"
    done)"

check 'no two public functions differ by an underscore alone' "$(
    code | grep -oE '^SAMBA_(API|_OP_API) [^(]*\(' | grep -oE 'samba_[a-z0-9_]+\(' | sort -u |
        awk '{ key = $1; gsub("_", "", key) }
             key in seen { print seen[key], $1 }
             { seen[key] = $1 }')"

# ---- Companions and folders ----
# NAME.h has the guard SAMBA_NAME_H, is implemented by SAMBA_NAME_IMPLEMENTATION, once, and declares
# its functions with SAMBA_NAME_API, which SAMBA_NAME_STATIC makes private to a file.
check 'companions are modules of one style' "$(
    for file in tools/include/samba/*.h; do
        name=$(basename "$file" .h | tr a-z A-Z)
        case $name in BASE | MODEL) continue ;; esac   # parts of those that include them
        api=SAMBA_${name}_API static=SAMBA_${name}_STATIC
        case $name in ONNX_*) api=SAMBA_ONNX_API static='' ;; esac      # both have one of theirs
        has() { grep -qxF -- "$1" "$file" || echo "$file lacks: $1"; }
        has "#ifndef SAMBA_${name}_H"
        has "#define SAMBA_${name}_H"
        has "#if defined(SAMBA_${name}_IMPLEMENTATION) && !defined(SAMBA_${name}__IMPLEMENTED)"
        has "#define SAMBA_${name}__IMPLEMENTED"
        [ -z "$static" ] || has "#if defined($static)"
        awk -v f="$file" -v api="$api" '
            /_IMPLEMENTATION\) && !defined\(SAMBA_[A-Z0-9_]*__IMPLEMENTED/ { exit }
            /^[a-z].*\(.*[,;]$/ && !/^(typedef|static inline) / { print f ":" NR ": without " api }
        ' "$file"
    done)"
# A name that is printed as it is could end a comment, a string or a line, or steer a terminal.
check 'names that others gave leave tools by the functions of util/text.h alone' "$(
    for file in tools/cli/*/*.c; do
        awk -v f="$file" '
            { text = text $0 }
            !/[;{}] *$/ && !/^ *\/\// && !/^#/ { next }
            match(text, /(^|[^a-z_])(v?f?printf|fputs|puts|write_plain|set_word) *\(/) {
                text = substr(text, RSTART)
                gsub(/(shown|in_(c_comment|c_string|html|json))\(([^()]|\([^()]*\))*\)/, "", text)
                gsub(/"([^"\\]|\\.)*"/, "", text)
                gsub(/(e->|(commands|all)\[i\]\.)name/, "", text)   # of files, commands, types
                if (text ~ /(->|\.)(name|graph)[^a-z_]|argv\[/) print f ":" FNR ": " text
            }
            { text = "" }' "$file"
    done)"
# samba_NAME__x is private to NAME.h, samba__x to samba.h, which companions may use; the two for
# ONNX have onnx__, ex_ (export) and ox_ (import).
check 'private names of companions tell their header' "$(
    for file in tools/include/samba/[!o]*.h; do
        awk -v own="^static .*[ *]samba_$(basename "$file" .h)_[a-z0-9_]*\\(" '
            {
                rest = $0
                while (match(rest, /(samba|SAMBA)__[A-Za-z0-9_]+/)) {
                    word = substr(rest, RSTART, RLENGTH)
                    if (FNR == NR) there[word] = 1
                    else if (!(word in there)) print FILENAME ":" FNR ": " word
                    rest = substr(rest, RSTART + RLENGTH)
                }
            }
            FNR < NR && /^static [^=]*[a-z0-9_]+\(/ && $0 !~ own {
                print FILENAME ":" FNR ": " $0
            }' "$header" "$file"
    done)"
check 'tests stand in folders of tests, what they share in tests/lib' "$(
    ls tests/*.[ch] tests/*.sh 2>/dev/null | grep -vxF tests/run.sh)"

check 'each script that is quick stands where tests/run.sh looks' "$(
    grep -rl --include='*.sh' '^# run: quick$' tests |
        grep -vE '^tests/(core|tools|sambaflow|device|lessons)/[^/]*$')"
check 'README.md is a front page of at most 240 lines' "$(
    awk 'END { if (NR > 240) print NR " lines" }' README.md)"
# NAME stands for any name.
named='(tests|tools|examples|samba)/[A-Za-z0-9_/]+\.[a-z]+'
check 'files that texts name are there' "$(
    sources | xargs grep -noE "(^|[^A-Za-z0-9_./-])$named" /dev/null |
        sed 's/:\([0-9]*\):[^A-Za-z]*/:\1:/' | sort -u | grep -v '/NAME\.' |
        while IFS=: read -r file line path; do
            [ -e "$path" ] || [ -e "tools/include/$path" ] || echo "$file:$line: $path"
        done)"

check 'what make help lists is a .PHONY target' "$(
    phony=" $(sed -n '/^\.PHONY:/,/[^\\]$/p' Makefile | tr -d '\\\n' | sed 's/^[^:]*://') "
    sed -n 's/^\([a-z-]*\):.*## .*/\1/p' Makefile | while read -r target; do
        case $phony in *" $target "*) ;; *) echo "$target" ;; esac
    done)"

# ---- Examples and scripts ----
check 'the second line of an example is how to build it' "$(
    for file in examples/*.c; do
        sed -n 2p "$file" | grep -qE "^//     cc .*$file" || echo "$file"
    done)"
check 'scripts parse and can be executed' "$(
    sources | grep -E '\.sh$' | while read -r file; do
        sh -n "$file" 2>&1
        [ -x "$file" ] || echo "$file is not executable"
    done)"

echo "$passed passed, $failed failed"
[ $failed = 0 ]
