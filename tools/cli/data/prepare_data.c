// tools/samba prepare-data: text to rows of tokens in HDF5, as SambaNova's generative_data_prep.
// This file: the command, from its words to the log. prepare_file.c makes rows of one file;
// prepare_pipeline.c makes many files of one.
#include "prepare_data.h"
#include "tools/cli/commands.h"
#include "tools/cli/util/text.h"
#include <cjson/cJSON.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

// ---- Input --------------------------------------------------------------------------------------

static bool add_input(run *r, const char *path, fault *why)
{
    FILE *f = open_file(path, "rb", why);
    if (!f) return false;
    fclose(f);
    r->input_size += file_size(path);
    return add_name(&r->input, path, why);
}

// The files of a folder with one ending, in order of their names.
static bool add_folder(run *r, const names *all, const char *ending, fault *why)
{
    char path[PATH_SIZE];
    for (int i = 0; i < all->n; i++) {
        if (!ends_with(all->at[i], ending) || strstr(all->at[i], "combined_output_")) continue;
        if (!make_path(path, why, "%s/%s", r->o.input, all->at[i])) return false;
        if (!is_folder(path) && !add_input(r, path, why)) return false;
    }
    return true;
}

static bool find_input(run *r, fault *why)
{
    const char *path = r->o.input;
    if (is_folder(path)) {
        names all = { 0 };
        bool ok = list_folder(&all, path, why) && add_folder(r, &all, ".jsonl", why);
        r->is_text = ok && !r->input.n;
        ok = ok && (!r->is_text || add_folder(r, &all, ".txt", why));
        free_names(&all);
        if (!ok) return false;
        if (!r->input.n) return fail(why, "%s: there is no .jsonl and no .txt file in it", path);
    } else {
        r->is_text = ends_with(path, ".txt");
        if (!r->is_text && !ends_with(path, ".jsonl"))
            return fail(why, "the input file is not a jsonl or txt file: %s", path);
        if (!add_input(r, path, why)) return false;
    }
    return r->input_size > 1 || fail(why, "your input %s is empty", path);
}

static bool add_category(run *r, const cJSON *item, fault *why)
{
    prep_categories *c = &r->categories;
    if (!cJSON_IsString(item))
        return fail(why, "%s: entry %d of the list is no text", r->o.categories, c->n);
    if (!(c->name[c->n] = strdup(item->valuestring))) return fail(why, "no memory");
    c->n++;
    return true;
}

static bool read_categories(run *r, fault *why)
{
    const char *path = r->o.categories;
    size_t size;
    if (!path) return true;
    if (!ends_with(path, ".json"))
        return fail(why, "--categories_path must name a .json file, not %s", path);
    char *text = read_file(path, &size, why);
    if (!text) return false;
    cJSON *list = cJSON_ParseWithLength(text, size), *item;
    bool ok = cJSON_IsArray(list) || fail(why, "%s: expected a JSON list of names", path);
    free(text);
    if (ok) r->categories.name = calloc((size_t)cJSON_GetArraySize(list) + 1, sizeof(char *));
    if (ok && !r->categories.name) ok = fail(why, "no memory for the categories");
    if (ok) cJSON_ArrayForEach(item, list)
        {
            ok = ok && add_category(r, item, why);
        }
    cJSON_Delete(list);
    r->json.categories = &r->categories;
    return ok;
}

static int64_t encode(void *tokenizer, const char *text, size_t size, int32_t *ids, int64_t cap)
{
    return samba_tokenizer_encode(tokenizer, text, size, ids, cap);
}

// Conversations: what prompts and completions have, they have not.
static bool open_chat(run *r, fault *why)
{
    const options *o = &r->o;
    if (!o->chat) return true;
    if (r->is_text || o->categories || *o->prefix || *o->postfix)
        return fail(why,
                    "--apply_chat_template is for .jsonl files of conversations, without "
                    "--categories_path, --prompt_prefix and --prompt_postfix");
    return chat_open(&r->chat, &r->vocabulary, why);
}

