// Lines of text files as Python reads them: \n, \r\n and \r end a line and become \n, bytes that
// are not UTF-8 become U+FFFD. And lines dealt out to many files, shuffled or not, with little
// memory.
#ifndef SAMBA_LINES_H
#define SAMBA_LINES_H

#include "tools/cli/util/files.h"
#include "packing.h"
#include "json_line.h"

// Several files are read one after the other; each file ends its last line.
typedef struct lines {
    names files;
    int at;               // the file at hand; the line at hand has this number in it
    int64_t number, done; // done: bytes of all files so far
    FILE *file;
    char *block;
    size_t block_at, block_size;
    bool after_return;
    prep_bytes line, repaired;
} lines;

bool lines_open(lines *l, const names *files, fault *why);
bool lines_open_one(lines *l, const char *path, fault *why);
// The next line, with its \n unless the last file ends without; a zero follows. 1, 0: the end, -1.
int lines_next(lines *l, prep_text *line, fault *why);
const char *lines_file(const lines *l);
void lines_close(lines *l);

// Numbers from a seed: splitmix64.
typedef struct dice {
    uint64_t state;
} dice;

uint64_t roll(dice *d, uint64_t n); // 0 ... n-1, each as likely

typedef struct dealing {
    names to;           // the files that are written
    int64_t n_lines;    // of the input
    int64_t memory;     // shuffling: bytes held at a time
    const char *folder; // and where more than that is kept meanwhile
    dice dice;
    progress progress;
} dealing;

// Line i goes to file i mod n.
bool deal_in_turn(dealing *d, const names *from, fault *why);
// Any order is as likely; files get equal parts of it, the first ones a line more.
bool deal_shuffled(dealing *d, const names *from, fault *why);

#endif
