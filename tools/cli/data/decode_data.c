// tools/samba decode-data: what rows of an HDF5 file say, as text.
#include "tools/cli/commands.h"
#include "tools/include/samba/hdf5_rows.h"
#include "packing.h"
#include "json_line.h"
#include "vocabulary.h"
#include <stdlib.h>
#include <string.h>

typedef struct decoder {
    vocabulary vocabulary;
    FILE *out;
    bool cleans_up; // the spaces before punctuation
    prep_bytes repaired;
    int32_t *part; // tokens of one type that wait to be printed
    int64_t n_part;
    char *text;
    int64_t text_cap;
} decoder;

static void print_rule(FILE *out)
{
    fprintf(out,
            "================================================================================"
            "\n");
}

// What transformers calls clean_up_tokenization, in its order. In place; returns the new size.
static size_t clean_up(char *text, size_t size)
{
    static const char *const pair[][2] = {
        { " .", "." },     { " ?", "?" },   { " !", "!" },   { " ,", "," },     { " ' ", "'" },
        { " n't", "n't" }, { " 'm", "'m" }, { " 's", "'s" }, { " 've", "'ve" }, { " 're", "'re" },
    };
    for (size_t i = 0; i < sizeof pair / sizeof *pair; i++) {
        size_t n = strlen(pair[i][0]), m = strlen(pair[i][1]), to = 0;
        for (size_t at = 0; at < size;) {
            if (size - at >= n && memcmp(text + at, pair[i][0], n) == 0) {
                memcpy(text + to, pair[i][1], m);
                to += m;
                at += n;
            } else
                text[to++] = text[at++];
        }
        size = to;
    }
    return size;
}

// Prints the tokens that wait, under a title.
static bool print_part(decoder *d, int32_t type, fault *why)
{
    int64_t n
        = samba_tokenizer_decode(d->vocabulary.tokenizer, d->part, d->n_part, d->text, d->text_cap);
    if (n > d->text_cap) {
        char *bigger = realloc(d->text, (size_t)n);
        if (!bigger) return fail(why, "no memory for the text of a row");
        d->text = bigger;
        d->text_cap = n;
        n = samba_tokenizer_decode(d->vocabulary.tokenizer, d->part, d->n_part, d->text, n);
    }
    if (d->n_part && n >= 0) {
        // a row may be cut within a character: its bytes become U+FFFD
        if (!prep_utf8_repair(d->text, (size_t)n, &d->repaired))
            return fail(why, "no memory for the text of a row");
        size_t size = d->repaired.size;
        if (d->cleans_up) size = clean_up(d->repaired.at, size);
        fprintf(d->out, "----%s-----\n", type == PREP_PROMPT ? "PROMPT" : "COMPLETION");
        fwrite(d->repaired.at, 1, size, d->out);
        fputc('\n', d->out);
    }
    d->n_part = 0;
    return true;
}

// A separator belongs to the text before it; padding ends the row.
static bool decode_row(decoder *d, const int32_t *ids, const int32_t *types, int32_t length,
                       fault *why)
{
    int32_t type = types[0] == PREP_SEP ? PREP_COMPLETION : types[0];
    for (int32_t i = 0; i < length; i++) {
        if (types[i] == PREP_PADDING) {
            if (!print_part(d, type, why)) return false;
            fprintf(d->out, "Padding tokens: %d\n", (int)(length - i));
            return true;
        }
        if (types[i] == PREP_SEP) {
            if (type == PREP_PROMPT && !print_part(d, type, why)) return false;
            d->part[d->n_part++] = ids[i];
            if (!print_part(d, PREP_COMPLETION, why)) return false;
            fprintf(d->out,
                    "------------------------------ATTENTION SEPARATOR"
                    "------------------------------\n");
            type = i + 1 < length ? types[i + 1] : type;
            if (type == PREP_SEP) type = PREP_COMPLETION;
            continue;
        }
        if (types[i] != type && !print_part(d, type, why)) return false;
        type = types[i];
        d->part[d->n_part++] = ids[i];
    }
    return print_part(d, type, why);
}

