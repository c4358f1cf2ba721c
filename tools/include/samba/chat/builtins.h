/* builtins.h - of chat_template.h: filters, tests, functions and methods. */

enum { SAMBA_CHAT__MAX_ARGUMENTS = 8 };

/* The arguments of a call: those without a name, and those with one. */
typedef struct samba_chat__arguments {
    samba_chat__value at[SAMBA_CHAT__MAX_ARGUMENTS];
    int n;
    samba_chat__variable named[SAMBA_CHAT__MAX_ARGUMENTS];
    int n_named;
} samba_chat__arguments;

static bool samba_chat__named_is(samba_chat__value v, const char *name)
{
    return samba_chat__is(v.text, v.size, name);
}

/* An argument by its place or its name; NULL: not given. */
static const samba_chat__value *samba_chat__argument(const samba_chat__arguments *a, int place,
                                                     const char *name)
{
    for (int i = 0; i < a->n_named; i++)
        if (samba_chat__is(a->named[i].name, a->named[i].size, name)) return &a->named[i].value;
    return place < a->n ? &a->at[place] : NULL;
}

/* ---- Texts ----------------------------------------------------------------------------------- */

/* Spaces as Python strips them, those of ASCII, or characters of a set. */
static bool samba_chat__strips(char c, const samba_chat__value *set)
{
    if (!set) return c && strchr(" \t\n\r\v\f\x1C\x1D\x1E\x1F", c);
    return c && memchr(set->text, c, set->size);
}

/* Whitespace of Unicode at a place: its size; 0: none. last: it ends there. */
static size_t samba_chat__wide_space(const char *p, size_t left, bool last)
{
    static const char *const spaces[]
        = { "\xC2\x85",     "\xC2\xA0",     "\xE1\x9A\x80", "\xE2\x80\x80", "\xE2\x80\x81",
            "\xE2\x80\x82", "\xE2\x80\x83", "\xE2\x80\x84", "\xE2\x80\x85", "\xE2\x80\x86",
            "\xE2\x80\x87", "\xE2\x80\x88", "\xE2\x80\x89", "\xE2\x80\x8A", "\xE2\x80\xA8",
            "\xE2\x80\xA9", "\xE2\x80\xAF", "\xE2\x81\x9F", "\xE3\x80\x80" };
    for (size_t i = 0; i < sizeof spaces / sizeof spaces[0]; i++) {
        size_t n = strlen(spaces[i]);
        if (n <= left && memcmp(last ? p - n : p, spaces[i], n) == 0) return n;
    }
    return 0;
}

static samba_chat__value samba_chat__strip(samba_chat__run *r, samba_chat__value v,
                                           const samba_chat__value *set, bool left, bool right)
{
    if (set && set->kind != CHAT__IS_TEXT) return samba_chat__fail(r, "strip of what is no text");
    for (size_t i = 0; set && i < set->size; i++)
        if ((uint8_t)set->text[i] >= 0x80)
            return samba_chat__fail(r, "strip of characters beyond ASCII is not known here");
    while (left && v.size > 0) {
        size_t n = samba_chat__strips(v.text[0], set) ? 1 : 0;
        if (!n && !set) n = samba_chat__wide_space(v.text, v.size, false);
        if (!n) break;
        v.text += n;
        v.size -= n;
    }
    while (right && v.size > 0) {
        size_t n = samba_chat__strips(v.text[v.size - 1], set) ? 1 : 0;
        if (!n && !set) n = samba_chat__wide_space(v.text + v.size, v.size, true);
        if (!n) break;
        v.size -= n;
    }
    return v;
}

/* Where a text is in another from a place on; size: nowhere. */
static size_t samba_chat__search(samba_chat__value in, samba_chat__value sought, size_t from)
{
    for (size_t i = from; sought.size <= in.size && i <= in.size - sought.size; i++)
        if (memcmp(in.text + i, sought.text, sought.size) == 0) return i;
    return in.size;
}

