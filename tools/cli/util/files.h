// What the commands of tools/samba share: errors as sentences, paths, folders, SHA-256, a log.
#ifndef SAMBA_FILES_H
#define SAMBA_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include "tools/include/samba/base.h"

enum { PATH_SIZE = 4096 };

#if defined(__GNUC__)
#define LIKE_PRINTF(text, first) __attribute__((format(printf, text, first)))
#else
#define LIKE_PRINTF(text, first)
#endif

// The first thing that went wrong. fail() is false, so that failing is one line.
typedef struct fault {
    char text[8192];
} fault;

bool fail(fault *why, const char *format, ...) LIKE_PRINTF(2, 3);
bool fail_errno(fault *why, const char *what, const char *path); // "PATH: WHAT: reason"

// Prints it on stderr behind "samba COMMAND: ", with control bytes made visible. Returns the code.
int report_fault(const char *command, const fault *why, int code);

bool make_path(char path[PATH_SIZE], fault *why, const char *format, ...) LIKE_PRINTF(3, 4);
bool is_folder(const char *path);
bool is_file(const char *path);
// *there: is it a file? False: the system cannot say.
bool look_for_file(const char *path, bool *there, fault *why);
bool ends_with(const char *text, const char *end);
bool make_folders(const char *path, fault *why); // and those above it
bool parent_of(char parent[PATH_SIZE], const char *path, fault *why);
int64_t file_size(const char *path); // -1: there is none
bool copy_file(const char *from, const char *to, fault *why);
char *read_file(const char *path, size_t *size, fault *why); // with a zero behind; to be freed
FILE *open_file(const char *path, const char *mode, fault *why);
bool close_file(FILE *file, const char *path, fault *why); // false: not all was written
// A file that takes the place of another one when it is whole; see base.h. end_output: nothing is
// written, and why stays, if it is not whole.
bool begin_output(samba_base_output *o, const char *path, fault *why);
bool end_output(samba_base_output *o, bool whole, fault *why);

// Names in a folder, sorted, without . and ..
typedef struct names {
    char **at;
    int n;
} names;

bool list_folder(names *n, const char *path, fault *why);
void free_names(names *n);
bool add_name(names *n, const char *name, fault *why);
// Deletes what a folder holds, except names with `keep` in them (NULL: nothing is kept).
bool empty_folder(const char *path, const char *keep, fault *why);
bool remove_folder(const char *path, fault *why);
// Every file below a folder, as its path below it, sorted.
bool walk_folder(names *files, const char *folder, const char *below, fault *why);

bool sha256_file(const char *path, char hex[65], fault *why);

// Lines for the user, and for logs.log.
typedef struct journal {
    FILE *file;
    bool silent;
} journal;

void say(journal *log, const char *format, ...) LIKE_PRINTF(2, 3);  // both
void note(journal *log, const char *format, ...) LIKE_PRINTF(2, 3); // the file only
void note_rule(journal *log);                                       // a line across

// From then on, Ctrl-C and kill are asked for by stopped(), which gives the reason; a second one
// ends the process at once. exit_code: 1, or what a shell says of the signal.
void watch_signals(void);
bool stopped(fault *why);
int exit_code(void);

const char *plural(int64_t n, const char *word); // "lines" unless n is 1; until the next call

// A bar on stderr with the time that is left, if stderr is a terminal.
typedef struct progress {
    const char *title;
    int64_t total;
    double start, shown;
    bool on;
    int columns, width; // of the terminal, and of what is shown
} progress;

void progress_start(progress *p, const char *title, int64_t total, bool silent);
void progress_show(progress *p, int64_t done, int64_t n_errors);
void progress_end(progress *p);
double seconds(void);

#endif