static bool decode_rows(decoder *d, samba_rows *rows, fault *why)
{
    char reason[512];
    int32_t length = samba_rows_length(rows);
    int64_t n = samba_rows_count(rows);
    size_t size = (size_t)length * sizeof(int32_t);
    int32_t *ids = malloc(size ? size : 1), *types = malloc(size ? size : 1);
    bool ok = ids && types && (d->part = malloc(size ? size : 1));
    if (!ok) fail(why, "no memory for a row");
    print_rule(d->out);
    fprintf(d->out, "Number of Sequences: %lld\nSequence length: %d\n", (long long)n, (int)length);
    print_rule(d->out);
    for (int64_t i = 0; ok && i < n; i++) {
        if (!samba_rows_read(rows, i, 1, ids, types, NULL, reason, sizeof reason)) {
            ok = fail(why, "%s", reason);
            break;
        }
        fprintf(d->out, "SEQUENCE %lld\n", (long long)i + 1);
        print_rule(d->out);
        ok = decode_row(d, ids, types, length, why);
        fputs("\n\n", d->out);
        print_rule(d->out);
    }
    free(ids);
    free(types);
    return ok;
}

typedef struct decode_options {
    const char *hdf5, *output, *tokenizer;
    bool keep_spaces;
} decode_options;

static bool read_words(decode_options *o, int argc, char **argv, fault *why)
{
    static const char *const flags[]
        = { "--hdf5_file_path", "--output_decoded_file_path", "--pretrained_tokenizer" };
    const char **value[] = { &o->hdf5, &o->output, &o->tokenizer };
    for (int i = 0; i < argc; i++) {
        int which = -1;
        size_t size = strcspn(argv[i], "=");
        if (strcmp(argv[i], "--keep_spaces") == 0) {
            o->keep_spaces = true;
            continue;
        }
        for (int k = 0; k < 3; k++)
            if (strlen(flags[k]) == size && strncmp(argv[i], flags[k], size) == 0) which = k;
        if (which < 0 && strncmp(argv[i], "--", 2) == 0)
            return fail(why, "there is no flag %.*s", (int)size, argv[i]);
        if (which < 0 && o->hdf5) return fail(why, "one HDF5 file at a time: \"%s\"", argv[i]);
        if (which < 0)
            o->hdf5 = argv[i];
        else if (argv[i][size])
            *value[which] = argv[i] + size + 1;
        else if (i + 1 == argc)
            return fail(why, "%s needs a value", argv[i]);
        else
            *value[which] = argv[++i];
    }
    return o->hdf5 || fail(why, "which HDF5 file?");
}

// By default the tokenizer that prepare-data --pipeline has put beside the file.
static bool decode(const decode_options *o, decoder *d, fault *why)
{
    char beside[PATH_SIZE], folder[PATH_SIZE], reason[512];
    if (!parent_of(beside, o->hdf5, why) || !make_path(folder, why, "%s/tokenizer", beside))
        return false;
    samba_rows *rows = samba_rows_open(o->hdf5, SAMBA_ROWS_READ, 0, false, reason, sizeof reason);
    if (!rows) return fail(why, "%s", reason);
    bool ok = vocabulary_open(&d->vocabulary, o->tokenizer ? o->tokenizer : folder, NULL, why);
    d->cleans_up = !o->keep_spaces && d->vocabulary.cleans_up;
    samba_base_output out;
    if (ok && o->output && samba_base_same_file(o->output, o->hdf5))
        ok = fail(why, "%s: this is the file that is read; give the text another name", o->output);
    bool begun = ok && o->output && begin_output(&out, o->output, why);
    ok = ok && (begun || !o->output);
    d->out = begun ? out.file : stdout;
    ok = ok && decode_rows(d, rows, why);
    if (begun) ok = end_output(&out, ok, why);
    samba_rows_abandon(rows);
    if (d->vocabulary.tokenizer) vocabulary_close(&d->vocabulary);
    free(d->part);
    free(d->text);
    prep_bytes_free(&d->repaired);
    return ok;
}

int decode_data_main(int argc, char **argv)
{
    decode_options o = { 0 };
    decoder d = { .n_part = 0 };
    fault why = { "" };
    for (int i = 0; i < argc; i++)
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            puts("usage: tools/samba decode-data FILE.hdf5 [--output_decoded_file_path FILE]\n"
                 "           [--pretrained_tokenizer FOLDER; default: tokenizer beside the file]\n"
                 "           [--keep_spaces: those before punctuation, which go unless\n"
                 "           clean_up_tokenization_spaces is false in tokenizer_config.json]");
            return 0;
        }
    bool usage = !read_words(&o, argc, argv, &why);
    if (!usage && decode(&o, &d, &why)) return 0;
    return report_fault("decode-data", &why, usage ? 2 : 1);
}
