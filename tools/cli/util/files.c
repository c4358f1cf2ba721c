// Files, folders, SHA-256, log and progress bar for the commands of tools/samba.
#include "files.h"
#include "text.h"
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

// ---- Errors and paths ---------------------------------------------------------------------------

bool fail(fault *why, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(why->text, sizeof why->text, format, args);
    va_end(args);
    return false;
}

bool fail_errno(fault *why, const char *what, const char *path)
{
    return fail(why, "%s: %s: %s", path, what, strerror(errno));
}

int report_fault(const char *command, const fault *why, int code)
{
    fflush(stdout);
    fprintf(stderr, "samba %s: ", command);
    print_safely(stderr, why->text);
    fputc('\n', stderr);
    return code;
}

bool make_path(char path[PATH_SIZE], fault *why, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(path, PATH_SIZE, format, args);
    va_end(args);
    return (n >= 0 && n < PATH_SIZE)
        || fail(why, "a path is longer than %d bytes: %.100s...", PATH_SIZE - 1, path);
}

// stat that leaves errno to the call whose failure is being explained.
static bool look_at(const char *path, struct stat *s)
{
    int code = errno;
    bool there = stat(path, s) == 0;
    errno = code;
    return there;
}

bool is_folder(const char *path)
{
    struct stat s;
    return look_at(path, &s) && S_ISDIR(s.st_mode);
}

bool is_file(const char *path)
{
    struct stat s;
    return look_at(path, &s) && !S_ISDIR(s.st_mode);
}

bool look_for_file(const char *path, bool *there, fault *why)
{
    struct stat s;
    bool found = stat(path, &s) == 0;
    *there = found && !S_ISDIR(s.st_mode);
    return found || errno == ENOENT || errno == ENOTDIR
        || fail_errno(why, "cannot be looked at", path);
}

int64_t file_size(const char *path)
{
    struct stat s;
    return look_at(path, &s) ? (int64_t)s.st_size : -1;
}

bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

bool parent_of(char parent[PATH_SIZE], const char *path, fault *why)
{
    const char *slash = strrchr(path, '/');
    if (!slash) return make_path(parent, why, ".");
    return make_path(parent, why, "%.*s", slash == path ? 1 : (int)(slash - path), path);
}

bool make_folders(const char *path, fault *why)
{
    char above[PATH_SIZE];
    if (is_folder(path)) return true;
    if (!parent_of(above, path, why)) return false;
    if (strcmp(above, path) != 0 && !make_folders(above, why)) return false;
    if (mkdir(path, 0777) == 0 || is_folder(path)) return true;
    return fail_errno(why, "the folder cannot be made", path);
}

// ---- Whole files --------------------------------------------------------------------------------

FILE *open_file(const char *path, const char *mode, fault *why)
{
    FILE *f = is_folder(path) ? (errno = EISDIR, NULL) : fopen(path, mode);
    if (!f) fail_errno(why, *mode == 'r' ? "cannot be read" : "cannot be written", path);
    return f;
}

bool close_file(FILE *file, const char *path, fault *why)
{
    bool bad = ferror(file) != 0;
    if (fclose(file) == 0 && !bad) return true;
    return fail_errno(why, "not all of it could be written", path);
}

char *read_file(const char *path, size_t *size, fault *why)
{
    FILE *f = open_file(path, "rb", why);
    int64_t expected = file_size(path);
    char *data = f && expected >= 0 ? malloc((size_t)expected + 1) : NULL;
    if (!f) return NULL;
    if (!data)
        fail(why, "%s: no memory for its %lld bytes", path, (long long)expected);
    else if (fread(data, 1, (size_t)expected, f) != (size_t)expected) {
        fail_errno(why, "cannot be read", path);
        free(data);
        data = NULL;
    }
    fclose(f);
    if (data) data[expected] = 0;
    *size = (size_t)expected;
    return data;
}

bool begin_output(samba_base_output *o, const char *path, fault *why)
{
    return samba_base_begin(o, path, NULL, why->text, sizeof why->text);
}

bool end_output(samba_base_output *o, bool whole, fault *why)
{
    return samba_base_end(o, whole, why->text, sizeof why->text);
}

bool copy_file(const char *from, const char *to, fault *why)
{
    char block[65536];
    size_t n;
    samba_base_output out;
    if (samba_base_same_file(from, to)) return true;
    FILE *in = open_file(from, "rb", why);
    if (!in) return false;
    if (!begin_output(&out, to, why)) {
        fclose(in);
        return false;
    }
    while ((n = fread(block, 1, sizeof block, in)) > 0)
        if (fwrite(block, 1, n, out.file) != n) break;
    bool good = !ferror(in) || fail(why, "%s: cannot be read", from);
    fclose(in);
    return end_output(&out, good, why);
}

