// tools/learn/judge.c: what judge.h declares. It is compiled once, and linked to each judge.
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define JUDGE_DECLARES                  // judge.h without a learner's file
#include "judge.h"
#undef free

struct judge judge;
struct judge_known judge_known;

// ---- The verdict ----

static void judge_verdict(void)
{
    if (judge.token[0]) fprintf(stderr, "\n%s\n", judge.token);
}

// The line "mistake: NAME" is for tests; tools/learn/learn.sh does not show it.
void judge_refuse(const char *mistake, const char *sentence)
{
    if (judge_known.file) _Exit(1);
    if (judge_known.expected) {
        const size_t n = strlen(judge_known.expected);
        int same = mistake && !strncmp(mistake, judge_known.expected, n);
        same = same && (mistake[n] == 0 || mistake[n] == ' ');
        if (!same)
            printf("%s is named %s: %s\n", judge_known.expected, mistake ? mistake : "nothing",
                   sentence);
        fflush(stdout);
        _Exit(0);
    }
    judge_verdict();
    fprintf(stderr, "Not yet. %s:\n  %s\n", judge.what, sentence);
    if (mistake) fprintf(stderr, "mistake: %s\n", mistake);
    fflush(stdout);
    _Exit(1);
}

// ---- The beginning ----

// A learner's error must end in a sentence, not in "Segmentation fault".
static void judge_crashed(int number)
{
    const char *sentence = "your code reads or writes memory that is not its own: an index outside "
                           "of its array, or a pointer that is NULL?";
    if (number == SIGFPE) sentence = "your code divides an int by 0.";
    if (number == SIGABRT)
        sentence = "your code called abort, or wrote outside of memory that malloc gave.";
    if (number == SIGILL)
        sentence = "your code does what C leaves undefined: is there a function without its return?";
    judge_refuse("crash", sentence);
}

#if defined(__unix__) || defined(__APPLE__)
unsigned alarm(unsigned seconds);       // by hand: unistd.h would take names such as read and link
#else
#define alarm(seconds) (void)(seconds)
#endif

// Seconds of the clock; those of the processor are limited by who starts the judge. When a
// sanitizer looks on (leaves_signals), the signals are its own.
void judge_begin(int seconds)
{
    char *token = getenv("JUDGE_TOKEN");
    judge.what = "At the beginning";
    if (token) {
        strncpy(judge.token, token, sizeof judge.token - 1);
        memset(token, 0, strlen(token));
    }
    alarm((unsigned)seconds);
    if (judge_known.leaves_signals) return;
    signal(SIGSEGV, judge_crashed);
#ifdef SIGBUS
    signal(SIGBUS, judge_crashed);
#endif
    signal(SIGFPE, judge_crashed);
    signal(SIGILL, judge_crashed);
    signal(SIGABRT, judge_crashed);
}

// ---- A case ----

void judge_case(const char *what)
{
    judge.what = what;
    judge.n_before = judge.n;
    memcpy(judge.before, judge.got, sizeof(double) * (size_t)judge.n);
    judge.n = 0;
    judge.mistake = NULL;
    judge.sentence = NULL;
    judge.clue = NULL;
    judge.cases++;
}

// ---- Memory that a learner's function reads and fills ----
// An array lies between two guards, so that a loop which goes too far is noticed: a write changes a
// guard, and a read gives numbers of about 1e30. Those differ from array to array, or a copy from
// guard to guard would change nothing. No judge needs to free an array. With a sanitizer
// (leaves_signals) an array has no guards; it says the line in which its end is passed.
enum { JUDGE_ROOMS = 512, JUDGE_GUARD = 256 };

static struct {
    unsigned char *at[JUDGE_ROOMS];
    size_t bytes[JUDGE_ROOMS];
} judge_rooms;

static void judge_fill_guard(unsigned char *guard, int k)
{
    const float huge = 1e30f + (float)k * 1e28f;
    for (int i = 0; i < JUDGE_GUARD; i += 4) memcpy(guard + i, &huge, 4);
}

static void *judge_allocate(size_t bytes)
{
    int k = 0;
    while (k < JUDGE_ROOMS && judge_rooms.at[k]) k++;
    if (judge_known.leaves_signals) k = JUDGE_ROOMS;
    int guards = k < JUDGE_ROOMS;
    unsigned char *y = (unsigned char *)malloc(bytes + (guards ? 2 * JUDGE_GUARD : bytes == 0));
    if (!y) abort();
    if (!guards) return y;
    judge_fill_guard(y, k);
    judge_fill_guard(y + JUDGE_GUARD + bytes, k);
    judge_rooms.at[k] = y + JUDGE_GUARD;
    judge_rooms.bytes[k] = bytes;
    return y + JUDGE_GUARD;
}

