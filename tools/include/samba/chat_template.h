/* chat_template.h - chat templates: messages to the text that a model was trained on.

   Do this:
       #define SAMBA_CHAT_TEMPLATE_IMPLEMENTATION           in exactly ONE file, before
       #include <samba/chat_template.h>         and include it wherever you want without it
       cc program.c -lcjson                        Debian: libcjson-dev

       samba_chat_template *t = samba_chat_open(source, strlen(source), why, sizeof why);
       char *text = samba_chat_apply(t, variables, &size, why, sizeof why);

   A chat template is a program in Jinja, the chat_template of a tokenizer_config.json or the file
   chat_template.jinja. Read is the part of Jinja that the templates of Llama, Qwen, Mistral, Gemma,
   SmolLM, Phi and DeepSeek use, as Hugging Face's transformers runs it (trim_blocks,
   lstrip_blocks):

       {{ }}  {% for .. if .. else %}  {% if %}  {% set %}  {% break %}  {% continue %}
       {% generation %}  {# #}, and - and + at their ends
       or and not in == != < <= > >= + - * / // % ~  a if b else c  | is  .name [index] [a:b:c]
       filters     capitalize count d default first int items join last length list lower map
                   rejectattr replace reverse safe selectattr string title tojson trim upper
       tests       boolean defined divisibleby eq equalto even false in integer iterable mapping
                   none number odd sequence string true undefined
       functions   dict namespace raise_exception range strftime_now
       methods     endswith find get items join keys lower lstrip replace rstrip split startswith
                   strip title upper values

   What is not in the list is refused by its name when the template is opened, or, for a type of
   value, when it is run; nothing is guessed. A run has a limit of steps and of memory, so that a
   template from somewhere else cannot hang a program. */

#ifndef SAMBA_CHAT_TEMPLATE_H
#define SAMBA_CHAT_TEMPLATE_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>

#ifndef SAMBA_CHAT_TEMPLATE_API
#if defined(SAMBA_CHAT_TEMPLATE_STATIC)
#define SAMBA_CHAT_TEMPLATE_API static inline
#elif defined(__cplusplus)
#define SAMBA_CHAT_TEMPLATE_API extern "C"
#else
#define SAMBA_CHAT_TEMPLATE_API extern
#endif
#endif

typedef struct samba_chat_template samba_chat_template;

/* Reads a template of size bytes, UTF-8. NULL with the reason, and the line, in why, which may be
   NULL. The caller closes it. */
SAMBA_CHAT_TEMPLATE_API samba_chat_template *samba_chat_open(const char *source, size_t size,
                                                             char *why, size_t why_size);
/* Takes NULL, too. */
SAMBA_CHAT_TEMPLATE_API void samba_chat_close(samba_chat_template *t);

/* Runs it with variables, a JSON object: messages (a list of objects with role and content),
   add_generation_prompt, bos_token and what else the template asks for. The text, of size bytes and
   ended by a zero, to be freed with free; NULL with the reason in why. Nothing of variables is
   kept. A template may be run by several threads at a time. */
SAMBA_CHAT_TEMPLATE_API char *samba_chat_apply(const samba_chat_template *t, const cJSON *variables,
                                               size_t *size, char *why, size_t why_size);

#endif

/* ==== Implementation ========================================================================== */
#if defined(SAMBA_CHAT_TEMPLATE_IMPLEMENTATION) && !defined(SAMBA_CHAT_TEMPLATE__IMPLEMENTED)
#define SAMBA_CHAT_TEMPLATE__IMPLEMENTED

#include "base.h"
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "chat/parse.h"
#include "chat/value.h"
#include "chat/builtins.h"
#include "chat/run.h"

#endif /* SAMBA_CHAT_TEMPLATE_IMPLEMENTATION */
