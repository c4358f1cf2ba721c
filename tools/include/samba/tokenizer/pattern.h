/* pattern.h - of tokenizer.h: regular expressions, as far as pre-tokenizers use them.

   Oniguruma's with Ruby's syntax, as Hugging Face's tokenizers compiles them: characters, classes,
   \p{..} by category, \s \d \w and their opposites, groups that do not capture, (?i:..), (?=..) and
   (?!..), ^ and $ at lines, and what repeats one character or class: ? * + {n,m} and the possessive
   ?+ *+ ++. The first alternative that matches wins, and what repeats takes as much as it can. All
   else is refused, and named. A pattern is a list of nodes; each knows the one that comes next. */

typedef struct samba_tokenizer__set {
    uint32_t ascii[4];   /* bits of the characters below 128, inverted already */
    uint32_t categories; /* bits; for the others */
    size_t range, n_ranges;
    bool inverted;
} samba_tokenizer__set;

enum {
    SAMBA_TOKENIZER__SET,    /* a character of a set, min to max times */
    SAMBA_TOKENIZER__EITHER, /* the first of several alternatives that matches with what follows */
    SAMBA_TOKENIZER__JOIN,   /* where alternatives meet again */
    SAMBA_TOKENIZER__AHEAD,  /* (?= and (?! */
    SAMBA_TOKENIZER__LINE_START,
    SAMBA_TOKENIZER__LINE_END
};

typedef struct samba_tokenizer__node {
    int kind, next;     /* next: -1 at the end */
    int set, min, max;  /* of SET; max: INT_MAX for no limit */
    int first, sibling; /* of EITHER and AHEAD: the first alternative; of an EITHER: the next one */
    bool possessive, negative;
    bool seen; /* by what looks for the characters that a match begins with */
} samba_tokenizer__node;

enum {
    SAMBA_TOKENIZER__MAX_NODES = 1024,
    SAMBA_TOKENIZER__MAX_DEPTH = 16,
    SAMBA_TOKENIZER__MAX_STEPS
    = 10000000 /* of one match, as Oniguruma has it; then there is none */
};

typedef struct samba_tokenizer__pattern {
    samba_tokenizer__node *node;
    samba_tokenizer__set *set;
    samba_tokenizer__range *range;
    size_t n_nodes, nodes_cap, n_sets, sets_cap, n_ranges, ranges_cap;
    int first;
    uint32_t starts[4]; /* the ASCII characters that a match may begin with */
} samba_tokenizer__pattern;

/* ---- Matching -------------------------------------------------------------------------------- */

/* Whether the character at p is in a set; its size. */
static bool samba_tokenizer__in_set(const samba_tokenizer__pattern *x,
                                    const samba_tokenizer__set *set, const uint8_t *p, size_t *size)
{
    uint8_t byte = p[0];
    if (byte < 0x80) {
        *size = 1;
        return set->ascii[byte >> 5] >> (byte & 31) & 1;
    }

    int32_t c = samba_tokenizer__char(p, size);
    bool has = set->categories && (set->categories >> samba_tokenizer__category(c) & 1);
    for (size_t i = set->range; i < set->range + set->n_ranges && !has; i++)
        has = x->range[i].first <= c && c <= x->range[i].last;
    return has != set->inverted;
}

typedef struct samba_tokenizer__subject {
    const samba_tokenizer__pattern *x;
    const uint8_t *start, *end;
    int32_t steps; /* that are left */
} samba_tokenizer__subject;

static const uint8_t *samba_tokenizer__match_node(samba_tokenizer__subject *s, int at,
                                                  const uint8_t *p);

/* A set that repeats, and what follows it: first as many as there are, then one less at a time. */
static const uint8_t *samba_tokenizer__match_repeated(samba_tokenizer__subject *s,
                                                      const samba_tokenizer__node *node,
                                                      const uint8_t *p)
{
    const samba_tokenizer__set *set = &s->x->set[node->set];
    const uint8_t *q = p;
    size_t size;
    int n = 0;

    while (n < node->max && q < s->end && samba_tokenizer__in_set(s->x, set, q, &size)) {
        q += size;
        n += n < INT_MAX;
    }
    if (n < node->min) return NULL;
    if (node->next < 0) return q;
    if (node->possessive) return samba_tokenizer__match_node(s, node->next, q);

    const uint8_t *least = p;
    for (int i = 0; i < node->min; i++)
        least += samba_tokenizer__char_size(*least);
    for (;;) {
        const uint8_t *found = samba_tokenizer__match_node(s, node->next, q);
        if (found || q <= least) return found;
        do
            q--;
        while ((*q & 0xC0) == 0x80);
    }
}

