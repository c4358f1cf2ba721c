// Names of tensors as C identifiers.
#ifndef SAMBA_DEVICE_IDENTIFIER_H
#define SAMBA_DEVICE_IDENTIFIER_H

// Those that are taken.
typedef struct identifiers { char **at; int n, cap; } identifiers;

// A copy of name, in which what C does not allow is '_', and with a number behind it if it is a
// word of C or C++ or taken; it is taken from then on. NULL: no memory.
char *new_identifier(identifiers *taken, const char *name);
void free_identifiers(identifiers *taken);

#endif
