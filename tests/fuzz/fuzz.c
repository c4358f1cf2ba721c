// Makes a fuzzer of a target: calls it, holds it to its limits, and has the modes that are no
// fuzzing. The first word of the command line may be
//     seeds FOLDER   writes the inputs to begin with
//     dict           prints the dictionary, as libFuzzer's -dict takes it
//     most           prints how long an input may be
//     linear         inputs of 1, 2, 4, 8 MB: time must grow like them; ends with "N passed ..."
//     headers N      what the target counts
// and anything else is the driver's: flags such as -runs=1000, folders, files to replay.
#include "fuzz.h"
#include "tests/lib/files.h"
#include "tools/include/samba/base.h"
#include <dirent.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { PATH = 300, MAX_FILES = 16, NAME = 80, LOOKED_AT = 64 };

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed);

static const fuzz_target *target = &fuzz_target_here;
static char folder[PATH - NAME - 1];
static int report_fd = 2;      // libFuzzer may close stderr for the target
static double allowed_seconds; // of this input, beside the limits

// ---- Findings -----------------------------------------------------------------------------------

void fuzz_fail(const char *format, ...)
{
    char text[1000];
    int n = snprintf(text, sizeof text, "FINDING of %s: ", target->name);

    va_list args;
    va_start(args, format);
    n += vsnprintf(text + n, sizeof text - (size_t)n - 1, format, args);
    va_end(args);

    if (n > (int)sizeof text - 2) n = (int)sizeof text - 2;
    text[n] = '\n';
    ssize_t written = write(report_fd, text, (size_t)n + 1);
    (void)written;
    abort();
}

void fuzz_check_text(const char *text, size_t size, const char *what)
{
    size_t n = text ? strnlen(text, size) : 0;
    if (n == size) fuzz_fail("the text of %s does not end", what);
    if (n < 10) fuzz_fail("%s gives no reason: \"%s\"", what, text ? text : "");

    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)text[i];
        if ((c < 0x20 && c != '\n') || c == 0x7F)
            fuzz_fail("the text of %s has control character %d: %.300s", what, c, text);
    }
}

// ---- The heap -----------------------------------------------------------------------------------

// This file is compiled without a sanitizer; the program may have been linked with one.
__attribute__((weak)) int __sanitizer_install_malloc_and_free_hooks(
    void (*on_malloc)(const volatile void *, size_t), void (*on_free)(const volatile void *));
__attribute__((weak)) size_t __sanitizer_get_allocated_size(const volatile void *p);

static size_t heap, most_heap;

static void on_malloc(const volatile void *p, size_t size)
{
    (void)p;
    heap += size;
    if (heap > most_heap) most_heap = heap;
}

static void on_free(const volatile void *p)
{
    if (p) heap -= __sanitizer_get_allocated_size(p);
}

static void watch_heap(void)
{
    if (__sanitizer_install_malloc_and_free_hooks)
        __sanitizer_install_malloc_and_free_hooks(on_malloc, on_free);
}

static size_t begin_heap(void)
{
    most_heap = heap;
    return heap;
}

static void check_heap(size_t before, size_t size, const fuzz_limits *l)
{
    size_t most = l->heap + l->heap_per_byte * size, took = most_heap - before;
    if (most && took > most)
        fuzz_fail("%zu bytes of heap for an input of %zu; limit %zu", took, size, most);
}

// ---- Files --------------------------------------------------------------------------------------

static char expected[MAX_FILES][NAME]; // files of this input, to be removed
static int n_expected;

static void make_folder(void)
{
    const char *given = getenv("FUZZ_SCRATCH"), *temporary = getenv("TMPDIR");
    if (given)
        snprintf(folder, sizeof folder, "%s", given);
    else
        snprintf(folder, sizeof folder, "%s/samba-fuzz-XXXXXX", temporary ? temporary : "/tmp");

    if (given || mkdtemp(folder)) return;
    perror(folder);
    exit(1);
}

static void remove_folder(void)
{
    if (!getenv("FUZZ_SCRATCH")) rmdir(folder);
}

const char *fuzz_path(const char *name)
{
    static char paths[4][PATH];
    static int next;
    char *path = paths[next++ % 4];
    snprintf(path, PATH, "%s/%s", folder, name);
    return path;
}

void fuzz_allow(const char *name)
{
    for (int i = 0; i < n_expected; i++)
        if (strcmp(expected[i], name) == 0) return;
    if (n_expected == MAX_FILES) fuzz_fail("the target has more than %d files", MAX_FILES);
    snprintf(expected[n_expected++], NAME, "%s", name);
}

