// What a model is run with: values of files, or values drawn at random in the range that ops allow.
#ifndef SAMBA_VIEW_INPUTS_H
#define SAMBA_VIEW_INPUTS_H

#include "model.h"

// Gives every input a value, and every parameter that has none, with a note for each that was
// drawn. given (n): "NAME=FILE.npy", or "FILE.npy" if there is one input.
bool give_values(model *m, const char *const *given, int n, fault *why);

#endif
