// Text of other people, as the languages spell it that it goes to.
#include "text.h"

// NULL: no memory.
static char *spell(samba_base_language language, const char *text)
{
    size_t n = strlen(text), size = 0, room = n + SAMBA_BASE_SPELLING;
    char *spelled = malloc(room);
    if (spelled) *spelled = 0;
    for (size_t i = 0; spelled && i < n;) {
        i += samba_base_spell(language, text + i, n - i, spelled + size);
        size += strlen(spelled + size);
        if (room - size >= SAMBA_BASE_SPELLING) continue;
        room *= 2;
        char *larger = realloc(spelled, room);
        if (!larger) free(spelled);
        spelled = larger;
    }
    return spelled;
}

static const char *spelled(samba_base_language language, const char *text)
{
    enum { KEPT = 8 };

    static char *kept[KEPT];
    static int next;
    char *made = spell(language, text);
    free(kept[next]);
    kept[next] = made;
    next = (next + 1) % KEPT;
    return made ? made : "?";
}

const char *shown(const char *text)
{
    return spelled(SAMBA_BASE_TERMINAL, text);
}

const char *in_c_comment(const char *text)
{
    return spelled(SAMBA_BASE_C_COMMENT, text);
}

const char *in_c_string(const char *text)
{
    return spelled(SAMBA_BASE_C_STRING, text);
}

const char *in_html(const char *text)
{
    return spelled(SAMBA_BASE_HTML, text);
}

const char *in_json(const char *text)
{
    return spelled(SAMBA_BASE_JSON, text);
}

void print_safely(FILE *to, const char *text)
{
    while (*text) {
        size_t n = strcspn(text, "\n");
        samba_base_write_bytes(to, SAMBA_BASE_TERMINAL, text, n);
        if (text[n]) fputc('\n', to);
        text += n + (text[n] != 0);
    }
}

void write_json_text(FILE *to, const char *text)
{
    fputc('"', to);
    samba_base_write(to, SAMBA_BASE_JSON, text);
    fputc('"', to);
}

char upper_letter(char c)
{
    return c >= 'a' && c <= 'z' ? (char)(c - 'a' + 'A') : c;
}

void write_upper(FILE *to, const char *text)
{
    for (; *text; text++)
        fputc(upper_letter(*text), to);
}