static void write_bytes(const char *path, const void *bytes, size_t size)
{
    if (!write_whole(path, bytes, size)) exit(1);
}

const char *fuzz_write(const char *name, const void *bytes, size_t size)
{
    const char *path = fuzz_path(name);
    fuzz_allow(name);
    write_bytes(path, bytes, size);
    return path;
}

// Removes the files of this input; any other is a finding.
static void check_files(void)
{
    for (int i = 0; i < n_expected; i++)
        remove(fuzz_path(expected[i]));
    static long n_checked;
    if (n_expected == 0) return;
    n_expected = 0;
    n_checked++;
    if (n_checked > LOOKED_AT && n_checked % LOOKED_AT) return; // a look is slow

    DIR *dir = opendir(folder);
    if (!dir) fuzz_fail("the folder %s is gone", folder);
    for (struct dirent *e = readdir(dir); e; e = readdir(dir)) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0) continue;
        char left[NAME];
        snprintf(left, sizeof left, "%.79s", e->d_name);
        remove(fuzz_path(left));
        fuzz_fail("the file %s is left behind", left);
    }
    closedir(dir);
}

uint8_t *fuzz_file(const char *path, size_t *size)
{
    FILE *f = fopen(path, "rb");
    fuzz_bytes b = { NULL, 0, 0 };
    uint8_t part[4096];
    size_t n;
    if (!f) return NULL;
    while ((n = fread(part, 1, sizeof part, f)) > 0)
        fuzz_put(&b, part, n);
    fclose(f);
    *size = b.size;
    return b.at;
}

// ---- Random numbers, bytes ----------------------------------------------------------------------

fuzz_random fuzz_random_from(unsigned seed)
{
    fuzz_random r = { seed };
    return r;
}

uint32_t fuzz_below(fuzz_random *r, uint32_t n)
{
    return n ? (uint32_t)((samba_base__draw(&r->state) >> 32) * n >> 32) : 0;
}

bool fuzz_chance(fuzz_random *r, uint32_t one_in)
{
    return fuzz_below(r, one_in) == 0;
}

uint64_t fuzz_number(fuzz_random *r, uint64_t was, int bits)
{
    uint64_t mask = bits >= 64 ? ~(uint64_t)0 : ((uint64_t)1 << bits) - 1, x = 0;
    switch (fuzz_below(r, 8)) {
    case 0:
        x = was + 1;
        break;
    case 1:
        x = was - 1;
        break;
    case 2:
        x = fuzz_below(r, 10);
        break;
    case 3:
        x = (uint64_t)1 << fuzz_below(r, (uint32_t)bits);
        break;
    case 4:
        x = ((uint64_t)1 << fuzz_below(r, (uint32_t)bits)) - 1;
        break;
    case 5:
        x = was ^ (uint64_t)1 << fuzz_below(r, (uint32_t)bits);
        break;
    case 6:
        x = (uint64_t)0 - fuzz_below(r, 66);
        break;
    default:
        x = samba_base__draw(&r->state) >> fuzz_below(r, 60);
        break;
    }
    return x & mask;
}

void fuzz_put(fuzz_bytes *b, const void *bytes, size_t size)
{
    if (b->size + size > b->cap) {
        size_t cap = 2 * (b->size + size) + 64;
        uint8_t *at = realloc(b->at, cap);
        if (!at) {
            fprintf(stderr, "no memory\n");
            exit(1);
        }
        b->at = at;
        b->cap = cap;
    }
    if (size) memcpy(b->at + b->size, bytes, size);
    b->size += size;
}

void fuzz_put_text(fuzz_bytes *b, const char *text)
{
    fuzz_put(b, text, strlen(text));
}

void fuzz_print(fuzz_bytes *b, const char *format, ...)
{
    char text[1000];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    fuzz_put_text(b, text);
}

void fuzz_replace(fuzz_bytes *b, size_t at, size_t n, const void *with, size_t m)
{
    fuzz_bytes rest = { NULL, 0, 0 };
    fuzz_put(&rest, b->at + at + n, b->size - at - n);
    b->size = at;
    fuzz_put(b, with, m);
    fuzz_put(b, rest.at, rest.size);
    fuzz_free(&rest);
}

void fuzz_free(fuzz_bytes *b)
{
    free(b->at);
    memset(b, 0, sizeof *b);
}

