// Text of other people: names in models, paths, lines of data. Any bytes may be in it, and it
// leaves the commands by these functions alone, which keep it text in the language that it goes to.
#ifndef SAMBA_TEXT_H
#define SAMBA_TEXT_H

#include "tools/include/samba/base.h"

// In what printf gets for a terminal, within a comment of C, between the quotes of a C string or of
// JSON, in HTML. The text lives until the eighth call after this one.
const char *shown(const char *text);
const char *in_c_comment(const char *text);
const char *in_c_string(const char *text);
const char *in_html(const char *text);
const char *in_json(const char *text);

// A sentence that has such text in it: its line ends stay.
void print_safely(FILE *to, const char *text);

// Text as a JSON string in quotes. ASCII, as Python's json.dump writes it, but for <, > and &, and
// for bytes that are no UTF-8, which are \xNN as letters.
void write_json_text(FILE *to, const char *text);

// a to z as capitals, whatever the locale; all else as it is.
char upper_letter(char c);
void write_upper(FILE *to, const char *text);

#endif
