/* parse.h - of chat_template.h: the text of a template to a tree.

   Nodes lie in one array and name each other by their places, 0 for none. */

enum {
    CHAT__NOTHING,
    /* statements; what follows one is in next */
    CHAT__TEXT,  /* text */
    CHAT__PRINT, /* a */
    CHAT__IF,    /* a: condition, b: then, c: else */
    CHAT__FOR,   /* text: the variables, with commas; a: of what, b: body, c: else, d: condition */
    CHAT__SET,   /* text: name, or name.member; a: value, or b: a body whose text it is */
    CHAT__BREAK,
    CHAT__CONTINUE,
    /* expressions; arguments and elements follow each other in next */
    CHAT__STRING,
    CHAT__NUMBER,  /* number; c: it is a whole one */
    CHAT__LITERAL, /* c: 0 none, 1 false, 2 true */
    CHAT__NAME,
    CHAT__LIST,   /* a */
    CHAT__DICT,   /* a: key, value, key, value */
    CHAT__CHOICE, /* a if b else c */
    CHAT__OR,
    CHAT__AND,
    CHAT__NOT,
    CHAT__COMPARE, /* a text b */
    CHAT__MATH,    /* a text b */
    CHAT__NEGATE,
    CHAT__MEMBER, /* a.text */
    CHAT__INDEX,  /* a[b] */
    CHAT__SLICE,  /* a[b:c:d] */
    CHAT__CALL,   /* a(b) */
    CHAT__FILTER, /* a|text(b) */
    CHAT__TEST,   /* a is text(b); c: is not */
    CHAT__KEYWORD /* text=a, an argument */
};

typedef struct samba_chat__node {
    int kind, a, b, c, d, next;
    long line;
    const char *text;
    size_t size;
    double number;
} samba_chat__node;

struct samba_chat_template {
    char *source; /* a copy, ended by a zero; strings of nodes lie in it */
    size_t size;
    samba_chat__node *node;
    int n, cap, first;
};

enum { SAMBA_CHAT__MAX_DEPTH = 100, SAMBA_CHAT__MAX_NODES = 1 << 20 };

typedef struct samba_chat__parser {
    samba_chat_template *t;
    const char *p, *end;
    const char *tag_end; /* of the tag that is being read */
    int depth, loops;
    bool failed;
    bool strips_next; /* the tag before ended with -, or was a block at the end of a line */
    bool trims_line;
    char *why;
    size_t why_size;
} samba_chat__parser;

static bool samba_chat__ends_word(char c)
{
    return !(c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z')
             || (c >= 'A' && c <= 'Z'));
}

static long samba_chat__line_of(const samba_chat__parser *ps)
{
    long line = 1;
    for (const char *p = ps->t->source; p < ps->p; p++)
        line += *p == '\n';
    return line;
}

/* Keeps the first reason. Always 0, a node that is none. */
static int samba_chat__refuse(samba_chat__parser *ps, const char *format, ...)
{
    if (ps->failed) return 0;
    ps->failed = true;
    if (!ps->why || !ps->why_size) return 0;
    int n = snprintf(ps->why, ps->why_size,
                     "line %ld of the chat template: ", samba_chat__line_of(ps));
    if (n < 0 || (size_t)n >= ps->why_size) return 0;
    va_list list;
    va_start(list, format);
    (void)vsnprintf(ps->why + n, ps->why_size - (size_t)n, format, list);
    va_end(list);
    return 0;
}

/* A new node; 0: too many, or out of memory. */
static int samba_chat__new(samba_chat__parser *ps, int kind)
{
    samba_chat_template *t = ps->t;
    if (ps->failed) return 0;
    if (t->n == t->cap) {
        int cap = t->cap ? 2 * t->cap : 256;
        samba_chat__node *grown = cap > SAMBA_CHAT__MAX_NODES
            ? NULL
            : (samba_chat__node *)realloc(t->node, (size_t)cap * sizeof *grown);
        if (!grown) return samba_chat__refuse(ps, "out of memory, or the template is too long");
        t->node = grown;
        t->cap = cap;
    }
    memset(&t->node[t->n], 0, sizeof *t->node);
    t->node[t->n].kind = kind;
    t->node[t->n].line = samba_chat__line_of(ps);
    return t->n++;
}

/* ---- Words in a tag -------------------------------------------------------------------------- */

static void samba_chat__skip_space(samba_chat__parser *ps)
{
    while (ps->p < ps->tag_end && strchr(" \t\r\n", *ps->p))
        ps->p++;
}

