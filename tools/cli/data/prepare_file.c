// From text to rows of tokens: one file into HDF5, with what is not a pair collected aside. The
// command and its --pipeline are built on it.
#define SAMBA_PACKING_IMPLEMENTATION
#include "prepare_data.h"
#define SAMBA_JSON_LINE_IMPLEMENTATION
#include "json_line.h"
#define SAMBA_HDF5_ROWS_IMPLEMENTATION
#include "tools/include/samba/hdf5_rows.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// ---- Bad lines ----------------------------------------------------------------------------------

static bool has_text(prep_text line, const char *text)
{
    size_t n = strlen(text);
    for (size_t i = 0; i + n <= line.size; i++)
        if (memcmp(line.at + i, text, n) == 0) return true;
    return false;
}

// What to do with a line of another form.
static const char *advice(prep_text line, const char *reason)
{
    bool chat = has_text(line, "\"role\"") && has_text(line, "\"content\"");
    if (!chat || !strstr(reason, "is missing")) return "";
    return ". It is a chat, of roles and contents: say --apply_chat_template, if the tokenizer has a "
           "chat template";
}

bool bad_line(run *r, const lines *in, prep_text line, const char *reason, fault *why)
{
    size_t size = line.size;
    while (size && line.at[size - 1] == '\n')
        size--;
    int shown = size > 1000 ? 1000 : (int)size;
    r->n_bad++;
    if (!r->o.ignore_errors)
        return fail(why,
                    "%s line %lld: %s%s\n    %.*s%s\nCorrect it, or skip such lines with "
                    "--ignore_input_format_error",
                    lines_file(in), (long long)in->number, reason, advice(line, reason), shown,
                    line.at, shown < (int)size ? "..." : "");
    if (!r->bad_lines) r->bad_lines = tmpfile();
    if (!r->bad_notes) r->bad_notes = tmpfile();
    if (!r->bad_lines || !r->bad_notes)
        return fail_errno(why, "no place to collect bad lines", "a temporary file");
    fwrite(line.at, 1, size, r->bad_lines);
    fputc('\n', r->bad_lines);
    fprintf(r->bad_notes, "skipped: %s line %lld: %s\n", lines_file(in), (long long)in->number,
            reason);
    return true;
}

// False: what was collected is not all there, or cannot be written.
static bool copy_all(FILE *from, FILE *to)
{
    char block[65536];
    size_t n;
    if (fflush(from) != 0 || ferror(from)) return false;
    rewind(from);
    while ((n = fread(block, 1, sizeof block, from)) > 0)
        if (fwrite(block, 1, n, to) != n) return false;
    return !ferror(from);
}

bool keep_bad_lines(run *r, fault *why)
{
    char path[PATH_SIZE];
    if (!make_path(path, why, "%s/json_load_failed_lines.log", r->folder)) return false;
    unlink(path); // of an earlier run
    if (!r->n_bad) return true;
    FILE *f = open_file(path, "wb", why);
    if (!f) return false;
    bool ok = copy_all(r->bad_lines, f)
        || fail_errno(why, "the bad lines could not all be written", path);
    if (!close_file(f, path, ok ? why : &(fault){ "" })) ok = false;
    if (ok && !copy_all(r->bad_notes, r->log.file))
        ok = fail(why, "the log could not all be written; is the disk full?");
    say(&r->log, "%lld bad %s skipped; %s has %s", (long long)r->n_bad,
        r->n_bad == 1 ? "line was" : "lines were", path, r->n_bad == 1 ? "it" : "them");
    if (r->has_tests)
        say(&r->log, "Test files are left as they are: a bad line stays in test_files.");
    return ok;
}

// ---- Lines --------------------------------------------------------------------------------------

bool parse_line(const run *r, prep_text line, prep_pairs *pairs, bool *fatal, char *why,
                size_t why_size)
{
    if (r->o.chat)
        return chat_parse_line(&r->chat, line.at, line.size, pairs, fatal, why, why_size);
    return prep_parse_line(&r->json, line.at, line.size, pairs, fatal, why, why_size);
}

