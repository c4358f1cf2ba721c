// Dropout: its masks come from a counter, so that every run has the executor's.
#include "emit.h"

static const piece pieces[] = {
    { "philox", "",
      "/* Four random words of block number `block`: Philox4x32-10, Salmon et al., SC 2011. */\n"
      "static void philox(uint64_t key, uint32_t block, uint32_t counter, uint32_t c[4])\n"
      "{\n"
      "    uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);\n"
      "    c[0] = block;\n"
      "    c[1] = 0;\n"
      "    c[2] = counter;\n"
      "    c[3] = 0;\n"
      "    for (int round = 0; round < 10; round++) {\n"
      "        uint64_t p = (uint64_t)0xD2511F53u * c[0], q = (uint64_t)0xCD9E8D57u * c[2];\n"
      "        c[0] = (uint32_t)(q >> 32) ^ c[1] ^ k0;\n"
      "        c[2] = (uint32_t)(p >> 32) ^ c[3] ^ k1;\n"
      "        c[1] = (uint32_t)q;\n"
      "        c[3] = (uint32_t)p;\n"
      "        k0 += 0x9E3779B9u;\n"
      "        k1 += 0xBB67AE85u;\n"
      "    }\n"
      "}\n",
      0 },
    { "dropout", "philox ",
      "/* y = x where the mask keeps it, divided by how much that is, else x - x: 0, or NaN. In place or\n"
      "   not. */\n"
      "static void dropout(const float *x, float *y, int n, uint64_t key, float rate, int32_t seed,\n"
      "                    int32_t counter)\n"
      "{\n"
      "    uint32_t words[4];\n"
      "    float scale = rate < 1.0f ? 1.0f / (1.0f - rate) : 0.0f;\n"
      "    key += (uint32_t)seed * 0x9E3779B185EBCA87u;\n"
      "    for (int i = 0; i < n; i++) {\n"
      "        if (i % 4 == 0) philox(key, (uint32_t)i / 4, (uint32_t)counter, words);\n"
      "        float unit = (float)(words[i % 4] >> 8) * 5.96046448e-8f;\n"
      "        y[i] = unit < rate ? x[i] - x[i] : x[i] * scale;\n"
      "    }\n"
      "}\n",
      32 },
    { "noise", "philox log_of sqrt_of sin_quadrant ",
      "/* sin(2 pi u + turn pi/2) */\n"
      "static float sin_2pi(float u, uint32_t turn)\n"
      "{\n"
      "    float shifted = multiply_add(u, 4.0f, 12582912.0f), t = shifted - 12582912.0f;\n"
      "    uint32_t n = float_bits(shifted) - float_bits(12582912.0f);\n"
      "    float f = multiply_add(t, -0.25f, u);\n"
      "    return sin_quadrant(multiply_add(f, 6.283185482f, f * -1.748455531e-7f), n + turn);\n"
      "}\n"
      "\n"
      "/* n numbers of U[0,1), or of N(0,1): Box, Muller, 1958. */\n"
      "static void noise(float *y, int n, uint64_t key, int normal, int32_t seed, int32_t counter)\n"
      "{\n"
      "    uint32_t words[4];\n"
      "    key += (uint32_t)seed * 0x9E3779B185EBCA87u;\n"
      "    for (int i = 0; i < n; i++) {\n"
      "        if (i % 4 == 0) philox(key, (uint32_t)i / 4, (uint32_t)counter, words);\n"
      "        uint32_t first = words[i % 4 / 2 * 2];\n"
      "        y[i] = (float)(words[i % 4] >> 8) * 5.96046448e-8f;\n"
      "        if (!normal) continue;\n"
      "        float open = multiply_add((float)(first >> 9), 1.1920928955078125e-07f, 5.96046448e-8f);\n"
      "        float turn = (float)(words[i % 4 / 2 * 2 + 1] >> 8) * 5.96046448e-8f;\n"
      "        y[i] = sqrt_of(-2.0f * log_of(open)) * sin_2pi(turn, i % 2 ? 0u : 1u);\n"
      "    }\n"
      "}\n",
      32 },
    { NULL, NULL, NULL, 0 },
};

// Out of training it is a copy.
static bool emit_dropout(emitter *e, const node *n)
{
    writer *w = &e->body;
    set_tensor(e, "x", n->in[0]);
    set_tensor(e, "y", n->out[0]);
    set_word(w, "n", "%lld", (long long)count_of(out_of(e, n, 0)));
    if (e->p->pef.inference) {
        write_text(w, "    for (int i = 0; i < ${n}; i++) ${y}[i] = ${x}[i];\n");
        return true;
    }
    set_tensor(e, "rate", n->in[1]);
    set_tensor(e, "seed", n->in[2]);
    set_tensor(e, "counter", n->in[3]);
    set_word(w, "key", "0x%08x%08xu", (unsigned)n->attr[0], (unsigned)n->attr[1]);
    e->trains = true;
    need(e, "dropout");
    write_text(w,
               "    dropout(${x}, ${y}, ${n}, ${key},\n"
               "            ${name}_training ? ${rate}[0] : 0.0f, ${seed}[0], ${counter}[0]);\n");
    return true;
}

static bool emit_noise(emitter *e, const node *n)
{
    writer *w = &e->body;
    set_tensor(e, "y", n->out[0]);
    set_tensor(e, "seed", n->in[1]);
    set_tensor(e, "counter", n->in[2]);
    set_word(w, "n", "%lld", (long long)count_of(out_of(e, n, 0)));
    set_word(w, "key", "0x%08x%08xu", (unsigned)n->attr[0], (unsigned)n->attr[1]);
    set_word(w, "normal", "%d", attr_of(n, "normal"));
    need(e, "noise");
    write_text(w, "    noise(${y}, ${n}, ${key}, ${normal}, ${seed}[0], ${counter}[0]);\n");
    return true;
}

static const op_emitter ops[] = {
    { "noise", emit_noise },
    { "dropout", emit_dropout },
    { NULL, NULL },
};

const family dropout_family = { ops, pieces };
