#!/bin/sh
# An error names the function that was called, not one that this calls: tests that make mistakes are
# built once more, with each public function of samba.h in a wrapper that compares the names.
# run: quick
cd "$(dirname "$0")/../.." || exit 1
out=build/called_names log=$PWD/build/called_names/log
rm -rf $out
mkdir -p $out
. tests/lib/test.sh

compiler=${CC:-cc}
echo 'int main(void) { return __extension__({ __auto_type x = 0; x; }); }' >$out/extension.c
$compiler -o $out/extension $out/extension.c 2>/dev/null ||
    skip_all 'names in errors' 'gcc or clang'

# A copy of samba.h that keeps the text of each new error: with the bodies of all functions, to be
# compiled once, and without them, for the tests.
keep='s/^    s->errors\.code = code;$/&\n    snprintf(told, sizeof told, "%s", s->errors.text);/'
copy() {            # copy BODIES FOLDER STORAGE
    mkdir -p $out/$2
    {
        printf '#include <stdio.h>\n%s char told[1024];\n' "$3"
        sed "$keep" samba.h | awk -v bodies=$1 -f tests/lib/inside.awk
    } >$out/$2/samba.h
}
copy yes whole ''
copy no hollow extern
check 'errors have one place' sh -c "[ \$(grep -c 'sizeof told, \"%s\"' $out/whole/samba.h) = 1 ]"

# called.h: the wrappers, as macros of the functions' names. samba_fail takes what it is given.
grep -vxE 'samba_(fail|warn|runtime_.*)' tests/header/symbols.txt >$out/functions
sed -n 's/^SAMBA_API void \(samba_[a-z0-9_]*\)(.*/\1/p' samba.h | sort -u >$out/void
{
    cat <<'C'
#include <string.h>
static const char *const functions[] = {
C
    sed 's/.*/    "&",/' $out/functions
    cat <<'C'
};
// What was told since the last call: does it name another function than the one that was called?
static inline void compare_names(const char *called)
{
    const char *at = strstr(told, "in samba_");
    size_t n = at ? strspn(at + 3, "abcdefghijklmnopqrstuvwxyz_0123456789") : 0;
    bool function = false;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (strlen(functions[i]) == n && !strncmp(functions[i], at + 3, n)) function = true;
    bool same = strlen(called) == n && !strncmp(called, at + 3, n);
    if (at && function && !same) fprintf(stderr, "CALLED %s, and was told: %s\n", called, told);
    told[0] = 0;
}
C
    while read -r f; do
        if grep -qx "$f" $out/void; then
            echo "#define $f(...) (($f)(__VA_ARGS__), compare_names(\"$f\"))"
        else
            echo "#define $f(...) __extension__({ __auto_type made = ($f)(__VA_ARGS__); \\"
            echo "    compare_names(\"$f\"); made; })"
        fi
    done <$out/functions
    echo '#define samba_fail(...) ((void)(samba_fail)(__VA_ARGS__), told[0] = 0, false)'
} >$out/called.h

compile() {         # samba.h
    printf '#define SAMBA_IMPLEMENTATION\n#include "samba.h"\n' >$out/whole/samba.c
    $compiler -w -O0 -DSAMBA_NO_SIMD -c -o $out/samba.o $out/whole/samba.c
}
build() {           # build NAME: a test with the wrappers
    sed -e 's|#include "samba.h"|#include "'$out'/hollow/samba.h"\n#include "'$out'/called.h"|' \
        "tests/core/$1.c" >"$out/$1.c"
    $compiler -w -O0 -DSAMBA_NO_SIMD -I. -o "$out/$1" "$out/$1.c" $out/samba.o \
        -Wl,--allow-multiple-definition -lm -pthread
}
# A test that ends early has told less than it should.
passes() {
    "$out/$1" >"$out/$1.said" 2>&1
    code=$?
    tail -n 20 "$out/$1.said"
    [ $code = 0 ] && grep -qxE '[1-9][0-9]* passed, 0 failed' "$out/$1.said"
}
names_what_was_called() { ! grep '^CALLED' "$out/$1.said"; }
check 'samba.h compiles' compile
for name in errors hyperparams mistakes nulls rarely_meant restore; do
    check "$name compiles" build $name
    check "$name passes" passes $name
    check "$name: errors name what was called" names_what_was_called $name
done
check 'something was told' grep -q 'in samba_' $out/mistakes.said
sed -i 's/"samba_eval", &d/"samba_run", \&d/' $out/whole/samba.h
mistaken() {
    compile && build mistakes || return
    passes mistakes
    ! names_what_was_called mistakes
}
check 'another name is found' mistaken
finish