/* Where a match from a node on ends that begins at p; NULL: there is none. The recursion is as deep
   as the pattern is long: only sets repeat without a limit, and they do so in a loop. */
static const uint8_t *samba_tokenizer__match_node(samba_tokenizer__subject *s, int at,
                                                  const uint8_t *p)
{
    size_t size;
    if (s->steps-- <= 0) return NULL;
    while (at >= 0) {
        const samba_tokenizer__node *node = &s->x->node[at];
        at = node->next;
        switch (node->kind) {
        case SAMBA_TOKENIZER__SET:
            if (node->min != 1 || node->max != 1)
                return samba_tokenizer__match_repeated(s, node, p);
            if (p == s->end || !samba_tokenizer__in_set(s->x, &s->x->set[node->set], p, &size))
                return NULL;
            p += size;
            break;
        case SAMBA_TOKENIZER__EITHER:
            for (; node->sibling >= 0; node = &s->x->node[node->sibling]) {
                const uint8_t *found = samba_tokenizer__match_node(s, node->first, p);
                if (found) return found;
            }
            at = node->first;
            break;
        case SAMBA_TOKENIZER__AHEAD:
            if (!samba_tokenizer__match_node(s, node->first, p) != node->negative) return NULL;
            break;
        case SAMBA_TOKENIZER__LINE_START:
            if (p != s->start && (p[-1] != '\n' || p == s->end)) return NULL;
            break;
        case SAMBA_TOKENIZER__LINE_END:
            if (p != s->end && *p != '\n') return NULL;
            break;
        default:
            break;
        }
    }
    return p;
}

/* The first match from p on in start to end. */
static bool samba_tokenizer__find_match(const samba_tokenizer__pattern *x, const uint8_t *start,
                                        const uint8_t *p, const uint8_t *end, const uint8_t **from,
                                        const uint8_t **to)
{
    samba_tokenizer__subject s = { x, start, end, 0 };
    for (; p < end; p += samba_tokenizer__char_size(*p)) {
        if (*p < 0x80 && !(x->starts[*p >> 5] >> (*p & 31) & 1)) continue;
        s.steps = SAMBA_TOKENIZER__MAX_STEPS;
        const uint8_t *stop = samba_tokenizer__match_node(&s, x->first, p);
        if (!stop) continue;
        *from = p;
        *to = stop;
        return true;
    }
    return false;
}

/* ---- Compiling ------------------------------------------------------------------------------- */

typedef struct samba_tokenizer__parser {
    samba_tokenizer__pattern *x;
    const char *text, *p;
    const samba_tokenizer__report *r;
    bool any_case;
    int depth;
} samba_tokenizer__parser;

/* Always false: a pattern with what is not known here. */
static bool samba_tokenizer__unknown(const samba_tokenizer__parser *ps, const char *what)
{
    samba_tokenizer__shown shown;
    return samba_tokenizer__fail(ps->r, "the pattern \"%s\" has, at byte %lu, %s",
                                 samba_tokenizer__show(&shown, ps->text, strlen(ps->text)),
                                 (unsigned long)(ps->p - ps->text), what);
}

/* The index of a new node; -1: out of memory, or too many. */
static int samba_tokenizer__new_node(samba_tokenizer__parser *ps, int kind)
{
    samba_tokenizer__pattern *x = ps->x;
    if (x->n_nodes >= SAMBA_TOKENIZER__MAX_NODES) {
        samba_tokenizer__unknown(ps, "more than is possible: 1024 parts");
        return -1;
    }

    if (x->n_nodes == x->nodes_cap) {
        samba_tokenizer__node *grown = (samba_tokenizer__node *)samba_tokenizer__grown(
            x->node, &x->nodes_cap, x->n_nodes + 1, sizeof *grown);
        if (!grown) {
            samba_tokenizer__no_memory(ps->r);
            return -1;
        }
        x->node = grown;
    }

    samba_tokenizer__node *node = &x->node[x->n_nodes];
    memset(node, 0, sizeof *node);
    node->kind = kind;
    node->next = node->set = node->first = node->sibling = -1;
    node->min = node->max = 1;
    return (int)x->n_nodes++;
}

