// The flags of prepare-data: their names, defaults and meanings, in one table.
#include "prepare_data.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef enum flag_kind { SWITCH, TEXT, WHOLE, RATIO } flag_kind;

typedef struct flag {
    const char *name;
    flag_kind kind;
    void *value;
    bool pipeline; // of no use without --pipeline
    const char *help;
} flag;

enum { MAX_FLAGS = 40 };

// The help shows the flags in this order.
static int list_flags(options *o, flag list[MAX_FLAGS])
{
    const flag flags[] = {
        { "pipeline", SWITCH, &o->pipeline, false,
          "shuffle, split into train, dev and test, balance; the output is a folder" },
        { "input_path", TEXT, &o->input, false, ".jsonl, .txt, or a folder of them" },
        { "input_file_path", TEXT, &o->input_file, false, "the same; an old name" },
        { "output_path", TEXT, &o->output, false, "FILE.hdf5; with --pipeline a folder" },
        { "log_file_path", TEXT, &o->log, false, "default: logs.log in the folder of the output" },
        { "overwrite_output_path", SWITCH, &o->overwrite, false,
          "replace FILE.hdf5; with --pipeline, delete first what the folder holds" },
        { "ignore_input_format_error", SWITCH, &o->ignore_errors, false,
          "skip bad lines; json_load_failed_lines.log collects them" },
        { "pretrained_tokenizer", TEXT, &o->tokenizer, false,
          "folder with tokenizer.json, vocab.json and merges.txt, tokenizer.model or vocab.txt" },
        { "special_tokens_dict", TEXT, &o->special_tokens, false,
          "tokens to add, such as \"{'pad_token': '[PAD]'}\"" },
        { "max_seq_length", WHOLE, &o->length, false, "tokens of a row; default 2048" },
        { "input_packing_config", TEXT, &o->packing, false,
          "full (default), or {single,greedy}::{drop,truncate_left,truncate_right}" },
        { "packing_boundary", TEXT, &o->packing_boundary, false,
          "what stays together: jsonl (a line; default) or prompt_completion_pair" },
        { "attention_boundary", TEXT, &o->attention_boundary, false,
          "what ends with a separator: jsonl (default) or prompt_completion_pair" },
        { "prompt_keyword", TEXT, &o->prompt_key, false, "default: prompt" },
        { "completion_keyword", TEXT, &o->completion_key, false, "default: completion" },
        { "prompt_prefix", TEXT, &o->prefix, false, "text before each prompt" },
        { "prompt_postfix", TEXT, &o->postfix, false, "text behind each prompt" },
        { "disable_space_separator", SWITCH, &o->no_space, false,
          "do not make it one space between prompt and completion" },
        { "keep_prompt_only_sequences", SWITCH, &o->keep_prompt_only, false,
          "keep rows, and pairs, without completion" },
        { "categories_path", TEXT, &o->categories, false,
          ".json with a list of names; the key \"category\" of a pair is one of them" },
        { "apply_chat_template", SWITCH, &o->chat, false,
          "lines are {\"messages\": [{\"role\": ..., \"content\": ...}, ...]}" },
        { "silent", SWITCH, &o->silent, false, "print nothing but errors" },
        { "num_training_splits", WHOLE, &o->n_train, true,
          "files to train with; default 32, 128 from 10 GiB, 256 from 100 GiB" },
        { "dev_ratio", RATIO, &o->dev_ratio, true, "share of files to evaluate with; default 0" },
        { "test_ratio", RATIO, &o->test_ratio, true, "share of files left as text; default 0" },
        { "num_dev_splits", WHOLE, &o->n_dev, true,
          "these two and --num_training_splits, "
          "instead of the ratios" },
        { "num_test_splits", WHOLE, &o->n_test, true, "" },
        { "shuffle", TEXT, &o->shuffle, true,
          "on_RAM, large_file (little memory) or False "
          "(default)" },
        { "seed", WHOLE, &o->seed, true, "makes the shuffle the same again" },
        { "shuffle_memory", WHOLE, &o->shuffle_memory, true,
          "bytes that large_file may hold; default 67108864" },
        { "do_not_balance_hdf5", SWITCH, &o->no_balance, true,
          "leave files with unequal numbers of rows" },
        { "num_workers", WHOLE, &o->workers, true,
          "processes; default: the processors, at most "
          "16; results are the same for any number" },
        { "keep_split_jsonls", SWITCH, &o->keep_splits, true, "keep the split text in splits/" },
    };
    memcpy(list, flags, sizeof flags);
    return sizeof flags / sizeof *flags;
}

static void set_defaults(options *o)
{
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    *o = (options){ .packing = "full",
                    .packing_boundary = "jsonl",
                    .attention_boundary = "jsonl",
                    .prompt_key = "prompt",
                    .completion_key = "completion",
                    .prefix = "",
                    .postfix = "",
                    .shuffle = "False",
                    .length = 2048,
                    .n_train = -1,
                    .n_dev = -1,
                    .n_test = -1,
                    .seed = -1,
                    .shuffle_memory = 64 << 20,
                    .dev_ratio = -1,
                    .test_ratio = -1 };
    o->workers = cpus < 1 ? 1 : cpus > 16 ? 16 : cpus;
}