uint64_t fuzz_get(const uint8_t *at, int bytes)
{
    uint64_t x = 0;
    for (int i = bytes - 1; i >= 0; i--)
        x = x << 8 | at[i];
    return x;
}

void fuzz_set(uint8_t *at, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++)
        at[i] = (uint8_t)(value >> 8 * i);
}

// ---- Text ---------------------------------------------------------------------------------------

// Where a token begins: a text in quotes, a number, a word, or one byte.
static size_t token_from(const fuzz_bytes *b, size_t at)
{
    static const char plain[]
        = "0123456789.+-_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    size_t n = 1;
    if (b->at[at] == '"') {
        while (at + n < b->size && b->at[at + n] != '"')
            n++;
        return at + n < b->size ? n + 1 : n;
    }
    while (at + n < b->size && b->at[at] && strchr(plain, b->at[at]) && b->at[at + n]
           && strchr(plain, b->at[at + n]))
        n++;
    return n;
}

// Token number which of b: where it begins, and its length.
static size_t pick_token(const fuzz_bytes *b, fuzz_random *r, size_t *length)
{
    size_t at = b->size ? fuzz_below(r, (uint32_t)b->size) : 0;
    while (at > 0 && b->at[at - 1] != ',' && b->at[at - 1] != ' ' && b->at[at - 1] != '\n'
           && b->at[at - 1] != ':' && b->at[at - 1] != '[' && b->at[at - 1] != '{'
           && b->at[at - 1] != '=')
        at--;
    *length = at < b->size ? token_from(b, at) : 0;
    return at;
}

static const char *pick_word(fuzz_random *r)
{
    static const char *const numbers[] = { "0",
                                           "-1",
                                           "1",
                                           "2147483647",
                                           "2147483648",
                                           "-2147483648",
                                           "4294967296",
                                           "9223372036854775807",
                                           "18446744073709551615",
                                           "18446744073709551616",
                                           "1e308",
                                           "1e400",
                                           "-1e-400",
                                           "0.5",
                                           "1e5",
                                           "3.0",
                                           "00",
                                           "0x10",
                                           "NaN",
                                           "Infinity",
                                           "-Infinity",
                                           "null",
                                           "true",
                                           "false",
                                           "\"\"",
                                           "[]",
                                           "{}",
                                           "\\u0000",
                                           "\\ud800",
                                           "\xEF\xBB\xBF",
                                           "\xE0",
                                           "\xF0\x9F",
                                           "\xC0",
                                           "\xFF",
                                           "\"",
                                           "\\",
                                           "\n",
                                           "\r\n",
                                           "{",
                                           "}",
                                           "[",
                                           "]",
                                           ",",
                                           ":" };
    uint32_t n = 0, n_numbers = sizeof numbers / sizeof *numbers;
    while (target->words && target->words[n])
        n++;
    if (n > 0 && !fuzz_chance(r, 3)) return target->words[fuzz_below(r, n)];
    return numbers[fuzz_below(r, n_numbers)];
}

// A span: of tokens up to the bracket that closes the first, or of a few.
static size_t span_from(const fuzz_bytes *b, size_t at, fuzz_random *r)
{
    int depth = 0;
    size_t end = at;
    bool brackets = at < b->size && (b->at[at] == '{' || b->at[at] == '[');
    uint32_t tokens = 1 + fuzz_below(r, 12);
    for (uint32_t i = 0; end < b->size && (brackets || i < tokens); i++) {
        char c = (char)b->at[end];
        end += token_from(b, end);
        depth += (c == '{' || c == '[') - (c == '}' || c == ']');
        if (brackets && depth == 0) break;
    }
    return end - at;
}

static void mutate_token(fuzz_bytes *b, fuzz_random *r)
{
    const char *word = pick_word(r);
    if (b->size == 0) {
        fuzz_put_text(b, word);
        return;
    }
    size_t length, at = pick_token(b, r, &length), other_length;
    size_t span = span_from(b, at, r), other = pick_token(b, r, &other_length);
    fuzz_bytes copy = { NULL, 0, 0 };
    char number[40];

    switch (fuzz_below(r, 7)) {
    case 0:
        fuzz_replace(b, at, length, word, strlen(word));
        break;
    case 1:
        fuzz_replace(b, at, 0, word, strlen(word));
        break;
    case 2:
        fuzz_replace(b, at, span, "", 0);
        break;
    case 3:
        fuzz_put(&copy, b->at + at, span);
        fuzz_replace(b, other, 0, copy.at, copy.size);
        break;
    case 4:
        fuzz_put(&copy, b->at + at, span);
        fuzz_replace(b, other, other_length, copy.at, copy.size);
        break;
    case 5:
        for (uint32_t n = 1 + fuzz_below(r, 9); n > 0; n--) {
            fuzz_put(&copy, b->at + at, span);
            if (fuzz_chance(r, 2)) fuzz_put_text(&copy, ",");
        }
        fuzz_replace(b, at, 0, copy.at, copy.size);
        break;
    default:
        snprintf(number, sizeof number, "%lld", (long long)fuzz_number(r, 1, 64));
        fuzz_replace(b, at, length, number, strlen(number));
    }
    fuzz_free(&copy);
}