static int samba_tokenizer__new_set(samba_tokenizer__parser *ps)
{
    samba_tokenizer__pattern *x = ps->x;
    if (x->n_sets == x->sets_cap) {
        samba_tokenizer__set *grown = (samba_tokenizer__set *)samba_tokenizer__grown(
            x->set, &x->sets_cap, x->n_sets + 1, sizeof *grown);
        if (!grown) {
            samba_tokenizer__no_memory(ps->r);
            return -1;
        }
        x->set = grown;
    }

    memset(&x->set[x->n_sets], 0, sizeof *x->set);
    x->set[x->n_sets].range = x->n_ranges;
    return (int)x->n_sets++;
}

/* Adds a range to the set that is being made, which is the last one. */
static bool samba_tokenizer__add_range(samba_tokenizer__parser *ps, int32_t first, int32_t last)
{
    samba_tokenizer__pattern *x = ps->x;
    if (x->n_ranges == x->ranges_cap) {
        samba_tokenizer__range *grown = (samba_tokenizer__range *)samba_tokenizer__grown(
            x->range, &x->ranges_cap, x->n_ranges + 1, sizeof *grown);
        if (!grown) return samba_tokenizer__no_memory(ps->r);
        x->range = grown;
    }
    x->range[x->n_ranges].first = first;
    x->range[x->n_ranges++].last = last;
    x->set[x->n_sets - 1].n_ranges++;
    return true;
}

/* A single character; with (?i: in its other case, too, and in the one that folds to it. */
static bool samba_tokenizer__add_letter(samba_tokenizer__parser *ps, int32_t c)
{
    if (!samba_tokenizer__add_range(ps, c, c)) return false;
    if (!ps->any_case) return true;
    if (c >= 128 && utf8proc_tolower(c) == c && utf8proc_toupper(c) == c) return true;
    if (c >= 128) return samba_tokenizer__unknown(ps, "a letter other than a to z within (?i:");

    int32_t small = c | 32;
    if (small < 'a' || small > 'z') return true;
    if (small == 's' && !samba_tokenizer__add_range(ps, 0x17F, 0x17F)) return false;
    if (small == 'k' && !samba_tokenizer__add_range(ps, 0x212A, 0x212A)) return false;
    return samba_tokenizer__add_range(ps, c ^ 32, c ^ 32);
}

/* The bits below 128 of a set, whose categories and ranges are known. */
static void samba_tokenizer__finish_set(samba_tokenizer__pattern *x, bool inverted)
{
    samba_tokenizer__set *set = &x->set[x->n_sets - 1];
    set->inverted = inverted;

    for (int32_t c = 0; c < 128; c++) {
        bool has = set->categories >> samba_tokenizer__category(c) & 1;
        for (size_t i = set->range; i < set->range + set->n_ranges; i++)
            has = has || (x->range[i].first <= c && c <= x->range[i].last);
        if (has != inverted) set->ascii[c >> 5] |= UINT32_C(1) << (c & 31);
    }
}

/* The categories of a name such as L, Nd or Lu; 0: not known. */
static uint32_t samba_tokenizer__categories_of(const char *name, size_t n)
{
    static const char names[] = "CnLuLlLtLmLoMnMcMeNdNlNoPcPdPsPePiPfPoSmScSkSoZsZlZpCcCfCsCo";
    uint32_t bits = 0;
    if (n != 1 && n != 2) return 0;

    for (int i = 0; i < 30; i++)
        if (names[2 * i] == name[0] && (n == 1 || names[2 * i + 1] == name[1]))
            bits |= UINT32_C(1) << i;
    if (bits & SAMBA_TOKENIZER__BIT(CC)) bits |= UINT32_C(1) << SAMBA_TOKENIZER__CONTROL_SPACE;
    return bits;
}