/* Takes a sign, such as "==", if it is next. */
static bool samba_chat__take(samba_chat__parser *ps, const char *sign)
{
    size_t n = strlen(sign);
    samba_chat__skip_space(ps);
    if ((size_t)(ps->tag_end - ps->p) < n || memcmp(ps->p, sign, n) != 0) return false;
    ps->p += n;
    return true;
}

/* Takes a word, such as "in", if it is next and whole. */
static bool samba_chat__take_word(samba_chat__parser *ps, const char *word)
{
    size_t n = strlen(word);
    samba_chat__skip_space(ps);
    if ((size_t)(ps->tag_end - ps->p) < n || memcmp(ps->p, word, n) != 0) return false;
    if (ps->p + n < ps->tag_end && !samba_chat__ends_word(ps->p[n])) return false;
    ps->p += n;
    return true;
}

/* The name that is next; size 0: there is none. */
static const char *samba_chat__take_name(samba_chat__parser *ps, size_t *size)
{
    samba_chat__skip_space(ps);
    const char *start = ps->p;
    *size = 0;
    if (start == ps->tag_end || (*start >= '0' && *start <= '9')) return start;
    while (ps->p < ps->tag_end && !samba_chat__ends_word(*ps->p))
        ps->p++;
    *size = (size_t)(ps->p - start);
    return start;
}

static bool samba_chat__is(const char *text, size_t size, const char *word)
{
    return strlen(word) == size && memcmp(text, word, size) == 0;
}

/* Whether a list of words with blanks between has a word. */
static bool samba_chat__lists(const char *list, const char *word, size_t size)
{
    for (const char *p = list; *p;) {
        size_t n = strcspn(p, " ");
        if (n == size && memcmp(p, word, n) == 0) return true;
        p += n + (p[n] == ' ');
    }
    return false;
}

/* ---- Expressions ----------------------------------------------------------------------------- */

static int samba_chat__expression(samba_chat__parser *ps);

/* One more level of what is within what. */
static bool samba_chat__deeper(samba_chat__parser *ps)
{
    if (++ps->depth <= SAMBA_CHAT__MAX_DEPTH) return true;
    samba_chat__refuse(ps, "more than %d levels within each other", (int)SAMBA_CHAT__MAX_DEPTH);
    return false;
}

/* The value of an escape in a string, behind its backslash; out has room for 4 bytes. */
static size_t samba_chat__unescape(samba_chat__parser *ps, char *out)
{
    static const char letters[] = "ntr\\'\"", meant[] = "\n\t\r\\'\"";
    const char *letter = ps->p < ps->tag_end ? strchr(letters, *ps->p) : NULL;
    if (letter) {
        ps->p++;
        *out = meant[letter - letters];
        return 1;
    }

    char digits[5] = "";
    if (ps->tag_end - ps->p < 5 || *ps->p != 'u') {
        samba_chat__refuse(ps, "an escape in a string that is not known here");
        return 0;
    }
    memcpy(digits, ps->p + 1, 4);
    char *stop;
    unsigned long c = strtoul(digits, &stop, 16);
    if (*stop || c == 0 || (c >= 0xD800 && c < 0xE000)) {
        samba_chat__refuse(ps, "\\u%s in a string, which is no character", digits);
        return 0;
    }
    ps->p += 5;
    size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : 3;
    if (n == 1) {
        out[0] = (char)c;
    } else {
        out[0] = (char)((n == 2 ? 0xC0 : 0xE0) | c >> (6 * (n - 1)));
        if (n == 3) out[1] = (char)(0x80 | (c >> 6 & 0x3F));
        out[n - 1] = (char)(0x80 | (c & 0x3F));
    }
    return n;
}

/* A string in quotes, which is shortened in place: its value is never longer than its spelling. */
static int samba_chat__string(samba_chat__parser *ps)
{
    int node = samba_chat__new(ps, CHAT__STRING);
    char *out = ps->t->source + (ps->p - ps->t->source), *start = out;
    for (;;) {
        samba_chat__skip_space(ps);
        if (ps->failed || ps->p == ps->tag_end || (*ps->p != '"' && *ps->p != '\'')) break;
        char quote = *ps->p++;
        while (ps->p < ps->tag_end && *ps->p != quote) {
            if (*ps->p != '\\') {
                *out++ = *ps->p++;
                continue;
            }
            char made[4];
            ps->p++;
            size_t n = samba_chat__unescape(ps, made);
            if (ps->failed) return 0;
            memcpy(out, made, n);
            out += n;
        }
        if (ps->p == ps->tag_end) return samba_chat__refuse(ps, "a string without its end");
        ps->p++;
    }
    if (ps->failed) return 0;
    ps->t->node[node].text = start;
    ps->t->node[node].size = (size_t)(out - start);
    return node;
}

