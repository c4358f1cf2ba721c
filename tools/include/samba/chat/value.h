/* value.h - of chat_template.h: the values of a run, and the memory that they live in.

   Nothing is freed before the end of the run; then all is. */

typedef enum samba_chat__kind {
    CHAT__IS_UNDEFINED,
    CHAT__IS_NONE,
    CHAT__IS_BOOL,
    CHAT__IS_INT,
    CHAT__IS_FLOAT,
    CHAT__IS_TEXT,
    CHAT__IS_LIST,
    CHAT__IS_DICT,
    CHAT__IS_FUNCTION /* by its name, and what it is a method of */
} samba_chat__kind;

typedef struct samba_chat__value samba_chat__value;

/* The elements of a list; keys and values of a dict, alternating. */
typedef struct samba_chat__items_of {
    samba_chat__value *at;
    size_t n, cap;
} samba_chat__items_of;

struct samba_chat__value {
    samba_chat__kind kind;
    int64_t whole; /* of BOOL and INT */
    double number; /* of FLOAT */
    const char *text;
    size_t size; /* of TEXT, and of the name of FUNCTION */
    samba_chat__items_of *items;
    const samba_chat__value *self; /* of FUNCTION; NULL: it is no method */
    bool is_space;                 /* a namespace: its members may be set */
};

typedef struct samba_chat__block_of_memory {
    struct samba_chat__block_of_memory *before;
} samba_chat__block_of_memory;

/* A variable of a scope. */
typedef struct samba_chat__variable {
    const char *name;
    size_t size;
    samba_chat__value value;
} samba_chat__variable;

/* Bytes that grow. */
typedef struct samba_chat__output {
    char *at;
    size_t size, cap;
} samba_chat__output;

typedef enum samba_chat__flow { CHAT__GOES_ON, CHAT__BREAKS, CHAT__CONTINUES } samba_chat__flow;

enum { SAMBA_CHAT__MAX_STEPS = 20000000, SAMBA_CHAT__MAX_VARIABLES = 4096 };

#define SAMBA_CHAT__MAX_MEMORY ((size_t)1 << 28)

/* One run. */
typedef struct samba_chat__run {
    const samba_chat_template *t;
    samba_chat__block_of_memory *blocks;
    char *free_at;
    size_t free_size, used;
    samba_chat__variable *variable;
    int n_variables, scope; /* scope: the first variable of the present one */
    samba_chat__output *out;
    int32_t steps;
    samba_chat__flow flow;
    long line;
    bool failed;
    char *why;
    size_t why_size;
} samba_chat__run;

/* Keeps the first reason. Always a value that is undefined. */
static samba_chat__value samba_chat__fail(samba_chat__run *r, const char *format, ...)
{
    samba_chat__value none;
    memset(&none, 0, sizeof none);
    if (r->failed) return none;
    r->failed = true;
    if (!r->why || !r->why_size) return none;
    int n = snprintf(r->why, r->why_size, "line %ld of the chat template: ", r->line);
    if (n < 0 || (size_t)n >= r->why_size) return none;
    va_list list;
    va_start(list, format);
    (void)vsnprintf(r->why + n, r->why_size - (size_t)n, format, list);
    va_end(list);
    return none;
}

/* Memory until the end of the run; NULL: there is none, and the run has failed. */
static void *samba_chat__allocate(samba_chat__run *r, size_t size)
{
    size = (size + 15) / 16 * 16;
    if (r->failed) return NULL;
    if (size > r->free_size) {
        size_t block = size > 65536 ? size : 65536;
        samba_chat__block_of_memory *made = NULL;
        if (block < SAMBA_CHAT__MAX_MEMORY - r->used)
            made = (samba_chat__block_of_memory *)malloc(block + 16);
        if (!made) {
            samba_chat__fail(r, "out of memory, or above the limit of %lu bytes",
                             (unsigned long)SAMBA_CHAT__MAX_MEMORY);
            return NULL;
        }
        made->before = r->blocks;
        r->blocks = made;
        r->used += block;
        r->free_at = (char *)made + 16;
        r->free_size = block;
    }
    void *at = r->free_at;
    r->free_at += size;
    r->free_size -= size;
    return at;
}

/* ---- Making values --------------------------------------------------------------------------- */

