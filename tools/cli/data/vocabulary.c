// The tokenizer's folder: tokenizer.json, vocab.json, merges.txt, tokenizer_config.json,
// special_tokens_map.json, added_tokens.json and config.json, as Hugging Face writes them.
#define SAMBA_TOKENIZER_IMPLEMENTATION
#include "vocabulary.h"
#include "tools/cli/util/text.h"
#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

static const char *const files_of_tokenizer[] = {
    "tokenizer.json",          "vocab.json",        "merges.txt",          "tokenizer_config.json",
    "special_tokens_map.json", "added_tokens.json", "chat_template.jinja", "config.json",
    "tokenizer.model",         "vocab.txt",
};

enum { N_FILES = sizeof files_of_tokenizer / sizeof *files_of_tokenizer };

// ---- Reading JSON files -------------------------------------------------------------------------

bool vocabulary_read_json(const char *folder, const char *name, cJSON **json, fault *why)
{
    char path[PATH_SIZE];
    size_t size;
    bool there;
    *json = NULL;
    if (!make_path(path, why, "%s/%s", folder, name)) return false;
    if (!look_for_file(path, &there, why)) return false;
    if (!there) return true;
    char *text = read_file(path, &size, why);
    if (!text) return false;
    *json = cJSON_ParseWithLength(text, size);
    free(text);
    return *json || fail(why, "%s: this is no JSON", path);
}

static bool write_json(const cJSON *json, const char *folder, const char *name, fault *why)
{
    char path[PATH_SIZE];
    if (!make_path(path, why, "%s/%s", folder, name)) return false;
    samba_base_output out;
    if (!begin_output(&out, path, why)) return false;
    char *text = cJSON_Print(json);
    if (text)
        fprintf(out.file, "%s\n", text);
    else
        fail(why, "%s: no memory to write it", path);
    bool whole = text != NULL;
    free(text);
    return end_output(&out, whole, why);
}

// A token is a text, or an object with its content.
static const char *token_text(const cJSON *token)
{
    if (cJSON_IsObject(token)) token = cJSON_GetObjectItemCaseSensitive(token, "content");
    return cJSON_IsString(token) ? token->valuestring : NULL;
}

// ---- Special tokens -----------------------------------------------------------------------------

static int32_t *special_id(vocabulary *v, const char *key)
{
    if (strcmp(key, "eos_token") == 0) return &v->eos;
    if (strcmp(key, "bos_token") == 0) return &v->bos;
    if (strcmp(key, "pad_token") == 0) return &v->pad;
    return NULL;
}

// The id of eos_token and the like; -1 for null. Neither file has the key: that of `by_default`.
// samba_tokenizer_open has seen to it that the files agree, and that every token has an id.
static int32_t take_special_token(const vocabulary *v, const cJSON *map, const cJSON *config,
                                  const char *key, const char *by_default)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(map, key);
    if (!item) item = cJSON_GetObjectItemCaseSensitive(config, key);
    const char *text = item ? token_text(item) : by_default;
    return text ? samba_tokenizer_id(v->tokenizer, text) : -1;
}

static bool is_special_key(const char *key)
{
    static const char *const keys[] = { "bos_token", "eos_token", "unk_token", "sep_token",
                                        "pad_token", "cls_token", "mask_token" };
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (strcmp(key, keys[i]) == 0) return true;
    return false;
}

static bool add_special(vocabulary *v, const char *key, const cJSON *token, fault *why)
{
    char reason[512];
    const char *text = token_text(token);
    if (!text || !*text)
        return fail(why, "--special_tokens_dict: the token of \"%s\" is no text", key);
    if (!samba_tokenizer_add_special(v->tokenizer, text, reason, sizeof reason))
        return fail(why, "--special_tokens_dict: %s", reason);
    int32_t *id = special_id(v, key);
    if (id) *id = samba_tokenizer_id(v->tokenizer, text);
    return true;
}

