#!/bin/sh
# tests/tools/learner_misuse.sh: whatever a learner's file does - crash, loop, print a verdict of
# its own, take the solution - it is refused with a sentence, soon, and never counts as passed.
# run: quick
cd "$(dirname "$0")/../.." || exit 1
out=$PWD/build/learner_misuse
rm -rf "$out"
mkdir -p "$out"
log=$out/log name=07a_softmax
. tests/lib/test.sh
export LEARN="$out/learn" LEARN_SECONDS=1
learn=tools/learn/learn.sh
not() { ! "$@"; }
before='#include <stdio.h>
#include <stdlib.h>
#include <string.h>'
open='void softmax(const float *x, float *y, int m, int n)
{
    (void)x;
    (void)m;
    (void)n;'

judged() {                          # judged FILE: by `make learn`, and never for long
    mkdir -p "$LEARN"
    cp "$1" "$LEARN/$name.c"
    begun=$(date +%s)
    $learn judge "$name" </dev/null
    code=$?
    [ $(($(date +%s) - begun)) -lt 30 ] && return $code
    return 99
}
refuses() {                         # refuses 'what' 'sentence' 'file'
    printf '%s\n' "$3" >"$out/answer.c"
    check "$1" fails_with 1 "$2" judged "$out/answer.c"
    check "$1: a refusal begins with Not yet" grep -q '^Not yet' "$log.said"
    check "$1: it does not count" not grep -qx "$name" "$LEARN/passed"
    check "$1: the answer is short" [ "$(wc -c <"$log.said")" -lt 4000 ]
}
body() { refuses "$1" "$2" "$before
$open
    $3
}"; }

# ---- First of all: a right answer passes here, whatever it prints ----
check 'the solution passes' judged "tools/learn/solutions/$name.c"
sed 's/^{/&\n    puts("Not yet. It is wrong.\\nmistake: crash");/
    s/^#include/#include <stdio.h>\n&/' "tools/learn/solutions/$name.c" >"$out/talks.c"
check 'and passes, if it prints what looks like a refusal: that is quoted' \
    fails_with 0 '  | Not yet. It is wrong.' judged "$out/talks.c"

# ---- It breaks ----
body 'a NULL pointer' 'memory that is not its own' '*(volatile float *)NULL = y[0] = 1;'
body 'a NULL pointer: which line' 'line 10' '    y = NULL;
    y[0] = 1;'
body 'a division by zero' 'divides an int by 0' 'volatile int zero = 0; y[0] = (float)(m / zero);'
body 'abort' 'called abort' 'y[0] = 0; abort();'
body 'memory freed twice' 'this frees what is freed' \
    'char *p = malloc(9); *p = 0; y[0] = *p; free(p); free(p);'
refuses 'a call of itself for ever' 'itself for ever' "$before
static int deep(const int *above)
{
    int here[100];
    memcpy(here, above, sizeof here);
    here[9] += deep(here);
    return here[9] + here[10];
}
$open
    int here[100] = { 0 };
    y[0] = (float)deep(here);
}"
body 'memory without end' 'Not yet. ' 'for (;;) memset(malloc(1u << 24), 1, 1u << 24); y[0] = 0;'

# ---- It does not end, or ends everything ----
body 'a loop for ever' 'ever' 'for (;;) y[0] = y[0] * 0.5f + 1;'
refuses 'sleep' 'Does it wait' "unsigned sleep(unsigned);
$open
    y[0] = (float)sleep(100);
}"
body 'a question that no one answers' 'should be' 'y[0] = (float)getchar();'
body 'exit(0)' 'with code 0: no exit' 'y[0] = 0; exit(0);'
body 'exit(1)' 'with code 1: no exit' 'y[0] = 0; exit(1);'
body '_Exit(0)' 'with code 0: no exit' 'y[0] = 0; _Exit(0);'
refuses 'an end after the last case' 'with code 3' "$before
static void last(void) { _Exit(3); }
void softmax(const float *x, float *y, int m, int n);
$(sed 's/^{/&\n    atexit(last);/' tools/learn/solutions/$name.c)"

# ---- It prints ----
body 'a verdict of its own' '  | Right: 8 cases.' 'puts("Right: 8 cases."); y[0] = 0;'
body 'the same, and an end' 'no exit' \
    'fputs("Right: 8 cases.\nRight: 8 cases.\n", stderr); y[0] = 0; exit(0);'
body 'megabytes' 'It prints without end' \
    'for (int i = 0; i < 1000000; i++) puts("a line"); y[0] = 0;'
