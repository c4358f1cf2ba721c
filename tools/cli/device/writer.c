// Text with words to be filled in.
#include "writer.h"
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static char *formatted(const char *format, va_list list)
{
    va_list again;
    va_copy(again, list);
    int n = vsnprintf(NULL, 0, format, again);
    va_end(again);
    char *text = n < 0 ? NULL : malloc((size_t)n + 1);
    if (text) vsnprintf(text, (size_t)n + 1, format, list);
    return text;
}

static word *find_word(writer *w, const char *name, size_t length)
{
    for (int i = 0; i < w->n_words; i++) {
        const char *known = w->words[i].name;
        if (strncmp(known, name, length) == 0 && known[length] == 0) return &w->words[i];
    }
    return NULL;
}

void set_word(writer *w, const char *name, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    char *value = formatted(format, list);
    va_end(list);
    word *at = find_word(w, name, strlen(name));
    if (!at && w->n_words < MAX_WORDS) {
        at = &w->words[w->n_words++];
        at->name = name;
        at->value = NULL;
    }
    if (!at || !value) {
        w->failed = true;
        free(value);
        return;
    }
    free(at->value);
    at->value = value;
}

const char *get_word(const writer *w, const char *name)
{
    for (int i = 0; i < w->n_words; i++)
        if (strcmp(w->words[i].name, name) == 0) return w->words[i].value;
    return NULL;
}

static void append(writer *w, const char *text, size_t n)
{
    if (w->size + n + 1 > w->cap) {
        size_t cap = 2 * (w->cap + n + 1);
        char *bigger = realloc(w->text, cap);
        if (!bigger) {
            w->failed = true;
            return;
        }
        w->text = bigger;
        w->cap = cap;
    }
    memcpy(w->text + w->size, text, n);
    w->size += n;
    w->text[w->size] = 0;
}

void write_text(writer *w, const char *text)
{
    for (;;) {
        const char *at = strstr(text, "${");
        if (!at) break;
        append(w, text, (size_t)(at - text));
        size_t length = strcspn(at + 2, "}");
        const word *found = find_word(w, at + 2, length);
        if (found)
            append(w, found->value, strlen(found->value));
        else {
            w->failed = true;
            snprintf(w->missing, sizeof w->missing, "%.*s", (int)length, at + 2);
        }
        text = at + 2 + length + 1;
    }
    append(w, text, strlen(text));
}

void write_plain(writer *w, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    char *text = formatted(format, list);
    va_end(list);
    if (text)
        append(w, text, strlen(text));
    else
        w->failed = true;
    free(text);
}

void free_writer(writer *w)
{
    for (int i = 0; i < w->n_words; i++)
        free(w->words[i].value);
    free(w->text);
    memset(w, 0, sizeof *w);
}