/* \p{..} or \P{..}, from the brace on. */
static bool samba_tokenizer__parse_property(samba_tokenizer__parser *ps, bool opposite)
{
    const char *close = *ps->p == '{' ? strchr(ps->p, '}') : NULL;
    if (!close) return samba_tokenizer__unknown(ps, "\\p without {..}");
    const char *name = ps->p + 1;
    bool not_it = *name == '^';
    name += not_it;

    uint32_t bits = samba_tokenizer__categories_of(name, (size_t)(close - name));
    if (!bits)
        return samba_tokenizer__unknown(ps,
                                        "a property that is not known here; known are general "
                                        "categories, such as \\p{L} and \\p{Nd}");
    if (not_it != opposite) bits = SAMBA_TOKENIZER__ALL_CATEGORIES & ~bits;
    ps->x->set[ps->x->n_sets - 1].categories |= bits;
    ps->p = close + 1;
    return true;
}

/* A number of hexadecimal digits, at most this many. */
static int32_t samba_tokenizer__parse_hex(samba_tokenizer__parser *ps, int most)
{
    static const char digits[] = "0123456789abcdef";
    int32_t value = -1;
    for (int i = 0; i < most && *ps->p; i++, ps->p++) {
        int c = *ps->p >= 'A' && *ps->p <= 'F' ? *ps->p + 32 : *ps->p;
        const char *digit = strchr(digits, c);
        if (!digit) break;
        value = (value < 0 ? 0 : value * 16) + (int32_t)(digit - digits);
    }
    return value;
}

/* The character of an escape such as \n, \x20 or \., from behind the backslash; -1: it is none. */
static int32_t samba_tokenizer__parse_escaped_char(samba_tokenizer__parser *ps)
{
    static const char letters[] = "nrtfvae", meant[] = "\n\r\t\f\v\a\x1B";
    char c = *ps->p;
    if (!c) return -1;
    const char *letter = strchr(letters, c);
    if (letter) {
        ps->p++;
        return meant[letter - letters];
    }

    if (c == 'x' || c == 'u') {
        ps->p++;
        bool braced = c == 'x' && *ps->p == '{';
        ps->p += braced;
        int32_t value = samba_tokenizer__parse_hex(ps, braced ? 6 : c == 'u' ? 4 : 2);
        bool closed = !braced || *ps->p == '}';
        ps->p += braced && closed;
        bool byte_of_utf8 = c == 'x' && !braced && value > 127;
        return closed && !byte_of_utf8 && value <= 0x10FFFF ? value : -1;
    }

    bool plain
        = (uint8_t)c < 128 && !((c | 32) >= 'a' && (c | 32) <= 'z') && !(c >= '0' && c <= '9');
    if (!plain) return -1;
    ps->p++;
    return c;
}

/* A class by a letter, such as \s. *is: whether there is one at p, behind the backslash. */
static bool samba_tokenizer__parse_short_class(samba_tokenizer__parser *ps, bool *is)
{
    char c = *ps->p;
    uint32_t bits = 0;
    *is = c && strchr("pPsSdDw", c);
    if (!*is) return true;
    ps->p++;
    if ((c | 32) == 'p') return samba_tokenizer__parse_property(ps, c == 'P');

    if ((c | 32) == 's') bits = SAMBA_TOKENIZER__SPACES;
    if ((c | 32) == 'd') bits = SAMBA_TOKENIZER__BIT(ND);
    if (c == 'w') {
        bits = SAMBA_TOKENIZER__LETTERS | SAMBA_TOKENIZER__MARKS | SAMBA_TOKENIZER__BIT(ND)
            | SAMBA_TOKENIZER__BIT(NL) | SAMBA_TOKENIZER__BIT(PC);
        for (int i = 0; i < 4; i++)
            if (!samba_tokenizer__add_range(ps, samba_tokenizer__circled[i].first,
                                            samba_tokenizer__circled[i].last))
                return false;
    }
    if (c == 'S' || c == 'D') bits = SAMBA_TOKENIZER__ALL_CATEGORIES & ~bits;
    ps->x->set[ps->x->n_sets - 1].categories |= bits;
    return true;
}