static bool set_rules(run *r, fault *why)
{
    const options *o = &r->o;
    const vocabulary *v = &r->vocabulary;
    char reason[512];
    r->rules = (prep_rules){ .length = (int32_t)o->length,
                             .eos = v->eos,
                             .pad = v->pad,
                             .bos = v->bos,
                             .adds_bos = v->adds_bos,
                             .adds_eos = v->adds_eos,
                             .no_space = o->no_space || o->chat,
                             .as_is = o->chat,
                             .keep_prompt_only = o->keep_prompt_only,
                             .pair_packing = strcmp(o->packing_boundary, "jsonl") != 0,
                             .pair_attention = strcmp(o->attention_boundary, "jsonl") != 0,
                             .prefix = { o->prefix, strlen(o->prefix) },
                             .postfix = { o->postfix, strlen(o->postfix) },
                             .encode = encode,
                             .tokenizer = v->tokenizer };
    r->json.prompt = o->prompt_key;
    r->json.completion = o->completion_key;
    r->json.keep_prompt_only = o->keep_prompt_only;
    return prep_packing_parse(o->packing, &r->rules.packing, reason, sizeof reason)
        || fail(why, "%s", reason);
}

// ---- Output -------------------------------------------------------------------------------------

// Is `inner` the folder, or something in it? Both exist.
static bool is_within(const char *inner, const char *folder)
{
    char a[PATH_MAX], b[PATH_MAX];
    size_t n;
    if (!realpath(inner, a) || !realpath(folder, b)) return false;
    n = strlen(b);
    return strncmp(a, b, n) == 0 && (a[n] == 0 || a[n] == '/' || strcmp(b, "/") == 0);
}

// Empties the folder of a pipeline if that was asked for, unless it holds what must not go.
static bool make_output_folder(run *r, fault *why)
{
    const char *out = r->o.output;
    const char *kept[] = { r->o.input, r->o.tokenizer, r->o.categories, "." };
    if (is_file(out)) return fail(why, "--output_path %s: this is a file, not a folder", out);
    if (!make_path(r->folder, why, "%s", out)) return false;
    for (int i = 0; r->o.overwrite && i < 4; i++)
        if (kept[i] && is_folder(out) && is_within(kept[i], out))
            return fail(why,
                        "--overwrite_output_path would delete %s, which is in %s; choose "
                        "another --output_path",
                        i < 3 ? kept[i] : "the current folder", out);
    if (r->o.overwrite && is_folder(out)) return empty_folder(out, "cache", why);
    return make_folders(out, why);
}

static bool make_output_file(run *r, fault *why)
{
    const char *out = r->o.output;
    if (!ends_with(out, ".hdf5"))
        return fail(why, "the output path %s does not end with .hdf5 (--pipeline makes a folder)",
                    out);
    if (is_folder(out)) return fail(why, "--output_path %s: this is a folder", out);
    if (is_file(out) && !r->o.overwrite)
        return fail(why, "%s exists; to replace it, say --overwrite_output_path", out);
    return parent_of(r->folder, out, why) && make_folders(r->folder, why);
}

static bool open_log(run *r, int argc, char **argv, fault *why)
{
    char path[PATH_SIZE], parent[PATH_SIZE], when[64];
    time_t now = time(NULL);
    if (!(r->o.log ? make_path(path, why, "%s", r->o.log)
                   : make_path(path, why, "%s/logs.log", r->folder)))
        return false;
    if (!parent_of(parent, path, why) || !make_folders(parent, why)) return false;
    if (!(r->log.file = open_file(path, "ab", why))) return false;
    strftime(when, sizeof when, "%Y-%m-%d %H:%M:%S %z", localtime(&now));
    note_rule(&r->log);
    note(&r->log, "tools/samba prepare-data of samba.h\nTime of execution: %s\nArguments:", when);
    for (int i = 0; i < argc; i++)
        note(&r->log, "    %s", argv[i]);
    note(&r->log,
         "Packing %s, %d tokens a row, vocabulary of %d, ids of EOS %d, BOS %d, padding "
         "%d",
         prep_packing_name(r->rules.packing), (int)r->rules.length, (int)r->vocabulary.size,
         (int)r->rules.eos, (int)r->rules.bos, (int)r->rules.pad);
    note_rule(&r->log);
    return true;
}

