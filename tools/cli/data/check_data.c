// tools/samba check-data: is a folder of prepare-data --pipeline as it was written, and does it fit
// a training? Says everything that is wrong, not only the first.
#include "tools/cli/commands.h"
#include "tools/cli/util/files.h"
#include "tools/include/samba/hdf5_rows.h"
#include "tools/cli/util/text.h"
#include <cjson/cJSON.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

typedef struct check {
    const char *folder;
    int64_t length, batch_size, workers, vocab_size; // of the training; -1: not said
    const char *model_type;
    bool eval;
    int problems;
} check;

static void problem(check *c, const char *format, ...) LIKE_PRINTF(2, 3);

static void problem(check *c, const char *format, ...)
{
    char text[2 * PATH_SIZE];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    print_safely(stdout, text);
    putchar('\n');
    c->problems++;
}

// ---- Hashes -------------------------------------------------------------------------------------

static double modified(const char *path)
{
    struct stat s;
    if (stat(path, &s) != 0) return -1;
#if defined(__APPLE__)
    return (double)s.st_mtimespec.tv_sec + 1e-9 * (double)s.st_mtimespec.tv_nsec;
#else
    return (double)s.st_mtim.tv_sec + 1e-9 * (double)s.st_mtim.tv_nsec;
#endif
}

// Only a file whose size or time has changed is hashed again. Its member leaves the list.
static bool check_hash(check *c, cJSON *list, const char *name, fault *why)
{
    char path[PATH_SIZE], flat[PATH_SIZE], hex[65];
    if (strstr(name, "logs") || strncmp(name, "sha256/", 7) == 0) return true;
    if (!make_path(path, why, "%s/%s", c->folder, name) || !make_path(flat, why, "%s", name))
        return false;
    for (char *p = flat; *p; p++)
        if (*p == '/') *p = '_';
    cJSON *known = cJSON_DetachItemFromObjectCaseSensitive(list, flat);
    const cJSON *size = cJSON_GetObjectItemCaseSensitive(known, "size");
    const cJSON *time = cJSON_GetObjectItemCaseSensitive(known, "modified_time");
    const cJSON *hash = cJSON_GetObjectItemCaseSensitive(known, "sha256");
    bool same = false, ok = true;
    if (!known)
        problem(c, "%s: this file was not there when the data was prepared", name);
    else if (cJSON_IsNumber(size) && cJSON_IsNumber(time)) {
        double d = time->valuedouble - modified(path);
        same = size->valuedouble == (double)file_size(path) && d > -1e-5 && d < 1e-5;
    }
    if (known && !same) {
        ok = sha256_file(path, hex, why);
        if (ok && !(cJSON_IsString(hash) && strcmp(hash->valuestring, hex) == 0))
            problem(c, "%s: its bytes have changed since the data was prepared", name);
    }
    cJSON_Delete(known);
    return ok;
}

static bool check_hashes(check *c, fault *why)
{
    char path[PATH_SIZE];
    names files = { 0 };
    size_t size;
    if (!make_path(path, why, "%s/sha256/files_metadata.json", c->folder)) return false;
    char *text = read_file(path, &size, why);
    if (!text) return false;
    cJSON *list = cJSON_ParseWithLength(text, size);
    const cJSON *left;
    free(text);
    bool ok = cJSON_IsObject(list) || fail(why, "%s: this is no JSON object", path);
    ok = ok && walk_folder(&files, c->folder, "", why);
    for (int i = 0; ok && i < files.n; i++)
        ok = check_hash(c, list, files.at[i], why);
    if (ok)
        cJSON_ArrayForEach(left, list) if (!strstr(left->string, "logs"))
            problem(c, "%s: this file is missing", left->string);
    free_names(&files);
    cJSON_Delete(list);
    return ok;
}

// ---- metadata.yaml ------------------------------------------------------------------------------

// The value behind "key: ". NULL: there is none. The text is split in place.
static const char *yaml_value(char *text, const char *key)
{
    static char value[512];
    size_t n = strlen(key);
    for (char *line = text; line && *line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : "")
        if (strncmp(line, key, n) == 0 && strncmp(line + n, ": ", 2) == 0) {
            snprintf(value, sizeof value, "%.*s", (int)strcspn(line + n + 2, "\n"), line + n + 2);
            return value;
        }
    return NULL;
}

// -1 for null, and (a problem) if there is none.
static int64_t yaml_whole(check *c, char *text, const char *key)
{
    const char *value = yaml_value(text, key);
    char *end = NULL;
    if (value && strcmp(value, "null") == 0) return -1;
    long long number = value ? strtoll(value, &end, 10) : -1;
    if (!value || *end || number < 0) {
        problem(c, "metadata.yaml: there is no number %s", key);
        return -1;
    }
    return number;
}