static samba_chat__value samba_chat__replace(samba_chat__run *r, samba_chat__value v,
                                             const samba_chat__arguments *a)
{
    samba_chat__output out = { NULL, 0, 0 };
    if (a->n != 2 || a->at[0].kind != CHAT__IS_TEXT || a->at[1].kind != CHAT__IS_TEXT
        || !a->at[0].size)
        return samba_chat__fail(r, "replace wants two texts, the first not empty");
    size_t from = 0;
    for (;;) {
        size_t at = samba_chat__search(v, a->at[0], from);
        if (at == v.size) break;
        samba_chat__write(r, &out, v.text + from, at - from);
        samba_chat__write(r, &out, a->at[1].text, a->at[1].size);
        from = at + a->at[0].size;
    }
    samba_chat__write(r, &out, v.text + from, v.size - from);
    return samba_chat__written(r, &out);
}

/* split(): at runs of spaces; split(separator, most). */
static samba_chat__value samba_chat__split(samba_chat__run *r, samba_chat__value v,
                                           const samba_chat__arguments *a)
{
    samba_chat__value list = samba_chat__empty(r, CHAT__IS_LIST);
    int64_t most = a->n > 1 ? a->at[1].whole : -1;
    if (a->n > 0 && (a->at[0].kind != CHAT__IS_TEXT || !a->at[0].size))
        return samba_chat__fail(r, "split wants a text that is not empty");
    if (a->n > 0) {
        size_t from = 0, at;
        while (most != 0 && (at = samba_chat__search(v, a->at[0], from)) != v.size) {
            samba_chat__push(r, list, samba_chat__text(v.text + from, at - from));
            from = at + a->at[0].size;
            most -= most > 0;
        }
        samba_chat__push(r, list, samba_chat__text(v.text + from, v.size - from));
        return list;
    }

    for (;;) {
        v = samba_chat__strip(r, v, NULL, true, false);
        size_t n = 0;
        while (n < v.size && !samba_chat__strips(v.text[n], NULL)
               && !samba_chat__wide_space(v.text + n, v.size - n, false))
            n++;
        if (n == 0 || !samba_chat__push(r, list, samba_chat__text(v.text, n))) return list;
        v.text += n;
        v.size -= n;
    }
}

/* Letters of ASCII only: others are refused. mode: l, u, t (each word) or c (the first). */
static samba_chat__value samba_chat__change_case(samba_chat__run *r, samba_chat__value v, char mode)
{
    samba_chat__value made = samba_chat__copy(r, v.text, v.size);
    char *p = (char *)(uintptr_t)made.text;
    bool begins = true;
    for (size_t i = 0; i < made.size && !r->failed; i++) {
        bool small = p[i] >= 'a' && p[i] <= 'z', big = p[i] >= 'A' && p[i] <= 'Z';
        if ((uint8_t)p[i] >= 0x80)
            return samba_chat__fail(r, "the case of letters beyond ASCII is not known here");
        bool up = mode == 'u' || (mode == 't' && begins) || (mode == 'c' && i == 0);
        if (up && small) p[i] = (char)(p[i] - 32);
        if (!up && big) p[i] = (char)(p[i] + 32);
        begins = !small && !big;
    }
    return made;
}

static samba_chat__value samba_chat__join(samba_chat__run *r, samba_chat__value list,
                                          samba_chat__value between)
{
    samba_chat__output out = { NULL, 0, 0 };
    if (list.kind != CHAT__IS_LIST || between.kind != CHAT__IS_TEXT)
        return samba_chat__fail(r, "join of %s by %s", samba_chat__name_of(list),
                                samba_chat__name_of(between));
    for (size_t i = 0; i < list.items->n; i++) {
        if (i) samba_chat__write(r, &out, between.text, between.size);
        samba_chat__print(r, &out, list.items->at[i]);
    }
    return samba_chat__written(r, &out);
}