// ---- Running ------------------------------------------------------------------------------------

static bool run_file(run *r, fault *why)
{
    prep_metrics m = { 0 };
    volatile int64_t done = 0;
    progress_start(&r->progress, "tokenizing", r->input_size, r->o.silent);
    bool ok = prepare_file(r, &r->input, r->o.output, true, &m, &done, why);
    progress_end(&r->progress);
    if (!ok) return false;
    print_metrics(&r->log, "Metrics", &m);
    if (!m.sequences) say(&r->log, "There is no row: %s holds no datasets.", r->o.output);
    return keep_bad_lines(r, why);
}

// A share that is less than one file gives none, which the numbers of files alone do not say.
static void tell_empty_share(run *r, const char *flag, double ratio, int64_t n, int64_t all)
{
    if (ratio > 0 && n == 0)
        say(&r->log,
            "--%s %g of %lld %s is none: there will be no such file. For one, take more "
            "files (--num_training_splits) or a larger share.",
            flag, ratio, (long long)all, plural(all, "file"));
}

static bool run_all(run *r, int argc, char **argv, fault *why)
{
    double start = seconds();
    plan p = { 0 };
    bool ok = find_input(r, why) && read_categories(r, why)
        && vocabulary_open(&r->vocabulary, r->o.tokenizer, r->o.special_tokens, why)
        && open_chat(r, why) && set_rules(r, why) && (!r->o.pipeline || check_pipeline(r, &p, why))
        && (r->o.pipeline ? make_output_folder(r, why) : make_output_file(r, why))
        && open_log(r, argc, argv, why);
    if (ok && r->o.pipeline) {
        tell_empty_share(r, "dev_ratio", r->o.dev_ratio, p.splits.n_dev, p.splits.n);
        tell_empty_share(r, "test_ratio", r->o.test_ratio, p.splits.n_test, p.splits.n);
    }
    ok = ok && (r->o.pipeline ? run_pipeline(r, &p, why) : run_file(r, why));
    if (!ok) note(&r->log, "%s", why->text);
    if (ok && !r->o.pipeline)
        say(&r->log, "%s is ready after %.1f s", r->o.output, seconds() - start);
    else if (ok && !r->o.silent) // its log is closed to changes: it has been hashed
        printf("%s is ready after %.1f s\n", shown(r->o.output), seconds() - start);
    return ok;
}

// False: the log is not all there.
static bool end_run(run *r, fault *why)
{
    FILE *file[] = { r->bad_lines, r->bad_notes };
    for (int i = 0; i < 2; i++)
        if (file[i]) fclose(file[i]);
    bool ok = !r->log.file || close_file(r->log.file, "the log", why);
    if (r->vocabulary.tokenizer) vocabulary_close(&r->vocabulary);
    chat_close(&r->chat);
    for (int i = 0; i < r->categories.n; i++)
        free(r->categories.name[i]);
    free(r->categories.name);
    free_names(&r->input);
    return ok;
}

int prepare_data_main(int argc, char **argv)
{
    run r = { .n_bad = 0 };
    fault why = { "" };
    if (!read_options(&r.o, argc, argv, &why)) {
        if (*why.text) {
            report_fault("prepare-data", &why, 2);
            fprintf(stderr, "samba prepare-data --help lists the flags\n");
        } else {
            puts("usage: tools/samba prepare-data [--pipeline] --input_path PATH --output_path "
                 "PATH\n           --pretrained_tokenizer FOLDER [flags]");
            print_options();
        }
        return *why.text ? 2 : 0;
    }
    r.log.silent = r.o.silent;
    watch_signals();
    bool ok = run_all(&r, argc, argv, &why);
    ok = end_run(&r, ok ? &why : &(fault){ "" }) && ok;
    return ok ? 0 : report_fault("prepare-data", &why, exit_code());
}
