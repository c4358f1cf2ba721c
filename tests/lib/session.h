// What several tests ask a session. Include after samba.h.
#ifndef SESSION_H
#define SESSION_H

#include <stdio.h>
#include <string.h>

// Is `part` in the error? Prints the error if it is not.
static inline bool says(samba_session *s, const char *part)
{
    bool found = strstr(samba_error(s), part) != NULL;
    if (!found) printf("\"%s\" is not in the error: %s\n", part, samba_error(s));
    return found;
}

// The same; afterwards there is no error.
static inline bool said(samba_session *s, const char *part)
{
    bool found = says(s, part);
    samba_clear_error(s);
    return found;
}

// A hash of all weights (FNV-1a), going on from `hash`.
static inline uint64_t hash_weights(samba_session *s, uint64_t hash)
{
    enum { MOST = 256 };

    const char *names[MOST];
    int32_t n = samba_weight_names(s, names, MOST);
    for (int32_t i = 0; i < n && i < MOST; i++) {
        samba_tensor *w = samba_tensor_by_name(s, names[i]);
        const uint8_t *byte = (const uint8_t *)samba_read(w);
        for (size_t k = 0; byte && k < samba_bytes(w); k++)
            hash = (hash ^ byte[k]) * 1099511628211u;
    }
    return hash;
}

#endif