/* ---- Lists and dicts ------------------------------------------------------------------------- */

/* what: i (pairs), k (keys) or v (values). */
static samba_chat__value samba_chat__of_dict(samba_chat__run *r, samba_chat__value dict, char what)
{
    samba_chat__value list = samba_chat__empty(r, CHAT__IS_LIST);
    if (dict.kind != CHAT__IS_DICT)
        return samba_chat__fail(r, "items of %s", samba_chat__name_of(dict));
    for (size_t i = 0; i + 1 < dict.items->n && !r->failed; i += 2) {
        samba_chat__value one = dict.items->at[i + (what == 'v')];
        if (what == 'i') {
            one = samba_chat__empty(r, CHAT__IS_LIST);
            if (r->failed) break;
            samba_chat__push(r, one, dict.items->at[i]);
            samba_chat__push(r, one, dict.items->at[i + 1]);
        }
        samba_chat__push(r, list, one);
    }
    return list;
}

/* The elements of anything that can be gone through: characters of a text, keys of a dict. */
static samba_chat__value samba_chat__elements(samba_chat__run *r, samba_chat__value v)
{
    if (v.kind == CHAT__IS_LIST) return v;
    if (v.kind == CHAT__IS_DICT) return samba_chat__of_dict(r, v, 'k');
    samba_chat__value list = samba_chat__empty(r, CHAT__IS_LIST);
    if (v.kind == CHAT__IS_UNDEFINED) return list;
    if (v.kind != CHAT__IS_TEXT)
        return samba_chat__fail(r, "a loop over %s", samba_chat__name_of(v));
    for (size_t i = 0, n; i < v.size && !r->failed; i += n) {
        n = 1;
        while (i + n < v.size && ((uint8_t)v.text[i + n] & 0xC0) == 0x80)
            n++;
        samba_chat__push(r, list, samba_chat__text(v.text + i, n));
    }
    return list;
}

/* The member of a value: of a dict by its key; undefined if there is none. */
static samba_chat__value samba_chat__member(samba_chat__run *r, samba_chat__value of,
                                            samba_chat__value key)
{
    if (of.kind == CHAT__IS_DICT) {
        samba_chat__value *found = samba_chat__find(of, key);
        return found ? *found : samba_chat__of_kind(CHAT__IS_UNDEFINED);
    }
    if (of.kind == CHAT__IS_UNDEFINED)
        return samba_chat__fail(r, "a member of what is undefined is asked for");
    bool indexed = of.kind == CHAT__IS_LIST || of.kind == CHAT__IS_TEXT;
    if (!indexed || key.kind != CHAT__IS_INT) return samba_chat__of_kind(CHAT__IS_UNDEFINED);

    int64_t n = samba_chat__length(of), i = key.whole < 0 ? key.whole + n : key.whole;
    if (i < 0 || i >= n) return samba_chat__of_kind(CHAT__IS_UNDEFINED);
    if (of.kind == CHAT__IS_LIST) return of.items->at[i];
    size_t begin = samba_chat__place_of(of, i), end = samba_chat__place_of(of, i + 1);
    return samba_chat__text(of.text + begin, end - begin);
}

static bool samba_chat__contains(samba_chat__run *r, samba_chat__value in, samba_chat__value v)
{
    if (in.kind == CHAT__IS_TEXT && v.kind == CHAT__IS_TEXT)
        return v.size == 0 || samba_chat__search(in, v, 0) < in.size;
    if (in.kind == CHAT__IS_DICT) return samba_chat__find(in, v) != NULL;
    if (in.kind == CHAT__IS_UNDEFINED) return false;
    if (in.kind != CHAT__IS_LIST) {
        samba_chat__fail(r, "%s in %s", samba_chat__name_of(v), samba_chat__name_of(in));
        return false;
    }
    for (size_t i = 0; i < in.items->n; i++)
        if (samba_chat__equal(in.items->at[i], v)) return true;
    return false;
}

