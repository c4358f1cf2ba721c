// Names of tensors as C identifiers.
#include "identifier.h"
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Words of C99, C11, C++11 and of what exported files include.
static const char *const reserved[] = {
    "alignas", "alignof", "and", "and_eq", "asm", "auto", "bitand", "bitor", "bool", "break",
    "case", "catch", "char", "char16_t", "char32_t", "class", "compl", "const", "const_cast",
    "constexpr", "continue", "decltype", "default", "delete", "do", "double", "dynamic_cast",
    "else", "enum", "explicit", "export", "extern", "false", "float", "for", "friend", "goto",
    "if", "inline", "int", "long", "mutable", "namespace", "new", "noexcept", "not", "not_eq",
    "nullptr", "operator", "or", "or_eq", "private", "protected", "public", "register",
    "reinterpret_cast", "restrict", "return", "short", "signed", "sizeof", "static",
    "static_assert", "static_cast", "struct", "switch", "template", "this", "thread_local",
    "throw", "true", "try", "typedef", "typeid", "typename", "typeof", "union", "unsigned",
    "using", "virtual", "void", "volatile", "wchar_t", "while", "xor", "xor_eq",
    "memcpy", "memset", "size_t", "linux", "unix", "main",
};

static bool is_reserved(const char *name)
{
    for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++)
        if (strcmp(name, reserved[i]) == 0) return true;
    return false;
}

static bool is_taken(const identifiers *taken, const char *name)
{
    for (int i = 0; i < taken->n; i++)
        if (strcmp(name, taken->at[i]) == 0) return true;
    return false;
}

static bool take(identifiers *taken, const char *name)
{
    if (taken->n == taken->cap) {
        int cap = taken->cap ? 2 * taken->cap : 64;
        char **bigger = realloc(taken->at, (size_t)cap * sizeof *bigger);
        if (!bigger) return false;
        taken->at = bigger;
        taken->cap = cap;
    }
    char *copy = malloc(strlen(name) + 1);
    if (!copy) return false;
    taken->at[taken->n++] = strcpy(copy, name);
    return true;
}

// Letters, digits and '_' stay; a digit does not come first, and neither does '_', since names that
// begin so belong to the compiler.
static void mangle(char *to, const char *name)
{
    if (!isalpha((unsigned char)*name)) *to++ = 't';
    for (; *name; name++) *to++ = isalnum((unsigned char)*name) ? *name : '_';
    *to = 0;
}

char *new_identifier(identifiers *taken, const char *name)
{
    size_t size = strlen(name) + 32;
    char *ident = malloc(size);
    if (!ident) return NULL;
    mangle(ident, name);
    size_t length = strlen(ident);
    for (int n = 2; is_reserved(ident) || is_taken(taken, ident); n++)
        snprintf(ident + length, size - length, "_%d", n);
    if (take(taken, ident)) return ident;
    free(ident);
    return NULL;
}

void free_identifiers(identifiers *taken)
{
    for (int i = 0; i < taken->n; i++) free(taken->at[i]);
    free(taken->at);
    taken->at = NULL;
    taken->n = taken->cap = 0;
}