void judge_look_at_guards(void)
{
    unsigned char whole[JUDGE_GUARD];
    for (int k = 0; k < JUDGE_ROOMS; k++) {
        if (!judge_rooms.at[k]) continue;
        judge_fill_guard(whole, k);
        if (memcmp(judge_rooms.at[k] + judge_rooms.bytes[k], whole, sizeof whole) != 0)
            judge_refuse("past_the_end",
                         "your code writes behind the end of an array: does a loop go one too far, "
                         "or is a size taken for another?");
        if (memcmp(judge_rooms.at[k] - JUDGE_GUARD, whole, sizeof whole) != 0)
            judge_refuse("before_the_start",
                         "your code writes in front of the beginning of an array: an index is "
                         "negative.");
    }
}

// Of the judge's own arrays and, as free is a macro from here on, of a learner's.
void judge_free(void *y)
{
    for (int k = 0; k < JUDGE_ROOMS; k++)
        if (y && judge_rooms.at[k] == y) {
            judge_look_at_guards();
            judge_rooms.at[k] = NULL;
            y = (unsigned char *)y - JUDGE_GUARD;
            break;
        }
    free(y);
}

// n floats of a value: what a learner's function fills.
float *judge_room(int n, float value)
{
    float *y = (float *)judge_allocate((size_t)n * sizeof *y);
    for (int i = 0; i < n; i++) y[i] = value;
    judge.held = value;
    return y;
}

// The bytes of an array of any type: what a learner's function reads.
void *judge_copy(const void *from, size_t bytes)
{
    void *y = judge_allocate(bytes);
    memcpy(y, from, bytes);
    return y;
}

// ---- What was got ----

void judge_got(const float *y, int n)
{
    judge.n_parts = 0;
    judge.n = n < JUDGE_MOST ? n : JUDGE_MOST;
    for (int i = 0; i < judge.n; i++) judge.got[i] = (double)y[i];
}

// The parts of what was got, in their order. Then a number is named "row 1, column 2 of dx", and
// what is said of rows and columns is true. Without parts, all is one vector.
void judge_part(const char *name, int rows, int columns)
{
    if (judge.n_parts < JUDGE_PARTS)
        judge.parts[judge.n_parts++] = (judge_shape){ name, rows, columns };
}

void judge_got_array(const char *name, const float *y, int rows, int columns)
{
    judge_got(y, rows * columns);
    judge_part(name, rows, columns);
}

void judge_got_number(double y)
{
    judge.n_parts = 0;
    judge.n = 1;
    judge.got[0] = y;
}

// Floats of a few operations differ by their order: equal up to tolerance, relative above 1.
int judge_close(double got, double want, double tolerance)
{
    if (got == want || (got != got && want != want)) return 1;
    double size = fabs(want) > 1.0 ? fabs(want) : 1.0;
    return fabs(got - want) <= tolerance * size;
}

// ---- What is known ----
// A record is three ints and n doubles. The place of a check is its number, times JUDGE_PROBES.
static int judge_place(int probe)
{
    return judge_known.checks * JUDGE_PROBES + probe;
}

static void judge_record(int place, const double *numbers, int n)
{
    const int head[3] = { judge_known.variant, place, n };
    fwrite(head, sizeof *head, 3, judge_known.file);
    fwrite(numbers, sizeof *numbers, (size_t)n, judge_known.file);
    fflush(judge_known.file);
}

// How many numbers a variant gave at a place; -1: it did not come so far.
static int judge_find(int variant, int place, double *numbers)
{
    int head[3];
    for (size_t at = judge_known.records; at + sizeof head <= judge_known.bytes;) {
        memcpy(head, judge_known.text + at, sizeof head);
        at += sizeof head;
        if (head[0] == variant && head[1] == place) {
            memcpy(numbers, judge_known.text + at, sizeof *numbers * (size_t)head[2]);
            return head[2];
        }
        at += sizeof *numbers * (size_t)head[2];
    }
    return -1;
}

static char *judge_next_line(char *line)
{
    char *end = line + strcspn(line, "\n");
    *end = 0;
    return end + 1;
}