/* ---- Tests ----------------------------------------------------------------------------------- */

static bool samba_chat__test(samba_chat__run *r, samba_chat__value v, samba_chat__value name,
                             const samba_chat__arguments *a)
{
    samba_chat__kind kind = v.kind;
    bool has_items = kind == CHAT__IS_TEXT || kind == CHAT__IS_LIST || kind == CHAT__IS_DICT;
    samba_chat__value other = a->n ? a->at[0] : samba_chat__of_kind(CHAT__IS_UNDEFINED);
    if (samba_chat__named_is(name, "defined")) return kind != CHAT__IS_UNDEFINED;
    if (samba_chat__named_is(name, "undefined")) return kind == CHAT__IS_UNDEFINED;
    if (samba_chat__named_is(name, "none")) return kind == CHAT__IS_NONE;
    if (samba_chat__named_is(name, "boolean")) return kind == CHAT__IS_BOOL;
    if (samba_chat__named_is(name, "true")) return kind == CHAT__IS_BOOL && v.whole;
    if (samba_chat__named_is(name, "false")) return kind == CHAT__IS_BOOL && !v.whole;
    if (samba_chat__named_is(name, "string")) return kind == CHAT__IS_TEXT;
    if (samba_chat__named_is(name, "number")) return samba_chat__is_number(v);
    if (samba_chat__named_is(name, "integer")) return kind == CHAT__IS_INT;
    if (samba_chat__named_is(name, "mapping")) return kind == CHAT__IS_DICT && !v.is_space;
    if (samba_chat__named_is(name, "iterable")) return has_items || kind == CHAT__IS_UNDEFINED;
    if (samba_chat__named_is(name, "sequence")) return has_items || kind == CHAT__IS_UNDEFINED;
    if (samba_chat__named_is(name, "in")) return samba_chat__contains(r, other, v);
    if (samba_chat__named_is(name, "eq") || samba_chat__named_is(name, "equalto"))
        return samba_chat__equal(v, other);

    bool whole = kind == CHAT__IS_INT;
    if (!whole)
        samba_chat__fail(r, "%.*s of %s", (int)name.size, name.text, samba_chat__name_of(v));
    if (samba_chat__named_is(name, "even")) return whole && v.whole % 2 == 0;
    if (samba_chat__named_is(name, "odd")) return whole && v.whole % 2 != 0;
    if (other.kind != CHAT__IS_INT || other.whole == 0 || other.whole == -1)
        samba_chat__fail(r, "divisibleby wants a number other than 0 and -1");
    return !r->failed && v.whole % other.whole == 0;
}

/* ---- Filters --------------------------------------------------------------------------------- */

/* map(attribute=..), selectattr(name, test, value) and rejectattr. */
static samba_chat__value samba_chat__select(samba_chat__run *r, samba_chat__value v,
                                            samba_chat__value name, const samba_chat__arguments *a)
{
    bool maps = samba_chat__named_is(name, "map");
    bool wanted = samba_chat__named_is(name, "selectattr");
    const samba_chat__value *key = samba_chat__argument(a, maps ? 99 : 0, "attribute");
    samba_chat__value from = samba_chat__elements(r, v), list = samba_chat__empty(r, CHAT__IS_LIST);
    if (r->failed) return list;
    if (!key || key->kind != CHAT__IS_TEXT)
        return samba_chat__fail(r, "%.*s without the name of a member", (int)name.size, name.text);
    bool known = a->n < 2
        || (a->at[1].kind == CHAT__IS_TEXT
            && samba_chat__lists(samba_chat__tests, a->at[1].text, a->at[1].size));
    if (!known) return samba_chat__fail(r, "selectattr: a test that is not known here");

    for (size_t i = 0; i < from.items->n && !r->failed; i++) {
        samba_chat__value one = from.items->at[i], member = samba_chat__member(r, one, *key);
        samba_chat__arguments rest;
        memset(&rest, 0, sizeof rest);
        if (a->n > 2) rest.at[rest.n++] = a->at[2];
        bool is = maps
            || (a->n < 2 ? samba_chat__is_true(member)
                         : samba_chat__test(r, member, a->at[1], &rest));
        if (maps)
            samba_chat__push(r, list, member);
        else if (is == wanted)
            samba_chat__push(r, list, one);
    }
    return list;
}

