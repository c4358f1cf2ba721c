// The files that export-c writes.
#ifndef SAMBA_DEVICE_EXPORT_H
#define SAMBA_DEVICE_EXPORT_H

#include "program.h"

// NAME_pef.h, and what stands at its beginning
extern const char pef_header_mark[];
void write_pef_header(FILE *to, const program *p, const char *name);

#endif