static int samba_chat__number(samba_chat__parser *ps)
{
    int node = samba_chat__new(ps, CHAT__NUMBER);
    char text[40];
    size_t n = 0;
    bool whole = true;
    while (ps->p < ps->tag_end && n < sizeof text - 1
           && ((*ps->p >= '0' && *ps->p <= '9') || (*ps->p == '.' && whole))) {
        whole = whole && *ps->p != '.';
        text[n++] = *ps->p++;
    }
    text[n] = 0;
    if (!node || n > 15) return samba_chat__refuse(ps, "a number of more than 15 digits");
    ps->t->node[node].number = samba_base_number(text, NULL);
    ps->t->node[node].c = whole;
    return node;
}

/* Arguments or elements up to a closing sign, which is taken. */
static int samba_chat__items(samba_chat__parser *ps, const char *close, bool keywords)
{
    int first = 0, last = 0;
    while (!ps->failed && !samba_chat__take(ps, close)) {
        const char *before = ps->p;
        size_t size = 0;
        const char *name = keywords ? samba_chat__take_name(ps, &size) : NULL;
        int node = 0;
        samba_chat__skip_space(ps);
        bool named = size && ps->p + 1 < ps->tag_end && ps->p[0] == '=' && ps->p[1] != '=';
        if (named) {
            ps->p++;
            node = samba_chat__new(ps, CHAT__KEYWORD);
            int value = samba_chat__expression(ps);
            if (ps->failed) return 0;
            ps->t->node[node].text = name;
            ps->t->node[node].size = size;
            ps->t->node[node].a = value;
        } else {
            ps->p = before;
            node = samba_chat__expression(ps);
        }
        if (ps->failed) return 0;
        if (last)
            ps->t->node[last].next = node;
        else
            first = node;
        last = node;
        if (!samba_chat__take(ps, ",") && !samba_chat__take(ps, close))
            return samba_chat__refuse(ps, "expected , or %s", close);
        if (ps->p[-1] != ',') break;
    }
    return first;
}

/* { key: value, ... }, from behind the brace. */
static int samba_chat__dict(samba_chat__parser *ps)
{
    int dict = samba_chat__new(ps, CHAT__DICT), last = 0;
    while (!ps->failed && !samba_chat__take(ps, "}")) {
        int key = samba_chat__expression(ps);
        if (!samba_chat__take(ps, ":")) return samba_chat__refuse(ps, "expected : in { }");
        int value = samba_chat__expression(ps);
        if (ps->failed) return 0;
        ps->t->node[key].next = value;
        if (last)
            ps->t->node[last].next = key;
        else
            ps->t->node[dict].a = key;
        last = value;
        if (samba_chat__take(ps, ",")) continue;
        if (!samba_chat__take(ps, "}")) return samba_chat__refuse(ps, "expected , or } in { }");
        break;
    }
    return dict;
}

/* (a), or (a, b): a list. */
static int samba_chat__parenthesis(samba_chat__parser *ps)
{
    int first = samba_chat__expression(ps);
    if (samba_chat__take(ps, ")") || ps->failed) return first;
    if (!samba_chat__take(ps, ",")) return samba_chat__refuse(ps, "expected )");
    int list = samba_chat__new(ps, CHAT__LIST), rest = samba_chat__items(ps, ")", false);
    if (ps->failed) return 0;
    ps->t->node[list].a = first;
    ps->t->node[first].next = rest;
    return list;
}