/* The filters whose values are texts. */
static samba_chat__value samba_chat__filter_text(samba_chat__run *r, samba_chat__value v,
                                                 samba_chat__value name,
                                                 const samba_chat__arguments *a)
{
    samba_chat__output out = { NULL, 0, 0 };
    if (v.kind != CHAT__IS_TEXT) {
        samba_chat__print(r, &out, v);
        v = samba_chat__written(r, &out);
    }
    if (samba_chat__named_is(name, "trim"))
        return samba_chat__strip(r, v, samba_chat__argument(a, 0, "chars"), true, true);
    if (samba_chat__named_is(name, "lower")) return samba_chat__change_case(r, v, 'l');
    if (samba_chat__named_is(name, "upper")) return samba_chat__change_case(r, v, 'u');
    if (samba_chat__named_is(name, "title")) return samba_chat__change_case(r, v, 't');
    if (samba_chat__named_is(name, "capitalize")) return samba_chat__change_case(r, v, 'c');
    if (samba_chat__named_is(name, "replace")) return samba_chat__replace(r, v, a);
    return v; /* string, safe */
}

static samba_chat__value samba_chat__to_json(samba_chat__run *r, samba_chat__value v,
                                             const samba_chat__arguments *a)
{
    samba_chat__output out = { NULL, 0, 0 };
    const samba_chat__value *indent = samba_chat__argument(a, 99, "indent");
    for (int i = 0; i < a->n_named; i++)
        if (!samba_chat__is(a->named[i].name, a->named[i].size, "indent")
            && !samba_chat__is(a->named[i].name, a->named[i].size, "ensure_ascii"))
            samba_chat__fail(r, "tojson: known here are indent and ensure_ascii=false");
    const samba_chat__value *ascii = samba_chat__argument(a, 99, "ensure_ascii");
    if (a->n || (ascii && samba_chat__is_true(*ascii)))
        samba_chat__fail(r, "tojson: known here are indent and ensure_ascii=false");
    bool on_lines
        = indent && indent->kind == CHAT__IS_INT && indent->whole >= 0 && indent->whole <= 16;
    samba_chat__write_json(r, &out, v, on_lines ? indent->whole : -1, 0);
    return samba_chat__written(r, &out);
}

static samba_chat__value samba_chat__to_int(samba_chat__run *r, samba_chat__value v)
{
    if (v.kind == CHAT__IS_INT || v.kind == CHAT__IS_BOOL) return samba_chat__int(v.whole);
    if (v.kind != CHAT__IS_TEXT || v.size > 15)
        return samba_chat__fail(r, "int of %s", samba_chat__name_of(v));
    char text[16] = "", *stop;
    memcpy(text, v.text, v.size);
    long long whole = strtoll(text, &stop, 10);
    return samba_chat__int(*stop || !v.size ? 0 : whole);
}

