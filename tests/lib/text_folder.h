// A golden of tests/golden as a folder with a tokenizer: each id is a special token or a letter, so
// that a text says which ids it is. Needs cJSON.
#ifndef TEXT_FOLDER_H
#define TEXT_FOLDER_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "tests/lib/files.h"

// Ids 0, 1, 2 ...; those behind them are the letters.
static const char *const text_specials[]
    = { "<pad>", "<s>", "</s>", "<|system|>", "<|user|>", "<|assistant|>" };
static const char text_letters[]
    = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!#$%&'()*+,-./:;<=>?@[]^_`{|}~";

enum { N_TEXT_SPECIALS = sizeof text_specials / sizeof *text_specials };

static const char text_chat_template[]
    = "{{ bos_token }}{% for m in messages %}{{ '<|' + m.role + '|>' + m.content + eos_token }}"
      "{% endfor %}{% if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}";

// The text of an id, until the next call.
static const char *text_of_id(int id)
{
    static char letter[2];
    if (id < N_TEXT_SPECIALS) return text_specials[id];
    letter[0] = text_letters[id - N_TEXT_SPECIALS];
    return letter;
}

static bool write_json_file(const char *folder, const char *name, cJSON *json)
{
    char path[400];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    char *text = cJSON_Print(json);
    bool fine = text && write_whole(path, text, strlen(text));
    free(text);
    cJSON_Delete(json);
    return fine;
}

static cJSON *fuse(void)
{
    cJSON *step = cJSON_CreateObject();
    cJSON_AddStringToObject(step, "type", "Fuse");
    return step;
}

static cJSON *text_tokenizer(int n)
{
    cJSON *json = cJSON_CreateObject(), *model = cJSON_CreateObject(),
          *vocab = cJSON_CreateObject();
    cJSON_AddStringToObject(json, "version", "1.0");
    cJSON *added = cJSON_AddArrayToObject(json, "added_tokens");
    for (int id = 0; id < N_TEXT_SPECIALS; id++) {
        cJSON *token = cJSON_CreateObject();
        cJSON_AddNumberToObject(token, "id", id);
        cJSON_AddStringToObject(token, "content", text_specials[id]);
        cJSON_AddFalseToObject(token, "single_word");
        cJSON_AddFalseToObject(token, "lstrip");
        cJSON_AddFalseToObject(token, "rstrip");
        cJSON_AddFalseToObject(token, "normalized");
        cJSON_AddTrueToObject(token, "special");
        cJSON_AddItemToArray(added, token);
    }
    cJSON_AddNullToObject(json, "normalizer");
    cJSON_AddNullToObject(json, "pre_tokenizer");
    cJSON_AddNullToObject(json, "post_processor");
    cJSON_AddItemToObject(json, "decoder", fuse());
    for (int id = 0; id < n; id++)
        cJSON_AddNumberToObject(vocab, text_of_id(id), id);
    cJSON_AddStringToObject(model, "type", "BPE");
    cJSON_AddStringToObject(model, "unk_token", text_specials[0]);
    cJSON_AddItemToObject(model, "vocab", vocab);
    cJSON_AddArrayToObject(model, "merges");
    cJSON_AddItemToObject(json, "model", model);
    return json;
}

static cJSON *text_settings(void)
{
    cJSON *json = cJSON_CreateObject();
    cJSON_AddStringToObject(json, "tokenizer_class", "PreTrainedTokenizerFast");
    cJSON_AddStringToObject(json, "bos_token", "<s>");
    cJSON_AddStringToObject(json, "eos_token", "</s>");
    cJSON_AddFalseToObject(json, "clean_up_tokenization_spaces");
    cJSON_AddStringToObject(json, "chat_template", text_chat_template);
    return json;
}

static bool copy_text_file(const char *from, const char *to, const char *name)
{
    char source[400], target[400];
    size_t size = 0;
    snprintf(source, sizeof source, "%s/%s", from, name);
    snprintf(target, sizeof target, "%s/%s", to, name);
    FILE *there = fopen(source, "rb");
    if (!there) return true;
    fclose(there);
    void *bytes = read_whole(source, &size);
    bool fine = bytes && write_whole(target, bytes, size);
    free(bytes);
    return fine;
}

static int vocab_of_config(const char *folder)
{
    char path[400];
    size_t size = 0;
    snprintf(path, sizeof path, "%s/config.json", folder);
    char *text = (char *)read_whole(path, &size);
    cJSON *json = text ? cJSON_ParseWithLength(text, size) : NULL;
    const cJSON *n = cJSON_GetObjectItemCaseSensitive(json, "vocab_size");
    int vocab_size = cJSON_IsNumber(n) ? n->valueint : 0;
    cJSON_Delete(json);
    free(text);
    return vocab_size;
}

// False if it cannot be written.
static bool make_text_folder(const char *golden, const char *folder)
{
    static const char *const copied[] = { "config.json",
                                          "model.safetensors",
                                          "model.safetensors.index.json",
                                          "model-00001-of-00003.safetensors",
                                          "model-00002-of-00003.safetensors",
                                          "model-00003-of-00003.safetensors" };
    const int n = vocab_of_config(golden);
    mkdir(folder, 0777);
    bool fine = n > N_TEXT_SPECIALS && n <= N_TEXT_SPECIALS + (int)sizeof text_letters - 1;
    for (size_t i = 0; fine && i < sizeof copied / sizeof *copied; i++)
        fine = copy_text_file(golden, folder, copied[i]);
    return fine && write_json_file(folder, "tokenizer.json", text_tokenizer(n))
        && write_json_file(folder, "tokenizer_config.json", text_settings());
}

#endif