void print_options(void)
{
    static const char *const value[] = { "", " TEXT", " N", " SHARE" };
    options o;
    flag list[MAX_FLAGS];
    int n = list_flags(&o, list);
    for (int i = 0; i < n; i++) {
        char name[64];
        if (i && list[i].pipeline && !list[i - 1].pipeline) printf("with --pipeline:\n");
        snprintf(name, sizeof name, "--%s%s", list[i].name, value[list[i].kind]);
        printf("  %-32s %s\n", name, list[i].help);
    }
}

// ---- Reading the words --------------------------------------------------------------------------

static bool read_whole(const flag *f, const char *text, fault *why)
{
    char *end;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (!*text || *end || errno || value < 0)
        return fail(why, "--%s %s: expected a whole number, 0 or more", f->name, text);
    *(int64_t *)f->value = value;
    return true;
}

static bool read_ratio(const flag *f, const char *text, fault *why)
{
    char *end;
    double value = strtod(text, &end);
    if (!*text || *end || !(value >= 0 && value < 1))
        return fail(why, "--%s %s: expected a share from 0 to below 1, such as 0.1", f->name, text);
    *(double *)f->value = value;
    return true;
}

static bool read_value(const flag *f, const char *text, fault *why)
{
    switch (f->kind) {
    case TEXT:
        *(const char **)f->value = text;
        return true;
    case WHOLE:
        return read_whole(f, text, why);
    case RATIO:
        return read_ratio(f, text, why);
    case SWITCH:
        return fail(why, "--%s takes no value", f->name);
    }
    return false;
}

// --name value, --name=value, or --name of a switch. *at moves over the words that were used.
static const flag *read_flag(const flag *list, int n, int argc, char **argv, int *at, fault *why)
{
    const char *word = argv[(*at)++] + 2;
    size_t size = strcspn(word, "=");
    const flag *f = NULL;
    bool ok = true;
    for (int i = 0; i < n && !f; i++)
        if (strlen(list[i].name) == size && memcmp(word, list[i].name, size) == 0) f = &list[i];
    if (!f)
        ok = fail(why, "there is no flag --%.*s", (int)size, word);
    else if (word[size])
        ok = read_value(f, word + size + 1, why);
    else if (f->kind == SWITCH)
        *(bool *)f->value = true;
    else if (*at == argc)
        ok = fail(why, "--%s needs a value", f->name);
    else
        ok = read_value(f, argv[(*at)++], why);
    return ok ? f : NULL;
}

static bool one_of(const char *name, const char *value, const char *a, const char *b, const char *c,
                   fault *why)
{
    if (strcmp(value, a) == 0 || strcmp(value, b) == 0 || (c && strcmp(value, c) == 0)) return true;
    return fail(why, "--%s %s: expected %s%s%s%s%s", name, value, a, c ? ", " : " or ", b,
                c ? " or " : "", c ? c : "");
}

static bool check_options(options *o, fault *why)
{
    char reason[512];
    prep_packing packing;
    const char *pair = "prompt_completion_pair";
    if (!o->input == !o->input_file)
        return fail(why,
                    o->input ? "--input_path and --input_file_path are the same; give one"
                             : "--input_path is missing");
    if (!o->input) o->input = o->input_file;
    if (!o->output || !*o->output) return fail(why, "--output_path is missing");
    if (!o->tokenizer) return fail(why, "--pretrained_tokenizer is missing");
    if (!prep_packing_parse(o->packing, &packing, reason, sizeof reason))
        return fail(why, "--input_packing_config: %s", reason);
    if (o->length < 1 || o->length > 1 << 24)
        return fail(why, "--max_seq_length %lld: expected 1 to %d", (long long)o->length, 1 << 24);
    if (o->workers < 1 || o->workers > 1024)
        return fail(why, "--num_workers %lld: expected 1 to 1024", (long long)o->workers);
    return one_of("packing_boundary", o->packing_boundary, "jsonl", pair, NULL, why)
        && one_of("attention_boundary", o->attention_boundary, "jsonl", pair, NULL, why)
        && one_of("shuffle", o->shuffle, "on_RAM", "large_file", "False", why);
}

bool read_options(options *o, int argc, char **argv, fault *why)
{
    flag list[MAX_FLAGS];
    const char *needs_pipeline = NULL;
    set_defaults(o);
    int n = list_flags(o, list);
    for (int at = 0; at < argc;) {
        const char *word = argv[at];
        if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) return fail(why, "%s", "");
        if (strncmp(word, "--", 2) != 0)
            return fail(why, "\"%s\" is no flag; flags begin with --", word);
        const flag *f = read_flag(list, n, argc, argv, &at, why);
        if (!f) return false;
        if (f->pipeline) needs_pipeline = f->name;
    }
    if (needs_pipeline && !o->pipeline) return fail(why, "--%s needs --pipeline", needs_pipeline);
    return check_options(o, why);
}
