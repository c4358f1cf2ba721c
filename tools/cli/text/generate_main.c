// tools/samba generate: a model of language goes on with a text.
#include "commands.h"
#include "options.h"
#include "tools/cli/util/text.h"

// All of standard input, to be freed, without the line end it ends with.
static char *read_input(fault *why)
{
    size_t size = 0, room = 1 << 16;
    char *text = malloc(room);
    while (text && !feof(stdin) && !ferror(stdin)) {
        size += fread(text + size, 1, room - size - 1, stdin);
        if (room - size > 1) continue;
        room *= 2;
        char *more = realloc(text, room);
        if (!more) free(text);
        text = more;
    }
    if (!text) {
        fail(why, "no memory for the prompt");
        return NULL;
    }
    if (size && text[size - 1] == '\n') size--;
    text[size] = 0;
    return text;
}

// The tokens of the prompt, to be freed. What a text may have of them is not known yet.
static int32_t *encode(samba_text_model *m, const char *prompt, int32_t *n, fault *why)
{
    const size_t size = strlen(prompt), room = size + 1; // a byte is a token at most, but the first
    int32_t *ids = malloc((room + 1) * sizeof *ids);
    int64_t count = ids ? samba_text_encode(m, prompt, size, ids, (int64_t)room) : -1;
    if (count > (int64_t)room) { // a normalizer may make more of a character
        int32_t *more = realloc(ids, (size_t)count * sizeof *ids);
        if (more) ids = more;
        count = more ? samba_text_encode(m, prompt, size, ids, count) : -1;
    }
    bool fine = count >= 1 && count < m->positions;
    if (count < 0) fail(why, "no memory for the tokens of the prompt");
    if (count >= 0 && !fine)
        fail(why, "the prompt has %lld tokens; this model takes 1 ... %d", (long long)count,
             m->positions - 1);
    *n = (int32_t)count;
    if (fine) return ids;
    free(ids);
    return NULL;
}

// As long as the text can get, so that the cache is no larger.
static int32_t fitting_length(const samba_text_model *m, const text_options *o, int32_t n)
{
    const int64_t most = (int64_t)n + o->max_tokens;
    if (o->length) return o->length;
    return most < m->positions ? (int32_t)most : m->positions;
}

static bool go_on(samba_text_model *m, const text_options *o, const char *prompt, fault *why)
{
    samba_text_how how
        = { .sampling = o->sampling, .max_new_tokens = o->max_tokens, .put = put_text };
    int32_t n = 0;
    how.user = stdout;
    int32_t *ids = encode(m, prompt, &n, why);
    bool loaded = false;
    bool fine = ids && begin_text_model(m, o, fitting_length(m, o, n), why)
        && load_prompt(m, o, &loaded, why);
    double start = samba_seconds();
    if (fine) put_text(stdout, prompt, strlen(prompt));
    if (fine && !samba_text_write(m, ids, n, &how)) fine = fail_text(m, why);
    if (fine) {
        const int32_t made = m->n_ids - n;
        printf("\n");
        fflush(stdout);
        fprintf(stderr, "%d tokens of the prompt, %d new ones, %.2f s\n", n, made,
                samba_seconds() - start);
    }
    free(ids);
    return fine && save_prompt(m, o, loaded, why);
}

static bool generate(const text_options *o, fault *why)
{
    samba_text_model m;
    if (!o->prompt)
        return fail(why, "say --prompt TEXT, or --prompt - to read it from standard input");
    char *input = strcmp(o->prompt, "-") == 0 ? read_input(why) : NULL;
    if (*why->text) return false;
    bool fine = open_text_model(&m, o, why) && go_on(&m, o, input ? input : o->prompt, why);
    close_text_model(&m);
    free(input);
    return fine;
}

int generate_main(int argc, char **argv)
{
    text_options o;
    fault why = { "" };
    bool help = false;
    if (!read_text_options(&o, "generate", argc, argv, &help, &why)) {
        if (help) return print_text_usage(stdout, "generate");
        return report_fault("generate", &why, 2);
    }
    return generate(&o, &why) ? 0 : report_fault("generate", &why, 1);
}
