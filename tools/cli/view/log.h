// What the compiler said of a program: <pef>.log, if it lies where the file is.
#ifndef SAMBA_VIEW_LOG_H
#define SAMBA_VIEW_LOG_H

#include "model.h"

// Fills in model.log, of PATH.log, or of the PEF's that a checkpoint may have been saved from; or
// of the file that is named. A log of another program is refused if it is named, else it is not
// used, and the page says so.
bool find_log(model *m, const char *named, fault *why);

#endif