// The file begins with how many mistakes are listed, and a name and a sentence of each.
void judge_load(const char *path)
{
    FILE *f = fopen(path, "rb");
    long size = 0;
    if (f && !fseek(f, 0, SEEK_END)) size = ftell(f);
    judge_known.text = (char *)calloc((size_t)size + 2, 1);
    if (f) rewind(f);
    if (f && judge_known.text) judge_known.bytes = fread(judge_known.text, 1, (size_t)size, f);
    if (!judge_known.bytes)
        judge_refuse(NULL, "the judge's own file is missing. Begin again: make learn.");
    fclose(f);
    char *at = judge_known.text, *next = judge_next_line(at);
    judge_known.count = atoi(at);
    if (judge_known.count >= JUDGE_LISTED) judge_refuse(NULL, "too many mistakes are listed.");
    for (int i = 1; i <= judge_known.count; i++)
        for (int k = 0; k < 2; k++) {
            judge_known.names[i][k] = at = next;
            next = judge_next_line(at);
        }
    judge_known.records = (size_t)(next - judge_known.text);
}

// What the solution gives for what was got last; while that is recorded, the same.
const double *judge_wanted(void)
{
    static double want[JUDGE_MOST];
    if (judge_known.file) return judge.got;
    if (judge_find(0, judge_place(0), want) != judge.n)
        judge_refuse(NULL, "the judge has nothing to compare this with. Please tell its authors.");
    return want;
}

static int judge_all_close(const double *got, const double *want, int n, double tolerance)
{
    for (int i = 0; i < n; i++)
        if (!judge_close(got[i], want[i], tolerance)) return 0;
    return 1;
}

// Which mistake gives all numbers that were got, and was right so far, as they were?
static void judge_recognize(double tolerance)
{
    static double wrong[JUDGE_MOST];
    const double *want = judge_wanted();
    int right = judge_all_close(judge.got, want, judge.n, tolerance);
    for (int v = 1; v <= judge_known.count && !judge_known.file && !judge.mistake; v++) {
        int n = judge_known.excluded[v] ? -1 : judge_find(v, judge_place(0), wrong);
        int shows = n != judge.n || !judge_all_close(wrong, want, n, tolerance);
        if (right) judge_known.excluded[v] |= shows;
        if (right || n != judge.n || !shows || !judge_known.names[v][1][0]) continue;
        if (!judge_all_close(judge.got, wrong, n, 1e-5)) continue;
        judge.mistake = judge_known.names[v][0];
        judge.sentence = judge_known.names[v][1];
    }
}

// What the list of mistakes says of this one.
static const char *judge_sentence(const char *name)
{
    for (int v = 1; v <= judge_known.count; v++)
        if (!strcmp(judge_known.names[v][0], name) && judge_known.names[v][1][0])
            return judge_known.names[v][1];
    return "this is wrong, and the list of mistakes does not say why.";
}

// ---- More than the numbers of a case ----
// Whether n of the numbers that were got, from number `from` on, are right.
int judge_right_in(int from, int n, double tolerance)
{
    return judge_all_close(judge.got + from, judge_wanted() + from, n, tolerance);
}

// Whether it is worth while to call the learner's function with other inputs, for a clue; while the
// solution is recorded, it is.
int judge_is_wrong(double tolerance)
{
    if (judge_known.file) return judge_known.variant == 0;
    return !judge_right_in(0, judge.n, tolerance);
}

// Whether y is what the solution gives for such an input. probe: 1, 2, 3 ... within a case.
int judge_probe(int probe, const float *y, int n, double tolerance)
{
    static double got[JUDGE_MOST], want[JUDGE_MOST];
    for (int i = 0; i < n; i++) got[i] = (double)y[i];
    if (judge_known.file) judge_record(judge_place(probe), got, n);
    if (judge_known.file) return 1;
    return judge_find(0, judge_place(probe), want) == n && judge_all_close(got, want, n, tolerance);
}

// What is said besides if no known misconception gives the learner's numbers, and they are wrong: a
// property that they should have and lack, which the judge has looked at with inputs of its own. The
// first counts.
void judge_clue_saying(int lacking, const char *name, const char *sentence)
{
    if (judge.clue || !lacking) return;
    judge.clue = name;
    judge.clue_sentence = sentence;
}

void judge_clue(int lacking, const char *name)
{
    if (lacking) judge_clue_saying(lacking, name, judge_sentence(name));
}

// ---- What can be said of numbers that no known misconception gives ----
// Such a sentence says what is seen, and asks for the cause. What is seen must be true, whatever the
// cause is.
typedef struct judge_table {
    const double *got;
    const double *want;
    const double *before;         // what the last call gave; NULL: none, or of another size
    int rows, columns, n;
    int wrong;                    // how many are
    double tolerance;
} judge_table;

