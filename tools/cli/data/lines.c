// Reading lines, and dealing them out to files.
#include "lines.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BLOCK = 1 << 18, OPEN_AT_ONCE = 256, BUCKETS = 64 };

// ---- Reading ------------------------------------------------------------------------------------

bool lines_open(lines *l, const names *files, fault *why)
{
    *l = (lines){ 0 };
    l->block = malloc(BLOCK);
    bool ok = l->block || fail(why, "no memory to read lines");
    for (int i = 0; ok && i < files->n; i++)
        ok = add_name(&l->files, files->at[i], why);
    if (!ok) lines_close(l);
    return ok;
}

bool lines_open_one(lines *l, const char *path, fault *why)
{
    names one = { 0 };
    bool ok = add_name(&one, path, why) && lines_open(l, &one, why);
    free_names(&one);
    return ok;
}

void lines_close(lines *l)
{
    if (l->file) fclose(l->file);
    free(l->block);
    free_names(&l->files);
    prep_bytes_free(&l->line);
    prep_bytes_free(&l->repaired);
    *l = (lines){ 0 };
}

const char *lines_file(const lines *l)
{
    return l->files.n ? l->files.at[l->at < l->files.n ? l->at : l->files.n - 1] : "";
}

// Makes sure that the block holds something: 1, 0: the file has ended, -1.
static int fill_block(lines *l, fault *why)
{
    if (l->block_at < l->block_size) return 1;
    if (!l->file && !(l->file = open_file(l->files.at[l->at], "rb", why))) return -1;
    l->block_at = 0;
    l->block_size = fread(l->block, 1, BLOCK, l->file);
    l->done += (int64_t)l->block_size;
    if (!ferror(l->file)) return l->block_size > 0;
    fail_errno(why, "cannot be read", l->files.at[l->at]);
    return -1;
}

// Adds bytes of the block up to the end of a line. *ended: it is there, and was added as \n.
static bool take_from_block(lines *l, bool *ended)
{
    if (l->after_return && l->block[l->block_at] == '\n') l->block_at++;
    l->after_return = false;
    char *from = l->block + l->block_at;
    size_t n = l->block_size - l->block_at;
    char *stop = n ? memchr(from, '\n', n) : NULL;
    if (stop) n = (size_t)(stop - from);
    char *carriage = n ? memchr(from, '\r', n) : NULL;
    if (carriage) n = (size_t)(carriage - from);
    *ended = stop || carriage;
    l->after_return = carriage != NULL;
    l->block_at += n + *ended;
    return prep_bytes_add(&l->line, from, n) && (!*ended || prep_bytes_add(&l->line, "\n", 1));
}

static void end_file(lines *l)
{
    fclose(l->file);
    l->file = NULL;
    l->after_return = false;
    l->number = 0;
    l->at++;
}

static int give_line(lines *l, prep_text *line, fault *why)
{
    const prep_bytes *b = &l->line;
    if (!prep_utf8_valid(b->at, b->size)) b = &l->repaired;
    if (b == &l->repaired && !prep_utf8_repair(l->line.at, l->line.size, &l->repaired)) {
        fail(why, "%s: no memory for line %lld", lines_file(l), (long long)l->number);
        return -1;
    }
    *line = (prep_text){ b->at, b->size };
    return 1;
}

int lines_next(lines *l, prep_text *line, fault *why)
{
    if (stopped(why)) return -1;
    l->line.size = 0;
    while (l->at < l->files.n) {
        int more = fill_block(l, why);
        bool ended = false, ok = true;
        if (more < 0) return -1;
        if (more)
            ok = take_from_block(l, &ended);
        else if (!l->line.size)
            end_file(l);
        else { // a last line without its end
            ended = true;
            if (l->at < l->files.n - 1) ok = prep_bytes_add(&l->line, "\n", 1);
        }
        if (ended) l->number++;
        if (ok && ended) return give_line(l, line, why);
        if (ok) continue;
        fail(why, "%s: no memory for a line", lines_file(l));
        return -1;
    }
    return 0;
}

// ---- Dealing in turn ----------------------------------------------------------------------------

static bool close_all(FILE **file, int n, const names *path, int first, fault *why)
{
    bool ok = true;
    for (int i = 0; i < n; i++)
        if (file[i]) ok = close_file(file[i], path->at[first + i], why) && ok;
    return ok;
}

// Writes the files first ... first+n-1; more would be too many to have open.
static bool deal_some(dealing *d, const names *from, int first, int n, fault *why)
{
    FILE *file[OPEN_AT_ONCE] = { 0 };
    prep_text line;
    lines in;
    int got = 1;
    if (!lines_open(&in, from, why)) return false;
    bool ok = true;
    for (int i = 0; i < n && ok; i++)
        ok = (file[i] = open_file(d->to.at[first + i], "wb", why));
    for (int64_t k = 0; ok && (got = lines_next(&in, &line, why)) > 0; k++) {
        int64_t to = k % d->to.n - first;
        if (to >= 0 && to < n) fwrite(line.at, 1, line.size, file[to]);
        progress_show(&d->progress, in.done, 0);
    }
    lines_close(&in);
    return close_all(file, n, &d->to, first, why) && ok && got == 0;
}

bool deal_in_turn(dealing *d, const names *from, fault *why)
{
    for (int first = 0; first < d->to.n; first += OPEN_AT_ONCE) {
        int n = d->to.n - first < OPEN_AT_ONCE ? d->to.n - first : OPEN_AT_ONCE;
        if (!deal_some(d, from, first, n, why)) return false;
    }
    return true;
}

