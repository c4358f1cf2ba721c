// tools/samba chat: a conversation with a model of language, by the chat template of its folder.
#define _POSIX_C_SOURCE 200809L // getline
#include "commands.h"
#include "options.h"
#include <errno.h>
#include <unistd.h>

enum { DEFAULT_LENGTH = 2048 };

// A line of standard input without its end, to be freed; NULL: there is no more. Empty ones are
// passed over.
static char *read_message(bool asks)
{
    char *line = NULL;
    size_t room = 0;
    for (;;) {
        if (asks) printf("> ");
        fflush(stdout);
        ssize_t n = getline(&line, &room, stdin);
        if (n < 0) break;
        if (n > 0 && line[n - 1] == '\n') line[--n] = 0;
        if (n > 0) return line;
    }
    free(line);
    return NULL;
}

static bool answer(samba_text_model *m, const samba_text_how *how, const char *message, fault *why)
{
    if (!samba_text_add_message(m, "user", message) || !samba_text_reply(m, how))
        return fail_text(m, why);
    printf("\n");
    if (m->n_ids >= m->generator.length)
        fprintf(stderr, "samba chat: the conversation has all of its %d tokens (--length)\n",
                m->generator.length);
    return true;
}

static bool converse(samba_text_model *m, const text_options *o, fault *why)
{
    const bool asks = isatty(0) && isatty(1);
    samba_text_how how
        = { .sampling = o->sampling, .max_new_tokens = o->max_tokens, .put = put_text };
    int32_t length = o->length ? o->length : DEFAULT_LENGTH;
    if (!o->length && length > m->positions) length = m->positions;
    how.user = stdout;
    if (!samba_text_open_chat(m)) return fail_text(m, why);
    if (!begin_text_model(m, o, length, why)) return false;
    if (o->system && !samba_text_add_message(m, "system", o->system)) return fail_text(m, why);

    bool loaded = false, fine = load_prompt(m, o, &loaded, why);
    while (fine) {
        char *message = read_message(asks);
        if (!message) break;
        fine = answer(m, &how, message, why) && save_prompt(m, o, loaded, why);
        loaded = true; // the first prompt alone
        free(message);
    }
    if (fine && asks) printf("\n"); // behind Ctrl-D
    return fine;
}

int chat_main(int argc, char **argv)
{
    text_options o;
    samba_text_model m;
    fault why = { "" };
    bool help = false;
    if (!read_text_options(&o, "chat", argc, argv, &help, &why)) {
        if (help) return print_text_usage(stdout, "chat");
        return report_fault("chat", &why, 2);
    }
    bool fine = open_text_model(&m, &o, &why) && converse(&m, &o, &why);
    close_text_model(&m);
    return fine ? 0 : report_fault("chat", &why, 1);
}