static int judge_right_at(const judge_table *t, int i)
{
    return judge_close(t->got[i], t->want[i], t->tolerance);
}

static int judge_all_same(const double *y, int n)
{
    for (int i = 1; i < n; i++)
        if (y[i] != y[0]) return 0;
    return 1;
}

// -- Where it is right --
enum { JUDGE_FIRST_ROW, JUDGE_LAST_ROW, JUDGE_FIRST_COLUMN, JUDGE_LAST_COLUMN, JUDGE_DIAGONAL,
       JUDGE_BELOW, JUDGE_ABOVE, JUDGE_EVEN_ROW, JUDGE_EVEN_COLUMN, JUDGE_PLACES };

static int judge_is_at(const judge_table *t, int place, int r, int c)
{
    switch (place) {
    case JUDGE_FIRST_ROW: return r == 0;
    case JUDGE_LAST_ROW: return r == t->rows - 1;
    case JUDGE_FIRST_COLUMN: return c == 0;
    case JUDGE_LAST_COLUMN: return c == t->columns - 1;
    case JUDGE_DIAGONAL: return r == c && t->rows > 1;
    case JUDGE_BELOW: return c < r;
    case JUDGE_ABOVE: return c > r && t->rows > 1;
    case JUDGE_EVEN_ROW: return r % 2 == 0;
    default: return c % 2 == 0;
    }
}

// Whether those at a place are right and no others; or wrong, and no others.
static int judge_only_at(const judge_table *t, int place, int right)
{
    for (int i = 0; i < t->n; i++)
        if ((judge_right_at(t, i) == right) != judge_is_at(t, place, i / t->columns, i % t->columns))
            return 0;
    return 1;
}

static const char *judge_where(const judge_table *t)
{
    static const char *const only[JUDGE_PLACES] = {
        "only the first row is right: what must go on, or begin anew, from row to row?",
        "only the last row is right: does something in a loop over the rows belong behind it, or "
        "the other way round?",
        "only the first column is right: what must go on, or begin anew, along a row?",
        "only the last column is right: does something in a loop belong behind it, or the other "
        "way round?",
        "only the diagonal is right, where row and column have the same number.",
        "only what lies below the diagonal is right.",
        "only what lies above the diagonal is right.",
        "every second row is right, and no other.",
        "every second column is right, and no other.",
    };
    static const char *const but[JUDGE_PLACES] = {
        "all is right but the first row: does a loop begin one too late?",
        "all is right but the last row: does a loop end one too early, or one too late?",
        "all is right but the first column: does a loop begin one too late?",
        "all is right but the last column: does a loop end one too early, or one too late?",
        "all is right but the diagonal, where row and column have the same number.",
        "all is right but what lies below the diagonal.",
        "all is right but what lies above the diagonal.",
        "every second row is wrong.",
        "every second column is wrong.",
    };
    int first = 0, right = t->n - t->wrong;
    while (first < t->n && judge_right_at(t, first)) first++;
    if (t->rows == 1) {
        if (t->n > 1 && right == 1 && first == 1) return "only the first number is right.";
        if (t->wrong == 1 && first == 0 && t->n > 2)
            return "all is right but the first number: does a loop begin one too late?";
        if (t->wrong == 1 && first == t->n - 1 && t->n > 2)
            return "all is right but the last number: does a loop end one too early, or one too "
                   "late?";
    }
    for (int place = 0; place < JUDGE_PLACES && t->rows > 1 && right; place++) {
        if (judge_only_at(t, place, 1)) return only[place];
        if (judge_only_at(t, place, 0)) return but[place];
    }
    if (right == first && right > 1 && t->wrong > 1)
        return "up to there all is right, and nothing behind it: does a loop end too early, or "
               "is a size taken for another?";
    return NULL;
}

// -- What the wrong numbers are of the right ones --
enum { JUDGE_SQUARE, JUDGE_ROOT, JUDGE_INVERSE, JUDGE_LOG, JUDGE_EXP, JUDGE_REST, JUDGE_UNSIGNED,
       JUDGE_WHOLE, JUDGE_NEAREST, JUDGE_FUNCTIONS };

static double judge_function(int f, double x)
{
    switch (f) {
    case JUDGE_SQUARE: return x * x;
    case JUDGE_ROOT: return sqrt(x);
    case JUDGE_INVERSE: return 1 / x;
    case JUDGE_LOG: return log(x);
    case JUDGE_EXP: return exp(x);
    case JUDGE_REST: return 1 - x;
    case JUDGE_UNSIGNED: return fabs(x);
    case JUDGE_WHOLE: return trunc(x);
    default: return rint(x);
    }
}