static void compare(check *c, bool good, const char *format, int64_t a, int64_t b)
{
    char text[256];
    if (good) return;
    snprintf(text, sizeof text, format, (long long)a, (long long)b);
    problem(c, "metadata.yaml: %s", text);
}

// Against the training that is planned.
static void check_fit(check *c, char *text)
{
    int64_t length = yaml_whole(c, text, "max_seq_length");
    int64_t files = yaml_whole(c, text, "number_of_training_files");
    int64_t vocab = yaml_whole(c, text, "vocab_size");
    int64_t batch = yaml_whole(c, text, "max_batch_size_train");
    int64_t dev_files = yaml_whole(c, text, "number_of_dev_files");
    int64_t dev_batch = yaml_whole(c, text, "max_batch_size_dev");
    const char *type = yaml_value(text, "tokenizer_model_type");
    if (c->length >= 0)
        compare(c, length == c->length,
                "max_seq_length specified during training (%lld) must "
                "match max_seq_length used during generative data prep (%lld)",
                c->length, length);
    if (c->workers >= 0)
        compare(c, files >= c->workers,
                "The number of workers (%lld) is greater than the "
                "specified number of files (%lld)",
                c->workers, files);
    if (c->vocab_size >= 0)
        compare(c, vocab <= c->vocab_size,
                "Runtime vocab size (%lld) must be equal to or greater "
                "than dataset vocab size (%lld)",
                c->vocab_size, vocab);
    if (c->batch_size >= 0)
        compare(c, c->batch_size <= batch,
                "batch size specified during training (%lld) exceeds "
                "the maximum allowed batch size (%lld) based on training dataset",
                c->batch_size, batch);
    if (c->eval)
        compare(c, dev_files > 0 && dev_batch > 0,
                "Evaluation during training is turned on but "
                "there are no evaluation files in this dataset (%lld files, batch size %lld)",
                dev_files, dev_batch);
    if (c->model_type && (!type || strcmp(type, c->model_type) != 0))
        problem(c,
                "metadata.yaml: Model type of model during runtime does not match model type "
                "used during training (%s)",
                type ? type : "none");
}

// ---- Rows ---------------------------------------------------------------------------------------

static bool good_tokens(const int32_t *ids, const int32_t *types, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (ids[i] < 0 || types[i] < 0 || types[i] > 3) return false;
    return true;
}

static bool check_tokens(samba_rows *rows, int32_t length, int64_t n, char *why, size_t why_size)
{
    int64_t block = samba_rows_block(length);
    size_t size = (size_t)block * (size_t)length * sizeof(int32_t);
    int32_t *ids = malloc(size), *types = malloc(size);
    bool ok = ids && types;
    if (!ok) snprintf(why, why_size, "no memory for rows");
    for (int64_t at = 0; ok && at < n; at += block) {
        int64_t part = n - at < block ? n - at : block;
        ok = samba_rows_read(rows, at, part, ids, types, NULL, why, why_size);
        if (ok && !good_tokens(ids, types, part * length)) {
            snprintf(why, why_size, "an id is negative, or a type is not 0 ... 3");
            ok = false;
        }
    }
    free(ids);
    free(types);
    return ok;
}

// Reads all rows of one file. *least: of the kind.
static void check_rows(check *c, const char *kind, int64_t i, int64_t n, int32_t length,
                       int64_t *least)
{
    char path[PATH_SIZE], reason[PATH_SIZE + 512] = "";
    fault why;
    samba_rows *rows = NULL;
    if (!make_path(path, &why, "%s/%s_%lld_of_%lld.hdf5", c->folder, kind, (long long)i,
                   (long long)n))
        snprintf(reason, sizeof reason, "%.500s", why.text);
    else
        rows = samba_rows_open(path, SAMBA_ROWS_READ, length, false, reason, sizeof reason);
    int64_t count = rows ? samba_rows_count(rows) : 0;
    if (!rows || !check_tokens(rows, length, count, reason, sizeof reason))
        problem(c, "%s", reason);
    if (rows && count < *least) *least = count;
    samba_rows_abandon(rows);
}

static void check_kind(check *c, char *text, const char *kind, const char *n_key,
                       const char *batch_key)
{
    int64_t n = yaml_whole(c, text, n_key), batch = yaml_whole(c, text, batch_key);
    int64_t length = yaml_whole(c, text, "max_seq_length"), least = INT64_MAX;
    bool sane = length >= 1 && length <= 1 << 24 && n <= 1000000;
    if (!sane) problem(c, "metadata.yaml: max_seq_length or %s is out of range", n_key);
    for (int64_t i = 1; sane && i <= n; i++)
        check_rows(c, kind, i, n, (int32_t)length, &least);
    if (sane && n > 0)
        compare(c, least == batch, "the smallest file has %lld rows, not %lld", least, batch);
}

