// What the compiler rewrote, as <pef>.log has it.
#ifndef SAMBA_VIEW_REWRITES_H
#define SAMBA_VIEW_REWRITES_H

#include "tools/cli/util/files.h"

typedef struct rewrite_call { char *name, *op; } rewrite_call;     // name NULL: there is none

typedef struct rewrite {
    char *pass;
    rewrite_call before, after;
} rewrite;

typedef struct rewrites {
    rewrite *list;
    int32_t n;
    bool known;             // there is a log
} rewrites;

// Of the log beside the PEF, or beside that of a checkpoint. If there is none, nothing is known.
bool read_rewrites(rewrites *r, const char *path, fault *why);
void free_rewrites(rewrites *r);

#endif
