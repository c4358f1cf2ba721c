// The page: the viewer of tools/cli/view/page, the data, and the values, in one file.
#ifndef SAMBA_VIEW_PAGE_H
#define SAMBA_VIEW_PAGE_H

#include "data.h"

// May a page be written there? There is none of this name, or it is a page.
bool may_write_page(const char *path, fault *why);
// Writes it whole or not at all; *size: its bytes.
bool write_page(const char *path, const page_data *d, int64_t *size, fault *why);

#endif
