// Pieces for single numbers: those of samba.h's chapters [base] and [math], and with its bits.
#include "emit.h"

static const piece pieces[] = {
    { "bits", "",
      "static inline uint32_t float_bits(float x)\n"
      "{\n"
      "    uint32_t bits;\n"
      "    memcpy(&bits, &x, sizeof bits);\n"
      "    return bits;\n"
      "}\n"
      "\n"
      "static inline float bits_float(uint32_t bits)\n"
      "{\n"
      "    float x;\n"
      "    memcpy(&x, &bits, sizeof x);\n"
      "    return x;\n"
      "}\n",
      0 },
    { "multiply_add", "bits ",
      "/* a * b + c, rounded once. */\n"
      "#if FMA == FMA_ASSEMBLER\n"
      "static inline float multiply_add(float a, float b, float c)\n"
      "{\n"
      "#if defined(__riscv_flen)\n"
      "    __asm__(\"fmadd.s %0, %1, %2, %0\" : \"+f\"(c) : \"f\"(a), \"f\"(b));\n"
      "#else\n"
      "    __asm__(\"vfma.f32 %0, %1, %2\" : \"+t\"(c) : \"t\"(a), \"t\"(b));\n"
      "#endif\n"
      "    return c;\n"
      "}\n"
      "#elif FMA == FMA_INSTRUCTION\n"
      "static inline float multiply_add(float a, float b, float c)\n"
      "{\n"
      "    return __builtin_fmaf(a, b, c);\n"
      "}\n"
      "#else\n"
      "static inline int leading_zeros(uint32_t x)\n"
      "{\n"
      "#if defined(__GNUC__) && __SIZEOF_INT__ == 4\n"
      "    return __builtin_clz(x);\n"
      "#else\n"
      "    int n = 0;\n"
      "    for (; x < 0x80000000u; x <<= 1) n++;\n"
      "    return n;\n"
      "#endif\n"
      "}\n"
      "\n"
      "/* m / 2^n, with a last bit that says whether anything was lost. */\n"
      "SMALL static uint32_t shift_sticky(uint32_t m, int n)\n"
      "{\n"
      "    for (; n > 0 && m > 1u; n--) m = m >> 1 | (m & 1u);\n"
      "    return m;\n"
      "}\n"
      "\n"
      "/* The exponent of a number that is not zero; a subnormal one gets a leading bit for it. */\n"
      "SMALL static int exponent_of(uint32_t *bits)\n"
      "{\n"
      "    int e = (int)(*bits >> 23 & 255u);\n"
      "    if (e > 0) return e;\n"
      "    for (e = 1; !(*bits & 0x800000u); e--) *bits <<= 1;\n"
      "    return e;\n"
      "}\n"
      "\n"
      "/* In integers: the product of two numbers of 24 bits is exact in 64, and so is what c adds, unless\n"
      "   one of both is so small that a last bit can stand for what is lost of it. */\n"
      "FAST static float multiply_add(float a, float b, float c)\n"
      "{\n"
      "    uint32_t x = float_bits(a), y = float_bits(b), z = float_bits(c);\n"
      "    uint32_t sign = x ^ y, differ = sign ^ z;\n"
      "    int ex = (int)(x >> 23 & 255u), ey = (int)(y >> 23 & 255u), ez = (int)(z >> 23 & 255u);\n"
      "    if (!((x + 0x800000u) & 0x7f000000u) || !((y + 0x800000u) & 0x7f000000u)\n"
      "        || !((z + 0x800000u) & 0x7f000000u)) { /* zero, subnormal, infinite, or no number */\n"
      "        if (ex == 255 || ey == 255) return a * b + c;\n"
      "        if (ez == 255) return c;\n"
      "        if (x << 1 == 0 || y << 1 == 0) return z << 1 ? c : a * b + c;\n"
      "        if (z << 1 == 0) return a * b;\n"
      "        ex = exponent_of(&x);\n"
      "        ey = exponent_of(&y);\n"
      "        ez = exponent_of(&z);\n"
      "    }\n"
      "    int shift = ez - ex - ey + 143, e = ex + ey - 111;\n"
      "    if (shift > 44) return c; /* the product is below a quarter of its last bit */\n"
      "    uint64_t sum = (uint64_t)((x << 1 & 0xffffffu) | 0x1000000u) * ((y & 0x7fffffu) | 0x800000u);\n"
      "    z = z << 8 | 0x80000000u;\n"
      "    if (shift < 0) {\n"
      "        z = shift_sticky(z, -shift);\n"
      "        shift = 0;\n"
      "    }\n"
      "    for (; shift > 29; shift--, e++) sum = sum >> 1 | (sum & 1u);\n"
      "    uint64_t term = (uint64_t)z * (1u << shift);\n"
      "    if (differ >> 31) {\n"
      "        sum -= term;\n"
      "        if (sum >> 63) {\n"
      "            sum = 0u - sum;\n"
      "            sign ^= differ;\n"
      "        }\n"
      "    } else sum += term;\n"
      "    uint32_t high = (uint32_t)(sum >> 32), low = (uint32_t)sum;\n"
      "    if (high == 0) {\n"
      "        high = low;\n"
      "        low = 0;\n"
      "        e -= 32;\n"
      "        if (high == 0) return 0.0f;\n"
      "    }\n"
      "    int n = leading_zeros(high);\n"
      "    e -= n;\n"
      "    high = high << n | (low >> 1) >> (31 - n);\n"
      "    high = high >> 1 | (high & 1u) | (low << n != 0);\n"
      "    if (e < 1) { /* subnormal: fewer bits stay */\n"
      "        high = shift_sticky(high, 1 - e);\n"
      "        e = 1;\n"
      "    }\n"
      "    high = ((high + 63u + (high >> 7 & 1u)) >> 7) + ((uint32_t)(e - 1) << 23);\n"
      "    if (high > 0x7f800000u) high = 0x7f800000u;\n"
      "    return bits_float(high | (sign & 0x80000000u));\n"
      "}\n"
      "#endif\n",
      0 },
    { "half", "bits ",
      "/* A finite half as a float. */\n"
      "static inline float float_of_half(uint16_t half)\n"
      "{\n"
      "    uint32_t sign = (uint32_t)(half & 0x8000u) << 16, m = half & 0x7fffu;\n"
      "    if (m < 0x400u) return bits_float(float_bits((float)m * 5.96046448e-8f) | sign);\n"
      "    return bits_float((m << 13) + 0x38000000u + sign);\n"
      "}\n",
      0 },
    { "relu", "",
      "static inline float relu(float x)\n"
      "{\n"
      "    return x < 0.0f ? 0.0f : x;\n"
      "}\n",
      0 },
    { "infinity", "bits ", "#define INFINITE bits_float(0x7f800000u)\n", 0 },
    { "not_a_number", "bits ",
      "/* The one NaN of all machines. */\n"
      "#define NOT_A_NUMBER bits_float(0x7fc00000u)\n",
      0 },
    { "unless_nan", "not_a_number ",
      "static inline float unless_nan(float x, float y)\n"
      "{\n"
      "    return x == x ? y : NOT_A_NUMBER;\n"
      "}\n",
      0 },
    { "product", "multiply_add ",
      "/* a * b, out of reach of a multiply-add; -0 becomes 0. */\n"
      "static inline float product(float a, float b)\n"
      "{\n"
      "    return multiply_add(a, b, 0.0f);\n"
      "}\n",
      0 },
    { "abs_upto", "bits ",
      "/* |x|, at most limit, even if x is no number. */\n"
      "static inline float abs_upto(float x, float limit)\n"
      "{\n"
      "    uint32_t a = float_bits(x) & 0x7fffffffu, most = float_bits(limit);\n"
      "    return bits_float(a < most ? a : most);\n"
      "}\n",
      0 },
    { "with_sign", "bits ",
      "static inline float with_sign(float y, float x)\n"
      "{\n"
      "    return bits_float(float_bits(y) | (float_bits(x) & 0x80000000u));\n"
      "}\n",
      0 },
    { "poly", "multiply_add ",
      "/* c[0] + c[1] x + ... by Horner's rule. */\n"
      "static float poly(float x, const float *c, int n)\n"
      "{\n"
      "    float y = c[n - 1];\n"
      "    for (int i = n - 2; i >= 0; i--) y = multiply_add(y, x, c[i]);\n"
      "    return y;\n"
      "}\n",
      0 },
    { "exp_poly", "poly ",
      "/* e^r, |r| <= 0.347 */\n"
      "static float exp_poly(float r)\n"
      "{\n"
      "    static const float c[7] = { 1.0f, 1.0f, 0.4999999404f, 0.1666651517f, 0.04166808724f,\n"
      "                                0.008369296789f, 0.001383823925f };\n"
      "    return poly(r, c, 7);\n"
      "}\n",
      0 },
    { "exp_below", "exp_poly bits ",
      "/* e^x for x <= 0; 0 below -87. */\n"
      "static float exp_below(float x)\n"
      "{\n"
      "    if (!(x > -87.0f)) return 0.0f;\n"
      "    float shifted = multiply_add(x, 1.442695022f, 12582912.0f), t = shifted - 12582912.0f;\n"
      "    float r = multiply_add(t, 1.904654212e-9f, multiply_add(t, -0.6931471825f, x));\n"
      "    return bits_float(float_bits(exp_poly(r)) + (float_bits(shifted) << 23));\n"
      "}\n",
      0 },
    { "exp_scaled", "exp_poly product ",
      "/* m e^(x + low), -170 <= x <= 126. */\n"
      "static float exp_scaled(float m, float x, float low)\n"
      "{\n"
      "    float shifted = multiply_add(x, 1.442695022f, 12582912.0f), t = shifted - 12582912.0f;\n"
      "    uint32_t n = float_bits(shifted) - float_bits(12582912.0f) + 300u, half = n >> 1;\n"
      "    float r = multiply_add(t, -0.6931471825f, x);\n"
      "    r += multiply_add(t, 1.904654212e-9f, low);\n"
      "    float y = exp_poly(r) * bits_float((half - 23u) << 23);\n"
      "    return product(m * y, bits_float((n - half - 23u) << 23));\n"
      "}\n",
      0 },
    { "exp_of", "exp_scaled unless_nan abs_upto with_sign ",
      "static float exp_of(float x)\n"
      "{\n"
      "    return unless_nan(x, exp_scaled(1.0f, with_sign(abs_upto(x, 126.0f), x), 0.0f));\n"
      "}\n",
      0 },
    { "log_of", "poly not_a_number infinity bits ",
      "static float log_of(float x)\n"
      "{\n"
      "    static const float c[9] = { 0.3333331347f, -0.2500016689f, 0.2000222355f, -0.1665936708f,\n"
      "                                0.1420955509f, -0.1254966706f, 0.1210910156f, -0.1091737822f,\n"
      "                                0.05339729786f };\n"
      "    if (x == 0.0f) return -INFINITE;\n"
      "    if (!(x > 0.0f)) return NOT_A_NUMBER;\n"
      "    if (x == INFINITE) return x;\n"
      "    int tiny = x < 1.17549435e-38f;\n"
      "    uint32_t u = float_bits(tiny ? x * 8388608.0f : x) + (0x3f800000u - 0x3f3504f3u);\n"
      "    float e = (float)(int32_t)(u >> 23) - (tiny ? 150.0f : 127.0f);\n"
      "    float f = bits_float((u & 0x007fffffu) + 0x3f3504f3u) - 1.0f;\n"
      "    float tail = multiply_add(f, poly(f, c, 9), -0.5f);\n"
      "    tail = multiply_add(f * f, tail, e * -1.904654212e-9f);\n"
      "    return multiply_add(e, 0.6931471825f, f + tail);\n"
      "}\n",
      0 },
    { "abs_of", "bits ",
      "static inline float abs_of(float x)\n"
      "{\n"
      "    return bits_float(float_bits(x) & 0x7fffffffu);\n"
      "}\n",
      0 },
    { "pow_of", "poly exp_scaled product infinity not_a_number abs_upto with_sign abs_of bits ",
      "/* log(x), x > 0, as a sum of two numbers. */\n"
      "static float log_pair(float x, float *low)\n"
      "{\n"
      "    static const float c[4] = { 0.3333333135f, 0.2000048608f, 0.1424940675f, 0.1213891879f };\n"
      "    int tiny = x < 1.17549435e-38f;\n"
      "    uint32_t u = float_bits(tiny ? x * 8388608.0f : x) + (0x3f800000u - 0x3f3504f3u);\n"
      "    float e = (float)(int32_t)(u >> 23) - (tiny ? 150.0f : 127.0f);\n"
      "    float f = bits_float((u & 0x007fffffu) + 0x3f3504f3u) - 1.0f, i = 1.0f / (2.0f + f);\n"
      "    float s = product(f, i), z = s * s, two_s = s + s;\n"
      "    float lost = multiply_add(-s, f, f - two_s) * i;\n"
      "    float el = product(e, 0.693145752f), a = el + two_s;\n"
      "    float rest = multiply_add(e, 1.428606765e-6f, 2.0f * lost);\n"
      "    rest = multiply_add(two_s * z, poly(z, c, 4), rest);\n"
      "    rest += (el - a) + two_s;\n"
      "    float y = a + rest;\n"
      "    *low = (a - y) + rest;\n"
      "    return y;\n"
      "}\n"
      "\n"
      "/* Is x >= 0 an integer? Adding 2^23 rounds to one, and above that every float is. */\n"
      "static int is_whole(float x)\n"
      "{\n"
      "    float a = x < 8388608.0f ? x : 8388608.0f;\n"
      "    return (a + 8388608.0f) - 8388608.0f == a;\n"
      "}\n"
      "\n"
      "/* x^y = e^(y log|x|), negative where x is and y is odd. */\n"
      "static float pow_of(float x, float y)\n"
      "{\n"
      "    float a = abs_of(x), b = abs_of(y), low, hi = log_pair(a, &low);\n"
      "    if (y == 0.0f || x == 1.0f) return 1.0f;\n"
      "    if (x != x || y != y) return NOT_A_NUMBER;\n"
      "    if (x < 0.0f && x != -INFINITE && !is_whole(b)) return NOT_A_NUMBER;\n"
      "    if (a == 0.0f) hi = -INFINITE;\n"
      "    if (a == INFINITE) hi = INFINITE;\n"
      "    float p = a == 1.0f ? 0.0f : product(y, hi);\n"
      "    low = multiply_add(y, low, multiply_add(y, hi, -p));\n"
      "    if (!(abs_of(p) < 150.0f) || p == 0.0f) low = 0.0f;\n"
      "    float r = exp_scaled(1.0f, with_sign(abs_upto(p, 126.0f), p), low);\n"
      "    return is_whole(b) && !is_whole(0.5f * b) ? with_sign(r, x) : r;\n"
      "}\n",
      0 },
    { "log1p_of", "poly not_a_number infinity bits ",
      "/* log(1 + x) */\n"
      "static float log1p_of(float x)\n"
      "{\n"
      "    static const float c[9] = { 0.3333331347f, -0.2500016689f, 0.2000222355f, -0.1665936708f,\n"
      "                                0.1420955509f, -0.1254966706f, 0.1210910156f, -0.1091737822f,\n"
      "                                0.05339729786f };\n"
      "    if (x == -1.0f) return -INFINITE;\n"
      "    if (!(x > -1.0f)) return NOT_A_NUMBER;\n"
      "    if (x == INFINITE || x == 0.0f) return x;\n"
      "    uint32_t u = float_bits(1.0f + x) + (0x3f800000u - 0x3f3504f3u);\n"
      "    float e = (float)(int32_t)(u >> 23) - 127.0f;\n"
      "    float f = bits_float((u & 0x007fffffu) + 0x3f3504f3u) - 1.0f;\n"
      "    float s = bits_float((uint32_t)(127 - (int32_t)e) << 23);\n"
      "    if (x < 16777216.0f) f = multiply_add(x, s, s - 1.0f);\n"
      "    float tail = multiply_add(f, poly(f, c, 9), -0.5f);\n"
      "    tail = multiply_add(f * f, tail, e * -1.904654212e-9f);\n"
      "    return multiply_add(e, 0.6931471825f, f + tail);\n"
      "}\n",
      0 },
    { "sqrt_of", "product not_a_number infinity bits ",
      "/* Rounded correctly: the well-known guess, three steps of Newton, and one on the residual. */\n"
      "static float sqrt_of(float x)\n"
      "{\n"
      "    if (x == 0.0f || x == INFINITE) return x;\n"
      "    if (!(x > 0.0f)) return NOT_A_NUMBER;\n"
      "    int tiny = x < 1.17549435e-38f;\n"
      "    uint32_t u = float_bits(tiny ? x * 16777216.0f : x), k = ((u >> 23) + 1u) >> 1;\n"
      "    float m = bits_float(u - (k << 24) + (128u << 23));\n"
      "    float y = bits_float(0x5f375a86u - (float_bits(m) >> 1)), h = -0.5f * m;\n"
      "    for (int i = 0; i < 3; i++) y = multiply_add(y, multiply_add(h * y, y, 0.5f), y);\n"
      "    float s = m * y;\n"
      "    s = multiply_add(multiply_add(-s, s, m), 0.5f * y, s);\n"
      "    return product(s, bits_float((k + (tiny ? 51u : 63u)) << 23));\n"
      "}\n",
      0 },
    { "rsqrt_of", "sqrt_of unless_nan ",
      "static float rsqrt_of(float x)\n"
      "{\n"
      "    return unless_nan(x, 1.0f / sqrt_of(x));\n"
      "}\n",
      0 },
    { "tanh_of", "exp_scaled unless_nan abs_upto with_sign ",
      "static float tanh_of(float x)\n"
      "{\n"
      "    static const float c[5] = { -0.3333329856f, 0.133319363f, -0.05378471687f, 0.02079862542f,\n"
      "                                -0.005897966214f };\n"
      "    float a = abs_upto(x, 63.0f), s = a * a, y;\n"
      "    if (a < 0.6f) y = multiply_add(a * s, poly(s, c, 5), a);\n"
      "    else y = 1.0f - 2.0f / (exp_scaled(1.0f, 2.0f * a, 0.0f) + 1.0f);\n"
      "    return unless_nan(x, with_sign(y, x));\n"
      "}\n",
      0 },
    { "sigmoid", "exp_scaled unless_nan abs_upto ",
      "static float sigmoid(float x)\n"
      "{\n"
      "    float t = exp_scaled(1.0f, -abs_upto(x, 126.0f), 0.0f), top = x < 0.0f ? t : 1.0f;\n"
      "    float bottom = 1.0f + t, lost = t - (bottom - 1.0f), i = 1.0f / bottom, y = top * i;\n"
      "    y = multiply_add(multiply_add(-y, lost, multiply_add(-y, bottom, top)), i, y);\n"
      "    return unless_nan(x, y);\n"
      "}\n",
      0 },
    { "softplus", "exp_scaled log1p_of unless_nan abs_upto ",
      "static float softplus(float x)\n"
      "{\n"
      "    float t = exp_scaled(1.0f, -abs_upto(x, 126.0f), 0.0f);\n"
      "    return unless_nan(x, (x > 0.0f ? x : 0.0f) + log1p_of(t));\n"
      "}\n",
      0 },
    { "smooth_relu", "not_a_number infinity ",
      "static inline float smooth_relu(float x, float tail)\n"
      "{\n"
      "    if (!(x > -INFINITE)) return NOT_A_NUMBER;\n"
      "    return (x > 0.0f ? x : 0.0f) - tail;\n"
      "}\n",
      0 },
    { "smooth_relu_grad", "not_a_number infinity ",
      "static inline float smooth_relu_grad(float x, float d)\n"
      "{\n"
      "    if (!(x > -INFINITE && x < INFINITE)) return NOT_A_NUMBER;\n"
      "    return x < 0.0f ? d : 1.0f - d;\n"
      "}\n",
      0 },
    { "silu", "smooth_relu exp_scaled abs_upto ",
      "static float silu(float x)\n"
      "{\n"
      "    float a = abs_upto(x, 126.0f), t = exp_scaled(1.0f, -a, 0.0f);\n"
      "    return smooth_relu(x, exp_scaled(a / (1.0f + t), -a, 0.0f));\n"
      "}\n",
      0 },
    { "silu_grad", "smooth_relu_grad exp_scaled abs_upto ",
      "static float silu_grad(float x)\n"
      "{\n"
      "    float a = abs_upto(x, 126.0f), i = 1.0f / (1.0f + exp_scaled(1.0f, -a, 0.0f));\n"
      "    return smooth_relu_grad(x, exp_scaled(i * multiply_add(-a, i, 1.0f), -a, 0.0f));\n"
      "}\n",
      0 },
    { "gauss", "exp_scaled product ",
      "/* m e^(-a^2 / 2) */\n"
      "static float gauss(float m, float a)\n"
      "{\n"
      "    float h = -0.5f * a, square = product(h, a);\n"
      "    return exp_scaled(m, square, multiply_add(h, a, -square));\n"
      "}\n",
      0 },
    { "normal_tail", "poly ",
      "/* e^(a^2 / 2) Q(a), a >= 0, where Q(a) is the normal distribution's mass above a. */\n"
      "static float normal_tail(float a)\n"
      "{\n"
      "    static const float c[10] = { 0.09441064299f, -0.0759870708f, 0.04839203134f, -0.02331547067f,\n"
      "                                 0.007551398594f, -0.0009402878932f, -0.0004423804639f,\n"
      "                                 0.0001944094984f, 2.619799852e-5f, -1.369322763e-5f };\n"
      "    float i = 1.0f / (a + 4.0f), q = (a - 4.0f) * i;\n"
      "    q = multiply_add(i, multiply_add(-q, a, multiply_add(-4.0f, q + 1.0f, a)), q);\n"
      "    float p = poly(q, c, 10);\n"
      "    return multiply_add(-q, p, p);\n"
      "}\n",
      0 },
    { "gelu", "smooth_relu gauss normal_tail abs_upto ",
      "static float gelu(float x)\n"
      "{\n"
      "    float a = abs_upto(x, 15.0f);\n"
      "    return smooth_relu(x, gauss(a * normal_tail(a), a));\n"
      "}\n",
      0 },
    { "gelu_grad", "smooth_relu_grad gauss normal_tail abs_upto ",
      "static float gelu_grad(float x)\n"
      "{\n"
      "    float a = abs_upto(x, 15.0f);\n"
      "    float d = gauss(multiply_add(a, -0.3989422917f, normal_tail(a)), a);\n"
      "    return smooth_relu_grad(x, d);\n"
      "}\n",
      0 },
    { "gelu_tanh_arg", "product ",
      "static float gelu_tanh_arg(float a, float *low)\n"
      "{\n"
      "    const float c = 1.595768929f, d = 0.07135481387f;\n"
      "    float s = product(a, a), w = multiply_add(d, s, c), y = product(-a, w), lost;\n"
      "    lost = multiply_add(d, multiply_add(a, a, -s),\n"
      "                        multiply_add(s, 2.398832396e-9f, 1.930778987e-7f));\n"
      "    lost += multiply_add(d, s, c - w);\n"
      "    *low = multiply_add(-a, lost, multiply_add(-a, w, -y));\n"
      "    return y;\n"
      "}\n",
      0 },
    { "gelu_tanh", "smooth_relu gelu_tanh_arg exp_scaled abs_upto ",
      "static float gelu_tanh(float x)\n"
      "{\n"
      "    float low, a = abs_upto(x, 12.0f), y = gelu_tanh_arg(a, &low);\n"
      "    float t = exp_scaled(1.0f, y, low);\n"
      "    return smooth_relu(x, exp_scaled(a / (1.0f + t), y, low));\n"
      "}\n",
      0 },
    { "gelu_tanh_grad", "smooth_relu_grad gelu_tanh_arg exp_scaled abs_upto ",
      "static float gelu_tanh_grad(float x)\n"
      "{\n"
      "    float low, a = abs_upto(x, 12.0f), y = gelu_tanh_arg(a, &low);\n"
      "    float i = 1.0f / (1.0f + exp_scaled(1.0f, y, low));\n"
      "    float slope = multiply_add(a * a, 0.2140644491f, 1.595769167f);\n"
      "    float d = exp_scaled(i * multiply_add(-a * i, slope, 1.0f), y, low);\n"
      "    return smooth_relu_grad(x, d);\n"
      "}\n",
      0 },
    { "sin_quadrant", "poly bits ",
      "/* sin(r + n pi/2), |r| <= pi/4 */\n"
      "static float sin_quadrant(float r, uint32_t n)\n"
      "{\n"
      "    static const float sine[4] = { -0.1666666716f, 0.008333379403f, -0.000198530659f,\n"
      "                                   2.832548716e-6f };\n"
      "    static const float cosine[5] = { 1.0f, -0.5f, 0.04166664556f, -0.001388730947f,\n"
      "                                     2.443232734e-5f };\n"
      "    float s = r * r, y = poly(s, cosine, 5);\n"
      "    if (!(n & 1u)) y = multiply_add(r * s, poly(s, sine, 4), r);\n"
      "    return bits_float(float_bits(y) ^ ((n & 2u) << 30));\n"
      "}\n",
      0 },
    { "sin_from", "sin_quadrant product not_a_number infinity abs_of ",
      "/* x (2/pi) mod 4, its nearest integer as n, and what is left times pi/2; x >= 2^17. Payne, Hanek,\n"
      "   \"Radian reduction for trigonometric functions\", 1983. */\n"
      "static float reduce_large(float x, uint32_t *n)\n"
      "{\n"
      "    static const uint32_t two_over_pi[8] = { 0u, 0xA2F9836Eu, 0x4E441529u, 0xFC2757D1u, 0xF534DDC0u,\n"
      "                                             0xDB629599u, 0x3C439041u, 0xFE5163ABu };\n"
      "    uint32_t u = float_bits(x), first = (u >> 23) - 120u, word = first >> 5, shift = first & 31u;\n"
      "    uint32_t back = 31u - shift, m = (u & 0x007fffffu) | 0x00800000u, w[3];\n"
      "    for (uint32_t i = 0; i < 3; i++)\n"
      "        w[i] = (two_over_pi[word + i] << shift) | (two_over_pi[word + i + 1u] >> 1 >> back);\n"
      "    uint64_t turns = ((uint64_t)(m * w[0]) << 32) + (uint64_t)m * w[1] + ((uint64_t)m * w[2] >> 32);\n"
      "    uint32_t high = (uint32_t)(turns >> 32), low = (uint32_t)turns;\n"
      "    *n = (high + 0x20000000u) >> 30;\n"
      "    float rest = (float)(int32_t)(high - (*n << 30));\n"
      "    rest = multiply_add(rest, 16777216.0f, (float)(int32_t)(low >> 8));\n"
      "    return product(rest, 8.71967124e-17f);\n"
      "}\n"
      "\n"
      "/* sin(|x| + turn pi/2) */\n"
      "static float sin_from(float x, uint32_t turn)\n"
      "{\n"
      "    uint32_t n;\n"
      "    float a = abs_of(x), r;\n"
      "    if (!(a < INFINITE)) return NOT_A_NUMBER;\n"
      "    if (a < 131072.0f) {\n"
      "        float shifted = multiply_add(a, 0.636619747f, 12582912.0f), t = shifted - 12582912.0f;\n"
      "        n = float_bits(shifted) - float_bits(12582912.0f);\n"
      "        r = multiply_add(t, -1.57079637f, a);\n"
      "        r = multiply_add(t, 4.37113883e-8f, r);\n"
      "        r = multiply_add(t, 1.71512489e-15f, r);\n"
      "    } else {\n"
      "        r = reduce_large(a, &n);\n"
      "    }\n"
      "    return sin_quadrant(r, n + turn);\n"
      "}\n",
      0 },
    { "sin_of", "sin_from unless_nan ",
      "static float sin_of(float x)\n"
      "{\n"
      "    float y = sin_from(x, 0u);\n"
      "    return unless_nan(y, bits_float(float_bits(y) ^ (float_bits(x) & 0x80000000u)));\n"
      "}\n",
      0 },
    { "cos_of", "sin_from ",
      "static float cos_of(float x)\n"
      "{\n"
      "    return sin_from(x, 1u);\n"
      "}\n",
      0 },
    { "erf_of", "gauss normal_tail unless_nan abs_upto with_sign ",
      "static float erf_of(float x)\n"
      "{\n"
      "    static const float c[7] = { 0.1283791661f, -0.3761263192f, 0.1128368154f, -0.02685902268f,\n"
      "                                0.005200721789f, -0.0008144158055f, 8.392268501e-05f };\n"
      "    float a = abs_upto(x, 10.0f), b = product(a, 1.41421354f), y;\n"
      "    if (a < 0.9f)\n"
      "        y = multiply_add(a, poly(a * a, c, 7), a);\n"
      "    else\n"
      "        y = multiply_add(-2.0f, gauss(normal_tail(b), b), 1.0f);\n"
      "    return unless_nan(x, with_sign(y, x));\n"
      "}\n",
      0 },
    { "expm1_of", "exp_of poly ",
      "/* e^x - 1 */\n"
      "static float expm1_of(float x)\n"
      "{\n"
      "    static const float c[5] = { 0.4999999404f, 0.1666651517f, 0.04166808724f, 0.008369296789f,\n"
      "                                0.001383823925f };\n"
      "    if (x != x || x > 80.0f) return exp_of(x);\n"
      "    if (x < -80.0f) return -1.0f;\n"
      "    if (x == 0.0f) return x;\n"
      "    float shifted = multiply_add(x, 1.442695022f, 12582912.0f), t = shifted - 12582912.0f;\n"
      "    uint32_t n = float_bits(shifted) - float_bits(12582912.0f);\n"
      "    float r = multiply_add(t, 1.904654212e-9f, multiply_add(t, -0.6931471825f, x));\n"
      "    float scale = bits_float((n + 127u) << 23);\n"
      "    return multiply_add(scale, multiply_add(r * r, poly(r, c, 5), r), scale - 1.0f);\n"
      "}\n",
      0 },
    { "round_of", "unless_nan abs_upto abs_of with_sign ",
      "/* The nearest integer, halves to even. */\n"
      "static float round_of(float x)\n"
      "{\n"
      "    float a = abs_upto(x, 8388608.0f), y = (a + 8388608.0f) - 8388608.0f;\n"
      "    return unless_nan(x, abs_of(x) < 8388608.0f ? with_sign(y, x) : x);\n"
      "}\n",
      0 },
    { "floor_of", "round_of ",
      "static float floor_of(float x)\n"
      "{\n"
      "    float y = round_of(x);\n"
      "    return y > x ? y - 1.0f : y;\n"
      "}\n",
      0 },
    { "ceil_of", "round_of ",
      "static float ceil_of(float x)\n"
      "{\n"
      "    float y = round_of(x);\n"
      "    return y < x ? with_sign(abs_of(y + 1.0f), x) : y;\n"
      "}\n",
      0 },
    { "sign_of", "unless_nan ",
      "static float sign_of(float x)\n"
      "{\n"
      "    if (x > 0.0f) return 1.0f;\n"
      "    return unless_nan(x, x < 0.0f ? -1.0f : 0.0f);\n"
      "}\n",
      0 },
    { NULL, NULL, NULL, 0 },
};

static const op_emitter none[] = { { NULL, NULL } };
const family math_family = { none, pieces };