// ---- Folders ------------------------------------------------------------------------------------

bool add_name(names *n, const char *name, fault *why)
{
    char **at = realloc(n->at, (size_t)(n->n + 1) * sizeof *at), *copy;
    if (at) n->at = at;
    copy = at ? strdup(name) : NULL;
    if (!copy) return fail(why, "no memory for the names of files");
    n->at[n->n++] = copy;
    return true;
}

void free_names(names *n)
{
    for (int i = 0; i < n->n; i++)
        free(n->at[i]);
    free(n->at);
    *n = (names){ 0 };
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

bool list_folder(names *n, const char *path, fault *why)
{
    DIR *dir = opendir(path);
    bool ok = true;
    if (!dir) return fail_errno(why, "the folder cannot be read", path);
    while (ok) {
        errno = 0;
        struct dirent *e = readdir(dir);
        if (!e && errno) ok = fail_errno(why, "the folder cannot be read to its end", path);
        if (!e) break;
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
            ok = add_name(n, e->d_name, why);
    }
    closedir(dir);
    if (n->n) qsort(n->at, (size_t)n->n, sizeof *n->at, by_name);
    return ok;
}

bool empty_folder(const char *path, const char *keep, fault *why)
{
    names n = { 0 };
    char inner[PATH_SIZE];
    struct stat s;
    bool ok = list_folder(&n, path, why);
    for (int i = 0; ok && i < n.n; i++) {
        if (keep && strstr(n.at[i], keep)) continue;
        ok = make_path(inner, why, "%s/%s", path, n.at[i]);
        if (ok && lstat(inner, &s) == 0 && S_ISDIR(s.st_mode))
            ok = remove_folder(inner, why);
        else if (ok && unlink(inner) != 0)
            ok = fail_errno(why, "cannot be deleted", inner);
    }
    free_names(&n);
    return ok;
}

bool remove_folder(const char *path, fault *why)
{
    if (!empty_folder(path, NULL, why)) return false;
    return rmdir(path) == 0 || fail_errno(why, "the folder cannot be deleted", path);
}

bool walk_folder(names *files, const char *folder, const char *below, fault *why)
{
    names n = { 0 };
    char path[PATH_SIZE], name[PATH_SIZE];
    bool ok = make_path(path, why, "%s%s%s", folder, *below ? "/" : "", below)
        && list_folder(&n, path, why);
    for (int i = 0; ok && i < n.n; i++) {
        ok = make_path(name, why, "%s%s%s", below, *below ? "/" : "", n.at[i])
            && make_path(path, why, "%s/%s", folder, name);
        if (ok)
            ok = is_folder(path) ? walk_folder(files, folder, name, why)
                                 : add_name(files, name, why);
    }
    free_names(&n);
    return ok;
}

// ---- SHA-256 (FIPS 180-4) -----------------------------------------------------------------------

static uint32_t rotate(uint32_t x, int n)
{
    return x >> n | x << (32 - n);
}

// The first 32 bits of the fractional parts of the cube roots of the first 64 primes.
static const uint32_t sha256_k[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static void sha256_block(uint32_t h[8], const unsigned char *p)
{
    uint32_t w[64], v[8];
    for (int i = 0; i < 16; i++)
        w[i] = (uint32_t)p[4 * i] << 24 | (uint32_t)p[4 * i + 1] << 16 | (uint32_t)p[4 * i + 2] << 8
            | p[4 * i + 3];
    for (int i = 16; i < 64; i++) {
        uint32_t a = rotate(w[i - 15], 7) ^ rotate(w[i - 15], 18) ^ w[i - 15] >> 3;
        uint32_t b = rotate(w[i - 2], 17) ^ rotate(w[i - 2], 19) ^ w[i - 2] >> 10;
        w[i] = w[i - 16] + a + w[i - 7] + b;
    }
    memcpy(v, h, sizeof v);
    for (int i = 0; i < 64; i++) {
        uint32_t e = v[4], a = v[0];
        uint32_t t = v[7] + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25))
            + ((e & v[5]) ^ (~e & v[6])) + sha256_k[i] + w[i];
        uint32_t u = (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22))
            + ((a & v[1]) ^ (a & v[2]) ^ (v[1] & v[2]));
        memmove(v + 1, v, 7 * sizeof *v);
        v[4] += t;
        v[0] = t + u;
    }
    for (int i = 0; i < 8; i++)
        h[i] += v[i];
}

