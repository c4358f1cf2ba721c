// Names of tensors as C identifiers.
#include "identifier.h"
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Words of C99, C11, C++11 and of what exported files include.
static const char *const reserved[] = {
    "alignas",      "alignof",  "and",           "and_eq",
    "asm",          "auto",     "bitand",        "bitor",
    "bool",         "break",    "case",          "catch",
    "char",         "char16_t", "char32_t",      "class",
    "compl",        "const",    "const_cast",    "constexpr",
    "continue",     "decltype", "default",       "delete",
    "do",           "double",   "dynamic_cast",  "else",
    "enum",         "explicit", "export",        "extern",
    "false",        "float",    "for",           "friend",
    "goto",         "if",       "inline",        "int",
    "long",         "mutable",  "namespace",     "new",
    "noexcept",     "not",      "not_eq",        "nullptr",
    "operator",     "or",       "or_eq",         "private",
    "protected",    "public",   "register",      "reinterpret_cast",
    "restrict",     "return",   "short",         "signed",
    "sizeof",       "static",   "static_assert", "static_cast",
    "struct",       "switch",   "template",      "this",
    "thread_local", "throw",    "true",          "try",
    "typedef",      "typeid",   "typename",      "typeof",
    "union",        "unsigned", "using",         "virtual",
    "void",         "volatile", "wchar_t",       "while",
    "xor",          "xor_eq",   "memcpy",        "memset",
    "size_t",       "linux",    "unix",          "main",
};

static bool is_reserved(const char *name)
{
    for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++)
        if (strcmp(name, reserved[i]) == 0) return true;
    return false;
}

// FNV-1a (Fowler, Noll, Vo), mixed, as its low bits choose the place.
static size_t hash_of(const char *name)
{
    uint64_t h = 0xcbf29ce484222325u;
    for (; *name; name++)
        h = (h ^ (unsigned char)*name) * 0x100000001b3u;
    return (size_t)(h ^ h >> 32);
}

// The place of a name in the table, or the free one that it would get. The table is never full.
static taken_name *place_of(const identifiers *taken, const char *name)
{
    size_t i = hash_of(name) & (taken->cap - 1);
    while (taken->at[i].name && strcmp(taken->at[i].name, name) != 0)
        i = (i + 1) & (taken->cap - 1);
    return &taken->at[i];
}

// At most half of the table is used.
static bool make_room(identifiers *taken)
{
    if (taken->n < taken->cap / 2) return true;
    identifiers larger = { .n = taken->n, .cap = taken->cap ? 2 * taken->cap : 64 };
    larger.at = calloc(larger.cap, sizeof *larger.at);
    if (!larger.at) return false;
    for (size_t i = 0; i < taken->cap; i++)
        if (taken->at[i].name) *place_of(&larger, taken->at[i].name) = taken->at[i];
    free(taken->at);
    *taken = larger;
    return true;
}

static bool is_taken(const identifiers *taken, const char *name)
{
    return taken->cap > 0 && place_of(taken, name)->name;
}

static taken_name *take(identifiers *taken, const char *name)
{
    if (!make_room(taken)) return NULL;
    taken_name *place = place_of(taken, name);
    if (place->name) return place;
    place->name = malloc(strlen(name) + 1);
    if (!place->name) return NULL;
    strcpy(place->name, name);
    place->next = 2;
    taken->n++;
    return place;
}

// Of C, whatever the locale.
static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// Letters, digits and '_' stay; a digit does not come first, and neither does '_', since names that
// begin so belong to the compiler.
static void mangle(char *to, const char *name)
{
    if (!is_letter(*name)) *to++ = 't';
    for (; *name; name++) {
        bool stays = is_letter(*name) || (*name >= '0' && *name <= '9');
        *to++ = stays ? *name : '_';
    }
    *to = 0;
}

char *new_identifier(identifiers *taken, const char *name)
{
    size_t size = strlen(name) + 32;
    char *ident = malloc(size);
    if (!ident) return NULL;
    mangle(ident, name);
    size_t length = strlen(ident);
    // Of equal names each gets the next number; those below are taken, as they are never given
    // back.
    bool other = is_reserved(ident) || is_taken(taken, ident);
    taken_name *first = other ? take(taken, ident) : NULL;
    int n = first ? first->next : 2;
    for (; other && first && (is_reserved(ident) || is_taken(taken, ident)); n++)
        snprintf(ident + length, size - length, "_%d", n);
    if (first) {
        char *name_of_first = first->name; // the table may move
        bool fine = take(taken, ident) != NULL;
        place_of(taken, name_of_first)->next = n;
        if (fine) return ident;
    } else if (!other && take(taken, ident))
        return ident;
    free(ident);
    return NULL;
}

void free_identifiers(identifiers *taken)
{
    for (size_t i = 0; i < taken->cap; i++)
        free(taken->at[i].name);
    free(taken->at);
    memset(taken, 0, sizeof *taken);
}