size_t fuzz_mutate_text(uint8_t *data, size_t size, size_t most, unsigned seed)
{
    fuzz_random r = fuzz_random_from(seed);
    fuzz_bytes b = { NULL, 0, 0 };
    if (fuzz_chance(&r, 3)) return LLVMFuzzerMutate(data, size, most);

    fuzz_put(&b, data, size);
    for (uint32_t n = 1 + fuzz_below(&r, 4); n > 0; n--)
        mutate_token(&b, &r);
    if (b.size > most) b.size = most;
    if (b.size) memcpy(data, b.at, b.size);
    size = b.size;
    fuzz_free(&b);
    return size;
}

// ---- Inputs of several files --------------------------------------------------------------------

// Where "=== " at the beginning of a line is, from `at` on; size: nowhere.
static size_t next_part(const uint8_t *data, size_t size, size_t at)
{
    for (; at + 4 <= size; at++) {
        if (memcmp(data + at, "=== ", 4) == 0 && (at == 0 || data[at - 1] == '\n')) return at;
    }
    return size;
}

int fuzz_parts(const uint8_t *data, size_t size, fuzz_part *parts, int most)
{
    int n = 0;
    for (size_t at = next_part(data, size, 0); at < size && n < most; n++) {
        fuzz_part *p = &parts[n];
        size_t name = at + 4, length = 0;
        while (name + length < size && data[name + length] != '\n')
            length++;
        size_t begin = name + length < size ? name + length + 1 : size;
        size_t kept = length < sizeof p->name ? length : sizeof p->name - 1;

        memcpy(p->name, data + name, kept);
        p->name[kept] = 0;
        at = next_part(data, size, begin);
        p->at = data + begin;
        p->size = at - begin;
        if (at < size && p->size > 0) p->size--; // the newline
    }
    return n;
}

void fuzz_put_part(fuzz_bytes *b, const char *name, const void *bytes, size_t size)
{
    if (b->size) fuzz_put_text(b, "\n");
    fuzz_print(b, "=== %s\n", name);
    fuzz_put(b, bytes, size);
}

size_t fuzz_mutate_parts(uint8_t *data, size_t size, size_t most, unsigned seed,
                         size_t (*mutate)(const char *name, uint8_t *data, size_t size, size_t most,
                                          unsigned seed))
{
    enum { MOST_PARTS = 12 };

    fuzz_random r = fuzz_random_from(seed);
    fuzz_part parts[MOST_PARTS];
    fuzz_bytes b = { NULL, 0, 0 };
    int n = fuzz_parts(data, size, parts, MOST_PARTS);
    if (n == 0 || fuzz_chance(&r, 20)) return fuzz_mutate_text(data, size, most, seed);

    int which = (int)fuzz_below(&r, (uint32_t)n);
    int dropped = n > 1 && fuzz_chance(&r, 50) ? (int)fuzz_below(&r, (uint32_t)n) : -1;
    uint8_t *room = malloc(most);
    for (int i = 0; room && i < n; i++) {
        if (i == dropped) continue;
        if (i != which) {
            fuzz_put_part(&b, parts[i].name, parts[i].at, parts[i].size);
            continue;
        }
        memcpy(room, parts[i].at, parts[i].size);
        size_t now = mutate(parts[i].name, room, parts[i].size, most, fuzz_below(&r, ~0u));
        fuzz_put_part(&b, parts[i].name, room, now);
    }
    free(room);
    if (b.size > most) b.size = most;
    memcpy(data, b.at, b.size);
    size = b.size;
    fuzz_free(&b);
    return size;
}

// ---- One input ----------------------------------------------------------------------------------

