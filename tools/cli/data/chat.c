// Conversations, lines of role and content, as prompts and completions by a chat template.
#define SAMBA_CHAT_TEMPLATE_IMPLEMENTATION
#include "chat.h"
#include "tools/cli/util/text.h"
#include <stdlib.h>
#include <string.h>

// ---- The template -------------------------------------------------------------------------------

// chat_template of tokenizer_config.json: a text, or a list of named ones, of which "default".
static const char *template_of_config(const cJSON *config)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(config, "chat_template"), *one;
    if (cJSON_IsString(item)) return item->valuestring;
    cJSON_ArrayForEach(one, item)
    {
        const cJSON *name = cJSON_GetObjectItemCaseSensitive(one, "name");
        const cJSON *text = cJSON_GetObjectItemCaseSensitive(one, "template");
        if (cJSON_IsString(name) && strcmp(name->valuestring, "default") == 0
            && cJSON_IsString(text))
            return text->valuestring;
    }
    return NULL;
}

static bool compile(chat *c, const char *text, size_t size, const char *path, fault *why)
{
    char reason[512];
    c->template = samba_chat_open(text, size, reason, sizeof reason);
    return c->template || fail(why, "%s: %s", path, reason);
}

// The special tokens by their keys, which templates ask for.
static bool take_tokens(chat *c, const cJSON *json)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, json)
    {
        size_t n = strlen(item->string);
        const cJSON *text
            = cJSON_IsObject(item) ? cJSON_GetObjectItemCaseSensitive(item, "content") : item;
        bool is_token = n > 6 && strcmp(item->string + n - 6, "_token") == 0;
        if (!is_token || !cJSON_IsString(text)) continue;
        cJSON_DeleteItemFromObjectCaseSensitive(c->variables, item->string);
        if (!cJSON_AddStringToObject(c->variables, item->string, text->valuestring)) return false;
    }
    return true;
}

static bool open_template(chat *c, const vocabulary *v, const cJSON *config, fault *why)
{
    char path[PATH_SIZE];
    size_t size;
    if (!make_path(path, why, "%s/chat_template.jinja", v->folder)) return false;
    if (is_file(path)) {
        char *text = read_file(path, &size, why);
        bool ok = text && compile(c, text, size, path, why);
        free(text);
        return ok;
    }
    const char *text = template_of_config(config);
    if (!text)
        return fail(why,
                    "--apply_chat_template: %s has no chat_template.jinja, and no chat_template in "
                    "tokenizer_config.json",
                    v->folder);
    return make_path(path, why, "%s/tokenizer_config.json", v->folder)
        && compile(c, text, strlen(text), path, why);
}

bool chat_open(chat *c, const vocabulary *v, fault *why)
{
    cJSON *config = NULL, *map = NULL;
    *c = (chat){ .variables = cJSON_CreateObject() };
    bool ok = vocabulary_read_json(v->folder, "tokenizer_config.json", &config, why)
        && vocabulary_read_json(v->folder, "special_tokens_map.json", &map, why)
        && open_template(c, v, config, why);
    if (ok && !(c->variables && take_tokens(c, map) && take_tokens(c, config)))
        ok = fail(why, "no memory for the chat template");
    cJSON_Delete(config);
    cJSON_Delete(map);
    if (!ok) chat_close(c);
    return ok;
}

void chat_close(chat *c)
{
    samba_chat_close(c->template);
    cJSON_Delete(c->variables);
    *c = (chat){ .template = NULL };
}

// ---- One line -----------------------------------------------------------------------------------

typedef struct conversation {
    const chat *chat;
    const cJSON *messages;
    const cJSON *more; // the object that has them, or NULL
    int n;
    char *whole; // what the template makes of all messages
    size_t whole_size;
    bool no_memory;
    char *why;
    size_t why_size;
} conversation;

static bool says(conversation *t, const char *text)
{
    snprintf(t->why, t->why_size, "%s", text);
    return false;
}

// The variables of the template, with the first n messages; NULL: no memory.
static cJSON *variables_of(const conversation *t, int n, bool asks)
{
    cJSON *variables = cJSON_Duplicate(t->chat->variables, true);
    cJSON *some = variables ? cJSON_AddArrayToObject(variables, "messages") : NULL;
    bool ok = some && cJSON_AddBoolToObject(variables, "add_generation_prompt", asks);
    const cJSON *one = t->messages->child, *item;
    for (int i = 0; ok && i < n; i++) {
        ok = cJSON_AddItemReferenceToArray(some, (cJSON *)(uintptr_t)one);
        one = one->next;
    }
    cJSON_ArrayForEach(item, t->more)
    {
        if (!ok || item == t->messages) continue;
        ok = cJSON_AddItemReferenceToObject(variables, item->string, (cJSON *)(uintptr_t)item);
    }
    if (ok) return variables;
    cJSON_Delete(variables);
    return NULL;
}

