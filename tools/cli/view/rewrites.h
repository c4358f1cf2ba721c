// What the compiler rewrote, as <pef>.log has it.
#ifndef SAMBA_VIEW_REWRITES_H
#define SAMBA_VIEW_REWRITES_H

#include "tools/cli/util/files.h"

typedef struct rewrite_call {
    char *name, *op;
} rewrite_call; // name NULL: there is none

typedef struct rewrite {
    char *pass;
    rewrite_call before, after;
} rewrite;

typedef struct rewrites {
    rewrite *list;
    int32_t n;
} rewrites;

// Of the text of a log; NULL: there is none, and nothing is known.
bool read_rewrites(rewrites *r, const char *log, fault *why);
void free_rewrites(rewrites *r);

#endif
