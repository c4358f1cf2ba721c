// Metrics tables, metadata.yaml and hashes of a prepared data set.
#define _DARWIN_C_SOURCE
#include "report.h"
#include "tools/cli/util/text.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

// ---- Metrics ------------------------------------------------------------------------------------

enum { N_ROWS = 13, CELL = 40 };

typedef struct table {
    const char *name[N_ROWS];
    char value[N_ROWS][CELL];
    int n;
} table;

static char *next_row(table *t, const char *name)
{
    t->name[t->n] = name;
    return t->value[t->n++];
}

static void row_count(table *t, const char *name, int64_t value)
{
    snprintf(next_row(t, name), CELL, "%" PRId64, value);
}

// Two decimals, of which a last zero goes: 530.2, 0.0, 17.25.
static void row_mean(table *t, const char *name, int64_t sum, int64_t n)
{
    char *cell = next_row(t, name);
    snprintf(cell, CELL, "%.2f", n ? (double)sum / (double)n : 0);
    if (ends_with(cell, "0")) cell[strlen(cell) - 1] = 0;
}

static void row_percent(table *t, const char *name, int64_t part, int64_t whole)
{
    snprintf(next_row(t, name), CELL, "%.2f%%", whole ? 100.0 * (double)part / (double)whole : 0);
}

static void fill_table(table *t, const prep_metrics *m)
{
    int64_t text = m->prompt_tokens + m->completion_tokens;
    row_count(t, "Sequences", m->sequences);
    row_count(t, "Articles", m->articles);
    row_count(t, "Dataset Tokens", m->output_tokens);
    row_count(t, "Prompt Tokens", m->prompt_tokens);
    row_count(t, "Completion Tokens", m->completion_tokens);
    row_count(t, "Padding Tokens", m->padding_tokens);
    row_mean(t, "Average Completion Length", m->completion_tokens, m->articles);
    row_mean(t, "Average Prompt Length", m->prompt_tokens, m->articles);
    row_percent(t, "Data Utilization", text, m->input_tokens);
    row_percent(t, "Dropped From Packing", m->tokens_dropped_from_packing, m->input_tokens);
    row_percent(t, "Dropped From All Prompt", m->tokens_dropped_from_all_prompt, m->input_tokens);
    row_percent(t, "Sequence Utilization", text, m->output_tokens);
    row_percent(t, "Seq Completion Utilization", m->completion_tokens, m->output_tokens);
}

// A line across a table with two columns: left, n times mid, between, m times mid, right.
static void table_line(journal *log, const char *left, const char *mid, const char *between,
                       const char *right, int n, int m)
{
    char line[1024];
    size_t at = (size_t)snprintf(line, sizeof line, "%s", left);
    for (int i = 0; i < n + m && at < sizeof line; i++)
        at += (size_t)snprintf(line + at, sizeof line - at, "%s%s", i == n ? between : "", mid);
    if (at < sizeof line) snprintf(line + at, sizeof line - at, "%s", right);
    say(log, "%s", line);
}

void print_metrics(journal *log, const char *title, const prep_metrics *m)
{
    table t = { .n = 0 };
    int wide = 0, wide_value = 0;
    fill_table(&t, m);
    for (int i = 0; i < t.n; i++) {
        int n = (int)strlen(t.name[i]), v = (int)strlen(t.value[i]);
        wide = n > wide ? n : wide;
        wide_value = v > wide_value ? v : wide_value;
    }
    say(log, "%s", title);
    table_line(log, "╒", "═", "╤", "╕", wide + 2, wide_value + 2);
    for (int i = 0; i < t.n; i++) {
        if (i) table_line(log, "├", "─", "┼", "┤", wide + 2, wide_value + 2);
        say(log, "│ %-*s │ %-*s │", wide, t.name[i], wide_value, t.value[i]);
    }
    table_line(log, "╘", "═", "╧", "╛", wide + 2, wide_value + 2);
}

// ---- metadata.yaml ------------------------------------------------------------------------------

static void yaml_number(FILE *f, const char *prefix, const char *key, int64_t value)
{
    if (value < 0)
        fprintf(f, "%s%s: null\n", prefix, key);
    else
        fprintf(f, "%s%s: %" PRId64 "\n", prefix, key, value);
}