/* One character of a class, escaped or not; -1 with the reason. */
static int32_t samba_tokenizer__parse_class_char(samba_tokenizer__parser *ps)
{
    int32_t c;
    if (*ps->p == '\\') {
        ps->p++;
        c = samba_tokenizer__parse_escaped_char(ps);
        if (c < 0) samba_tokenizer__unknown(ps, "an escape in [..] that is not known here");
        return c;
    }
    size_t size;
    c = samba_tokenizer__char((const uint8_t *)ps->p, &size);
    ps->p += size;
    return c;
}

/* What is between brackets, to behind the closing one. inner: a class within a class. */
static bool samba_tokenizer__parse_class(samba_tokenizer__parser *ps, bool inner)
{
    bool is_short;
    const char *first = ps->p;
    if (inner && *ps->p == '^')
        return samba_tokenizer__unknown(ps,
                                        "an inverted class within a class, which is not known "
                                        "here");

    while (*ps->p && (*ps->p != ']' || ps->p == first)) {
        if (ps->p[0] == '&' && ps->p[1] == '&')
            return samba_tokenizer__unknown(ps, "&& in a class, which is not known here");
        if (ps->p[0] == '[') {
            if (ps->p[1] == ':' || inner)
                return samba_tokenizer__unknown(ps, "[ in a class, which is not known here");
            ps->p++;
            if (!samba_tokenizer__parse_class(ps, true)) return false;
            continue;
        }

        if (ps->p[0] == '\\') {
            ps->p++;
            if (!samba_tokenizer__parse_short_class(ps, &is_short)) return false;
            if (is_short) continue;
            ps->p--;
        }
        int32_t low = samba_tokenizer__parse_class_char(ps), high = low;
        if (low < 0) return false;
        bool is_range = ps->p[0] == '-' && ps->p[1] && ps->p[1] != ']';
        if (is_range) {
            ps->p++;
            high = samba_tokenizer__parse_class_char(ps);
            if (high < 0) return false;
            if (high < low) return samba_tokenizer__unknown(ps, "a range that goes backwards");
            if (ps->any_case)
                return samba_tokenizer__unknown(ps, "a range within (?i:, which is not known here");
        }
        if (is_range ? !samba_tokenizer__add_range(ps, low, high)
                     : !samba_tokenizer__add_letter(ps, low))
            return false;
    }

    if (*ps->p != ']') return samba_tokenizer__unknown(ps, "[ without ]");
    ps->p++;
    return true;
}

/* The numbers of {n}, {n,}, {,m} and {n,m}. */
static bool samba_tokenizer__parse_braces(samba_tokenizer__parser *ps, int *min, int *max)
{
    long number[2] = { 0, INT_MAX };
    const char *p = ps->p + 1;
    char *stop;
    bool has_min = *p >= '0' && *p <= '9';
    if (has_min) {
        number[0] = number[1] = strtol(p, &stop, 10);
        p = stop;
    }

    if (*p == ',') {
        p++;
        number[1] = INT_MAX;
        bool has_max = *p >= '0' && *p <= '9';
        if (has_max) {
            number[1] = strtol(p, &stop, 10);
            p = stop;
        }
        if (!has_min && !has_max) return samba_tokenizer__unknown(ps, "{,}");
    }
    if (*p != '}' || number[0] > 1000 || number[0] > number[1]
        || (number[1] > 1000 && number[1] != INT_MAX))
        return samba_tokenizer__unknown(ps, "{ that repeats nothing known here");
    *min = (int)number[0];
    *max = (int)number[1];
    ps->p = p + 1;
    return true;
}

/* What may stand behind a part: ? * + {..} */
static bool samba_tokenizer__parse_repeat(samba_tokenizer__parser *ps, samba_tokenizer__node *node)
{
    char c = *ps->p;
    if (!c || !strchr("?*+{", c)) return true;
    if (c == '{') {
        if (!samba_tokenizer__parse_braces(ps, &node->min, &node->max)) return false;
    } else {
        ps->p++;
        node->min = c == '+';
        node->max = c == '?' ? 1 : INT_MAX;
        node->possessive = *ps->p == '+';
        ps->p += node->possessive;
    }
    if (*ps->p && strchr("?*+{", *ps->p))
        return samba_tokenizer__unknown(ps, "a repeat of a repeat, which is not known here");
    return true;
}

