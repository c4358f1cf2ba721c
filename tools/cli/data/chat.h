// Conversations, lines of role and content, as prompts and completions by a chat template.
#ifndef SAMBA_CHAT_LINES_H
#define SAMBA_CHAT_LINES_H

#include "packing.h"
#include "json_line.h"
#include "vocabulary.h"
#include "tools/include/samba/chat_template.h"

typedef struct chat {
    samba_chat_template *template;
    cJSON *variables; // bos_token and the like
} chat;

// The template of a tokenizer's folder: chat_template.jinja, or chat_template of
// tokenizer_config.json.
bool chat_open(chat *c, const vocabulary *v, fault *why);
void chat_close(chat *c);

// A line, {"messages": [{"role": ..., "content": ...}, ...]} or the list alone, as pairs: an answer
// of the assistant is a completion, and what stands before it is its prompt. Their texts, one after
// the other, are what the template makes of the conversation. Where it writes earlier answers in
// another way than the last one, the last one alone is a completion. False as prep_parse_line.
bool chat_parse_line(const chat *c, const char *line, size_t size, prep_pairs *pairs, bool *fatal,
                     char *why, size_t why_size);

#endif
