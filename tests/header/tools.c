// The headers of tools/include/samba in a program of two files: the one with IMPLEMENT implements
// them, the other one uses them.
#ifdef IMPLEMENT
#define SAMBA_IMPLEMENTATION
#define SAMBA_DRIVER_IMPLEMENTATION
#define SAMBA_PROFILER_IMPLEMENTATION
#define SAMBA_DOT_GRAPH_IMPLEMENTATION
#define SAMBA_TOKENIZER_IMPLEMENTATION
#define SAMBA_CHAT_TEMPLATE_IMPLEMENTATION
#define SAMBA_SAFETENSORS_IMPLEMENTATION
#define SAMBA_GENERATE_IMPLEMENTATION
#define SAMBA_GPT2_IMPLEMENTATION
#define SAMBA_LLAMA_IMPLEMENTATION
#define SAMBA_TOKEN_STREAM_IMPLEMENTATION
#define SAMBA_PROMPT_CACHE_IMPLEMENTATION
#define SAMBA_TEXT_MODEL_IMPLEMENTATION
#define SAMBA_LORA_IMPLEMENTATION
#define SAMBA_LOSS_IMPLEMENTATION
#define SAMBA_MULTIGRAPH_IMPLEMENTATION
#define SAMBA_SCHEDULE_IMPLEMENTATION
#define SAMBA_PARALLEL_IMPLEMENTATION
#define SAMBA_LOADER_IMPLEMENTATION
#define SAMBA_IDX_IMPLEMENTATION
#define SAMBA_REPLAY_IMPLEMENTATION
#define SAMBA_SAMBAFLOW_IMPLEMENTATION
#define SAMBA_TORCH_NAMES_IMPLEMENTATION
#define SAMBA_LEDGER_IMPLEMENTATION
#define SAMBA_REPORT_IMPLEMENTATION
#endif
#include "../../samba.h"
#include "../../tools/include/samba/driver.h"
#include "../../tools/include/samba/profiler.h"
#include "../../tools/include/samba/dot_graph.h"
#include "../../tools/include/samba/tokenizer.h"
#include "../../tools/include/samba/chat_template.h"
#include "../../tools/include/samba/gpt2.h"
#include "../../tools/include/samba/llama.h"
#include "../../tools/include/samba/token_stream.h"
#include "../../tools/include/samba/prompt_cache.h"
#include "../../tools/include/samba/text_model.h"
#include "../../tools/include/samba/lora.h"
#include "../../tools/include/samba/multigraph.h"
#include "../../tools/include/samba/schedule.h"
#include "../../tools/include/samba/parallel.h"
#include "../../tools/include/samba/loader.h"
#include "../../tools/include/samba/idx.h"
#include "../../tools/include/samba/ledger.h"
#include "../../tools/include/samba/report.h"
#include "../../tools/include/samba/replay.h"
#include "../../tools/include/samba/sambaflow.h"
#include "../../tools/include/samba/torch_names.h"

#ifndef IMPLEMENT
#include <string.h>

int main(void)
{
    static const float logits[3] = { 0, 2, 1 };
    static const samba_sampling greedy = { 0, 0, 0, 0, 0, 0 };
    static const char *const nowhere = "no/such/place";
    static const samba_lora lora = { 4, 8.0f, { "c_attn" } };
    int32_t work[3];
    char why[300] = "";
    gpt2_config c = gpt2_config_default();
    llama_config l = llama_config_default();
    if (!gpt2_config_check(&c, why, sizeof why)) return 1;
    if (!llama_config_check(&l, why, sizeof why)) return 1;
    if (samba_sample(logits, 3, &greedy, 0.5, work) != 1) return 2;
    if (samba_tokenizer_open(nowhere, why, sizeof why) || !why[0]) return 3;
    if (samba_chat_open("{{", 2, why, sizeof why) || !why[0]) return 3;
    if (samba_safetensors_open(&nowhere, 1, why, sizeof why) || !why[0]) return 4;
    samba_session *s = samba_open(NULL);
    samba_text_opts text = { nowhere, NULL, NULL, SAMBA_WEIGHTS_PLAIN, SAMBA_CACHE_F32, 0 };
    samba_text_model model;
    if (samba_text_open(&model, s, &text) || !model.why[0]) return 16;
    samba_text_close(&model);
    samba_generator generator;
    if (samba_generator_find(&generator, s)) return 17;
    samba_clear_error(s);
    generator.B = 2;
    if (samba_prompt_cache_save(&generator, nowhere, work, 3, why, sizeof why)) return 18;
    size_t size;
    samba_token_stream stream;
    memset(&stream, 0, sizeof stream);
    if (samba_token_stream_end(&stream, &size)[0]) return 19;
    samba_token_stream_close(&stream);
    if (!samba_add_lora(s, &lora)) return 5;
    if (samba_app_driver(s, NULL, NULL)) return 6;
    samba_profiler_close(samba_profiler_open(s, 1));
    samba_dot_graph(s, NULL, NULL);
    samba_replay_close(samba_replay_open(s, nowhere));
    samba_clear_error(s);
    const samba_schedule rate = { NULL, 0.5, 0, 0, 0, 0, 0, 0 };
    samba_graphs graphs;
    graphs.n = 0;
    if (samba_schedule_at(&rate, 7) != 0.5) return 10;
    if (samba_compile_multigraph(s, &graphs, NULL)) return 11;
    samba_clear_error(s);
    if (samba_session_run(s, NULL)) return 12;
    samba_clear_error(s);
    if (samba_call_function(s, "np.none", NULL, 0, NULL, 0)) return 13;
    samba_clear_error(s);
    if (!samba_report_close(NULL)) return 15;
    if (samba_ledger_run(s, NULL)) return 14;
    samba_clear_error(s);
    samba_parallel *p = samba_parallel_open(NULL);
    if (samba_parallel_ok(p) || !samba_parallel_error(p)[0] || !samba_parallel_close(p)) return 9;
    samba_idx idx;
    if (samba_idx_open(s, &idx, nowhere, "train", 28, 10)) return 7;
    samba_clear_error(s);
    if (samba_loader_open_dataset(s, NULL, NULL, 0, NULL) || samba_use_pinned_memory()) return 8;
    samba_clear_error(s);
    return samba_close(s);
}
#endif