static samba_chat__value samba_chat__of_kind(samba_chat__kind kind)
{
    samba_chat__value v;
    memset(&v, 0, sizeof v);
    v.kind = kind;
    return v;
}

static samba_chat__value samba_chat__bool(bool is)
{
    samba_chat__value v = samba_chat__of_kind(CHAT__IS_BOOL);
    v.whole = is;
    return v;
}

static samba_chat__value samba_chat__int(int64_t whole)
{
    samba_chat__value v = samba_chat__of_kind(CHAT__IS_INT);
    v.whole = whole;
    return v;
}

static samba_chat__value samba_chat__float(double number)
{
    samba_chat__value v = samba_chat__of_kind(CHAT__IS_FLOAT);
    v.number = number;
    return v;
}

/* A text that is not copied. */
static samba_chat__value samba_chat__text(const char *text, size_t size)
{
    samba_chat__value v = samba_chat__of_kind(CHAT__IS_TEXT);
    v.text = text;
    v.size = size;
    return v;
}

static samba_chat__value samba_chat__copy(samba_chat__run *r, const char *text, size_t size)
{
    char *at = (char *)samba_chat__allocate(r, size + 1);
    if (!at) return samba_chat__of_kind(CHAT__IS_UNDEFINED);
    memcpy(at, text, size);
    at[size] = 0;
    return samba_chat__text(at, size);
}

/* An empty list or dict. */
static samba_chat__value samba_chat__empty(samba_chat__run *r, samba_chat__kind kind)
{
    samba_chat__value v = samba_chat__of_kind(kind);
    v.items = (samba_chat__items_of *)samba_chat__allocate(r, sizeof *v.items);
    if (!v.items) return samba_chat__of_kind(CHAT__IS_UNDEFINED);
    memset(v.items, 0, sizeof *v.items);
    return v;
}

static bool samba_chat__push(samba_chat__run *r, samba_chat__value list, samba_chat__value v)
{
    samba_chat__items_of *items = list.items;
    if (r->failed) return false;
    if (items->n == items->cap) {
        size_t cap = items->cap ? 2 * items->cap : 4;
        samba_chat__value *at = (samba_chat__value *)samba_chat__allocate(r, cap * sizeof *at);
        if (!at) return false;
        if (items->n) memcpy(at, items->at, items->n * sizeof *at);
        items->at = at;
        items->cap = cap;
    }
    items->at[items->n++] = v;
    return true;
}

/* ---- Asking values --------------------------------------------------------------------------- */

static bool samba_chat__is_number(samba_chat__value v)
{
    return v.kind == CHAT__IS_INT || v.kind == CHAT__IS_BOOL || v.kind == CHAT__IS_FLOAT;
}

static double samba_chat__as_number(samba_chat__value v)
{
    return v.kind == CHAT__IS_FLOAT ? v.number : (double)v.whole;
}

static bool samba_chat__is_true(samba_chat__value v)
{
    switch (v.kind) {
    case CHAT__IS_UNDEFINED:
    case CHAT__IS_NONE:
        return false;
    case CHAT__IS_BOOL:
    case CHAT__IS_INT:
        return v.whole != 0;
    case CHAT__IS_FLOAT:
        return v.number != 0;
    case CHAT__IS_TEXT:
        return v.size > 0;
    case CHAT__IS_LIST:
    case CHAT__IS_DICT:
        return v.is_space || v.items->n > 0;
    case CHAT__IS_FUNCTION:
        return true;
    }
    return false;
}

static bool samba_chat__equal(samba_chat__value a, samba_chat__value b)
{
    if (samba_chat__is_number(a) && samba_chat__is_number(b))
        return samba_chat__as_number(a) == samba_chat__as_number(b);
    if (a.kind != b.kind) return false;
    if (a.kind == CHAT__IS_TEXT) return a.size == b.size && memcmp(a.text, b.text, a.size) == 0;
    if (a.kind == CHAT__IS_DICT && a.items != b.items) return false;
    if (a.kind != CHAT__IS_LIST) return a.items == b.items;
    if (a.items->n != b.items->n) return false;
    for (size_t i = 0; i < a.items->n; i++)
        if (!samba_chat__equal(a.items->at[i], b.items->at[i])) return false;
    return true;
}