static bool samba_tokenizer__parse_either(samba_tokenizer__parser *ps, int *first, int *join);

/* A group, from behind the parenthesis to behind the closing one. */
static bool samba_tokenizer__parse_group(samba_tokenizer__parser *ps, int *first, int *last)
{
    bool ahead = false, negative = false, any_case = ps->any_case;
    if (ps->p[0] == '?') {
        ahead = ps->p[1] == '=' || ps->p[1] == '!';
        negative = ps->p[1] == '!';
        if (strncmp(ps->p, "?i:", 3) == 0) {
            ps->any_case = true;
            ps->p += 3;
        } else if (ahead || ps->p[1] == ':') {
            ps->p += 2;
        } else {
            return samba_tokenizer__unknown(ps, "a kind of group that is not known here");
        }
    }

    int begin, join;
    if (!samba_tokenizer__parse_either(ps, &begin, &join)) return false;
    if (*ps->p != ')') return samba_tokenizer__unknown(ps, "( without )");
    ps->p++;
    ps->any_case = any_case;
    *first = begin;
    *last = join;
    if (!ahead) return true;

    int node = samba_tokenizer__new_node(ps, SAMBA_TOKENIZER__AHEAD);
    if (node < 0) return false;
    ps->x->node[node].first = begin;
    ps->x->node[node].negative = negative;
    *first = *last = node;
    return true;
}

/* ? behind a group: the group, or nothing. Other repeats are for characters only. */
static bool samba_tokenizer__parse_optional(samba_tokenizer__parser *ps, int *first, int last)
{
    if (!*ps->p || !strchr("?*+{", *ps->p)) return true;
    if (ps->p[0] != '?' || (ps->p[1] && strchr("?+", ps->p[1]))
        || ps->x->node[last].kind == SAMBA_TOKENIZER__AHEAD)
        return samba_tokenizer__unknown(ps, "a group that repeats, which is not known here");
    ps->p++;

    int group = samba_tokenizer__new_node(ps, SAMBA_TOKENIZER__EITHER);
    int nothing = samba_tokenizer__new_node(ps, SAMBA_TOKENIZER__EITHER);
    if (group < 0 || nothing < 0) return false;
    ps->x->node[group].first = *first;
    ps->x->node[group].sibling = nothing;
    ps->x->node[nothing].first = last;
    *first = group;
    return true;
}

/* A character or a class, with what repeats it. */
static bool samba_tokenizer__parse_set(samba_tokenizer__parser *ps, int *at)
{
    int set = samba_tokenizer__new_set(ps);
    int node = set < 0 ? -1 : samba_tokenizer__new_node(ps, SAMBA_TOKENIZER__SET);
    if (node < 0) return false;
    bool inverted = false, is_short = false;
    *at = node;
    ps->x->node[node].set = set;

    if (*ps->p == '[') {
        ps->p++;
        inverted = *ps->p == '^';
        ps->p += inverted;
        if (!samba_tokenizer__parse_class(ps, false)) return false;
    } else if (*ps->p == '.') {
        ps->p++;
        inverted = true;
        if (!samba_tokenizer__add_range(ps, '\n', '\n')) return false;
    } else {
        if (*ps->p == '\\') {
            ps->p++;
            if (!samba_tokenizer__parse_short_class(ps, &is_short)) return false;
            if (!is_short) ps->p--;
        }
        int32_t c = is_short ? 0 : samba_tokenizer__parse_class_char(ps);
        if (c < 0 || (!is_short && !samba_tokenizer__add_letter(ps, c))) return false;
    }

    samba_tokenizer__finish_set(ps->x, inverted);
    return samba_tokenizer__parse_repeat(ps, &ps->x->node[node]);
}

