// What generate and chat are told on the command line, and the model that it means.
#ifndef SAMBA_TEXT_OPTIONS_H
#define SAMBA_TEXT_OPTIONS_H

#include "samba.h"
#include "tools/include/samba/text_model.h"
#include "tools/cli/util/files.h"

typedef struct text_options {
    const char *command; // generate or chat
    const char *model;   // a folder, or a program that --save has written
    const char *folder, *adapter, *save, *prompt_cache;
    const char *prompt; // of generate
    const char *system; // of chat
    const char *weights, *cache;
    int32_t length, chunk, max_tokens, threads;
    samba_sampling sampling;
} text_options;

// Prints what a command can be told.
int print_text_usage(FILE *to, const char *command);
// False with the reason: *help: nothing is wrong, but help was asked for.
bool read_text_options(text_options *o, const char *command, int argc, char **argv, bool *help,
                       fault *why);
// Reads the folder of the model, all but its weights. To be closed either way.
bool open_text_model(samba_text_model *m, const text_options *o, fault *why);
// Compiles it for texts of so many tokens, and saves it if that was asked for.
bool begin_text_model(samba_text_model *m, const text_options *o, int32_t length, fault *why);
// --prompt-cache: reads the file if it is there, before the first text; else it is written behind
// it.
bool load_prompt(samba_text_model *m, const text_options *o, bool *loaded, fault *why);
bool save_prompt(samba_text_model *m, const text_options *o, bool loaded, fault *why);
void close_text_model(samba_text_model *m);
// Writes what the model writes, as it comes; to a terminal without what would steer it.
bool put_text(void *user, const char *text, size_t size);
bool fail_text(const samba_text_model *m, fault *why);

#endif
