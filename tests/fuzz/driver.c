// What plays libFuzzer where a compiler has none (gcc): it mutates inputs at random, without seeing
// which code they reach, and replays files. It takes libFuzzer's flags -runs, -max_total_time,
// -max_len, -seed and -artifact_prefix, ignores its others, and ends with the same line that says
// how many inputs it ran. With -runs=0 the files and folders named are replayed alone.
#include "fuzz.h"
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed);

enum { PATH = 600, MAX_INPUTS = 65536 };

static fuzz_bytes inputs[MAX_INPUTS];
static int n_inputs;
static fuzz_random source;

static long runs = -1, max_len = 65536, n_runs;
static double max_seconds = -1;
static unsigned seed = 1;
static const char *prefix = "";

static const uint8_t *running; // the input that runs now, for the file of a finding
static size_t running_size;

// ---- Findings -----------------------------------------------------------------------------------

// Calls nothing but what a signal handler may.
static void keep_input(void)
{
    static bool kept;
    char path[PATH];
    if (kept || !running) return;
    kept = true;
    size_t n = strlen(prefix);
    if (n > PATH - 10) n = PATH - 10;
    memcpy(path, prefix, n);
    memcpy(path + n, "finding", 8);
    int f = open(path, O_CREAT | O_TRUNC | O_WRONLY, 0666);
    ssize_t written = write(f, running, running_size);
    (void)written;
    close(f);
}

static void end_of_signal(int number)
{
    keep_input();
    signal(number, SIG_DFL);
    raise(number);
}

#if defined(__SANITIZE_ADDRESS__)
void __sanitizer_set_death_callback(void (*callback)(void));
#endif

static void watch_death(void)
{
    signal(SIGABRT, end_of_signal);
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_set_death_callback(keep_input);
#else
    signal(SIGSEGV, end_of_signal);
    signal(SIGBUS, end_of_signal);
    signal(SIGFPE, end_of_signal);
#endif
}

// ---- Inputs -------------------------------------------------------------------------------------

static void add_file(const char *path)
{
    if (n_inputs == MAX_INPUTS) return;
    fuzz_bytes b = { NULL, 0, 0 };
    b.at = fuzz_file(path, &b.size);
    inputs[n_inputs++] = b;
}

static void add(const char *path)
{
    struct stat s;
    DIR *dir = opendir(path);
    if (!dir) {
        if (stat(path, &s) == 0) add_file(path);
        return;
    }
    for (struct dirent *e = readdir(dir); e; e = readdir(dir)) {
        char inner[PATH];
        snprintf(inner, sizeof inner, "%s/%s", path, e->d_name);
        if (stat(inner, &s) == 0 && S_ISREG(s.st_mode)) add_file(inner);
    }
    closedir(dir);
}

static void run_input(const uint8_t *data, size_t size)
{
    uint8_t *exact = malloc(size ? size : 1); // of that very size: reading on is caught
    if (!exact) return;
    if (size) memcpy(exact, data, size);
    running = exact;
    running_size = size;
    LLVMFuzzerTestOneInput(exact, size);
    running = NULL;
    free(exact);
    n_runs++;
}

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most)
{
    fuzz_random *r = &source;
    fuzz_bytes b = { NULL, 0, 0 };
    fuzz_put(&b, data, size);
    for (uint32_t n = 1 + fuzz_below(r, 4); n > 0; n--) {
        size_t at = fuzz_below(r, (uint32_t)b.size + 1), left = b.size - at;
        size_t span = fuzz_below(r, (uint32_t)(left < 64 ? left : 64) + 1);
        uint8_t bytes[8];
        fuzz_set(bytes, fuzz_number(r, span ? b.at[at] : 0, 64), 8);
        switch (fuzz_below(r, 5)) {
        case 0:
            fuzz_replace(&b, at, span, "", 0);
            break;
        case 1:
            fuzz_replace(&b, at, 0, bytes, 1 + fuzz_below(r, 8));
            break;
        case 2:
            fuzz_replace(&b, at, left < 4 ? left : 4, bytes, left < 4 ? left : 4);
            break;
        case 3:
            if (left) b.at[at] ^= (uint8_t)(1u << fuzz_below(r, 8));
            break;
        default:
            if (left) b.at[at] = bytes[0];
        }
    }
    if (b.size > most) b.size = most;
    if (b.size) memcpy(data, b.at, b.size);
    size = b.size;
    fuzz_free(&b);
    return size;
}

static void run_mutation(uint8_t *room)
{
    const fuzz_bytes *b = &inputs[fuzz_below(&source, (uint32_t)n_inputs)];
    size_t size = b->size < (size_t)max_len ? b->size : (size_t)max_len;
    if (size) memcpy(room, b->at, size);
    for (uint32_t n = 1 + fuzz_below(&source, 3); n > 0; n--)
        size = LLVMFuzzerCustomMutator(room, size, (size_t)max_len, fuzz_below(&source, ~0u));
    run_input(room, size);
}

static double seconds_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void read_flag(const char *word)
{
    if (strncmp(word, "-runs=", 6) == 0) runs = atol(word + 6);
    if (strncmp(word, "-max_total_time=", 16) == 0) max_seconds = atof(word + 16);
    if (strncmp(word, "-max_len=", 9) == 0) max_len = atol(word + 9);
    if (strncmp(word, "-seed=", 6) == 0) seed = (unsigned)atol(word + 6);
    if (strncmp(word, "-artifact_prefix=", 17) == 0) prefix = word + 17;
}

int main(int argc, char **argv)
{
    LLVMFuzzerInitialize(&argc, &argv);
    for (int i = 1; i < argc; i++) {
        if (argv[i][0] == '-')
            read_flag(argv[i]);
        else
            add(argv[i]);
    }
    watch_death();
    source = fuzz_random_from(seed);

    double start = seconds_now();
    for (int i = 0; i < n_inputs; i++)
        run_input(inputs[i].at, inputs[i].size);

    uint8_t *room = malloc((size_t)max_len);
    while (room && n_inputs > 0 && (runs < 0 || n_runs < runs)) {
        if (max_seconds > 0 && seconds_now() - start > max_seconds) break;
        run_mutation(room);
    }
    free(room);
    for (int i = 0; i < n_inputs; i++)
        fuzz_free(&inputs[i]);
    fprintf(stderr, "stat::number_of_executed_units: %ld\n", n_runs);
    return 0;
}