// The text of the first n messages; asks: and of the words that begin an answer. To be freed.
static char *render(conversation *t, int n, bool asks, size_t *size)
{
    cJSON *variables = variables_of(t, n, asks);
    char *text = NULL;
    if (variables)
        text = samba_chat_apply(t->chat->template, variables, size, t->why, t->why_size);
    else
        t->no_memory = !says(t, "no memory for a conversation");
    cJSON_Delete(variables);
    return text;
}

// Whether the first n messages are a beginning of the whole; where it ends. False with *failed: it
// could not be told.
static bool begins(conversation *t, int n, bool asks, size_t *end, bool *failed)
{
    char *text = render(t, n, asks, end);
    if (!text) {
        *failed = true;
        return false;
    }
    bool is = *end <= t->whole_size && memcmp(text, t->whole, *end) == 0;
    free(text);
    return is;
}

static bool is_answer(const cJSON *message)
{
    const cJSON *role = cJSON_GetObjectItemCaseSensitive(message, "role");
    return strcmp(role->valuestring, "assistant") == 0;
}

static bool add_pair(conversation *t, prep_pairs *pairs, size_t from, size_t middle, size_t to)
{
    if (pairs->n == pairs->cap) {
        int64_t cap = pairs->cap ? 2 * pairs->cap : 16;
        prep_pair *at = realloc(pairs->at, (size_t)cap * sizeof *at);
        if (at) pairs->at = at;
        prep_offsets *offset = realloc(pairs->offset, (size_t)cap * sizeof *offset);
        if (offset) pairs->offset = offset;
        t->no_memory = !at || !offset;
        if (t->no_memory) return says(t, "no memory for the pairs");
        pairs->cap = cap;
    }
    const char *text = pairs->text.at;
    pairs->at[pairs->n++] = (prep_pair){ { text + from, middle - from },
                                         { text + middle, to - middle },
                                         PREP_NO_CATEGORY };
    return true;
}

// Cuts the whole at the answers, all or only the last one. False with *failed: it could not be
// done; else: the template writes an answer in another way when more follows.
static bool cut(conversation *t, prep_pairs *pairs, int first, bool *failed)
{
    size_t from = 0;
    const cJSON *message = cJSON_GetArrayItem(t->messages, first);
    pairs->n = 0;
    for (int i = first; i < t->n; i++) {
        size_t middle, to = t->whole_size;
        bool answers = is_answer(message);
        message = message->next;
        if (!answers) continue;
        if (!begins(t, i, true, &middle, failed)) return false;
        if (i + 1 < t->n && !begins(t, i + 1, false, &to, failed)) return false;
        if (middle < from || to < middle) return false;
        *failed = !add_pair(t, pairs, from, middle, to);
        if (*failed) return false;
        from = to;
    }
    if (from == t->whole_size) return true;
    *failed = !add_pair(t, pairs, from, t->whole_size, t->whole_size);
    return !*failed;
}

// What follows the last answer asks for one that is not there: it is left out.
static bool check_messages(conversation *t)
{
    const cJSON *message;
    int n = 0, answered = 0;
    cJSON_ArrayForEach(message, t->messages)
    {
        if (!cJSON_IsString(cJSON_GetObjectItemCaseSensitive(message, "role")))
            return says(t, "a message is no object with a role that is a text");
        n++;
        if (is_answer(message)) answered = n;
    }
    t->n = answered ? answered : n;
    return n > 0 || says(t, "there is no message");
}

static bool parse(conversation *t, prep_pairs *pairs)
{
    bool failed = false;
    if (!check_messages(t)) return false;
    t->whole = render(t, t->n, false, &t->whole_size);
    if (!t->whole) return false;
    if (!prep_bytes_add(&pairs->text, t->whole, t->whole_size)) {
        t->no_memory = true;
        return says(t, "no memory for a conversation");
    }

    if (cut(t, pairs, 0, &failed)) return true;
    if (!failed && cut(t, pairs, t->n - 1, &failed)) return true; /* the last answer alone */
    return failed ? false
                  : says(t,
                         "the chat template does not begin this conversation with the words in "
                         "which it asks for the answer, so the answer cannot be told");
}

bool chat_parse_line(const chat *c, const char *line, size_t size, prep_pairs *pairs, bool *fatal,
                     char *why, size_t why_size)
{
    conversation t = { .chat = c, .why = why, .why_size = why_size };
    cJSON *json = cJSON_ParseWithLength(line, size);
    bool is_object = cJSON_IsObject(json);
    t.messages = is_object ? cJSON_GetObjectItemCaseSensitive(json, "messages") : json;
    t.more = is_object ? json : NULL;
    pairs->n = 0;
    pairs->text.size = 0;

    bool ok = cJSON_IsArray(t.messages)
        || says(&t,
                json ? "expected {\"messages\": [...]}, or a list of messages" : "this is no JSON");
    ok = ok && parse(&t, pairs);
    *fatal = t.no_memory;
    free(t.whole);
    cJSON_Delete(json);
    return ok;
}
