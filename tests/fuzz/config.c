// config.json of GPT-2. What is accepted passes gpt2_config_check, has parameters whose sizes do
// not overflow, and is the same again when it is written and read.
#include "samba.h"
#define SAMBA_SAFETENSORS_IMPLEMENTATION
#include "tools/include/samba/safetensors.h"
#define SAMBA_GENERATE_IMPLEMENTATION
#include "tools/include/samba/generate.h"
#define SAMBA_LOSS_IMPLEMENTATION
#include "tools/include/samba/loss.h"
#define SAMBA_LORA_IMPLEMENTATION
#include "tools/include/samba/lora.h"
#define SAMBA_GPT2_IMPLEMENTATION
#include "tools/include/samba/gpt2.h"
#include "fuzz.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const words[] = { "\"n_layer\"",
                                     "\"n_head\"",
                                     "\"n_embd\"",
                                     "\"n_positions\"",
                                     "\"n_ctx\"",
                                     "\"vocab_size\"",
                                     "\"n_inner\"",
                                     "\"activation_function\"",
                                     "\"gelu_new\"",
                                     "\"relu\"",
                                     "\"layer_norm_epsilon\"",
                                     "\"initializer_range\"",
                                     "\"attn_pdrop\"",
                                     "\"embd_pdrop\"",
                                     "\"resid_pdrop\"",
                                     "\"scale_attn_weights\"",
                                     "\"scale_attn_by_inverse_layer_idx\"",
                                     "\"tie_word_embeddings\"",
                                     "\"bos_token_id\"",
                                     "\"eos_token_id\"",
                                     "\"model_type\"",
                                     "\"gpt2\"",
                                     "\"reorder_and_upcast_attn\"",
                                     NULL };

static void check_parameters(const gpt2_config *c)
{
    gpt2_param p;
    char name[GPT2_MAX_NAME], back[GPT2_MAX_NAME];
    int32_t n = gpt2_n_params(c);
    if (n < 1 || gpt2_param_at(c, n, &p) || gpt2_param_at(c, -1, &p))
        fuzz_fail("%d parameters, and one more", (int)n);

    int32_t step = n / 40 + 1; // names are many, and like each other
    for (int32_t i = 0; i < n; i += step) {
        if (!gpt2_param_at(c, i, &p) || p.ndim < 1 || p.ndim > 2 || p.dim[0] < 1)
            fuzz_fail("parameter %d of %d cannot be described", (int)i, (int)n);
        if (gpt2_param_find(c, p.name) != i) fuzz_fail("%s is not found", p.name);
        if (!gpt2_samba_name(p.name, name, sizeof name) || strcmp(name, p.samba_name)
            || !gpt2_file_name(name, back, sizeof back) || strcmp(back, p.name))
            fuzz_fail("%s is not the same name again", p.name);
    }
}

static void one(const uint8_t *data, size_t size)
{
    char why[400] = "";
    gpt2_config c, again;
    memset(&c, 0, sizeof c);
    memset(&again, 0, sizeof again);
    if (!gpt2_config_parse((const char *)data, size, &c, why, sizeof why)) {
        fuzz_check_text(why, sizeof why, "gpt2_config_parse");
        return;
    }
    if (!gpt2_config_check(&c, why, sizeof why)) fuzz_fail("accepted, but refused then: %s", why);
    check_parameters(&c);

    const char *path = fuzz_path("config.json");
    fuzz_allow("config.json");
    if (!gpt2_config_write(path, &c, why, sizeof why)
        || !gpt2_config_read(path, &again, why, sizeof why))
        fuzz_fail("what was read cannot be written and read again: %s", why);
    if (c.n_layer != again.n_layer || c.n_inner != again.n_inner || c.vocab_size != again.vocab_size
        || c.layer_norm_epsilon != again.layer_norm_epsilon || c.attn_pdrop != again.attn_pdrop
        || c.activation_function != again.activation_function
        || c.tie_word_embeddings != again.tie_word_embeddings
        || c.eos_token_id != again.eos_token_id)
        fuzz_fail("what was written and read again differs");
}

static void seeds(void)
{
    static const char *const paths[]
        = { "tests/golden/gpt2_tiny/config.json", "tests/golden/gpt2_odd/config.json" };
    for (int i = 0; i < 2; i++) {
        char name[20];
        size_t size;
        uint8_t *bytes = fuzz_file(paths[i], &size);
        snprintf(name, sizeof name, "config%d", i);
        if (bytes) fuzz_seed(name, bytes, size);
        free(bytes);
    }
    const char *least = "{\"n_layer\":1,\"n_head\":1,\"n_embd\":2,\"vocab_size\":3,\"n_ctx\":4}";
    fuzz_seed("least", least, strlen(least));
}

static bool large(size_t size, int kind)
{
    static const char *const kinds[][2] = { { "many keys", ",\"k%u\":1" },
                                            { "a long list", "" },
                                            { "open brackets", "" },
                                            { "long keys", ",\"%0900u\":1" },
                                            { "equal keys", ",\"k\":1" } };
    if (kind >= (int)(sizeof kinds / sizeof *kinds)) return false;
    fuzz_bytes b = { NULL, 0, 0 };
    fuzz_put_text(&b, "{\"n_layer\":1,\"n_head\":1,\"n_embd\":2,\"vocab_size\":3,\"n_ctx\":4");
    if (kind == 1) fuzz_put_text(&b, ",\"l\":[1");
    if (kind == 2) fuzz_put_text(&b, ",\"l\":");
    for (unsigned i = 0; b.size < size; i++) {
        char text[1000];
        snprintf(text, sizeof text, kinds[kind][1], i);
        fuzz_put_text(&b, kind == 1 ? ",1" : kind == 2 ? "[" : text);
    }
    fuzz_put_text(&b, kind == 1 ? "]}" : "}");
    fuzz_large(kinds[kind][0], b.at, b.size);
    fuzz_free(&b);
    return true;
}

const fuzz_target fuzz_target_here = {
    .name = "config",
    .limits = { .seconds = 0.2, .seconds_per_mb = 10, .heap = 65536, .heap_per_byte = 60 },
    .words = words,
    .one = one,
    .mutate = fuzz_mutate_text,
    .seeds = seeds,
    .large = large,
    .most = 8192,
};