static bool add_special_tokens(vocabulary *v, const cJSON *dict, fault *why)
{
    const cJSON *item, *token;
    cJSON_ArrayForEach(item, dict)
    {
        bool several = strcmp(item->string, "additional_special_tokens") == 0;
        if (!several && !is_special_key(item->string))
            return fail(why,
                        "--special_tokens_dict: there is no key \"%s\"; there are bos_token, "
                        "eos_token, unk_token, sep_token, pad_token, cls_token, mask_token and "
                        "additional_special_tokens",
                        item->string);
        if (several && !cJSON_IsArray(item))
            return fail(why, "--special_tokens_dict: additional_special_tokens must be a list");
        if (!several && !add_special(v, item->string, item, why)) return false;
        if (several)
            cJSON_ArrayForEach(token,
                               item) if (!add_special(v, item->string, token, why)) return false;
    }
    return true;
}

static bool take_special_tokens_dict(vocabulary *v, const char *text, fault *why)
{
    if (!(v->special_tokens = strdup(text))) return fail(why, "no memory");
    for (char *p = v->special_tokens; *p; p++)
        if (*p == '\'') *p = '"';
    cJSON *dict = cJSON_Parse(v->special_tokens);
    bool ok = cJSON_IsObject(dict)
        ? add_special_tokens(v, dict, why)
        : fail(why, "--special_tokens_dict: this is no JSON object: %s", text);
    cJSON_Delete(dict);
    return ok;
}

// ---- What the tokenizer adds to every text ------------------------------------------------------

// Finds a processor of one type, also among those of a Sequence.
static const cJSON *find_processor(const cJSON *processor, const char *type)
{
    const cJSON *name = cJSON_GetObjectItemCaseSensitive(processor, "type"), *inner;
    if (cJSON_IsString(name) && strcmp(name->valuestring, type) == 0) return processor;
    cJSON_ArrayForEach(inner, cJSON_GetObjectItemCaseSensitive(processor, "processors"))
    {
        const cJSON *found = find_processor(inner, type);
        if (found) return found;
    }
    return NULL;
}

// A template is a list such as [<s>, A, </s>]; A is the text.
static bool take_template(vocabulary *v, const cJSON *template, fault *why)
{
    const cJSON *piece;
    bool behind = false;
    cJSON_ArrayForEach(piece, cJSON_GetObjectItemCaseSensitive(template, "single"))
    {
        const cJSON *special = cJSON_GetObjectItemCaseSensitive(piece, "SpecialToken");
        const cJSON *text = cJSON_GetObjectItemCaseSensitive(special, "id");
        if (!special) {
            behind = true;
            continue;
        }
        int32_t id
            = cJSON_IsString(text) ? samba_tokenizer_id(v->tokenizer, text->valuestring) : -1;
        if (id < 0 || (behind ? id != v->eos || v->adds_eos : id != v->bos || v->adds_bos))
            return fail(why,
                        "%s/tokenizer.json: its post_processor adds tokens to each text that "
                        "are not the bos_token before it and the eos_token behind it; that is "
                        "not supported",
                        v->folder);
        if (behind)
            v->adds_eos = true;
        else
            v->adds_bos = true;
    }
    return true;
}

static bool take_tokenizer_json(vocabulary *v, const cJSON *json, fault *why)
{
    const cJSON *model = cJSON_GetObjectItemCaseSensitive(json, "model");
    const cJSON *processor = cJSON_GetObjectItemCaseSensitive(json, "post_processor");
    const cJSON *template = find_processor(processor, "TemplateProcessing");
    v->size = cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(model, "vocab"));
    if (find_processor(processor, "RobertaProcessing")
        || find_processor(processor, "BertProcessing"))
        return fail(why, "%s/tokenizer.json: a post_processor of this type is not supported",
                    v->folder);
    return !template || take_template(v, template, why);
}

static bool take_config_flags(vocabulary *v, const cJSON *config, fault *why)
{
    v->adds_bos = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(config, "add_bos_token"));
    v->adds_eos = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(config, "add_eos_token"));
    if (v->adds_bos && v->bos < 0)
        return fail(why,
                    "%s/tokenizer_config.json: add_bos_token is true, but there is no "
                    "bos_token",
                    v->folder);
    return true;
}

// ---- The model ----------------------------------------------------------------------------------

