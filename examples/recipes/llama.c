// Fine-tune a Llama: LoRA adapters of a folder of Hugging Face, saved as PEFT's.
//     cc -O2 examples/recipes/llama.c -lcjson -lm -pthread
#define SAMBA_IMPLEMENTATION
#define SAMBA_SAFETENSORS_IMPLEMENTATION
#define SAMBA_GENERATE_IMPLEMENTATION
#define SAMBA_LLAMA_IMPLEMENTATION
#include "../../samba.h"
#include "../../tools/include/samba/llama.h"
#include <stdio.h>

static int failed(const char *why)
{
    return fprintf(stderr, "%s\n", why) != 0;
}

int main(int argc, char **argv) // the folder, such as SmolLM-135M, and one to save to
{
    char why[400], config[400];
    llama_config c;
    if (argc < 3) return failed("usage: llama MODEL ADAPTER");
    snprintf(config, sizeof config, "%s/config.json", argv[1]);
    if (!llama_config_read(config, &c, why, sizeof why)) return failed(why);
    samba_session *s = samba_open(NULL);
    samba_lora lora = { .rank = 4, .targets = { "q_proj", "v_proj" } };
    samba_add_lora(s, &lora);
    samba_tensor *ids = samba_input(s, "ids", SAMBA_I32, SAMBA_SHAPE(1, 8));
    samba_tensor *next = samba_input(s, "next", SAMBA_I32, SAMBA_SHAPE(1, 8));
    samba_tensor *loss = llama_loss(&c, ids, NULL, next, NULL);
    samba_optim adam = { .kind = SAMBA_ADAMW, .lr = 0.01f };
    samba_compile(s, &(samba_program){ .loss = loss, .optim = adam });
    if (!llama_load_folder(s, &c, argv[1], why, sizeof why)) return failed(why);
    const int32_t tokens[9] = { 1, 5, 9, 2, 6, 5, 3, 5, 8 }; // of a tokenizer: samba/tokenizer.h
    samba_write(ids, tokens);
    samba_write(next, tokens + 1);
    for (int step = 0; step <= 100 && samba_run(s, 0); step++)
        if (step % 50 == 0) printf("step %3d  loss %.4f\n", step, (double)samba_read(loss)[0]);
    if (!llama_save_adapter(s, &lora, argv[2], SAMBA_SAFETENSORS_F32, why, sizeof why))
        return failed(why);
    return samba_close(s);
}
