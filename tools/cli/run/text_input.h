// Inputs that are text: NAME=text:TEXT, or NAME=text:@FILE, a row for each line of a file.
#ifndef SAMBA_RUN_TEXT_INPUT_H
#define SAMBA_RUN_TEXT_INPUT_H

#include "tools/cli/util/npy.h"

typedef struct text_input {
    const char *text;      // what stands behind text:
    const char *tokenizer; // its folder; NULL: none was given
    int64_t pad;           // the id that fills a row up; -1: none
    const samba_shape *to; // of the input: the last dimension is how many tokens a row has
} text_input;

// Makes tokens of it. Programs without a tokenizer's libraries have no such function: it is NULL.
typedef bool (*text_reader)(npy *array, const text_input *in, fault *why);
extern text_reader read_text_input;

#endif