static int samba_chat__primary(samba_chat__parser *ps)
{
    static const char *const literal[] = { "none", "false", "true", "None", "False", "True" };
    samba_chat__skip_space(ps);
    if (ps->failed) return 0;
    if (ps->p == ps->tag_end) return samba_chat__refuse(ps, "a value is missing");
    if (*ps->p == '"' || *ps->p == '\'') return samba_chat__string(ps);
    if (*ps->p >= '0' && *ps->p <= '9') return samba_chat__number(ps);
    if (samba_chat__take(ps, "(")) return samba_chat__parenthesis(ps);
    if (samba_chat__take(ps, "{")) return samba_chat__dict(ps);
    if (samba_chat__take(ps, "[")) {
        int list = samba_chat__new(ps, CHAT__LIST), first = samba_chat__items(ps, "]", false);
        if (!ps->failed) ps->t->node[list].a = first;
        return list;
    }

    for (int i = 0; i < 6; i++)
        if (samba_chat__take_word(ps, literal[i])) {
            int node = samba_chat__new(ps, CHAT__LITERAL);
            if (node) ps->t->node[node].c = i % 3;
            return node;
        }
    size_t size;
    const char *name = samba_chat__take_name(ps, &size);
    if (!size) return samba_chat__refuse(ps, "\"%c\" is not expected here", *ps->p);
    int node = samba_chat__new(ps, CHAT__NAME);
    if (!node) return 0;
    ps->t->node[node].text = name;
    ps->t->node[node].size = size;
    return node;
}

/* [index] or [from:to:step], from behind the bracket. */
static int samba_chat__subscript(samba_chat__parser *ps, int of)
{
    int part[3] = { 0, 0, 0 }, n = 0;
    bool slice = false;
    while (!ps->failed && !samba_chat__take(ps, "]")) {
        if (samba_chat__take(ps, ":")) {
            slice = true;
            if (++n > 2) return samba_chat__refuse(ps, "a third : in [ ]");
            continue;
        }
        if (part[n]) return samba_chat__refuse(ps, "expected ]");
        part[n] = samba_chat__expression(ps);
    }
    if (!slice && !part[0]) return samba_chat__refuse(ps, "[ ] without an index");

    int node = samba_chat__new(ps, slice ? CHAT__SLICE : CHAT__INDEX);
    if (!node) return 0;
    ps->t->node[node].a = of;
    ps->t->node[node].b = part[0];
    ps->t->node[node].c = part[1];
    ps->t->node[node].d = part[2];
    return node;
}

static const char samba_chat__filters[]
    = "capitalize count d default first int items join last length list lower map rejectattr "
      "replace reverse safe selectattr string title tojson trim upper";
static const char samba_chat__tests[]
    = "boolean defined divisibleby eq equalto even false in integer iterable mapping none number "
      "odd sequence string true undefined";

static int samba_chat__postfix(samba_chat__parser *ps, int of);

/* A filter or a test: its name, and arguments in parentheses if there are any. */
static int samba_chat__named(samba_chat__parser *ps, int kind, int of)
{
    size_t size;
    bool is_not = kind == CHAT__TEST && samba_chat__take_word(ps, "not");
    const char *name = samba_chat__take_name(ps, &size);
    const char *known = kind == CHAT__TEST ? samba_chat__tests : samba_chat__filters;
    if (!samba_chat__lists(known, name, size))
        return samba_chat__refuse(ps, "the %s \"%.*s\" is not known here; known are: %s",
                                  kind == CHAT__TEST ? "test" : "filter",
                                  (int)(size < 40 ? size : 40), name, known);
    int node = samba_chat__new(ps, kind), arguments = 0;
    if (samba_chat__take(ps, "("))
        arguments = samba_chat__items(ps, ")", true);
    else if (kind == CHAT__TEST && samba_chat__lists("divisibleby eq equalto in", name, size))
        arguments = samba_chat__postfix(ps, samba_chat__primary(ps));
    if (ps->failed) return 0;
    ps->t->node[node].text = name;
    ps->t->node[node].size = size;
    ps->t->node[node].a = of;
    ps->t->node[node].b = arguments;
    ps->t->node[node].c = is_not;
    return node;
}

/* .name, [..] and (..) behind a value. */
static int samba_chat__postfix(samba_chat__parser *ps, int of)
{
    while (!ps->failed) {
        int node = 0;
        if (samba_chat__take(ps, ".")) {
            size_t size;
            const char *name = samba_chat__take_name(ps, &size);
            if (!size) return samba_chat__refuse(ps, "a name is missing behind .");
            node = samba_chat__new(ps, CHAT__MEMBER);
            if (!node) return 0;
            ps->t->node[node].text = name;
            ps->t->node[node].size = size;
            ps->t->node[node].a = of;
        } else if (samba_chat__take(ps, "[")) {
            node = samba_chat__subscript(ps, of);
        } else if (samba_chat__take(ps, "(")) {
            int arguments = samba_chat__items(ps, ")", true);
            node = samba_chat__new(ps, CHAT__CALL);
            if (!node) return 0;
            ps->t->node[node].a = of;
            ps->t->node[node].b = arguments;
        } else {
            break;
        }
        of = node;
    }
    return of;
}

