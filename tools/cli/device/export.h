// The files that export-c writes.
#ifndef SAMBA_DEVICE_EXPORT_H
#define SAMBA_DEVICE_EXPORT_H

#include "program.h"

// What stands between the quotes of a C string.
void write_c_string(FILE *to, const char *text);

// NAME_pef.h
void write_pef_header(FILE *to, const program *p, const char *name);

#endif