// Two numbers that tell, or one with digits behind the point: 0 and 1 fit too much.
static int judge_fits(const judge_table *t, int f)
{
    int telling = 0;
    double seen = 0;
    for (int i = 0; i < t->n; i++) {
        double want = t->want[i];
        if (judge_right_at(t, i)) continue;
        if (!judge_close(t->got[i], judge_function(f, want), 1e-5)) return 0;
        if (f == JUDGE_UNSIGNED) telling += t->n > 1;
        if (fabs(want) < 1e-3 || fabs(want) == 1 || t->got[i] == 0 || want == seen) continue;
        if ((f == JUDGE_WHOLE || f == JUDGE_NEAREST || t->n == 1) && want == rint(want)) continue;
        seen = want;
        telling++;
    }
    return telling > (t->wrong > 1);
}

static const char *judge_by_function(const judge_table *t)
{
    static const char *const said[JUDGE_FUNCTIONS] = {
        "what is wrong is the square of what is right: is a root missing?",
        "what is wrong is the root of what is right: is a root too much, or a square missing?",
        "what is wrong is 1 / what is right: is a quotient turned round?",
        "what is wrong is the logarithm of what is right: is exp missing, or log too much?",
        "what is wrong is exp of what is right: is log missing, or exp too much?",
        "what is wrong is 1 minus what is right.",
        "what should be negative is positive: the size is right, the sign is not.",
        "what is wrong has lost all behind the point: is an int divided by an int, or a float kept "
        "in an int?",
        "what is wrong is rounded to a whole number: is a float kept in an int?",
    };
    for (int f = 0; f < JUDGE_FUNCTIONS; f++)
        if (judge_fits(t, f)) return said[f];
    return NULL;
}

// One number alone. Small whole numbers are twice something by chance.
static const char *judge_of_one(double got, double want)
{
    if (want == rint(want) && got == want + 1) return "it is one too many.";
    if (want == rint(want) && got == want - 1) return "it is one too few.";
    if (want != 0 && judge_close(got, -want, 1e-5)) return "it has the opposite sign.";
    if (want == rint(want)) return NULL;
    if (judge_close(got, 2 * want, 1e-5)) return "it is twice what is right.";
    if (judge_close(got, want / 2, 1e-5)) return "it is half of what is right.";
    return NULL;
}

static const char *judge_which(const judge_table *t)
{
    return t->wrong == t->n ? "every number" : "every number that is wrong";
}

static const char *judge_factor_said(const judge_table *t, double factor)
{
    static char said[240];
    const double size = factor > 1 ? factor : 1 / factor;
    char known[60] = "";
    if (fabs(factor + 1) < 1e-5) {
        snprintf(said, sizeof said, "%s has the opposite sign.", judge_which(t));
        return said;
    }
    if (judge_close(size, t->n, 1e-5))
        snprintf(known, sizeof known, ", and there are %d numbers", t->n);
    if (judge_close(size, t->columns, 1e-5) && t->rows > 1)
        snprintf(known, sizeof known, ", and %d is the number of columns", t->columns);
    if (judge_close(size, t->rows, 1e-5))
        snprintf(known, sizeof known, ", and %d is the number of rows", t->rows);
    snprintf(said, sizeof said, "%s is %.4g times what is right%s. Which multiplication or "
             "division is missing, or too much?", judge_which(t), factor, known);
    return said;
}

// The same factor, or the same sum, in all that is wrong.
static const char *judge_by_factor(const judge_table *t)
{
    static char said[200];
    double factor = 0, plus = 0, largest = 0;
    int by_factor = 1, by_plus = 1, nonzero = 0;
    for (int i = 0; i < t->n; i++) {
        double want = t->want[i];
        if (judge_right_at(t, i)) continue;
        plus = t->got[i] - want;
        nonzero += fabs(want) > 1e-6;
        if (fabs(want) <= largest) continue;
        largest = fabs(want);
        factor = t->got[i] / want;
    }
    for (int i = 0; i < t->n; i++) {
        if (judge_right_at(t, i)) continue;
        by_factor &= judge_close(t->got[i], factor * t->want[i], 1e-5);
        by_plus &= judge_close(t->got[i], plus + t->want[i], 1e-5);
    }
    if (by_factor && nonzero > 1 && factor != 0) return judge_factor_said(t, factor);
    if (!by_plus || t->wrong < 3) return NULL;
    snprintf(said, sizeof said, "%s is too %s by %.4g: what is added once too often, or missing?",
             judge_which(t), plus > 0 ? "large" : "small", fabs(plus));
    return said;
}