// ---- Dealing shuffled ---------------------------------------------------------------------------

uint64_t roll(dice *d, uint64_t n)
{
    uint64_t limit = UINT64_MAX - UINT64_MAX % n, z; // above it, small numbers are likelier
    do
        z = samba_base__draw(&d->state);
    while (z >= limit);
    return z % n;
}

// Where shuffled lines go: to one file after the other.
typedef struct sink {
    dealing *d;
    FILE *file;
    int at;
    int64_t room;
} sink;

static bool sink_close(sink *s, fault *why)
{
    FILE *file = s->file;
    s->file = NULL;
    return !file || close_file(file, s->d->to.at[s->at], why);
}

static bool sink_next_file(sink *s, fault *why)
{
    const dealing *d = s->d;
    if (!sink_close(s, why)) return false;
    if (++s->at >= d->to.n) return fail(why, "the input has grown while it was being shuffled");
    s->room = d->n_lines / d->to.n + (s->at < d->n_lines % d->to.n);
    return (s->file = open_file(d->to.at[s->at], "wb", why));
}

// Every line gets its line end: what was last may now be anywhere.
static bool sink_line(sink *s, const char *line, size_t size, fault *why)
{
    if (s->room == 0 && !sink_next_file(s, why)) return false;
    s->room--;
    fwrite(line, 1, size, s->file);
    if (!size || line[size - 1] != '\n') fputc('\n', s->file);
    return true;
}

typedef struct span {
    size_t at, size;
} span;

// Reads all, and hands it on in any order.
static bool shuffle_in_memory(sink *s, lines *in, fault *why)
{
    prep_bytes text = { 0 };
    span *line = NULL;
    size_t n = 0, cap = 0;
    prep_text next;
    int got;
    bool ok = true;
    while (ok && (got = lines_next(in, &next, why)) > 0) {
        if (n == cap) {
            cap = cap ? 2 * cap : 1024;
            span *bigger = realloc(line, cap * sizeof *line);
            if (bigger) line = bigger;
            ok = bigger;
        }
        if (ok) line[n++] = (span){ text.size, next.size };
        ok = (ok && prep_bytes_add(&text, next.at, next.size))
            || fail(why, "no memory to shuffle; try --shuffle large_file");
    }
    ok = ok && got == 0;
    for (size_t i = n; ok && i > 1; i--) { // Fisher-Yates
        size_t j = (size_t)roll(&s->d->dice, i);
        span last = line[i - 1];
        line[i - 1] = line[j];
        line[j] = last;
    }
    for (size_t i = 0; ok && i < n; i++)
        ok = sink_line(s, text.at + line[i].at, line[i].size, why);
    free(line);
    prep_bytes_free(&text);
    return ok;
}

// Deals the lines to buckets by chance. *most: lines of the fullest.
static bool fill_buckets(dealing *d, lines *in, const names *bucket, int64_t *most, fault *why)
{
    FILE *file[BUCKETS] = { 0 };
    int64_t n[BUCKETS] = { 0 };
    prep_text line;
    int got = 1;
    bool ok = true;
    *most = 0;
    for (int i = 0; i < BUCKETS && ok; i++)
        ok = (file[i] = open_file(bucket->at[i], "wb", why));
    while (ok && (got = lines_next(in, &line, why)) > 0) {
        int to = (int)roll(&d->dice, BUCKETS);
        fwrite(line.at, 1, line.size, file[to]);
        if (line.at[line.size - 1] != '\n') fputc('\n', file[to]);
        if (++n[to] > *most) *most = n[to];
        progress_show(&d->progress, in->done / 2, 0);
    }
    return close_all(file, BUCKETS, bucket, 0, why) && ok && got == 0;
}

// Shuffles what fits into memory; otherwise its buckets, one after the other.
static bool shuffle(sink *s, const names *from, const char *name, fault *why)
{
    names bucket = { 0 };
    char path[PATH_SIZE];
    int64_t size = 0, most = 2;
    lines in;
    for (int i = 0; i < from->n; i++)
        size += file_size(from->at[i]);
    if (!lines_open(&in, from, why)) return false;
    bool small = size <= s->d->memory, ok = true;
    if (small) ok = shuffle_in_memory(s, &in, why);
    for (int i = 0; !small && ok && i < BUCKETS; i++)
        ok = make_path(path, why, "%s/%s_%02d", s->d->folder, name, i)
            && add_name(&bucket, path, why);
    if (!small) ok = ok && fill_buckets(s->d, &in, &bucket, &most, why);
    lines_close(&in);
    for (int i = 0; i < bucket.n; i++) {
        names one = { &bucket.at[i], 1 };
        int64_t memory = s->d->memory;
        if (most <= 1) s->d->memory = INT64_MAX; // nothing is left to divide
        ok = ok && shuffle(s, &one, strrchr(bucket.at[i], '/') + 1, why);
        s->d->memory = memory;
        unlink(bucket.at[i]);
    }
    free_names(&bucket);
    return ok;
}

bool deal_shuffled(dealing *d, const names *from, fault *why)
{
    sink s = { .d = d, .at = -1 };
    bool ok = shuffle(&s, from, "bucket", why);
    if (!sink_close(&s, ok ? why : &(fault){ "" })) return false;
    return ok
        && (s.at == d->to.n - 1 || fail(why, "the input has shrunk while it was being shuffled"));
}
