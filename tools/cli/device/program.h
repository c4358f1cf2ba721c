// A checkpoint as the device commands see it: its records in plain arrays, and a C identifier for
// each tensor.
#ifndef SAMBA_DEVICE_PROGRAM_H
#define SAMBA_DEVICE_PROGRAM_H

#include "samba.h"
#include "tools/cli/util/files.h"
#include "tools/cli/util/role.h"

typedef samba_pef_symbol symbol;
typedef samba_pef_node node;
typedef samba_pef_section section;

enum { REGION_STATE, REGION_ARENA, REGION_IO, REGION_READONLY };

typedef struct program {
    samba_pef pef;
    char *bytes; // of the file
    size_t size;
    symbol *symbols;
    char **ident; // of each symbol: a C identifier that no other one has
    node *nodes;
    section *sections;
} program;

// Reads a checkpoint, or a PEF; it need not have values.
bool open_program(program *p, const char *path, fault *why);
// False, with the name of the first parameter, constant or state that the file has no value of.
bool has_values(const program *p, fault *why);
void close_program(program *p);

int64_t count_of(const symbol *s);                    // elements
const char *c_type_of(const symbol *s);               // "float"; NULL: none holds one element
void print_shape(FILE *to, const samba_shape *shape); // 3x32x32

#endif