static double processor_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void fuzz_allow_seconds(double seconds)
{
    allowed_seconds += seconds;
}

double fuzz_run(void (*one)(const uint8_t *data, size_t size), const uint8_t *data, size_t size,
                const fuzz_limits *limits)
{
    size_t before = begin_heap();
    double took = 0;
    bool slow = true;
    for (int round = 0; slow && round < 3; round++) { // one of three: others use the machine, too
        double start = processor_seconds();
        allowed_seconds = limits->seconds + limits->seconds_per_mb * (double)size / 1e6;
        one(data, size);
        took = processor_seconds() - start;
        slow = took > allowed_seconds;
    }
    if (slow)
        fuzz_fail("%.3f s for an input of %zu bytes; limit %.3f", took, size, allowed_seconds);
    check_heap(before, size, limits);
    check_files();
    return took;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_run(target->one, data, size, &target->limits);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed)
{
    if (!target->mutate) return LLVMFuzzerMutate(data, size, most);
    return target->mutate(data, size, most, seed);
}

// ---- Modes --------------------------------------------------------------------------------------

static const char *seeds_folder;
static int n_seeds;

void fuzz_seed(const char *name, const void *bytes, size_t size)
{
    char path[PATH];
    snprintf(path, sizeof path, "%s/%s", seeds_folder, name);
    write_bytes(path, bytes, size);
    n_seeds++;
}

static int write_seeds(const char *to)
{
    seeds_folder = to;
    target->seeds();
    check_files();
    printf("%d seeds in %s\n", n_seeds, to);
    return n_seeds > 0 ? 0 : 1;
}

static int print_dictionary(void)
{
    for (const char *const *word = target->words; word && *word; word++) {
        putchar('"');
        for (const char *p = *word; *p; p++)
            printf("\\x%02X", (unsigned char)*p);
        puts("\"");
    }
    return 0;
}

static fuzz_bytes large_input;
static char large_kind[NAME];

void fuzz_large(const char *kind, const void *bytes, size_t size)
{
    snprintf(large_kind, sizeof large_kind, "%s", kind);
    large_input.size = 0;
    fuzz_put(&large_input, bytes, size);
}

// The processor's seconds that an input of so many MB takes; 2 ms and more.
static double seconds_of(int megabytes, int kind)
{
    target->large((size_t)megabytes << 20, kind);
    double start = processor_seconds();
    target->one(large_input.at, large_input.size);
    double took = processor_seconds() - start;
    check_files();
    return took > 0.002 ? took : 0.002;
}

// Linear time grows eightfold from 1 to 8 MB, quadratic time 64fold: 20 lies well between. What
// disturbs one measurement does not disturb three of them, one after another.
static bool is_linear(int kind)
{
    enum { MOST_GROWTH = 20 };

    for (int attempt = 0; attempt < 3; attempt++) {
        double seconds[4];
        for (int i = 0; i < 4; i++)
            seconds[i] = seconds_of(1 << i, kind);
        bool fine = seconds[3] < MOST_GROWTH * seconds[0];
        if (fine || attempt == 2)
            printf("%-12s %-28s %7.3f %7.3f %7.3f %7.3f s for 1, 2, 4, 8 MB%s\n", target->name,
                   large_kind, seconds[0], seconds[1], seconds[2], seconds[3],
                   fine ? "" : "  FAILED: not linear");
        if (fine) return true;
    }
    return false;
}

static int test_linear(void)
{
    int passed = 0, failed = 0;
    for (int kind = 0; target->large && target->large((size_t)1 << 20, kind); kind++) {
        if (is_linear(kind))
            passed++;
        else
            failed++;
        fflush(stdout);
    }
    printf("%d passed, %d failed\n", passed, failed);
    return failed > 0 || passed == 0;
}

static int run_mode(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    if (strcmp(mode, "seeds") == 0 && argc == 3) return write_seeds(argv[2]);
    if (strcmp(mode, "dict") == 0) return print_dictionary();
    if (strcmp(mode, "linear") == 0) return test_linear();
    if (strcmp(mode, "most") == 0) {
        printf("%zu\n", target->most ? target->most : 65536);
        return 0;
    }
    if (strcmp(mode, "headers") == 0 && argc == 3 && target->counted)
        return target->counted(atol(argv[2]));
    return -1;
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    report_fd = dup(2);
    make_folder();
    atexit(remove_folder);
    watch_heap();
    int code = run_mode(*argc, *argv);
    if (code >= 0) exit(code);
    return 0;
}