static int samba_chat__unary(samba_chat__parser *ps, bool with_filters)
{
    int node;
    if (!samba_chat__deeper(ps)) return 0;
    if (samba_chat__take(ps, "-")) {
        int of = samba_chat__unary(ps, false);
        node = samba_chat__new(ps, CHAT__NEGATE);
        if (node) ps->t->node[node].a = of;
    } else {
        node = samba_chat__primary(ps);
    }
    node = samba_chat__postfix(ps, node);

    while (with_filters && !ps->failed) {
        if (samba_chat__take(ps, "|"))
            node = samba_chat__named(ps, CHAT__FILTER, node);
        else if (samba_chat__take_word(ps, "is"))
            node = samba_chat__named(ps, CHAT__TEST, node);
        else if (ps->p < ps->tag_end && *ps->p == '(')
            node = samba_chat__postfix(ps, node);
        else
            break;
    }
    ps->depth--;
    return node;
}

/* Operators from the weakest level of MATH on, each level stronger. */
static int samba_chat__math(samba_chat__parser *ps, int level)
{
    static const char *const signs[3][5]
        = { { "+", "-", NULL }, { "~", NULL }, { "*", "//", "/", "%", NULL } };
    if (level == 3) return samba_chat__unary(ps, true);
    int left = samba_chat__math(ps, level + 1);
    while (!ps->failed) {
        const char *sign = NULL;
        for (int i = 0; signs[level][i] && !sign; i++)
            if (samba_chat__take(ps, signs[level][i])) sign = signs[level][i];
        if (!sign) break;
        if (*sign == '*' && ps->p < ps->tag_end && *ps->p == '*')
            return samba_chat__refuse(ps, "the operator ** is not known here");
        int right = samba_chat__math(ps, level + 1), node = samba_chat__new(ps, CHAT__MATH);
        if (!node) return 0;
        ps->t->node[node].text = sign;
        ps->t->node[node].size = strlen(sign);
        ps->t->node[node].a = left;
        ps->t->node[node].b = right;
        left = node;
    }
    return left;
}

/* The sign of a comparison that is next; NULL: none. */
static const char *samba_chat__comparison(samba_chat__parser *ps)
{
    static const char *const signs[] = { "==", "!=", "<=", ">=", "<", ">" };
    const char *before = ps->p;
    for (int i = 0; i < 6; i++)
        if (samba_chat__take(ps, signs[i])) return signs[i];
    if (samba_chat__take_word(ps, "in")) return "in";
    if (samba_chat__take_word(ps, "not") && samba_chat__take_word(ps, "in")) return "not in";
    ps->p = before;
    return NULL;
}

static int samba_chat__compare(samba_chat__parser *ps)
{
    int left = samba_chat__math(ps, 0);
    const char *sign = ps->failed ? NULL : samba_chat__comparison(ps);
    if (!sign) return left;
    int right = samba_chat__math(ps, 0), node = samba_chat__new(ps, CHAT__COMPARE);
    if (!node) return 0;
    ps->t->node[node].text = sign;
    ps->t->node[node].size = strlen(sign);
    ps->t->node[node].a = left;
    ps->t->node[node].b = right;
    if (samba_chat__comparison(ps))
        return samba_chat__refuse(ps, "a chain of comparisons is not known here");
    return node;
}

static int samba_chat__not(samba_chat__parser *ps)
{
    if (!samba_chat__take_word(ps, "not")) return samba_chat__compare(ps);
    if (!samba_chat__deeper(ps)) return 0;
    int of = samba_chat__not(ps), node = samba_chat__new(ps, CHAT__NOT);
    if (node) ps->t->node[node].a = of;
    ps->depth--;
    return node;
}

/* and, or: kind is that of the weaker one. */
static int samba_chat__either(samba_chat__parser *ps, int kind)
{
    int left = kind == CHAT__OR ? samba_chat__either(ps, CHAT__AND) : samba_chat__not(ps);
    while (!ps->failed && samba_chat__take_word(ps, kind == CHAT__OR ? "or" : "and")) {
        int right = kind == CHAT__OR ? samba_chat__either(ps, CHAT__AND) : samba_chat__not(ps);
        int node = samba_chat__new(ps, kind);
        if (!node) return 0;
        ps->t->node[node].a = left;
        ps->t->node[node].b = right;
        left = node;
    }
    return left;
}