static samba_chat__value samba_chat__filter(samba_chat__run *r, samba_chat__value v,
                                            samba_chat__value name, const samba_chat__arguments *a)
{
    if (samba_chat__lists("trim lower upper title capitalize replace string safe", name.text,
                          name.size))
        return samba_chat__filter_text(r, v, name, a);
    if (samba_chat__lists("map selectattr rejectattr", name.text, name.size))
        return samba_chat__select(r, v, name, a);
    if (samba_chat__named_is(name, "tojson")) return samba_chat__to_json(r, v, a);
    if (samba_chat__named_is(name, "int")) return samba_chat__to_int(r, v);
    if (samba_chat__named_is(name, "items")) {
        if (v.kind == CHAT__IS_UNDEFINED) return samba_chat__empty(r, CHAT__IS_LIST);
        return samba_chat__of_dict(r, v, 'i');
    }
    if (samba_chat__named_is(name, "default") || samba_chat__named_is(name, "d")) {
        const samba_chat__value *other = samba_chat__argument(a, 0, "default_value");
        const samba_chat__value *falsy = samba_chat__argument(a, 1, "boolean");
        bool takes = v.kind == CHAT__IS_UNDEFINED
            || (falsy && samba_chat__is_true(*falsy) && !samba_chat__is_true(v));
        return takes ? other ? *other : samba_chat__text("", 0) : v;
    }
    if (samba_chat__named_is(name, "length") || samba_chat__named_is(name, "count")) {
        int64_t n = samba_chat__length(v);
        return n < 0 ? samba_chat__fail(r, "length of %s", samba_chat__name_of(v))
                     : samba_chat__int(n);
    }

    samba_chat__value list = samba_chat__elements(r, v);
    if (r->failed) return list;
    size_t n = list.items->n;
    if (samba_chat__named_is(name, "join"))
        return samba_chat__join(r, list, a->n ? a->at[0] : samba_chat__text("", 0));
    if (samba_chat__named_is(name, "first"))
        return n ? list.items->at[0] : samba_chat__of_kind(CHAT__IS_UNDEFINED);
    if (samba_chat__named_is(name, "last"))
        return n ? list.items->at[n - 1] : samba_chat__of_kind(CHAT__IS_UNDEFINED);
    samba_chat__value made = samba_chat__empty(r, CHAT__IS_LIST);
    bool reversed = samba_chat__named_is(name, "reverse");
    for (size_t i = 0; i < n && !r->failed; i++)
        samba_chat__push(r, made, list.items->at[reversed ? n - 1 - i : i]);
    if (reversed && v.kind == CHAT__IS_TEXT)
        return samba_chat__join(r, made, samba_chat__text("", 0));
    return made;
}

/* ---- Functions and methods ------------------------------------------------------------------- */

static samba_chat__value samba_chat__range(samba_chat__run *r, const samba_chat__arguments *a)
{
    int64_t from = a->n > 1 ? a->at[0].whole : 0, to = a->n > 1 ? a->at[1].whole : a->at[0].whole;
    int64_t step = a->n > 2 ? a->at[2].whole : 1;
    samba_chat__value list = samba_chat__empty(r, CHAT__IS_LIST);
    for (int i = 0; i < a->n; i++)
        if (a->at[i].kind != CHAT__IS_INT || a->at[i].whole > 1 << 30
            || a->at[i].whole < -(1 << 30))
            return samba_chat__fail(r, "range of what is no number up to 2^30");
    if (a->n < 1 || a->n > 3 || step == 0) return samba_chat__fail(r, "range: wrong arguments");
    for (int64_t i = from; (step > 0 ? i < to : i > to) && !r->failed; i += step)
        samba_chat__push(r, list, samba_chat__int(i));
    return list;
}

static samba_chat__value samba_chat__call_function(samba_chat__run *r, samba_chat__value name,
                                                   const samba_chat__arguments *a)
{
    if (samba_chat__named_is(name, "raise_exception")) {
        bool said = a->n && a->at[0].kind == CHAT__IS_TEXT;
        int n = said && a->at[0].size < 200 ? (int)a->at[0].size : said ? 200 : 0;
        return samba_chat__fail(r, "it refuses these messages: %.*s", n, said ? a->at[0].text : "");
    }
    if (samba_chat__named_is(name, "range")) return samba_chat__range(r, a);
    if (samba_chat__named_is(name, "strftime_now")) {
        char text[200], format[100];
        time_t now = time(NULL);
        const struct tm *local = localtime(&now);
        if (a->n != 1 || a->at[0].kind != CHAT__IS_TEXT || a->at[0].size >= sizeof format || !local)
            return samba_chat__fail(r, "strftime_now wants a short format");
        memcpy(format, a->at[0].text, a->at[0].size);
        format[a->at[0].size] = 0;
        return samba_chat__copy(r, text, strftime(text, sizeof text, format, local));
    }

    samba_chat__value dict = samba_chat__empty(r, CHAT__IS_DICT); /* namespace, dict */
    for (int i = 0; i < a->n_named && !r->failed; i++) {
        samba_chat__push(r, dict, samba_chat__text(a->named[i].name, a->named[i].size));
        samba_chat__push(r, dict, a->named[i].value);
    }
    dict.is_space = samba_chat__named_is(name, "namespace");
    if (a->n)
        return samba_chat__fail(r, "%.*s: name=value is what is known here", (int)name.size,
                                name.text);
    return dict;
}

