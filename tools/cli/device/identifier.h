// Names of tensors as C identifiers.
#ifndef SAMBA_DEVICE_IDENTIFIER_H
#define SAMBA_DEVICE_IDENTIFIER_H

#include <stddef.h>

// Those that are taken, in a hash table.
typedef struct taken_name {
    char *name;
    int next; // the number that the next name of these letters tries first
} taken_name;

typedef struct identifiers {
    taken_name *at;
    size_t n, cap;
} identifiers;

// A copy of name, in which what C does not allow is '_', and with a number behind it if it is a
// word of C or C++ or taken; it is taken from then on. NULL: no memory.
char *new_identifier(identifiers *taken, const char *name);
void free_identifiers(identifiers *taken);

#endif