static int samba_chat__expression(samba_chat__parser *ps)
{
    if (!samba_chat__deeper(ps)) return 0;
    int value = samba_chat__either(ps, CHAT__OR);
    while (!ps->failed && samba_chat__take_word(ps, "if")) {
        int condition = samba_chat__either(ps, CHAT__OR), other = 0;
        if (samba_chat__take_word(ps, "else")) other = samba_chat__expression(ps);
        int node = samba_chat__new(ps, CHAT__CHOICE);
        if (!node) return 0;
        ps->t->node[node].a = value;
        ps->t->node[node].b = condition;
        ps->t->node[node].c = other;
        value = node;
    }
    ps->depth--;
    return value;
}

/* ---- Text and tags --------------------------------------------------------------------------- */

/* Where the tag at p ends, before its closing signs; strings may hold them. */
static const char *samba_chat__find_end(const samba_chat__parser *ps, const char *p,
                                        const char *close)
{
    char quote = 0;
    int braces = 0; /* of dicts, whose ends may stand side by side */
    for (; p + 1 < ps->end; p++) {
        if (quote) {
            if (*p == '\\')
                p++;
            else if (*p == quote)
                quote = 0;
            continue;
        }
        if (close[0] != '#' && (*p == '"' || *p == '\'')) {
            quote = *p;
            continue;
        }
        bool closes = p[0] == close[0] && p[1] == close[1];
        if (closes && (close[0] == '#' || braces == 0)) return p;
        braces += *p == '{';
        braces -= *p == '}' && braces > 0;
    }
    return NULL;
}

/* The text up to the next tag, as a node; 0 if nothing of it is left. The signs of the tag decide
   what of the spaces before it stays. */
static int samba_chat__plain_text(samba_chat__parser *ps)
{
    const char *start = ps->p, *p = start;
    while (p + 1 < ps->end && !(p[0] == '{' && strchr("{%#", p[1])))
        p++;
    if (p + 1 >= ps->end) p = ps->end;
    const char *stop = p;
    ps->p = p;
    if (ps->strips_next)
        while (start < stop && strchr(" \t\r\n\v\f", *start))
            start++;
    else if (ps->trims_line && start < stop && *start == '\n')
        start++;

    if (p < ps->end) {
        char sign = p + 2 < ps->end ? p[2] : 0;
        if (sign == '-') {
            while (stop > start && strchr(" \t\r\n\v\f", stop[-1]))
                stop--;
        } else if (p[1] != '{' && sign != '+') {
            const char *line = stop;
            while (line > start && (line[-1] == ' ' || line[-1] == '\t'))
                line--;
            bool begins
                = line > start ? line[-1] == '\n' : line == ps->t->source || line[-1] == '\n';
            if (begins) stop = line;
        }
    }
    if (start == stop) return 0;
    int node = samba_chat__new(ps, CHAT__TEXT);
    if (!node) return 0;
    ps->t->node[node].text = start;
    ps->t->node[node].size = (size_t)(stop - start);
    return node;
}

/* Opens the tag at p: p and tag_end become what is between its signs. Behind it: *after. */
static bool samba_chat__open_tag(samba_chat__parser *ps, const char **after)
{
    static const char *const close[] = { "}}", "%}", "#}" };
    int which = ps->p[1] == '{' ? 0 : ps->p[1] == '%' ? 1 : 2;
    const char *inside = ps->p + 2, *end = samba_chat__find_end(ps, inside, close[which]);
    if (!end) {
        samba_chat__refuse(ps, "a tag without %s", close[which]);
        return false;
    }
    *after = end + 2;
    if (inside < end && (*inside == '-' || *inside == '+')) inside++;
    bool minus = end > inside && end[-1] == '-', plus = end > inside && end[-1] == '+';
    ps->strips_next = minus;
    ps->trims_line = which > 0 && !plus;
    ps->p = inside;
    ps->tag_end = minus || plus ? end - 1 : end;
    return true;
}

static int samba_chat__block(samba_chat__parser *ps, const char *until);

static bool samba_chat__close_tag(samba_chat__parser *ps, const char *after)
{
    samba_chat__skip_space(ps);
    if (!ps->failed && ps->p != ps->tag_end)
        samba_chat__refuse(ps, "\"%.*s\" is not expected here",
                           (int)(ps->tag_end - ps->p < 30 ? ps->tag_end - ps->p : 30), ps->p);
    ps->p = after;
    return !ps->failed;
}