// A factor or a sum for each line (row or column) of its own.
static int judge_by_line(const judge_table *t, int by_rows, int by_factor)
{
    int lines = by_rows ? t->rows : t->columns, length = t->n / lines, telling = 0;
    int step = by_rows ? t->columns : 1, next = by_rows ? 1 : t->columns;
    for (int l = 0; l < lines; l++) {
        double change = 0, largest = 0;
        int nonzero = 0;
        for (int k = 0; k < length; k++) {
            int i = l * step + k * next;
            double want = t->want[i];
            nonzero += fabs(want) > 1e-6;
            if (k && (!by_factor || fabs(want) <= largest)) continue;
            largest = fabs(want);
            change = by_factor ? (want != 0 ? t->got[i] / want : 1) : t->got[i] - want;
        }
        for (int k = 0; k < length; k++) {
            int i = l * step + k * next;
            double want = t->want[i];
            if (!judge_close(t->got[i], by_factor ? change * want : change + want, 1e-5)) return 0;
        }
        telling += nonzero > 1 && change != 0 && fabs(change - by_factor) > 1e-4;
    }
    return telling > 1;
}

static const char *judge_by_lines(const judge_table *t)
{
    if (t->rows < 2 || t->columns < 2) return NULL;
    if (judge_by_line(t, 1, 1))
        return "each row is wrong by a factor of its own: look at what is multiplied or divided "
               "once for each row.";
    if (judge_by_line(t, 0, 1))
        return "each column is wrong by a factor of its own: look at what is multiplied or divided "
               "once for each column.";
    if (judge_by_line(t, 1, 0))
        return "each row is wrong by a sum of its own: look at what is added or subtracted once "
               "for each row.";
    if (judge_by_line(t, 0, 0))
        return "each column is wrong by a sum of its own: look at what is added or subtracted once "
               "for each column.";
    return NULL;
}

// -- The right numbers in wrong places, or more than once --
enum { JUDGE_EARLY, JUDGE_LATE, JUDGE_REVERSED, JUDGE_TRANSPOSED, JUDGE_ROW_EARLY, JUDGE_ROW_LATE,
       JUDGE_GOES_ON, JUDGE_ROWS_GO_ON, JUDGE_FIRST_AGAIN, JUDGE_ROW_AGAIN, JUDGE_MOVES };

// What would stand at i; what is not known there is what is there.
static double judge_moved(const judge_table *t, int move, int i)
{
    int r = i / t->columns, c = i % t->columns, from = i;
    double sum = 0;
    if (move == JUDGE_GOES_ON || move == JUDGE_ROWS_GO_ON) {
        for (int k = i; k >= 0; k -= move == JUDGE_GOES_ON ? 1 : t->columns)
            sum += t->want[k];
        return sum;
    }
    if (move == JUDGE_EARLY) from = i + 1;
    if (move == JUDGE_LATE) from = i - 1;
    if (move == JUDGE_ROW_EARLY) from = i + t->columns;
    if (move == JUDGE_ROW_LATE) from = i - t->columns;
    if (move == JUDGE_REVERSED) from = t->n - 1 - i;
    if (move == JUDGE_TRANSPOSED) from = i % t->rows * t->columns + i / t->rows;
    if (move == JUDGE_FIRST_AGAIN) from = r * t->columns;
    if (move == JUDGE_ROW_AGAIN) from = c;
    return from < 0 || from >= t->n ? t->got[i] : t->want[from];
}

static int judge_is_moved(const judge_table *t, int move)
{
    double seen = 0;
    int known = 0, telling = 0;
    for (int i = 0; i < t->n; i++) {
        double moved = judge_moved(t, move, i);
        if (!judge_close(t->got[i], moved, 1e-5)) return 0;
        known += !judge_right_at(t, i);
        telling += moved != 0 && moved != seen;
        seen = moved;
    }
    return known > 1 && telling > 1;
}

