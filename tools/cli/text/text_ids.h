// Tokens of text, as the command run is fed.
#ifndef SAMBA_TEXT_IDS_H
#define SAMBA_TEXT_IDS_H

#include "tools/cli/run/text_input.h"

bool read_text_ids(npy *array, const text_input *in, fault *why); // a text_reader

#endif
