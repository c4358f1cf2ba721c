// samba/chat_template.h against what transformers makes of the same templates and messages
// (golden/chat.json), and with templates that are refused.
// run: -lcjson needs:cjson/cJSON.h
#include "tests/lib/files.h"
#include "tests/lib/test.h"

#define SAMBA_CHAT_TEMPLATE_IMPLEMENTATION
#include "tools/include/samba/chat_template.h"

static char why[600];

// One case: [name, variables, text or null].
static bool is_as_judged(const samba_chat_template *t, const cJSON *one)
{
    const cJSON *name = one->child, *variables = name->next, *text = variables->next;
    size_t size = 0;
    char *made = samba_chat_apply(t, variables, &size, why, sizeof why);
    bool refused = cJSON_IsNull(text);
    bool same = refused ? !made : made && strcmp(made, text->valuestring) == 0;
    if (same && made) same = size == strlen(made);
    if (!same)
        printf("    %s is\n%s\n    instead of\n%s\n", name->valuestring, made ? made : why,
               refused ? "a refusal" : text->valuestring);
    free(made);
    return same;
}

static void test_golden(void)
{
    size_t size;
    int cases = 0;
    char *text = read_whole("tests/golden/chat.json", &size);
    cJSON *all = text ? cJSON_ParseWithLength(text, size) : NULL;
    CHECK(cJSON_IsArray(all));
    for (const cJSON *i = all ? all->child : NULL; i; i = i->next) {
        const char *source = i->child->valuestring;
        samba_chat_template *t = samba_chat_open(source, strlen(source), why, sizeof why);
        if (!t) printf("    %s\n    of %.60s\n", why, source);
        CHECK(t != NULL);
        for (const cJSON *one = t ? i->child->next->child : NULL; one; one = one->next) {
            CHECK(is_as_judged(t, one));
            cases++;
        }
        samba_chat_close(t);
    }
    CHECK(cases > 200);
    cJSON_Delete(all);
    free(text);
}

// What is not known is refused by its name, and by its line, when a template is opened.
static void test_refused(void)
{
    static const char *const refused[][2] = {
        { "{{ a | sort }}", "line 1 of the chat template: the filter \"sort\"" },
        { "\n\n{{ a is callable }}", "line 3 of the chat template: the test \"callable\"" },
        { "{% macro f() %}{% endmacro %}", "the statement \"macro\"" },
        { "{% for x in y recursive %}{% endfor %}", "recursive" },
        { "{% if a %}", "endif" },
        { "{% for a in b %}{% endif %}", "the statement \"endif\"" },
        { "{% endif %}", "the statement \"endif\"" },
        { "{{ a", "a tag without }}" },
        { "{{ a b }}", "\"b \" is not expected" },
        { "{{ 'a }}", "a tag without }}" },
        { "{{ '\\q' }}", "escape" },
        { "{{ 1 < 2 < 3 }}", "chain" },
        { "{{ 2 ** 3 }}", "**" },
        { "{% set a, b = c %}", "several" },
        { "{{ [1, 2 }}", "expected , or ]" },
        { "{{ a[1:2:3:4] }}", "a third :" },
        { "{% break %}", "outside of a loop" },
        { "{{ }}", "a value is missing" },
        { "{{ 12345678901234567 }}", "15 digits" },
    };
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        const char *source = refused[i][0];
        samba_chat_template *t = samba_chat_open(source, strlen(source), why, sizeof why);
        bool right = !t && strstr(why, refused[i][1]);
        if (!right) printf("    %s: %s\n", source, t ? "is taken" : why);
        CHECK(right);
        samba_chat_close(t);
    }
    CHECK(!samba_chat_open(NULL, 0, why, sizeof why) && *why);
    samba_chat_close(NULL);
}

// What can only be seen in a run; and that no template runs for ever.
static void test_refused_in_a_run(void)
{
    static const char *const refused[][2] = {
        { "{{ [1] }}", "a list is printed" },
        { "a\n{{ 'x'.upper().foo() }}", "line 2 of the chat template: undefined is called" },
        { "{{ '\xC3\xA9' | upper }}", "beyond ASCII" },
        { "{% for a in range(100000) %}{% for b in range(100000) %}{% endfor %}{% endfor %}",
          "out of memory, or above the limit" },
        { "{% set s = 'aaaaaaaaaaaaaaaa' %}{% for a in range(99) %}{% set s = s %}{{ s * 99999999 }}"
          "{% endfor %}",
          "limit" },
        { "{{ ns.a }}", "a member of what is undefined" },
        { "{% set ns = {} %}{% set ns.a = 1 %}", "no namespace" },
        { "{{ range(0, 5, 0) }}", "range" },
    };
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        const char *source = refused[i][0];
        samba_chat_template *t = samba_chat_open(source, strlen(source), why, sizeof why);
        CHECK(t != NULL);
        if (!t) printf("    %s: %s\n", source, why);
        char *made = t ? samba_chat_apply(t, NULL, NULL, why, sizeof why) : NULL;
        bool right = !made && strstr(why, refused[i][1]);
        if (!right) printf("    %s: %.80s\n", source, made ? made : why);
        CHECK(right);
        free(made);
        samba_chat_close(t);
    }
    CHECK(!samba_chat_apply(NULL, NULL, NULL, why, sizeof why) && *why);
}

int main(void)
{
    RUN(test_golden);
    RUN(test_refused);
    RUN(test_refused_in_a_run);
    return test_summary();
}