static const char *judge_by_move(const judge_table *t)
{
    static const char *const said[JUDGE_MOVES] = {
        "the right numbers stand one place too early.",
        "the right numbers stand one place too late.",
        "the right numbers stand in reverse order.",
        "the right numbers stand there transposed: rows and columns are exchanged in what is "
        "written or read.",
        "the right rows stand one row too early.",
        "the right rows stand one row too late.",
        "each number has all those before it in it: a sum goes on that must begin anew.",
        "each row has all those before it in it: a sum goes on that must begin anew.",
        "along each row stands the same number, that of the first column.",
        "each row has the numbers of the first: which index must change from row to row?",
    };
    for (int move = 0; move < JUDGE_MOVES; move++) {
        if (t->rows == 1 && (move == JUDGE_TRANSPOSED || move == JUDGE_ROW_EARLY
                || move == JUDGE_ROW_LATE || move == JUDGE_ROWS_GO_ON || move == JUDGE_ROW_AGAIN))
            continue;
        if (judge_is_moved(t, move)) return said[move];
    }
    return NULL;
}

static int judge_by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static int judge_other_order(const judge_table *t)
{
    static double got[JUDGE_MOST], want[JUDGE_MOST];
    for (int i = 0; i < t->n; i++) {
        got[i] = t->got[i];
        want[i] = t->want[i];
    }
    qsort(got, (size_t)t->n, sizeof *got, judge_by_size);
    qsort(want, (size_t)t->n, sizeof *want, judge_by_size);
    for (int i = 0; i < t->n; i++)
        if (!judge_close(got[i], want[i], t->tolerance)) return 0;
    return t->n > 1;
}

// -- What was there before --
static const char *judge_by_past(const judge_table *t)
{
    const double held = (double)judge.held;
    int left = held != 0, added = held != 0, last = t->before != NULL, goes_on = last;
    for (int i = 0; i < t->n; i++) {
        double want = t->want[i];
        last = last && judge_close(t->got[i], t->before[i], 1e-6);
        goes_on = goes_on && judge_close(t->got[i], t->before[i] + want, 1e-6);
        if (judge_right_at(t, i)) continue;
        left &= t->got[i] == held;
        added &= judge_close(t->got[i], held + want, 1e-6);
    }
    if (left)
        return t->wrong == t->n
            ? "nothing was written: every number is what the array held before your function."
            : "what is wrong was not written: it is what the array held before your function.";
    if (added)
        return "the result is added to what the array held before: = in place of +=, or set it "
               "to 0 first.";
    if (last && !judge_all_same(t->got, t->n))
        return "these are the numbers of the last call: what does your code keep from call to call, "
               "or not write?";
    if (goes_on && !judge_all_same(t->before, t->n))
        return "the numbers of the last call are in it: what must begin anew with each call?";
    return NULL;
}

static const char *judge_by_value(const judge_table *t)
{
    int zeros = t->n > 1, negative = t->wrong < t->n;
    for (int i = 0; i < t->n; i++) {
        if (judge_right_at(t, i)) continue;
        zeros &= t->got[i] == 0;
        negative &= t->want[i] < 0;
    }
    if (zeros && negative) return "what should be negative is 0.";
    if (zeros)
        return t->wrong == t->n ? "every number is 0." : "every number that is wrong is 0.";
    if (t->n > 2 && t->wrong > 1 && judge_all_same(t->got, t->n))
        return "every number is the same: which index is missing?";
    return NULL;
}

// NULL: nothing can be said.
static const char *judge_general(const judge_table *t)
{
    const char *said;
    for (int i = 0; i < t->n; i++)
        if (!(t->got[i] - t->got[i] == 0) && !judge_right_at(t, i))
            return "there is an infinity, or what is not a number, such as 0 / 0: print what you "
                   "divide by, and what exp, log and sqrt get.";
    if ((said = judge_by_past(t)) != NULL) return said;
    if ((said = judge_by_value(t)) != NULL) return said;
    if (t->n == 1 && (said = judge_of_one(t->got[0], t->want[0])) != NULL) return said;
    if ((said = judge_by_factor(t)) != NULL) return said;
    if ((said = judge_by_function(t)) != NULL) return said;
    if ((said = judge_by_move(t)) != NULL) return said;
    if ((said = judge_by_lines(t)) != NULL) return said;
    if (judge_other_order(t))
        return "the right numbers are there, in another order: which index counts rows, and which "
               "columns?";
    return NULL;
}

// -- The sentence --
// The part that number i belongs to; without parts, all is one.
static judge_table judge_table_of(int i, const double *want, int n, double tolerance)
{
    int at = 0;
    judge_table t = { judge.got, want, NULL, 1, n, n, 0, tolerance };
    for (int p = 0; p < judge.n_parts; p++) {
        int size = judge.parts[p].rows * judge.parts[p].columns;
        if (i >= at && i < at + size && at + size <= n) {
            t.got += at;
            t.want += at;
            t.rows = judge.parts[p].rows;
            t.columns = judge.parts[p].columns;
            t.n = size;
        }
        at += size;
    }
    if (t.columns == 1) {
        t.columns = t.rows;
        t.rows = 1;
    }
    if (judge.n_before == judge.n) t.before = judge.before + (t.got - judge.got);
    for (int k = 0; k < t.n; k++) t.wrong += !judge_right_at(&t, k);
    return t;
}

