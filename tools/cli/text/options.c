// What generate and chat are told on the command line, and the model that it means.
#define SAMBA_TEXT_MODEL_IMPLEMENTATION
#include "options.h"
#include "tools/cli/util/text.h"
#include <stddef.h>
#include <unistd.h>

enum { DEFAULT_TOKENS = 128, MOST_LENGTH = 1 << 24 };

// ---- Flags --------------------------------------------------------------------------------------

typedef enum flag_kind {
    FLAG_TEXT,
    FLAG_COUNT,
    FLAG_NUMBER,
    FLAG_SEED,
    FLAG_PART,
    FLAG_AMOUNT
} flag_kind;

typedef struct text_flag {
    const char *name, *only; // only: the one command that has it
    flag_kind kind;
    size_t at; // in text_options
    const char *help;
} text_flag;

#define AT(member) offsetof(text_options, member)

static const text_flag flags[] = {
    { "--prompt", "generate", FLAG_TEXT, AT(prompt),
      "TEXT  what the text begins with; -: standard input" },
    { "--system", "chat", FLAG_TEXT, AT(system),
      "TEXT  the message of the system, before all others" },
    { "--max-tokens", NULL, FLAG_COUNT, AT(max_tokens),
      "N  most that are new in a text or an answer; 128" },
    { "--temperature", NULL, FLAG_AMOUNT, AT(sampling.temperature),
      "X  0: always the likeliest token; 0" },
    { "--top-k", NULL, FLAG_NUMBER, AT(sampling.top_k),
      "K  draw from the K likeliest only; 0: all" },
    { "--top-p", NULL, FLAG_PART, AT(sampling.top_p),
      "P  draw from the likeliest of this mass; 1" },
    { "--min-p", NULL, FLAG_PART, AT(sampling.min_p),
      "P  and from those at least so likely as this part of the likeliest" },
    { "--repetition-penalty", NULL, FLAG_AMOUNT, AT(sampling.repetition_penalty),
      "X  above 1: say less twice" },
    { "--seed", NULL, FLAG_SEED, AT(sampling.seed), "N  another one draws other tokens; 0" },
    { "--weights", NULL, FLAG_TEXT, AT(weights),
      "f32|bf16|int8|int4  what the weights are packed as" },
    { "--cache", NULL, FLAG_TEXT, AT(cache),
      "f32|bf16|int8  what keys and values are kept as; f32" },
    { "--adapter", NULL, FLAG_TEXT, AT(adapter), "FOLDER  of PEFT: LoRA for Llama and its kin" },
    { "--length", NULL, FLAG_COUNT, AT(length), "N  most tokens of a text or conversation" },
    { "--chunk", NULL, FLAG_COUNT, AT(chunk), "N  tokens of a text that are read at once; 64" },
    { "--threads", NULL, FLAG_COUNT, AT(threads), "N  (all)" },
    { "--prompt-cache", NULL, FLAG_TEXT, AT(prompt_cache),
      "FILE  what was computed of the first prompt: written, or if it is there, used" },
    { "--save", NULL, FLAG_TEXT, AT(save),
      "FILE.pef  the program with its weights as they are packed, to be MODEL" },
    { "--folder", NULL, FLAG_TEXT, AT(folder),
      "FOLDER  of tokenizer and configuration, if MODEL is such a FILE.pef" },
};

enum { N_FLAGS = sizeof flags / sizeof *flags };

static bool has_flag(const text_flag *f, const char *command)
{
    return !f->only || strcmp(f->only, command) == 0;
}

int print_text_usage(FILE *to, const char *command)
{
    bool chats = strcmp(command, "chat") == 0;
    fprintf(to, "usage: tools/samba %s MODEL %s[FLAG VALUE ...]\n", command,
            chats ? "" : "--prompt TEXT ");
    fprintf(to,
            "  MODEL is a folder of Hugging Face: Llama, Mistral, Qwen 2 or 3, SmolLM, GPT-2\n");
    fprintf(to,
            chats ? "  each line of standard input is a message; Ctrl-D ends the conversation\n"
                  : "  writes on, as the text comes\n");
    for (int i = 0; i < N_FLAGS; i++)
        if (has_flag(&flags[i], command))
            fprintf(to, "  %-21s %s\n", shown(flags[i].name), shown(flags[i].help));
    return to == stdout ? 0 : 2;
}

static bool read_number(const char *flag, const char *text, double least, double most, double *x,
                        fault *why)
{
    char *end = NULL;
    *x = *text ? samba_base_number(text, &end) : 0;
    if (*text && !*end && *x >= least && *x <= most) return true;
    return fail(why, "%s is %s; give a number from %.10g to %.10g", flag, text, least, most);
}

static bool read_whole_number(const char *flag, const char *text, double least, double most,
                              double *x, fault *why)
{
    if (!read_number(flag, text, least, most, x, why)) return false;
    return *x == (double)(int64_t)*x || fail(why, "%s is %s; give a whole number", flag, text);
}

static bool read_value(void *to, const text_flag *f, const char *text, fault *why)
{
    double x = 0;
    bool fine = true;
    switch (f->kind) {
    case FLAG_TEXT:
        memcpy(to, &text, sizeof text);
        return true;
    case FLAG_COUNT:
    case FLAG_NUMBER:
        fine = read_whole_number(f->name, text, f->kind == FLAG_COUNT, MOST_LENGTH, &x, why);
        *(int32_t *)to = (int32_t)x;
        return fine;
    case FLAG_SEED:
        fine = read_whole_number(f->name, text, 0, 0x1p53, &x, why);
        *(uint64_t *)to = (uint64_t)x;
        return fine;
    case FLAG_PART:
    case FLAG_AMOUNT:
        fine = read_number(f->name, text, 0, f->kind == FLAG_PART ? 1 : 1e6, &x, why);
        *(float *)to = (float)x;
        return fine;
    }
    return false;
}