// transformers names its classes by families whose capitals follow no rule.
static void take_model_type(vocabulary *v, const cJSON *config)
{
    static const char *const class_of[][2] = {
        { "gpt2", "GPT2" },        { "llama", "Llama" },
        { "mistral", "Mistral" },  { "mixtral", "Mixtral" },
        { "qwen2", "Qwen2" },      { "qwen3", "Qwen3" },
        { "opt", "OPT" },          { "bloom", "Bloom" },
        { "falcon", "Falcon" },    { "gpt_neo", "GPTNeo" },
        { "gpt_neox", "GPTNeoX" }, { "gptj", "GPTJ" },
        { "phi", "Phi" },          { "gemma", "Gemma" },
        { "codegen", "CodeGen" },  { "starcoder2", "Starcoder2" },
        { "roberta", "Roberta" },
    };
    const cJSON *type = cJSON_GetObjectItemCaseSensitive(config, "model_type");
    const char *name = cJSON_IsString(type) ? type->valuestring : "gpt2";
    char class[64];
    snprintf(class, sizeof class, "%s", name);
    *class = upper_letter(*class);
    for (size_t i = 0; i < sizeof class_of / sizeof *class_of; i++)
        if (strcmp(name, class_of[i][0]) == 0) snprintf(class, sizeof class, "%s", class_of[i][1]);
    snprintf(v->model_type, sizeof v->model_type,
             "<class 'transformers.models.%.40s.configuration_%.40s.%sConfig'>", name, name, class);
}

// ---- Opening ------------------------------------------------------------------------------------

static bool open_tokenizer(vocabulary *v, const char *path, fault *why)
{
    char reason[1024];
    if (!is_folder(path) && !is_file(path))
        return fail(why,
                    "--pretrained_tokenizer %s: there is no such folder. Names of the Hugging "
                    "Face hub are not looked up here: download tokenizer.json, vocab.json and "
                    "merges.txt, tokenizer.model or vocab.txt, and name their folder",
                    path);
    const char *slash = strrchr(path, '/');
    if (is_folder(path)) {
        if (!make_path(v->folder, why, "%s", path)) return false;
    } else {
        if (strcmp(slash ? slash + 1 : path, "tokenizer.json") != 0)
            return fail(why,
                        "--pretrained_tokenizer %s: expected a folder, or a tokenizer.json in "
                        "one",
                        path);
        if (!parent_of(v->folder, path, why)) return false;
    }
    v->tokenizer = samba_tokenizer_open(v->folder, reason, sizeof reason);
    return v->tokenizer || fail(why, "--pretrained_tokenizer: %s", reason);
}

// The file that holds the tokens: true if it is tokenizer.json.
static bool take_vocabulary_size(vocabulary *v, const cJSON *tokenizer, fault *why)
{
    cJSON *vocab;
    if (tokenizer) return take_tokenizer_json(v, tokenizer, why);
    if (!vocabulary_read_json(v->folder, "vocab.json", &vocab, why)) return false;
    v->size = vocab ? cJSON_GetArraySize(vocab) : samba_tokenizer_size(v->tokenizer);
    cJSON_Delete(vocab);
    return true;
}

static bool read_folder(vocabulary *v, fault *why)
{
    cJSON *map = NULL, *config = NULL, *model = NULL, *tokenizer = NULL;
    bool ok = vocabulary_read_json(v->folder, "special_tokens_map.json", &map, why)
        && vocabulary_read_json(v->folder, "tokenizer_config.json", &config, why)
        && vocabulary_read_json(v->folder, "config.json", &model, why)
        && vocabulary_read_json(v->folder, "tokenizer.json", &tokenizer, why);
    if (ok) {
        v->eos = take_special_token(v, map, config, "eos_token", "<|endoftext|>");
        v->bos = take_special_token(v, map, config, "bos_token", "<|endoftext|>");
        v->pad = take_special_token(v, map, config, "pad_token", NULL);
        v->cleans_up = !cJSON_IsFalse(
            cJSON_GetObjectItemCaseSensitive(config, "clean_up_tokenization_spaces"));
        take_model_type(v, model);
        ok = (tokenizer || take_config_flags(v, config, why))
            && take_vocabulary_size(v, tokenizer, why);
    }
    cJSON_Delete(map);
    cJSON_Delete(config);
    cJSON_Delete(model);
    cJSON_Delete(tokenizer);
    return ok;
}