// A word as it is; what could mean something else in quotes, as JSON has them.
static void yaml_text(FILE *f, const char *key, const char *text)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    static const char others[] = "0123456789_-.";
    const char *p = text + strspn(text, letters);
    bool word = p > text;
    while (*p && strchr(others, *p))
        p += 1 + strspn(p + 1, letters);
    fprintf(f, "%s: ", key);
    if (word && !*p)
        fputs(text, f);
    else
        write_json_text(f, text);
    fputc('\n', f);
}

static void yaml_metrics(FILE *f, const char *prefix, const prep_metrics *m)
{
    if (!m->articles) return;
    yaml_number(f, prefix, "articles", m->articles);
    yaml_number(f, prefix, "completion_tokens", m->completion_tokens);
    yaml_number(f, prefix, "input_tokens", m->input_tokens);
    yaml_number(f, prefix, "output_tokens", m->output_tokens);
    yaml_number(f, prefix, "padding_tokens", m->padding_tokens);
    yaml_number(f, prefix, "prompt_tokens", m->prompt_tokens);
    yaml_number(f, prefix, "sequences", m->sequences);
    yaml_number(f, prefix, "tokens_dropped_from_all_prompt", m->tokens_dropped_from_all_prompt);
    yaml_number(f, prefix, "tokens_dropped_from_packing", m->tokens_dropped_from_packing);
}

bool write_metadata(const metadata *m, const char *folder, fault *why)
{
    char path[PATH_SIZE];
    samba_base_output out;
    if (!make_path(path, why, "%s/metadata.yaml", folder) || !begin_output(&out, path, why))
        return false;
    FILE *f = out.file;
    yaml_metrics(f, "dev_", &m->dev); // keys are in the order of the alphabet
    yaml_number(f, "", "max_batch_size_dev", m->max_batch_size_dev);
    yaml_number(f, "", "max_batch_size_train", m->max_batch_size_train);
    yaml_number(f, "", "max_seq_length", m->max_seq_length);
    yaml_number(f, "", "number_of_dev_files", m->n_dev);
    yaml_number(f, "", "number_of_test_files", m->n_test);
    yaml_number(f, "", "number_of_training_files", m->n_train);
    fprintf(f, "token_type_ids: true\n");
    yaml_text(f, "tokenizer_model_type", m->model_type);
    yaml_metrics(f, "train_", &m->train);
    yaml_number(f, "", "vocab_size", m->vocab_size);
    return end_output(&out, true, why);
}

// ---- Hashes -------------------------------------------------------------------------------------

// One member: the path with _ for /, then what is known of the file.
static bool write_hash(FILE *out, const char *folder, const char *name, fault *why)
{
    char path[PATH_SIZE], flat[PATH_SIZE], hex[65];
    struct stat s;
    if (!make_path(path, why, "%s/%s", folder, name) || !make_path(flat, why, "%s", name)
        || !sha256_file(path, hex, why))
        return false;
    if (stat(path, &s) != 0) return fail_errno(why, "cannot be read", path);
    for (char *p = flat; *p; p++)
        if (*p == '/') *p = '_';
    write_json_text(out, flat);
#if defined(__APPLE__)
    double modified = (double)s.st_mtimespec.tv_sec + 1e-9 * (double)s.st_mtimespec.tv_nsec;
#else
    double modified = (double)s.st_mtim.tv_sec + 1e-9 * (double)s.st_mtim.tv_nsec;
#endif
    fprintf(out, ": {\"sha256\": \"%s\", \"size\": %lld, \"modified_time\": %.7f}", hex,
            (long long)s.st_size, modified);
    return true;
}

bool write_hashes(const char *folder, fault *why)
{
    names files = { 0 };
    char path[PATH_SIZE];
    if (!make_path(path, why, "%s/sha256", folder)
        || (is_folder(path) && !remove_folder(path, why)))
        return false;
    bool ok = walk_folder(&files, folder, "", why) && make_folders(path, why)
        && make_path(path, why, "%s/sha256/files_metadata.json", folder);
    samba_base_output out;
    bool begun = ok && begin_output(&out, path, why);
    ok = begun;
    if (begun) fputc('{', out.file);
    for (int i = 0; ok && i < files.n; i++) {
        if (i) fputs(", ", out.file);
        ok = write_hash(out.file, folder, files.at[i], why);
    }
    if (begun) fputs("}", out.file);
    if (begun) ok = end_output(&out, ok, why);
    free_names(&files);
    return ok;
}