static const char samba_chat__functions[] = "dict namespace raise_exception range strftime_now";
static const char samba_chat__text_methods[]
    = "strip lstrip rstrip split startswith endswith replace lower upper title find join";

static samba_chat__value samba_chat__call_text(samba_chat__run *r, samba_chat__value name,
                                               samba_chat__value v, const samba_chat__arguments *a)
{
    const samba_chat__value *first = a->n ? &a->at[0] : NULL;
    if (samba_chat__named_is(name, "strip")) return samba_chat__strip(r, v, first, true, true);
    if (samba_chat__named_is(name, "lstrip")) return samba_chat__strip(r, v, first, true, false);
    if (samba_chat__named_is(name, "rstrip")) return samba_chat__strip(r, v, first, false, true);
    if (samba_chat__named_is(name, "split")) return samba_chat__split(r, v, a);
    if (samba_chat__named_is(name, "replace")) return samba_chat__replace(r, v, a);
    if (samba_chat__named_is(name, "lower")) return samba_chat__change_case(r, v, 'l');
    if (samba_chat__named_is(name, "upper")) return samba_chat__change_case(r, v, 'u');
    if (samba_chat__named_is(name, "title")) return samba_chat__change_case(r, v, 't');
    if (!first) return samba_chat__fail(r, "%.*s without an argument", (int)name.size, name.text);
    if (samba_chat__named_is(name, "join"))
        return samba_chat__join(r, samba_chat__elements(r, *first), v);
    if (first->kind != CHAT__IS_TEXT)
        return samba_chat__fail(r, "%.*s of %s", (int)name.size, name.text,
                                samba_chat__name_of(*first));

    if (samba_chat__named_is(name, "find")) {
        size_t at = samba_chat__search(v, *first, 0);
        bool found = at < v.size || first->size == 0;
        return samba_chat__int(found ? samba_chat__length(samba_chat__text(v.text, at)) : -1);
    }
    bool fits = first->size <= v.size;
    size_t at = fits && samba_chat__named_is(name, "endswith") ? v.size - first->size : 0;
    return samba_chat__bool(fits && memcmp(v.text + at, first->text, first->size) == 0);
}

static samba_chat__value samba_chat__call(samba_chat__run *r, samba_chat__value function,
                                          const samba_chat__arguments *a)
{
    if (r->failed) return function;
    if (function.kind != CHAT__IS_FUNCTION)
        return samba_chat__fail(r, "%s is called, which is no function known here",
                                samba_chat__name_of(function));
    if (!function.self) return samba_chat__call_function(r, function, a);
    if (function.self->kind == CHAT__IS_TEXT)
        return samba_chat__call_text(r, function, *function.self, a);
    if (!samba_chat__named_is(function, "get"))
        return samba_chat__of_dict(r, *function.self, function.text[0]);
    if (a->n < 1 || a->n > 2) return samba_chat__fail(r, "get wants a key, and perhaps a value");
    samba_chat__value *found = samba_chat__find(*function.self, a->at[0]);
    if (found) return *found;
    return a->n > 1 ? a->at[1] : samba_chat__of_kind(CHAT__IS_NONE);
}