/* The tag that ended a block, whose word is next: takes it, if it is this one. */
static bool samba_chat__ended_by(samba_chat__parser *ps, const char *word, const char **after)
{
    const char *before = ps->p;
    if (ps->failed) return false;
    if (ps->p + 1 >= ps->end) {
        samba_chat__refuse(ps, "it ends within a block: endif, endfor or the like is missing");
        return false;
    }
    if (!samba_chat__open_tag(ps, after)) return false;
    if (samba_chat__take_word(ps, word)) return true;
    ps->p = before;
    return false;
}

static int samba_chat__if(samba_chat__parser *ps, const char *after)
{
    int node = samba_chat__new(ps, CHAT__IF), condition = samba_chat__expression(ps);
    if (!samba_chat__close_tag(ps, after) || !samba_chat__deeper(ps)) return 0;
    int then = samba_chat__block(ps, "elif else endif"), other = 0;
    if (samba_chat__ended_by(ps, "elif", &after)) {
        other = samba_chat__if(ps, after);
    } else {
        if (samba_chat__ended_by(ps, "else", &after) && samba_chat__close_tag(ps, after))
            other = samba_chat__block(ps, "endif");
        if (samba_chat__ended_by(ps, "endif", &after)) samba_chat__close_tag(ps, after);
    }
    if (ps->failed) return 0;
    ps->t->node[node].a = condition;
    ps->t->node[node].b = then;
    ps->t->node[node].c = other;
    ps->depth--;
    return node;
}

static int samba_chat__for(samba_chat__parser *ps, const char *after)
{
    int node = samba_chat__new(ps, CHAT__FOR), condition = 0, other = 0;
    samba_chat__skip_space(ps);
    const char *names = ps->p;
    size_t size;
    do {
        samba_chat__take_name(ps, &size);
        if (!size) return samba_chat__refuse(ps, "a variable is missing behind for");
    } while (samba_chat__take(ps, ","));
    size = (size_t)(ps->p - names);
    if (!samba_chat__take_word(ps, "in")) return samba_chat__refuse(ps, "in is missing in for");
    int of = samba_chat__either(ps, CHAT__OR);
    if (samba_chat__take_word(ps, "if")) condition = samba_chat__expression(ps);
    if (samba_chat__take_word(ps, "recursive"))
        return samba_chat__refuse(ps, "a recursive for is not known here");
    if (!samba_chat__close_tag(ps, after) || !samba_chat__deeper(ps)) return 0;

    ps->loops++;
    int body = samba_chat__block(ps, "else endfor");
    ps->loops--;
    if (samba_chat__ended_by(ps, "else", &after) && samba_chat__close_tag(ps, after))
        other = samba_chat__block(ps, "endfor");
    if (samba_chat__ended_by(ps, "endfor", &after)) samba_chat__close_tag(ps, after);
    if (ps->failed) return 0;
    samba_chat__node *n = &ps->t->node[node];
    n->text = names;
    n->size = size;
    n->a = of;
    n->b = body;
    n->c = other;
    n->d = condition;
    ps->depth--;
    return node;
}

/* set name = value, set name.member = value, and set name ... endset. */
static int samba_chat__set(samba_chat__parser *ps, const char *after)
{
    int node = samba_chat__new(ps, CHAT__SET), value = 0, body = 0;
    size_t size, member = 0;
    const char *name = samba_chat__take_name(ps, &size);
    if (size && samba_chat__take(ps, ".")) {
        samba_chat__take_name(ps, &member);
        size = (size_t)(ps->p - name);
    }
    if (!size) return samba_chat__refuse(ps, "a variable is missing behind set");
    if (samba_chat__take(ps, ","))
        return samba_chat__refuse(ps,
                                  "set of several variables is not "
                                  "known here");
    bool is_block = !samba_chat__take(ps, "=");
    if (!is_block) value = samba_chat__expression(ps);
    if (!samba_chat__close_tag(ps, after)) return 0;
    if (is_block) {
        if (!samba_chat__deeper(ps)) return 0;
        body = samba_chat__block(ps, "endset");
        if (samba_chat__ended_by(ps, "endset", &after)) samba_chat__close_tag(ps, after);
        ps->depth--;
    }
    if (ps->failed) return 0;
    ps->t->node[node].text = name;
    ps->t->node[node].size = size;
    ps->t->node[node].a = value;
    ps->t->node[node].b = body;
    return node;
}