// ---- Files of another run -----------------------------------------------------------------------

static bool is_counted(const char *name, const char *kind, int64_t n)
{
    char expected[256];
    size_t size = strlen(kind);
    if (strncmp(name, kind, size) != 0 || name[size] != '_') return false;
    long long i = strtoll(name + size + 1, NULL, 10);
    snprintf(expected, sizeof expected, "%s_%lld_of_%lld.hdf5", kind, i, (long long)n);
    return i >= 1 && i <= n && strcmp(name, expected) == 0;
}

// A training takes every .hdf5 of the folder: one that metadata.yaml does not count is of another
// run.
static bool check_stray(check *c, char *text, fault *why)
{
    names there = { 0 };
    int before = c->problems;
    int64_t n_train = yaml_whole(c, text, "number_of_training_files");
    int64_t n_dev = yaml_whole(c, text, "number_of_dev_files");
    c->problems = before; // check_kind has told
    bool ok = list_folder(&there, c->folder, why);
    for (int i = 0; ok && i < there.n; i++)
        if (ends_with(there.at[i], ".hdf5") && !is_counted(there.at[i], "train", n_train)
            && !is_counted(there.at[i], "dev", n_dev))
            problem(c, "%s: metadata.yaml does not count this file; it is of another run",
                    there.at[i]);
    free_names(&there);
    return ok;
}

// ---- The command --------------------------------------------------------------------------------

static bool read_number(const char *name, const char *text, int64_t *value, fault *why)
{
    char *end;
    *value = strtoll(text, &end, 10);
    return (*text && !*end && *value >= 0)
        || fail(why, "%s %s: expected a whole number, 0 or more", name, text);
}

static bool read_word(check *c, int argc, char **argv, int *at, fault *why)
{
    const struct {
        const char *name;
        int64_t *value;
    } number[] = { { "--max_seq_length", &c->length },
                   { "--batch_size", &c->batch_size },
                   { "--number_of_workers", &c->workers },
                   { "--vocab_size", &c->vocab_size } };

    const char *word = argv[(*at)++];
    if (strcmp(word, "--eval") == 0) return c->eval = true;
    if (strncmp(word, "--", 2) != 0) {
        if (c->folder) return fail(why, "one folder at a time: \"%s\"", word);
        c->folder = word;
        return true;
    }
    bool is_type = strcmp(word, "--model_type") == 0;
    int which = -1;
    for (int i = 0; i < 4; i++)
        if (strcmp(word, number[i].name) == 0) which = i;
    if (which < 0 && !is_type) return fail(why, "there is no flag %s", word);
    if (*at == argc) return fail(why, "%s needs a value", word);
    if (!is_type) return read_number(word, argv[(*at)++], number[which].value, why);
    c->model_type = argv[(*at)++];
    return true;
}

static bool run_check(check *c, fault *why)
{
    char path[PATH_SIZE];
    size_t size;
    if (!is_folder(c->folder)) return fail(why, "%s: there is no such folder", c->folder);
    if (!check_hashes(c, why) || !make_path(path, why, "%s/metadata.yaml", c->folder)) return false;
    char *text = read_file(path, &size, why);
    if (!text) return false;
    check_fit(c, text);
    check_kind(c, text, "train", "number_of_training_files", "max_batch_size_train");
    check_kind(c, text, "dev", "number_of_dev_files", "max_batch_size_dev");
    bool ok = check_stray(c, text, why);
    free(text);
    return ok;
}

int check_data_main(int argc, char **argv)
{
    check c = { .length = -1, .batch_size = -1, .workers = -1, .vocab_size = -1 };
    fault why = { "" };
    bool ok = true;
    for (int at = 0; ok && at < argc;) {
        if (strcmp(argv[at], "--help") == 0 || strcmp(argv[at], "-h") == 0) {
            puts("usage: tools/samba check-data FOLDER [--max_seq_length N] [--batch_size N]\n"
                 "           [--number_of_workers N] [--vocab_size N] [--model_type TEXT]\n"
                 "           [--eval]");
            return 0;
        }
        ok = read_word(&c, argc, argv, &at, &why);
    }
    if (ok && !c.folder) ok = fail(&why, "which folder?");
    if (!ok) return report_fault("check-data", &why, 2);
    if (!run_check(&c, &why)) return report_fault("check-data", &why, 1);
    if (c.problems)
        printf("%s: %d %s\n", shown(c.folder), c.problems, plural(c.problems, "problem"));
    else
        printf("%s is whole%s\n", shown(c.folder), c.length >= 0 ? ", and fits" : "");
    return c.problems > 0;
}