static void judge_name(int i, int n, char *name, size_t room)
{
    snprintf(name, room, "it");
    if (n > 1) snprintf(name, room, "element %d of %d", i, n);
    for (int p = 0; p < judge.n_parts; p++) {
        const judge_shape *s = &judge.parts[p];
        int size = s->rows * s->columns;
        if (i >= 0 && i < size) {
            snprintf(name, room, "%s[%d]", s->name, i);
            if (size == 1) snprintf(name, room, "%s", s->name);
            if (s->rows > 1 && s->columns > 1)
                snprintf(name, room, "row %d, column %d of %s", i / s->columns, i % s->columns,
                         s->name);
        }
        i -= size;
    }
}

// Whether numbers of a guard have come into the result.
static void judge_look_for_guards(const double *want, int n)
{
    for (int i = 0; i < n && i < judge.n; i++)
        if (fabs(judge.got[i]) > 1e24 && fabs(judge.got[i]) < 1e36 && fabs(want[i]) < 1e20)
            judge_refuse("reads_outside",
                         "a number is huge. Is something read outside of an array? The judge puts "
                         "about 1e30 behind the end and in front of the beginning of each.");
}

// For tests; "seen" tells it from a mistake, after which no sanitizer looks on.
static const char *judge_clue_name(void)
{
    static char name[80];
    snprintf(name, sizeof name, "%s seen", judge.clue);
    return name;
}

// The numbers that were got, with those of the solution. Refuses at the first that is wrong.
static void judge_refuse_numbers(const double *want, double tolerance)
{
    const char *where, *more;
    char line[1500], name[80];
    int i = 0, n = judge.n;
    while (judge_close(judge.got[i], want[i], tolerance)) i++;
    int seen = judge.mistake && judge.clue && !strcmp(judge.mistake, judge.clue);
    if (judge.mistake && !seen) judge_refuse(judge.mistake, judge.sentence);
    judge_look_at_guards();
    judge_look_for_guards(want, n);
    judge_table t = judge_table_of(i, want, n, tolerance);
    where = judge_where(&t);
    more = judge_general(&t);
    judge_name(i, n, name, sizeof name);
    snprintf(line, sizeof line, "%s is %.6g, and should be %.6g.%s%s%s%s%s%s", name, judge.got[i],
             want[i], where || more ? "\n  In short: " : "", where ? where : "",
             where && more ? "\n  And " : "", more ? more : "", judge.clue ? "\n  Seen: " : "",
             judge.clue ? judge.clue_sentence : "");
    judge_refuse(judge.clue ? judge_clue_name() : NULL, line);
}

// Of numbers so few that several mistakes give them: a mistake is named if judge_recognize has
// found it in more of them.
void judge_compare_few(double tolerance)
{
    if (judge_known.file) judge_record(judge_place(0), judge.got, judge.n);
    const double *want = judge_wanted();
    if (!judge_all_close(judge.got, want, judge.n, tolerance)) judge_refuse_numbers(want, tolerance);
    judge_look_at_guards();
    judge_known.checks++;
}

void judge_compare(double tolerance)
{
    judge_recognize(tolerance);
    judge_compare_few(tolerance);
}

// All numbers of several cases, of which each is compared by judge_compare_few in its turn.
void judge_compare_later(double tolerance)
{
    if (judge_known.file) judge_record(judge_place(0), judge.got, judge.n);
    judge_recognize(tolerance);
    judge_known.checks++;
}

// Something that must hold, with the mistake that is made if it does not.
void judge_holds_saying(int holds, const char *name, const char *sentence)
{
    if (!holds) judge_refuse(name, sentence);
}

void judge_holds(int holds, const char *name)
{
    if (!holds) judge_refuse(name, judge_sentence(name));
}

int judge_end(void)
{
    judge_look_at_guards();
    judge_verdict();
    fprintf(stderr, "Right: %d cases.\n", judge.cases);
    return 0;
}

// Whether nothing was written behind the end of an array that is larger than the learner knows.
int judge_untouched(const float *y, int n)
{
    for (int i = 0; i < n; i++)
        if (y[i] != judge.held) return 0;
    return 1;
}
