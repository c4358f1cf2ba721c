// The page: the viewer of tools/cli/view/page, the data, and the values, in one file.
#ifndef SAMBA_VIEW_PAGE_H
#define SAMBA_VIEW_PAGE_H

#include "data.h"

// Writes it whole or not at all.
bool write_page(const char *path, const page_data *d, fault *why);

#endif