/* A statement whose tag is open. */
static int samba_chat__statement(samba_chat__parser *ps, const char *after)
{
    size_t size;
    if (samba_chat__take_word(ps, "if")) return samba_chat__if(ps, after);
    if (samba_chat__take_word(ps, "for")) return samba_chat__for(ps, after);
    if (samba_chat__take_word(ps, "set")) return samba_chat__set(ps, after);
    bool is_break = samba_chat__take_word(ps, "break");
    if (is_break || samba_chat__take_word(ps, "continue")) {
        if (!ps->loops) return samba_chat__refuse(ps, "break or continue outside of a loop");
        int node = samba_chat__new(ps, is_break ? CHAT__BREAK : CHAT__CONTINUE);
        samba_chat__close_tag(ps, after);
        return node;
    }
    if (samba_chat__take_word(ps, "generation")) {
        if (!samba_chat__close_tag(ps, after) || !samba_chat__deeper(ps)) return 0;
        int body = samba_chat__block(ps, "endgeneration");
        if (samba_chat__ended_by(ps, "endgeneration", &after)) samba_chat__close_tag(ps, after);
        ps->depth--;
        int node = samba_chat__new(ps, CHAT__IF), yes = samba_chat__new(ps, CHAT__LITERAL);
        if (ps->failed) return 0;
        ps->t->node[yes].c = 2;
        ps->t->node[node].a = yes;
        ps->t->node[node].b = body;
        return node;
    }
    const char *name = samba_chat__take_name(ps, &size);
    return samba_chat__refuse(ps, "the statement \"%.*s\" is not known here, or not here",
                              (int)(size < 40 ? size : 40), name);
}

/* Whether the tag at p begins with one of these words, which end a block. */
static bool samba_chat__is_end(const samba_chat__parser *ps, const char *until)
{
    const char *p = ps->p + 2;
    if (ps->p[1] != '%') return false;
    while (p < ps->end && strchr("-+ \t\r\n", *p))
        p++;
    size_t n = 0;
    while (p + n < ps->end && !samba_chat__ends_word(p[n]))
        n++;
    return n && samba_chat__lists(until, p, n);
}

/* Texts and tags up to one that begins with one of the words, or to the end; the first node. */
static int samba_chat__block(samba_chat__parser *ps, const char *until)
{
    int first = 0, last = 0;
    while (!ps->failed) {
        int node = samba_chat__plain_text(ps);
        for (int part = 0; part < 2 && !ps->failed; part++) {
            if (node && last)
                ps->t->node[last].next = node;
            else if (node)
                first = node;
            if (node) last = node;
            if (part) break;

            const char *after;
            if (ps->p + 1 >= ps->end || samba_chat__is_end(ps, until)) return first;
            char sign = ps->p[1];
            if (!samba_chat__open_tag(ps, &after)) return 0;
            node = 0;
            if (sign == '#') {
                ps->p = after;
            } else if (sign == '%') {
                node = samba_chat__statement(ps, after);
            } else {
                node = samba_chat__new(ps, CHAT__PRINT);
                int value = samba_chat__expression(ps);
                if (samba_chat__close_tag(ps, after)) ps->t->node[node].a = value;
            }
        }
    }
    return first;
}

SAMBA_CHAT_TEMPLATE_API void samba_chat_close(samba_chat_template *t)
{
    if (!t) return;
    free(t->source);
    free(t->node);
    free(t);
}

SAMBA_CHAT_TEMPLATE_API samba_chat_template *samba_chat_open(const char *source, size_t size,
                                                             char *why, size_t why_size)
{
    samba_chat__parser ps;
    memset(&ps, 0, sizeof ps);
    ps.why = why;
    ps.why_size = why_size;
    if (why && why_size) why[0] = 0;
    samba_chat_template *t = (samba_chat_template *)calloc(1, sizeof *t);
    if (t) t->source = (char *)malloc(size + 1);
    if (!source || !t || !t->source) {
        if (why && why_size) snprintf(why, why_size, "no chat template, or out of memory");
        samba_chat_close(t);
        return NULL;
    }

    memcpy(t->source, source, size);
    if (size && t->source[size - 1] == '\n') size--; /* Jinja drops one at the end */
    t->source[size] = 0;
    t->size = size;
    ps.t = t;
    ps.p = t->source;
    ps.end = ps.tag_end = t->source + size;
    samba_chat__new(&ps, CHAT__NOTHING);
    for (size_t i = 0; i < size; i++)
        if (!t->source[i]) samba_chat__refuse(&ps, "has the character NUL");
    t->first = samba_chat__block(&ps, "");
    if (!ps.failed) return t;
    samba_chat_close(t);
    return NULL;
}
