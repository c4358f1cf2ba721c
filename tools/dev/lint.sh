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

# The header without comments and strings, line for line: what the rules about code look at.
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
            if (!match(line, /\/\*|"([^"\\]|\\.)*"|\047([^\047\\]|\\.)*\047/)) break
            inside = substr(line, RSTART, 2) == "/*"
            out = out substr(line, 1, RSTART - 1) (inside ? "" : "\"\"")
            line = substr(line, RSTART + (inside ? 2 : RLENGTH))
        }
        sub(/[ \t]+$/, "", line)
        print out line
    }' "$header"
}
manual() {          # all before the second chapter
    awk '/^\/\* ==== \[/ && !/\[manual\]/ { exit } { print }' "$header"
}
sources() {         # all that is written by hand
    find "$header" Makefile README.md examples tests tools .ci -type f \
        \( -name '*.[ch]' -o -name '*.cpp' -o -name '*.sh' -o -name '*.py' -o -name '*.md' \
           -o -name Makefile -o -name run \) 2>/dev/null | sort
}

# ---- Text ----
check 'no tabs' "$(
    grep -n "$(printf '\t')" "$header")"
check 'no tabs in C files' "$(
    sources | grep '\.[ch]$' | xargs grep -n "$(printf '\t')" /dev/null)"
check 'no blanks at ends of lines' "$(
    sources | grep -v '\.md$' | xargs grep -nE '[ 	]+$' /dev/null)"
check 'no line above 100 columns' "$(
    sources | grep -E "^$header\$|^examples/.*\.c\$|\.sh\$" | while read -r file; do
        # A byte 10xxxxxx of UTF-8 is no new column.
        tr -d '\200-\277' <"$file" |
            awk -v f="$file" 'length > 100 { print f ":" NR ": " length " columns" }'
    done)"
check 'no paths of one machine' "$(
    sources | xargs grep -nE '(^|[^A-Za-z0-9_.-])/(h[o]me|r[o]ot|w[o]rk|f[a]rm|Users)/' /dev/null)"
check 'nothing unfinished' "$(
    sources | xargs grep -nwE 'TO[D]O|FIX[M]E|XX[X]|HA[C]K' /dev/null)"


# Other versions break some lines elsewhere.
if command -v clang-format >/dev/null && clang-format --version | grep -q 'version 14\.'; then
    check 'samba.h is as .clang-format says (clang-format -i samba.h)' "$(
        clang-format "$header" | diff "$header" - | grep '^[<>0-9]')"
else
    echo 'skipped: the format of samba.h is checked by clang-format 14, which is not installed'
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

# ---- Functions ----
check 'no function above 80 lines' "$(
    code | awk '
        /^[A-Za-z].*\(/ { start = NR; name = $0 }
        /^\{$/ { open = NR }
        /^\}/ && open {
            if (NR - start + 1 > 80) print "line " start ": " NR - start + 1 " lines: " name
            open = 0
        }')"
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
            if (text !~ /samba__emit|samba__warn|stbds_|samba__ds_/) print "line " start ": " text
        }')"
check 'nothing ends the process of the caller' "$(
    code | grep -nE '(^|[^A-Za-z0-9_])(abort|exit|_Exit|quick_exit|assert|raise) *\(')"

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

# The former names of three ops, which are kept, are such twins of layers.
check 'no two public functions differ by an underscore alone' "$(
    code | grep -oE '^SAMBA_(API|_OP_API) [^(]*\(' | grep -oE 'samba_[a-z0-9_]+\(' | sort -u |
        grep -vE '^samba_(layer|rms|batch)_norm\(' |
        awk '{ key = $1; gsub("_", "", key) }
             key in seen { print seen[key], $1 }
             { seen[key] = $1 }')"

# ---- Companions and folders ----
# NAME.h has the guard SAMBA_NAME_H, is implemented by SAMBA_NAME_IMPLEMENTATION, once, and declares
# its functions with SAMBA_NAME_API, which SAMBA_NAME_STATIC makes private to a file.
check 'companions are modules of one style' "$(
    for file in tools/include/samba/*.h; do
        name=$(basename "$file" .h | tr a-z A-Z)
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
check 'tests stand in tests/core, tests/tools or tests/sambaflow, what they share in tests/lib' "$(
    ls tests/*.[ch] tests/*.sh 2>/dev/null | grep -vxF tests/run.sh)"

check 'README.md is a front page of at most 200 lines' "$(
    awk 'END { if (NR > 200) print NR " lines" }' README.md)"
# NAME stands for any name.
named='(tests|tools|examples|samba)/[A-Za-z0-9_/]+\.[a-z]+'
check 'files that texts name are there' "$(
    sources | xargs grep -noE "(^|[^A-Za-z0-9_./-])$named" /dev/null |
        sed 's/:\([0-9]*\):[^A-Za-z]*/:\1:/' | sort -u | grep -v '/NAME\.' |
        while IFS=: read -r file line path; do
            [ -e "$path" ] || [ -e "tools/include/$path" ] || echo "$file:$line: $path"
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