// ---- One file to HDF5 ---------------------------------------------------------------------------

// Rows on their way into a file.
typedef struct writer {
    samba_rows *rows;
    int32_t *ids, *types, *categories;
    char why[1024];
} writer;

static bool take_row(void *taker, const prep_token *row, int32_t length)
{
    writer *w = taker;
    for (int32_t i = 0; i < length; i++) {
        w->ids[i] = row[i].id;
        w->types[i] = row[i].type;
        w->categories[i] = row[i].category;
    }
    return samba_rows_append(w->rows, 1, w->ids, w->types, w->categories, w->why, sizeof w->why);
}

static bool open_writer(writer *w, const run *r, const char *path, fault *why)
{
    size_t size = (size_t)r->rules.length * sizeof(int32_t);
    *w = (writer){ .ids = malloc(size), .types = malloc(size), .categories = malloc(size) };
    if (!w->ids || !w->types || !w->categories) return fail(why, "no memory for a row");
    w->rows = samba_rows_open(path, SAMBA_ROWS_CREATE, r->rules.length, r->categories.name != NULL,
                              w->why, sizeof w->why);
    return w->rows || fail(why, "%s", w->why);
}

// keep: the file is to stay.
static bool close_writer(writer *w, bool keep, fault *why)
{
    bool ok = keep;
    if (!keep)
        samba_rows_abandon(w->rows);
    else if (!samba_rows_close(w->rows, w->why, sizeof w->why))
        ok = fail(why, "%s", w->why);
    free(w->ids);
    free(w->types);
    free(w->categories);
    return ok;
}

static bool prepare_line(run *r, prep *p, const lines *in, prep_text line, prep_pairs *pairs,
                         bool tell_bad, fault *why)
{
    char reason[1024];
    bool fatal;
    p->metrics.articles++;
    if (r->is_text) return prep_line(p, line) || fail(why, "%s", p->why);
    if (parse_line(r, line, pairs, &fatal, reason, sizeof reason))
        return prep_article(p, pairs->at, pairs->n) || fail(why, "%s", p->why);
    if (fatal) return fail(why, "%s line %lld: %s", lines_file(in), (long long)in->number, reason);
    return !tell_bad || bad_line(r, in, line, reason, why);
}

static bool prepare_lines(run *r, prep *p, const names *from, bool tell_bad, volatile int64_t *done,
                          fault *why)
{
    prep_pairs pairs = { 0 };
    prep_text line;
    lines in;
    int got = 0;
    if (!lines_open(&in, from, why)) return false;
    bool ok = true;
    while (ok && (got = lines_next(&in, &line, why)) > 0) {
        ok = prepare_line(r, p, &in, line, &pairs, tell_bad, why);
        *done = in.done;
        progress_show(&r->progress, in.done, r->n_bad);
    }
    lines_close(&in);
    prep_pairs_free(&pairs);
    return ok && got == 0 && (prep_end(p) || fail(why, "%s", p->why));
}

// The file appears when it is complete.
bool prepare_file(run *r, const names *from, const char *output, bool tell_bad,
                  prep_metrics *metrics, volatile int64_t *done, fault *why)
{
    char reason[512];
    writer w = { 0 };
    prep_rules rules = r->rules;
    rules.take_row = take_row;
    rules.taker = &w;
    prep *p = prep_open(&rules, reason, sizeof reason);
    if (!p) return fail(why, "%s", reason);
    bool ok = open_writer(&w, r, output, why) && prepare_lines(r, p, from, tell_bad, done, why);
    if (!ok && *w.why) fail(why, "%s", w.why); // says more than "could not be written"
    ok = close_writer(&w, ok, why);
    *metrics = p->metrics;
    prep_close(p);
    return ok;
}
