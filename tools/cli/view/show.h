// A page, and all that it is made of.
#ifndef SAMBA_VIEW_SHOW_H
#define SAMBA_VIEW_SHOW_H

#include "page.h"

typedef struct view {
    model model;
    capture capture;
    times times;
    machine machine;
    memory_map memory;
    double *losses; // of each step; NULL: the program has none
    char **tokens;
    int32_t n_steps, n_tokens;
} view;

// Fills in what a page of v shows; its title is the last part of path.
void describe_view(page_data *d, const view *v, const char *path, const char *command);
bool write_view(const char *path, const page_data *d, fault *why); // and says so on stdout
void close_view(view *v);
// The words of a command line as they can be given again, to be freed; NULL: no memory.
char *join_words(const char *command, int argc, char **argv);

#endif