static bool read_flag(text_options *o, const char *name, const char *value, fault *why)
{
    for (int i = 0; i < N_FLAGS; i++) {
        if (strcmp(name, flags[i].name) != 0 || !has_flag(&flags[i], o->command)) continue;
        if (!value) return fail(why, "%s: give a value behind it", name);
        return read_value((char *)o + flags[i].at, &flags[i], value, why);
    }
    const char *advice
        = strchr(name, '=') ? " (a value stands behind its flag, as another word)" : "";
    return fail(why, "there is no flag %s%s; --help lists those there are", name, advice);
}

bool read_text_options(text_options *o, const char *command, int argc, char **argv, bool *help,
                       fault *why)
{
    memset(o, 0, sizeof *o);
    o->command = command;
    o->max_tokens = DEFAULT_TOKENS;
    o->weights = "plain";
    o->cache = "f32";
    *help = argc > 0 && (strcmp(argv[0], "--help") == 0 || strcmp(argv[0], "-h") == 0);
    if (*help) return false;
    for (int i = 0; i < argc; i++) {
        if (*argv[i] != '-') {
            if (o->model)
                return fail(why, "%s: one model at a time; a text is given by --prompt", argv[i]);
            o->model = argv[i];
            continue;
        }
        if (!read_flag(o, argv[i], i + 1 < argc ? argv[i + 1] : NULL, why)) return false;
        i++;
    }
    return o->model || fail(why, "which model? %s FOLDER", command);
}

// ---- The model ----------------------------------------------------------------------------------

bool fail_text(const samba_text_model *m, fault *why)
{
    return fail(why, "%s", m->why);
}

static void note_warning(samba_log_level level, const char *text, void *user)
{
    (void)user;
    if (level != SAMBA_LOG_WARNING) return; // errors are reported by who asked
    fputs("samba: ", stderr);
    print_safely(stderr, text);
    fputc('\n', stderr);
}

static bool read_kinds(samba_text_opts *opts, const text_options *o, fault *why)
{
    if (!samba_weights_called(o->weights, &opts->weights))
        return fail(why, "--weights is %s; it is f32, bf16, int8 or int4", o->weights);
    if (!samba_cache_called(o->cache, &opts->cache))
        return fail(why, "--cache is %s; it is f32, bf16 or int8", o->cache);
    return true;
}

static bool read_model(samba_text_opts *opts, const text_options *o, fault *why)
{
    opts->folder = o->model;
    opts->adapter = o->adapter;
    opts->chunk = o->chunk;
    if (is_folder(o->model)) {
        return !o->folder
            || fail(why, "--folder: %s is a folder, and has tokenizer and configuration", o->model);
    }
    if (!is_file(o->model)) return fail(why, "%s: there is no such folder", o->model);
    if (!o->folder)
        return fail(why,
                    "%s is no folder: a program needs --folder FOLDER, of its tokenizer and "
                    "configuration",
                    o->model);
    if (o->adapter || opts->weights || opts->cache || o->length || o->chunk)
        return fail(why,
                    "%s was compiled before: --adapter, --weights, --cache, --length and --chunk "
                    "are for a folder",
                    o->model);
    opts->folder = o->folder;
    opts->program = o->model;
    return true;
}

bool open_text_model(samba_text_model *m, const text_options *o, fault *why)
{
    samba_text_opts opts;
    samba_desc desc;
    memset(m, 0, sizeof *m);
    memset(&opts, 0, sizeof opts);
    memset(&desc, 0, sizeof desc);
    if (!read_kinds(&opts, o, why) || !read_model(&opts, o, why)) return false;
    desc.threads = o->threads;
    desc.log = note_warning;
    samba_session *s = samba_open(&desc);
    if (!s) return fail(why, "no memory for a session");
    return samba_text_open(m, s, &opts) || fail_text(m, why);
}

bool begin_text_model(samba_text_model *m, const text_options *o, int32_t length, fault *why)
{
    if (!samba_text_begin(m, length)) return fail_text(m, why);
    return !o->save || samba_text_save(m, o->save) || fail_text(m, why);
}

bool load_prompt(samba_text_model *m, const text_options *o, bool *loaded, fault *why)
{
    *loaded = false;
    if (!o->prompt_cache || !look_for_file(o->prompt_cache, loaded, why)) return !*why->text;
    return !*loaded || samba_text_load_prompt(m, o->prompt_cache) || fail_text(m, why);
}

bool save_prompt(samba_text_model *m, const text_options *o, bool loaded, fault *why)
{
    if (!o->prompt_cache || loaded) return true;
    return samba_text_save_prompt(m, o->prompt_cache) || fail_text(m, why);
}

void close_text_model(samba_text_model *m)
{
    samba_session *s = m->session;
    samba_text_close(m);
    if (s) samba_close(s);
}

// ---- Text of the model --------------------------------------------------------------------------

bool put_text(void *user, const char *text, size_t size)
{
    FILE *to = user;
    if (!isatty(fileno(to))) {
        fwrite(text, 1, size, to);
    } else {
        char *copy = malloc(size + 1); // print_safely ends at a 0
        if (copy) memcpy(copy, text, size);
        if (copy) copy[size] = 0;
        print_safely(to, copy ? copy : "?");
        free(copy);
    }
    return fflush(to) == 0;
}
