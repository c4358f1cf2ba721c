// Text with words to be filled in: "for (int i = 0; i < ${n}; i++)".
#ifndef SAMBA_DEVICE_WRITER_H
#define SAMBA_DEVICE_WRITER_H

#include "tools/cli/util/files.h"

enum { MAX_WORDS = 128 };

typedef struct word {
    const char *name;
    char *value;
} word;

// What is written to, in memory, and the words it knows. All zero: empty.
typedef struct writer {
    char *text;
    size_t size, cap;
    bool failed;      // no memory, or a word that is not known
    char missing[64]; // that word
    word words[MAX_WORDS];
    int n_words;
} writer;

// name must stay; a value that was set before is replaced.
void set_word(writer *w, const char *name, const char *format, ...) LIKE_PRINTF(3, 4);
const char *get_word(const writer *w, const char *name); // NULL: not known
void write_text(writer *w, const char *text);            // with ${words}
void write_plain(writer *w, const char *format, ...) LIKE_PRINTF(2, 3);
void free_writer(writer *w);

#endif
