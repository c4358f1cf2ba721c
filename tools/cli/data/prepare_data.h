// What the parts of prepare-data share: the options, and the run at hand.
#ifndef SAMBA_PREPARE_DATA_H
#define SAMBA_PREPARE_DATA_H

#include "tools/cli/util/files.h"
#include "lines.h"
#include "report.h"
#include "vocabulary.h"
#include "chat.h"

typedef struct options {
    const char *input, *input_file, *output, *log, *tokenizer, *special_tokens, *packing;
    const char *packing_boundary, *attention_boundary, *prompt_key, *completion_key;
    const char *prefix, *postfix, *categories, *shuffle;
    bool pipeline, overwrite, ignore_errors, no_space, keep_prompt_only, chat, silent;
    bool no_balance, keep_splits;
    int64_t length, n_train, n_dev, n_test, workers, seed, shuffle_memory;
    double dev_ratio, test_ratio;
} options;

// False: the words are wrong (why), or help was asked for (why is empty).
bool read_options(options *o, int argc, char **argv, fault *why);
void print_options(void);

// One run of the command.
typedef struct run {
    options o;
    journal log;
    vocabulary vocabulary;
    prep_categories categories;
    names input; // files
    int64_t input_size;
    bool is_text; // .txt, not .jsonl
    prep_rules rules;
    prep_json_rules json;
    chat chat;                   // with --apply_chat_template
    char folder[PATH_SIZE];      // of the output
    FILE *bad_lines, *bad_notes; // skipped lines, and why; kept aside until keep_bad_lines
    int64_t n_bad;
    bool has_tests; // some of the input is left as text
    progress progress;
} run;

// A line of .jsonl as pairs, by its keys or by the chat template. False as prep_parse_line.
bool parse_line(const run *r, prep_text line, prep_pairs *pairs, bool *fatal, char *why,
                size_t why_size);

// ---- prepare_file.c: what the command and --pipeline are built on ----

// A line that is no pair: stops (false, with the line in why), or is collected and counted.
bool bad_line(run *r, const lines *in, prep_text line, const char *reason, fault *why);
// Writes them to json_load_failed_lines.log beside the output, and the reasons to the log.
bool keep_bad_lines(run *r, fault *why);

// Tokenizes lines into an HDF5 file. tell_bad: bad lines are news. *done: bytes read so far.
bool prepare_file(run *r, const names *from, const char *output, bool tell_bad,
                  prep_metrics *metrics, volatile int64_t *done, fault *why);

// ---- prepare_pipeline.c ----

// Checking reads the input and writes nothing; running shuffles, splits, tokenizes and
// balances.
typedef struct plan {
    int64_t n_lines;
    prep_splits splits;
} plan;

bool check_pipeline(run *r, plan *p, fault *why);
bool run_pipeline(run *r, const plan *p, fault *why);

#endif