/* One alternative, to before | or ) or the end. All of it leads to join. */
static bool samba_tokenizer__parse_sequence(samba_tokenizer__parser *ps, int join, int *begin)
{
    int before = -1;
    *begin = join;
    while (*ps->p && *ps->p != '|' && *ps->p != ')') {
        int first = -1, last = -1;
        if (*ps->p == '(') {
            ps->p++;
            if (!samba_tokenizer__parse_group(ps, &first, &last)
                || !samba_tokenizer__parse_optional(ps, &first, last))
                return false;
        } else if (*ps->p == '^' || *ps->p == '$') {
            first = last = samba_tokenizer__new_node(
                ps, *ps->p == '^' ? SAMBA_TOKENIZER__LINE_START : SAMBA_TOKENIZER__LINE_END);
            if (first < 0) return false;
            ps->p++;
        } else if (strchr("?*+", *ps->p)) {
            return samba_tokenizer__unknown(ps, "a repeat of nothing");
        } else {
            if (!samba_tokenizer__parse_set(ps, &first)) return false;
            last = first;
        }

        if (before < 0)
            *begin = first;
        else
            ps->x->node[before].next = first;
        before = last;
    }
    if (before >= 0) ps->x->node[before].next = join;
    return true;
}

/* Alternatives, to before ) or the end. *join: the node where they meet. */
static bool samba_tokenizer__parse_either(samba_tokenizer__parser *ps, int *first, int *join)
{
    int before = -1;
    *join = samba_tokenizer__new_node(ps, SAMBA_TOKENIZER__JOIN);
    if (*join < 0) return false;
    if (++ps->depth > SAMBA_TOKENIZER__MAX_DEPTH)
        return samba_tokenizer__unknown(ps, "groups within groups, too many");

    for (;;) {
        int begin, either = samba_tokenizer__new_node(ps, SAMBA_TOKENIZER__EITHER);
        if (either < 0 || !samba_tokenizer__parse_sequence(ps, *join, &begin)) return false;
        ps->x->node[either].first = begin;
        if (before < 0)
            *first = either;
        else
            ps->x->node[before].sibling = either;
        before = either;
        if (*ps->p != '|') break;
        ps->p++;
    }
    ps->depth--;
    return true;
}

/* Adds the ASCII characters that a match from a node on may begin with. */
static void samba_tokenizer__add_starts(samba_tokenizer__pattern *x, int at, uint32_t starts[4])
{
    for (; at >= 0; at = x->node[at].next) {
        samba_tokenizer__node *node = &x->node[at];
        if (node->seen) return;
        node->seen = true;
        if (node->kind == SAMBA_TOKENIZER__SET) {
            for (int i = 0; i < 4; i++)
                starts[i] |= x->set[node->set].ascii[i];
            if (node->min > 0) return;
        } else if (node->kind == SAMBA_TOKENIZER__EITHER) {
            for (; node->sibling >= 0; node = &x->node[node->sibling])
                samba_tokenizer__add_starts(x, node->first, starts);
            samba_tokenizer__add_starts(x, node->first, starts);
            return;
        }
    }
    memset(starts, 0xFF, 4 * sizeof *starts); /* it may match nothing */
}

static void samba_tokenizer__free_pattern(samba_tokenizer__pattern *x)
{
    if (!x) return;
    SAMBA_TOKENIZER_FREE(x->node);
    SAMBA_TOKENIZER_FREE(x->set);
    SAMBA_TOKENIZER_FREE(x->range);
    SAMBA_TOKENIZER_FREE(x);
}

/* A pattern from its text, to be freed; NULL with the reason. */
static samba_tokenizer__pattern *samba_tokenizer__compile(const char *text,
                                                          const samba_tokenizer__report *r)
{
    samba_tokenizer__pattern *x = (samba_tokenizer__pattern *)SAMBA_TOKENIZER_MALLOC(sizeof *x);
    if (!x) {
        samba_tokenizer__no_memory(r);
        return NULL;
    }
    memset(x, 0, sizeof *x);

    samba_tokenizer__parser ps = { x, text, text, r, false, 0 };
    int join;
    bool done = samba_tokenizer__parse_either(&ps, &x->first, &join)
        && (!*ps.p || samba_tokenizer__unknown(&ps, ") without ("));
    if (done) {
        samba_tokenizer__add_starts(x, x->first, x->starts);
        return x;
    }
    samba_tokenizer__free_pattern(x);
    return NULL;
}