body 'megabytes to stderr' 'It prints without end' \
    'for (int i = 0; i < 1000000; i++) fputs("a line ", stderr); y[0] = 0;'
body 'ten thousand lines' '... and 9990 more lines' \
    'for (int i = 0; i < 10000; i++) puts("a line"); y[0] = 0; exit(0);'
body 'controls of the terminal' '  | [2J' 'fputs("\033[2J", stdout); y[0] = 0;'
body 'the file of the score' 'should be' 'FILE *f = fopen("learn/passed", "a"); y[0] = 0;
    if (!f) f = fopen("../../learn/passed", "a");
    if (f) { fputs("07a_softmax\n07b_cross_entropy\n", f); fclose(f); }'
check 'which has no other exercise in it' not grep -q 07b "$LEARN/passed"

# ---- It takes what is the judge's ----
refuses 'a main' 'the judge has a main of its own' "$open
    y[0] = 0;
}
int main(void) { return 0; }"
refuses 'a function of the judge' 'names that begin with judge' "$open
    y[0] = 0;
}
#define judge_want(...) (void)0"
refuses 'a result of the judge' 'names that begin with judge' "$open
    y[0] = 0;
    judge.cases = 8;
}"
refuses 'a macro that changes C' 'a macro if' "$open
    y[0] = 0;
}
#define if(x) if (0)"
refuses 'the solution, included' 'headers of C' "#include \"../../tools/learn/solutions/$name.c\""
refuses 'the solution, by < >' 'headers of C' "#include <$PWD/tools/learn/solutions/$name.c>"
refuses 'a name that the judge has' 'the judge has a large_scores of its own' "float large_scores;
$(cat tools/learn/solutions/$name.c)"

# ---- It runs before the judge does, and knows how a verdict begins ----
thief='static void early(void)
{
    const char *token = getenv("JUDGE_TOKEN");
    if (token) fprintf(stderr, "\n%s\nRight: 8 cases.\n", token);
    if (token) _Exit(0);
}'
refuses 'a constructor' 'an answer is plain C' "$before
__attribute__((constructor)) $thief
$open
    y[0] = 0;
}"
refuses 'a constructor in two lines' 'an answer is plain C' "$before
__attri\\
bute__((constructor)) $thief
$open
    y[0] = 0;
}"
refuses 'a constructor behind a trigraph' 'an answer is plain C' "$before
__attri??/
bute__((constructor)) $thief
$open
    y[0] = 0;
}"
refuses 'a constructor of two words' '## makes words' "$before
#define JOINED(a, b) a##b
JOINED(__attri, bute__)((constructor)) $thief
$open
    y[0] = 0;
}"
refuses 'assembler' 'an answer is plain C' "__asm__(\".section .init_array\");"

# ---- It is no file ----
linked() {                          # linked TARGET: a link to it in the place of the answer
    mkdir -p "$LEARN"
    rm -f "$LEARN/$name.c"
    ln -s "$1" "$LEARN/$name.c"
    timeout 20 $learn judge "$name" </dev/null
}
check 'a link to a device that never ends' fails_with 1 'no file of text' linked /dev/zero
mkfifo "$out/pipe"
check 'a link to a pipe that nobody writes to' fails_with 1 'no file of text' linked "$out/pipe"
head -c 3000000 /dev/zero >"$out/large"
check 'a file of megabytes' fails_with 1 'no file of text' linked "$out/large"
rm -f "$LEARN/$name.c"

# ---- It is not C ----
body 'no semicolon' 'line 9: expected' 'y[0] = 0'
check 'and the line is shown' grep -q '^      y\[0\] = 0$' "$log.said"
body 'an unknown name' 'line 9: ' 'y[0] = z;'
refuses 'a missing brace' 'a } is missing' "$open
    y[0] = 0;"
refuses 'another name' 'the judge needs softmax' "void soft_max(void) {}"
refuses 'a forgotten comment' 'Not yet. ' "/*
$open
    y[0] = 0;
}"
refuses 'comments alone' 'there is no code in it' "/* $open
} */
// done"
refuses 'an empty file' 'there is no code in it' ''
refuses 'all of it behind #if 0' 'the judge needs softmax' "#if 0
$(cat tools/learn/solutions/$name.c)
#endif"
body 'words in comments and quotes are free' 'should be' \
    'y[0] = 0; /* main and judge_want, as in
#include "x.h" */ puts("main \" judge"); // main'
finish