bool vocabulary_open(vocabulary *v, const char *path, const char *special_tokens, fault *why)
{
    *v = (vocabulary){ .eos = -1, .bos = -1, .pad = -1 };
    bool ok = open_tokenizer(v, path, why) && read_folder(v, why)
        && (!special_tokens || take_special_tokens_dict(v, special_tokens, why));
    if (ok && v->eos < 0)
        ok = fail(why,
                  "%s: no eos_token is named in special_tokens_map.json or "
                  "tokenizer_config.json; name it with --special_tokens_dict "
                  "\"{'eos_token': '...'}\"",
                  v->folder);
    if (v->pad < 0) v->pad = v->eos;
    if (!ok) vocabulary_close(v);
    return ok;
}

void vocabulary_close(vocabulary *v)
{
    samba_tokenizer_close(v->tokenizer);
    free(v->special_tokens);
    v->tokenizer = NULL;
    v->special_tokens = NULL;
}

// ---- Saving -------------------------------------------------------------------------------------

static bool copy_files(const vocabulary *v, const char *folder, fault *why)
{
    char from[PATH_SIZE], to[PATH_SIZE];
    bool there;
    if (!make_folders(folder, why)) return false;
    for (int i = 0; i < N_FILES; i++)
        if (!make_path(from, why, "%s/%s", v->folder, files_of_tokenizer[i])
            || !make_path(to, why, "%s/%s", folder, files_of_tokenizer[i])
            || !look_for_file(from, &there, why) || (there && !copy_file(from, to, why)))
            return false;
    return true;
}

// The files that name added and special tokens. tokenizer and config may be NULL.
typedef struct token_files {
    cJSON *map, *tokenizer, *added, *config;
} token_files;

// What tokenizer.json (with an id) and tokenizer_config.json say of an added token.
static cJSON *added_token(const char *text)
{
    cJSON *token = cJSON_CreateObject();
    cJSON_AddStringToObject(token, "content", text);
    cJSON_AddBoolToObject(token, "single_word", false);
    cJSON_AddBoolToObject(token, "lstrip", false);
    cJSON_AddBoolToObject(token, "rstrip", false);
    cJSON_AddBoolToObject(token, "normalized", false);
    cJSON_AddBoolToObject(token, "special", true);
    return token;
}

static bool has_added(const cJSON *list, const char *text)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, list)
    {
        const char *other = token_text(item);
        if (other && strcmp(other, text) == 0) return true;
    }
    return false;
}

// Adds one token to the files that list added tokens.
static void save_token(const vocabulary *v, const cJSON *token, token_files *f)
{
    const char *text = token_text(token);
    int32_t id = samba_tokenizer_id(v->tokenizer, text);
    cJSON *list = cJSON_GetObjectItemCaseSensitive(f->tokenizer, "added_tokens");
    cJSON *decoder = cJSON_GetObjectItemCaseSensitive(f->config, "added_tokens_decoder");
    if (f->tokenizer && !list) list = cJSON_AddArrayToObject(f->tokenizer, "added_tokens");
    if (list && !has_added(list, text)) {
        cJSON *entry = added_token(text);
        cJSON_AddNumberToObject(entry, "id", id);
        cJSON_AddItemToArray(list, entry);
    }
    if (decoder && !has_added(decoder, text)) {
        char key[16];
        snprintf(key, sizeof key, "%d", (int)id);
        cJSON_AddItemToObject(decoder, key, added_token(text));
    }
    if (id >= v->size && !cJSON_GetObjectItemCaseSensitive(f->added, text))
        cJSON_AddNumberToObject(f->added, text, id);
}

static void set_item(cJSON *object, const cJSON *item)
{
    if (!object) return;
    cJSON_DeleteItemFromObjectCaseSensitive(object, item->string);
    cJSON_AddItemToObject(object, item->string, cJSON_Duplicate(item, true));
}

static void add_dict(const vocabulary *v, const cJSON *dict, token_files *f)
{
    const cJSON *item, *token;
    cJSON_ArrayForEach(item, dict)
    {
        if (!cJSON_IsArray(item))
            save_token(v, item, f);
        else
            cJSON_ArrayForEach(token, item) save_token(v, token, f);
        set_item(f->map, item);
        set_item(f->config, item);
    }
}

