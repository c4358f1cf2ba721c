// An allocator that counts, fails on demand, and checks that every block comes back once, with the
// size it was asked for. Include after samba.h and test.h.
#ifndef HOOK_H
#define HOOK_H

#include <stdlib.h>
#include <string.h>

typedef struct hook {
    size_t live, most, largest; // bytes: now, at most so far, of the largest block
    long n_live, n_calls, n_failed;
    long fail_at; // number of the call that fails, from 0; -1: none
    bool forever; // and all later calls
    long n_wrong; // blocks released with a wrong size, or that are none
} hook;

enum {
    HOOK_HEADER = 64,     // keeps any alignment
    HOOK_LIMIT = 1 << 30, // no machine has more
    HOOK_FRESH = 0x600D,
    HOOK_GONE = 0xDEAD
};

static void *hook_alloc(size_t size, void *user)
{
    hook *h = (hook *)user;
    long call = h->n_calls++;
    if (h->fail_at >= 0 && (call == h->fail_at || (h->forever && call > h->fail_at))) {
        h->n_failed++;
        return NULL;
    }
    unsigned char *block = size <= HOOK_LIMIT ? (unsigned char *)malloc(size + HOOK_HEADER) : NULL;
    size_t mark = HOOK_FRESH;
    if (!block) {
        h->n_failed++;
        return NULL;
    }
    memcpy(block, &size, sizeof size);
    memcpy(block + sizeof size, &mark, sizeof mark);
    memset(block + HOOK_HEADER, 0xA5, size); // nobody may rely on zeros
    h->live += size;
    h->n_live++;
    if (h->live > h->most) h->most = h->live;
    if (size > h->largest) h->largest = size;
    return block + HOOK_HEADER;
}

static void hook_release(void *p, size_t size, void *user)
{
    hook *h = (hook *)user;
    unsigned char *block = (unsigned char *)p - HOOK_HEADER;
    size_t had, mark;
    if (!p) {
        h->n_wrong++;
        return;
    }
    memcpy(&had, block, sizeof had);
    memcpy(&mark, block + sizeof had, sizeof mark);
    if (mark != HOOK_FRESH || had != size) {
        h->n_wrong++;
        printf("    a block of %lu bytes is released as one of %lu%s\n", (unsigned long)had,
               (unsigned long)size, mark == HOOK_FRESH ? "" : ", or is none");
    }
    mark = HOOK_GONE;
    memcpy(block + sizeof had, &mark, sizeof mark);
    h->live -= had;
    h->n_live--;
    free(block);
}

static void hook_silence(samba_log_level level, const char *text, void *user)
{
    (void)level;
    (void)text;
    (void)user;
}

// How to open a session that allocates through h.
static samba_desc hook_desc(hook *h)
{
    samba_desc d;
    memset(&d, 0, sizeof d);
    memset(h, 0, sizeof *h);
    h->fail_at = -1;
    d.alloc = hook_alloc;
    d.release = hook_release;
    d.user = h;
    d.log = hook_silence;
    d.threads = 1;
    return d;
}

#endif