/* The value of a key in a dict; NULL: none. */
static samba_chat__value *samba_chat__find(samba_chat__value dict, samba_chat__value key)
{
    for (size_t i = 0; i + 1 < dict.items->n; i += 2)
        if (samba_chat__equal(dict.items->at[i], key)) return &dict.items->at[i + 1];
    return NULL;
}

static const char *samba_chat__name_of(samba_chat__value v)
{
    static const char *const name[]
        = { "undefined", "none",   "a truth value", "a number",  "a number",
            "a text",    "a list", "a mapping",     "a function" };
    return name[v.kind];
}

/* How many characters or elements. -1: it has no length. */
static int64_t samba_chat__length(samba_chat__value v)
{
    int64_t n = 0;
    if (v.kind == CHAT__IS_LIST) return (int64_t)v.items->n;
    if (v.kind == CHAT__IS_DICT) return (int64_t)v.items->n / 2;
    if (v.kind == CHAT__IS_UNDEFINED) return 0;
    if (v.kind != CHAT__IS_TEXT) return -1;
    for (size_t i = 0; i < v.size; i++)
        n += ((uint8_t)v.text[i] & 0xC0) != 0x80;
    return n;
}

/* Where character i of a text begins; its size for i behind the last. */
static size_t samba_chat__place_of(samba_chat__value v, int64_t i)
{
    size_t at = 0;
    for (; at < v.size; at++)
        if (((uint8_t)v.text[at] & 0xC0) != 0x80 && i-- == 0) break;
    return at;
}

/* ---- Writing values -------------------------------------------------------------------------- */

static void samba_chat__write(samba_chat__run *r, samba_chat__output *out, const char *text,
                              size_t size)
{
    if (r->failed || size == 0) return;
    if (size >= out->cap - out->size) {
        size_t cap = 2 * out->cap + size + 256;
        char *grown = cap > SAMBA_CHAT__MAX_MEMORY ? NULL : (char *)realloc(out->at, cap);
        if (!grown) {
            samba_chat__fail(r, "out of memory, or a text above the limit");
            return;
        }
        out->at = grown;
        out->cap = cap;
    }
    memcpy(out->at + out->size, text, size);
    out->size += size;
    out->at[out->size] = 0;
}

/* A float as Python writes it: the fewest digits that read as the same number. */
static void samba_chat__spell_float(double x, char text[40])
{
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(text, 40, "%.*g", digits, x);
        if (samba_base_number(text, NULL) == x) break;
    }
    if (!strpbrk(text, ".eni")) strcat(text, ".0");
}

/* Any value but those that hold others, as {{ }} prints it. */
static void samba_chat__print(samba_chat__run *r, samba_chat__output *out, samba_chat__value v)
{
    char text[40] = "";
    switch (v.kind) {
    case CHAT__IS_UNDEFINED:
        break;
    case CHAT__IS_NONE:
        strcpy(text, "None");
        break;
    case CHAT__IS_BOOL:
        strcpy(text, v.whole ? "True" : "False");
        break;
    case CHAT__IS_INT:
        snprintf(text, sizeof text, "%lld", (long long)v.whole);
        break;
    case CHAT__IS_FLOAT:
        samba_chat__spell_float(v.number, text);
        break;
    case CHAT__IS_TEXT:
        samba_chat__write(r, out, v.text, v.size);
        break;
    default:
        samba_chat__fail(r, "%s is printed, which is not known here; use tojson",
                         samba_chat__name_of(v));
    }
    samba_chat__write(r, out, text, strlen(text));
}

/* ---- JSON ------------------------------------------------------------------------------------ */

/* A JSON value as one of the run; its texts stay where they are. */
static samba_chat__value samba_chat__of_json(samba_chat__run *r, const cJSON *json)
{
    if (cJSON_IsBool(json)) return samba_chat__bool(cJSON_IsTrue(json));
    if (cJSON_IsString(json)) return samba_chat__text(json->valuestring, strlen(json->valuestring));
    if (cJSON_IsNumber(json)) {
        double x = json->valuedouble;
        bool whole = x >= -9e15 && x <= 9e15 && x == (double)(int64_t)x;
        return whole ? samba_chat__int((int64_t)x) : samba_chat__float(x);
    }
    if (!cJSON_IsArray(json) && !cJSON_IsObject(json)) return samba_chat__of_kind(CHAT__IS_NONE);

    bool is_list = cJSON_IsArray(json);
    samba_chat__value v = samba_chat__empty(r, is_list ? CHAT__IS_LIST : CHAT__IS_DICT);
    for (const cJSON *i = json->child; i && !r->failed; i = i->next) {
        if (!is_list) samba_chat__push(r, v, samba_chat__text(i->string, strlen(i->string)));
        samba_chat__push(r, v, samba_chat__of_json(r, i));
    }
    return v;
}