// Puts --special_tokens_dict into the files of a folder that copy_files has filled.
static bool save_special_tokens(const vocabulary *v, const char *folder, fault *why)
{
    token_files f = { NULL, NULL, NULL, NULL };
    cJSON *dict = cJSON_Parse(v->special_tokens);
    bool ok = vocabulary_read_json(folder, "special_tokens_map.json", &f.map, why)
        && vocabulary_read_json(folder, "tokenizer.json", &f.tokenizer, why)
        && vocabulary_read_json(folder, "added_tokens.json", &f.added, why)
        && vocabulary_read_json(folder, "tokenizer_config.json", &f.config, why);
    if (ok && !f.map) {
        f.map = cJSON_CreateObject();
        if (!f.config) { // without any file, these two are understood
            cJSON_AddStringToObject(f.map, "eos_token", "<|endoftext|>");
            cJSON_AddStringToObject(f.map, "bos_token", "<|endoftext|>");
        }
    }
    if (ok && !f.added) f.added = cJSON_CreateObject();
    if (ok) add_dict(v, dict, &f);
    ok = ok && write_json(f.map, folder, "special_tokens_map.json", why)
        && (!f.config || write_json(f.config, folder, "tokenizer_config.json", why))
        && (!f.tokenizer || write_json(f.tokenizer, folder, "tokenizer.json", why))
        && (f.tokenizer || write_json(f.added, folder, "added_tokens.json", why));
    cJSON_Delete(dict);
    cJSON_Delete(f.map);
    cJSON_Delete(f.tokenizer);
    cJSON_Delete(f.added);
    cJSON_Delete(f.config);
    return ok;
}

// Without a config.json, what take_model_type has taken for granted.
static bool save_config(const vocabulary *v, const char *folder, fault *why)
{
    char path[PATH_SIZE];
    if (!make_path(path, why, "%s/config.json", folder)) return false;
    if (is_file(path)) return true;
    samba_base_output out;
    if (!begin_output(&out, path, why)) return false;
    fprintf(out.file, "{\"model_type\": \"gpt2\", \"vocab_size\": %d, \"eos_token_id\": %d}\n",
            (int)v->size, (int)v->eos);
    return end_output(&out, true, why);
}

// In a vocab.json alone, tokens that no word can become are special. With a config.json beside it,
// which save_config may write, only those are that a file names: so this names them.
static bool save_unnamed_tokens(const vocabulary *v, const char *folder, fault *why)
{
    static const char *const said_by[]
        = { "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "config.json" };
    char path[PATH_SIZE];
    for (int i = 0; i < 4; i++) {
        if (!make_path(path, why, "%s/%s", v->folder, said_by[i])) return false;
        if (is_file(path)) return true;
    }
    cJSON *map = cJSON_CreateObject();
    cJSON *list = cJSON_AddArrayToObject(map, "additional_special_tokens");
    const samba_tokenizer *t = v->tokenizer;
    for (int32_t id = 0; id < v->size; id++) {
        const samba_tokenizer__token *k = &t->token[id];
        char text[SAMBA_TOKENIZER__MAX_SPECIAL + 1];
        if (!(k->flags & SAMBA_TOKENIZER__SPECIAL) || k->flags & SAMBA_TOKENIZER__MADE) continue;
        snprintf(text, sizeof text, "%.*s", (int)k->size, (const char *)t->bytes + k->at);
        if (strcmp(text, "<|endoftext|>") != 0)
            cJSON_AddItemToArray(list, cJSON_CreateString(text));
        else
            for (int end = 0; end < 2; end++)
                cJSON_AddStringToObject(map, end ? "eos_token" : "bos_token", text);
    }
    bool ok = !cJSON_GetArraySize(list) || write_json(map, folder, "special_tokens_map.json", why);
    cJSON_Delete(map);
    return ok;
}

bool vocabulary_save(const vocabulary *v, const char *folder, fault *why)
{
    char inner[PATH_SIZE];
    return copy_files(v, folder, why) && save_config(v, folder, why)
        && save_unnamed_tokens(v, folder, why)
        && (!v->special_tokens || save_special_tokens(v, folder, why))
        && make_path(inner, why, "%s/user_input_tokenizer", folder) && copy_files(v, inner, why);
}
