// A page, and all that it is made of.
#include "show.h"
#include "tools/cli/util/text.h"
#include <stdlib.h>
#include <string.h>

void describe_view(page_data *d, const view *v, const char *path, const char *command)
{
    const char *slash = strrchr(path, '/');
    memset(d, 0, sizeof *d);
    d->title = slash ? slash + 1 : path;
    d->command = command;
    d->model = &v->model;
    d->capture = &v->capture;
    d->times = &v->times;
    d->machine = &v->machine;
    d->memory = &v->memory;
    d->losses = v->losses;
    d->n_steps = v->n_steps;
    d->tokens = v->tokens;
    d->n_tokens = v->n_tokens;
    d->open_node = d->open_tensor = -1;
}

bool write_view(const char *path, const page_data *d, fault *why)
{
    int64_t size;
    if (d->model->lacks_note) return fail(why, "no memory for a note");
    if (!write_page(path, d, &size, why)) return false;
    printf("%s: %d nodes, %d tensors, %lld bytes\n", shown(path), d->model->pef.n_nodes,
           d->model->pef.n_symbols, (long long)size);
    return true;
}

void close_view(view *v)
{
    end_capture(&v->capture);
    free_times(&v->times);
    free_memory_map(&v->memory);
    for (int32_t i = 0; i < v->n_tokens; i++)
        free(v->tokens[i]);
    free(v->tokens);
    free(v->losses);
    close_model(&v->model);
}

static bool is_plain(const char *word)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
                                "_-+=./:,@%";
    return *word && word[strspn(word, plain)] == 0;
}

// A space and the word, in quotes if a shell would divide or change it.
static void add_word(FILE *to, const char *word)
{
    bool plain = is_plain(word);
    fputs(plain ? " " : " '", to);
    for (const char *p = word; *p; p++) {
        if (*p == '\'') fputs("'\\'", to);
        fputc(*p, to);
    }
    if (!plain) fputc('\'', to);
}

char *join_words(const char *command, int argc, char **argv)
{
    char *text = NULL;
    size_t size;
    FILE *to = open_memstream(&text, &size);
    if (!to) return NULL;
    fprintf(to, "tools/samba %s", command);
    for (int i = 0; i < argc; i++)
        add_word(to, argv[i]);
    return fclose(to) == 0 ? text : NULL;
}