static void samba_chat__write_json_text(samba_chat__run *r, samba_chat__output *out,
                                        samba_chat__value v)
{
    static const char special[] = "\"\\\n\r\t\b\f", letter[] = "\"\\nrtbf";
    samba_chat__write(r, out, "\"", 1);
    for (size_t i = 0; i < v.size; i++) {
        char c = v.text[i], text[8];
        const char *found = c ? strchr(special, c) : NULL;
        if (found)
            snprintf(text, sizeof text, "\\%c", letter[found - special]);
        else if ((uint8_t)c < 32)
            snprintf(text, sizeof text, "\\u%04x", (unsigned)(uint8_t)c);
        samba_chat__write(r, out, found || (uint8_t)c < 32 ? text : &c,
                          found || (uint8_t)c < 32 ? strlen(text) : 1);
    }
    samba_chat__write(r, out, "\"", 1);
}

static void samba_chat__new_line(samba_chat__run *r, samba_chat__output *out, int64_t indent,
                                 int depth)
{
    if (indent < 0) return;
    samba_chat__write(r, out, "\n", 1);
    for (int64_t i = 0; i < indent * depth; i++)
        samba_chat__write(r, out, " ", 1);
}

/* As Python's json.dumps(v, ensure_ascii=False, indent=indent); indent -1: on one line. */
static void samba_chat__write_json(samba_chat__run *r, samba_chat__output *out, samba_chat__value v,
                                   int64_t indent, int depth)
{
    bool is_dict = v.kind == CHAT__IS_DICT;
    if (depth > SAMBA_CHAT__MAX_DEPTH) samba_chat__fail(r, "tojson: too deep");
    if (r->failed) return;
    if (v.kind == CHAT__IS_NONE) samba_chat__write(r, out, "null", 4);
    if (v.kind == CHAT__IS_BOOL)
        samba_chat__write(r, out, v.whole ? "true" : "false", v.whole ? 4 : 5);
    if (v.kind == CHAT__IS_INT || v.kind == CHAT__IS_FLOAT) samba_chat__print(r, out, v);
    if (v.kind == CHAT__IS_TEXT) samba_chat__write_json_text(r, out, v);
    if (v.kind == CHAT__IS_UNDEFINED || v.kind == CHAT__IS_FUNCTION || v.is_space)
        samba_chat__fail(r, "tojson of %s", samba_chat__name_of(v));
    if (!is_dict && v.kind != CHAT__IS_LIST) return;

    samba_chat__write(r, out, is_dict ? "{" : "[", 1);
    for (size_t i = 0; i < v.items->n && !r->failed; i += 1 + is_dict) {
        if (i) samba_chat__write(r, out, indent < 0 ? ", " : ",", indent < 0 ? 2 : 1);
        samba_chat__new_line(r, out, indent, depth + 1);
        if (is_dict) {
            if (v.items->at[i].kind != CHAT__IS_TEXT)
                samba_chat__fail(r, "tojson: a key that is no text");
            samba_chat__write_json_text(r, out, v.items->at[i]);
            samba_chat__write(r, out, ": ", 2);
        }
        samba_chat__write_json(r, out, v.items->at[i + is_dict], indent, depth + 1);
    }
    if (v.items->n) samba_chat__new_line(r, out, indent, depth);
    samba_chat__write(r, out, is_dict ? "}" : "]", 1);
}

/* What was written, as a text of the run; frees out. */
static samba_chat__value samba_chat__written(samba_chat__run *r, samba_chat__output *out)
{
    samba_chat__value v = samba_chat__copy(r, out->at ? out->at : "", out->size);
    free(out->at);
    return v;
}
