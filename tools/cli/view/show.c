// A page, and all that it is made of.
#include "show.h"
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
    d->rewrites = &v->rewrites;
    d->losses = v->losses;
    d->n_steps = v->n_steps;
    d->tokens = v->tokens;
    d->n_tokens = v->n_tokens;
    d->open_node = d->open_tensor = -1;
}

bool write_view(const char *path, const page_data *d, fault *why)
{
    if (!write_page(path, d, why)) return false;
    printf("%s: %d nodes, %d tensors, %lld bytes\n", path, d->model->pef.n_nodes,
           d->model->pef.n_symbols, (long long)file_size(path));
    return true;
}

void close_view(view *v)
{
    end_capture(&v->capture);
    free_times(&v->times);
    free_memory_map(&v->memory);
    free_rewrites(&v->rewrites);
    for (int32_t i = 0; i < v->n_tokens; i++) free(v->tokens[i]);
    free(v->tokens);
    free(v->losses);
    close_model(&v->model);
}

void join_words(char *text, size_t size, const char *command, int argc, char **argv)
{
    size_t at = (size_t)snprintf(text, size, "tools/samba %s", command);
    for (int i = 0; i < argc && at < size; i++)
        at += (size_t)snprintf(text + at, size - at, " %s", argv[i]);
}