bool sha256_file(const char *path, char hex[65], fault *why)
{
    uint32_t h[8] = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19 };
    unsigned char block[65536 + 128];
    uint64_t total = 0;
    size_t n = 0;
    FILE *f = open_file(path, "rb", why);
    if (!f) return false;
    for (bool more = true; more;) {
        n = fread(block, 1, 65536, f);
        if (stopped(why)) break;
        total += n;
        more = n == 65536;
        if (!more) { // the end: a bit, zeros, the length in bits
            size_t padded = (n + 8) / 64 * 64 + 64;
            memset(block + n, 0, padded - n);
            block[n] = 0x80;
            for (int i = 0; i < 8; i++)
                block[padded - 1 - (size_t)i] = (unsigned char)(total * 8 >> 8 * i);
            n = padded;
        }
        for (size_t i = 0; i < n; i += 64)
            sha256_block(h, block + i);
    }
    bool good = !ferror(f);
    fclose(f);
    if (stopped(why)) return false;
    for (int i = 0; i < 8; i++)
        snprintf(hex + 8 * i, 9, "%08x", (unsigned)h[i]);
    return good || fail(why, "%s: cannot be read", path);
}

// ---- Signals ------------------------------------------------------------------------------------

static volatile sig_atomic_t stop_signal;

// A second signal ends the process at once.
static void note_signal(int number)
{
    stop_signal = number;
    signal(number, SIG_DFL);
}

void watch_signals(void)
{
    const int which[] = { SIGINT, SIGTERM, SIGHUP };
    struct sigaction how, was;
    memset(&how, 0, sizeof how);
    how.sa_handler = note_signal;
    how.sa_flags = SA_RESTART; // reading goes on; loops ask stopped()
    sigemptyset(&how.sa_mask);
    for (int i = 0; i < 3; i++)
        if (sigaction(which[i], NULL, &was) == 0 && was.sa_handler != SIG_IGN)
            sigaction(which[i], &how, NULL);
}

bool stopped(fault *why)
{
    if (!stop_signal) return false;
    fail(why, "stopped by signal %d", (int)stop_signal);
    return true;
}

int exit_code(void)
{
    return stop_signal ? 128 + (int)stop_signal : 1;
}

// ---- Log and progress ---------------------------------------------------------------------------

// A line has names and paths in it: it goes where people look at it.
static void write_line(FILE *to, const char *format, va_list args)
{
    va_list again;
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, format, again);
    va_end(again);
    char *text = n < 0 ? NULL : malloc((size_t)n + 1);
    if (text) vsnprintf(text, (size_t)n + 1, format, args);
    print_safely(to, text ? text : "no memory for a line");
    fputc('\n', to);
    free(text);
}

static void write_note(journal *log, const char *format, va_list args)
{
    if (log->file) write_line(log->file, format, args);
}

void say(journal *log, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    write_note(log, format, args);
    va_end(args);
    if (log->silent) return;
    va_start(args, format);
    write_line(stdout, format, args);
    va_end(args);
}

void note(journal *log, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    write_note(log, format, args);
    va_end(args);
}

void note_rule(journal *log)
{
    note(log, "--------------------------------------------------------------------------------");
}

const char *plural(int64_t n, const char *word)
{
    static char text[64];
    snprintf(text, sizeof text, "%s%s", word, n == 1 ? "" : "s");
    return text;
}

double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void progress_start(progress *p, const char *title, int64_t total, bool silent)
{
    struct winsize window;
    *p = (progress){ title, total > 0 ? total : 1, seconds(), 0, !silent && isatty(2), 80, 0 };
    if (p->on && ioctl(2, TIOCGWINSZ, &window) == 0 && window.ws_col > 0)
        p->columns = window.ws_col;
}

void progress_show(progress *p, int64_t done, int64_t n_errors)
{
    static const char full[] = "==============================";
    static const char empty[] = "                              ";
    if (!p->on) return;
    double now = seconds(), part = (double)done / (double)p->total;
    if (now - p->shown < 0.1) return;
    if (part > 1) part = 1;
    int cells = (int)(30 * part), left = part > 0 ? (int)((now - p->start) * (1 / part - 1)) : 0;
    p->shown = now;
    char line[256], errors[64] = "";
    if (n_errors)
        snprintf(errors, sizeof errors, "  %lld bad %s", (long long)n_errors,
                 plural(n_errors, "line"));
    int n = snprintf(line, sizeof line, "%s [%.*s%.*s] %3.0f %%  ETA %d:%02d%s", p->title, cells,
                     full, 30 - cells, empty, 100 * part, left / 60, left % 60, errors);
    if (n > p->columns - 1) n = p->columns - 1; // or it would run over into the next line
    fprintf(stderr, "\r%.*s%*s\r%.*s ", n, line, p->width > n ? p->width - n : 0, "", n, line);
    p->width = n + 1;
}

void progress_end(progress *p)
{
    if (p->on && p->width > 0) fprintf(stderr, "\r%*s\r", p->width, "");
    p->on = false;
}
