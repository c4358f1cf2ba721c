/* ==== [math] ================================================================================ */
/* The C library's expf differs from machine to machine; a checkpoint must not. So the library has
   its own functions, built only from float +, -, *, /, fma and integer operations: each of these
   has exactly one correct result, hence so has every formula below, on every compiler, one element
   or eight at a time. Three rules keep it so; code that uses this chapter obeys them too:

   1. A compiler may fuse a*b + c into one fma, or may not. So a product that feeds an addition is
      written samba__fma(a, b, c), or samba__mul(a, b) where the rounded product itself is wanted. A
      function whose last step is a product ends in samba__mul, as its caller may add to the result.
   2. No branches, no && or ||, only selects between finished values, one test each: then a plain
      loop over the function is vectorised, and every arm is defined for every input.
   3. Every NaN that leaves is the same NaN, as machines disagree which operand's NaN to pass on.

   Polynomials are minimax fits (Remez exchange, coefficients rounded one by one) unless a source is
   named. Largest errors found, in units in the last place (ulp; the best possible is 0.5):

      exp 0.90   log 0.84  log1p 1.43   sqrt 0.50   rsqrt 1.5   tanh 1.41   sigmoid 1.48
      softplus 1.6   silu 2.6   gelu 4.1   gelu_tanh 3.2   sin_2pi 1.5
      erf 1.4   expm1 1.5   sin, cos 1.5, from 2^17 on 2.9
      pow 1.1 + |y log x| / 14, a relative error below 5 10^-7

   The three _grad functions: 1.3 10^-7 absolute; 10 ulp beyond 1/4 from their only zero. */
#define SAMBA__INF samba__bits_float(0x7f800000u)
#define SAMBA__NAN samba__bits_float(0x7fc00000u)

/* a*b, rounded, out of reach of fusion. (-0 becomes +0.) */
SAMBA__INLINE float samba__mul(float a, float b)
{
    return samba__fma(a, b, 0.0f);
}

SAMBA__INLINE float samba__abs(float x)
{
    return samba__bits_float(samba__float_bits(x) & 0x7fffffffu);
}

/* min(|x|, limit) of the bit patterns, so NaN gives limit, and arms that are not selected stay
   finite. A minimum of integers, because that vectorizes. */
SAMBA__INLINE float samba__abs_upto(float x, float limit)
{
    uint32_t a = samba__float_bits(x) & 0x7fffffffu, most = samba__float_bits(limit);
    return samba__bits_float(a < most ? a : most);
}

/* The magnitude y >= 0 with the sign of x. */
SAMBA__INLINE float samba__with_sign(float y, float x)
{
    return samba__bits_float(samba__float_bits(y) | (samba__float_bits(x) & 0x80000000u));
}

/* y = f(x), or the one NaN if x is any NaN. */
SAMBA__INLINE float samba__unless_nan(float x, float y)
{
    return x == x ? y : SAMBA__NAN;
}

/* The larger number; the NaN if one is NaN. The select alone is an instruction for maxima. */
SAMBA__INLINE float samba__larger(float s, float x)
{
    return samba__unless_nan(x, x > s ? x : s);
}

/* c0 + c1 x + c2 x^2 + c3 x^3 by Horner's rule; to go on, c3 is itself a polynomial in x. */
SAMBA__INLINE float samba__poly(float x, float c0, float c1, float c2, float c3)
{
    return samba__fma(samba__fma(samba__fma(c3, x, c2), x, c1), x, c0);
}

/* The integer n nearest to a*b, |n| < 2^22, as a float and as two's complement bits. Adding
   1.5 * 2^23 leaves no room for a fraction: the sum's low bits are n; subtracting it leaves n. */
SAMBA__INLINE float samba__round_product(float a, float b, uint32_t *n)
{
    float shifted = samba__fma(a, b, 12582912.0f);
    *n = samba__float_bits(shifted) - samba__float_bits(12582912.0f);
    return shifted - 12582912.0f;
}

/* e^r, |r| <= 0.347 */
SAMBA__INLINE float samba__exp_poly(float r)
{
    return samba__poly(
        r, 1.0f, 1.0f, 0.4999999404f,
        samba__poly(r, 0.1666651517f, 0.04166808724f, 0.008369296789f, 0.001383823925f));
}

/* m e^(x + low), low a small correction to x, -170 <= x <= 126. With n = round(x / ln 2) and
   r = x - n ln 2, e^x = 2^n e^r, |r| <= 0.347. ln 2 comes in two parts (Cody and Waite 1980); the
   first fma is exact. 2^n is applied in two halves: results overflow to infinity and underflow
   gradually. m is 1 if x > 0, and |m| < 10^9. */
SAMBA__INLINE float samba__exp_scaled(float m, float x, float low)
{
    uint32_t n, half;
    float t = samba__round_product(x, 1.442695022f, &n), r, y;
    r = samba__fma(t, -0.6931471825f, x);
    r += samba__fma(t, 1.904654212e-9f, low);
    y = samba__exp_poly(r);
    n += 300u; /* now positive, and halving is a shift: 2^n = 2^(half - 150) 2^(n - half - 150) */
    half = n >> 1;
    y *= samba__bits_float((half - 23u) << 23); /* m comes after: two calls may share this */
    return samba__mul(m * y, samba__bits_float((n - half - 23u) << 23));
}

/* e^x: e^126 is infinity, and e^-126 is 0. */
SAMBA__INLINE float samba__exp(float x)
{
    float limited = samba__with_sign(samba__abs_upto(x, 126.0f), x);
    return samba__unless_nan(x, samba__exp_scaled(1.0f, limited, 0.0f));
}

/* e^x for x <= 0, as rows need it: 0 below -87, where n would leave the exponent, and for NaN. The
   low bits of the sum that rounds are n; shifted, they add to the exponent. */
SAMBA__INLINE float samba__exp_below(float x)
{
    float limited = x > -87.0f ? x : -87.0f;
    float shifted = samba__fma(limited, 1.442695022f, 12582912.0f), t = shifted - 12582912.0f;
    float r = samba__fma(t, 1.904654212e-9f, samba__fma(t, -0.6931471825f, limited));
    float y = samba__exp_poly(r);
    y = samba__bits_float(samba__float_bits(y) + (samba__float_bits(shifted) << 23));
    return x > -87.0f ? y : 0.0f;
}

/* x = 2^e (1 + f) with 1 + f from sqrt(1/2) to sqrt(2), for x > 0; returns f. Moving the bits of
   sqrt(1/2) onto those of 1 makes the exponent field count from there. Subnormals are scaled. */
SAMBA__INLINE float samba__log_split(float x, float *e)
{
    int tiny = x < 1.17549435e-38f;
    float scaled = x * 8388608.0f;
    uint32_t u = samba__float_bits(tiny ? scaled : x) + (0x3f800000u - 0x3f3504f3u);
    *e = (float)(int32_t)(u >> 23) - (tiny ? 150.0f : 127.0f);
    return samba__bits_float((u & 0x007fffffu) + 0x3f3504f3u) - 1.0f;
}

/* (log(1 + f) - f + f^2 / 2) / f^3 for f from log_split. */
SAMBA__INLINE float samba__log_poly(float f)
{
    return samba__poly(
        f, 0.3333331347f, -0.2500016689f, 0.2000222355f,
        samba__poly(f, -0.1665936708f, 0.1420955509f, -0.1254966706f,
                    samba__fma(f, samba__fma(f, 0.05339729786f, -0.1091737822f), 0.1210910156f)));
}

/* e ln 2 + log(1 + f), smallest terms first. */
SAMBA__INLINE float samba__log_join(float e, float f)
{
    float tail = samba__fma(f, samba__log_poly(f), -0.5f);
    tail = samba__fma(f * f, tail, e * -1.904654212e-9f);
    return samba__fma(e, 0.6931471825f, f + tail);
}

/* log x */
SAMBA__INLINE float samba__log(float x)
{
    float e, f = samba__log_split(x, &e), y = samba__log_join(e, f);
    y = x == SAMBA__INF ? x : y;
    y = x == 0.0f ? -SAMBA__INF : y;
    return x >= 0.0f ? y : SAMBA__NAN;
}

/* log(1 + x). 1 + x loses bits of x, so it only chooses e; f = (1 + x) 2^-e - 1 = x s + (s - 1)
   with s = 2^-e is rounded once, and is x itself near 0. From 2^24 on, the 1 no longer matters. */
SAMBA__INLINE float samba__log1p(float x)
{
    float e, f = samba__log_split(1.0f + x, &e);
    float s = samba__bits_float((uint32_t)(127 - (int32_t)e) << 23);
    float y = samba__log_join(e, x < 16777216.0f ? samba__fma(x, s, s - 1.0f) : f);
    y = x == SAMBA__INF ? x : y;
    y = x == 0.0f ? x : y; /* of -0 it is -0 */
    y = x == -1.0f ? -SAMBA__INF : y;
    return x >= -1.0f ? y : SAMBA__NAN;
}

/* sqrt x, correctly rounded, hence equal to the hardware's; spelled out because compilers do not
   vectorise sqrtf while it may set errno. x = 4^k m with m in [1, 4); y -> 1 / sqrt(m) by the
   well-known integer guess and three Newton steps; then one step on s = m y with an exact residual
   (Markstein 1990). Checked against sqrtss for all floats. */
SAMBA__INLINE float samba__sqrt(float x)
{
    int tiny = x < 1.17549435e-38f;
    float scaled = x * 16777216.0f;
    uint32_t u = samba__float_bits(tiny ? scaled : x);
    uint32_t k = ((u >> 23) + 1u) >> 1; /* 64 more than the true k */
    float m = samba__bits_float(u - (k << 24) + (128u << 23));

    float y = samba__bits_float(0x5f375a86u - (samba__float_bits(m) >> 1)), h = -0.5f * m, s;
    y = samba__fma(y, samba__fma(h * y, y, 0.5f), y);
    y = samba__fma(y, samba__fma(h * y, y, 0.5f), y);
    y = samba__fma(y, samba__fma(h * y, y, 0.5f), y);

    s = m * y;
    s = samba__fma(samba__fma(-s, s, m), 0.5f * y, s);
    s = samba__mul(s, samba__bits_float((k + (tiny ? 51u : 63u)) << 23));

    s = x == 0.0f ? x : s;
    s = x == SAMBA__INF ? x : s;
    return x >= 0.0f ? s : SAMBA__NAN;
}

/* 1 / sqrt x, as two correctly rounded operations. */
SAMBA__INLINE float samba__rsqrt(float x)
{
    return samba__unless_nan(x, 1.0f / samba__sqrt(x));
}

/* tanh x = x + x^3 P(x^2) near 0, else 1 - 2 / (e^2x + 1) with the sign put back. */
SAMBA__INLINE float samba__tanh(float x)
{
    float a = samba__abs_upto(x, 63.0f), s = a * a;
    float p = samba__poly(s, -0.3333329856f, 0.133319363f, -0.05378471687f,
                          samba__fma(s, -0.005897966214f, 0.02079862542f));
    float inner = samba__fma(a * s, p, a);
    float outer = 1.0f - 2.0f / (samba__exp_scaled(1.0f, 2.0f * a, 0.0f) + 1.0f);
    return samba__unless_nan(x, samba__with_sign(a < 0.6f ? inner : outer, x));
}

/* 1 / (1 + e^-x), or e^x / (1 + e^x) if x < 0: with t = e^-|x| nothing overflows, and small results
   keep their digits. One residual step repairs the roundings of 1 + t and of the quotient. */
SAMBA__INLINE float samba__sigmoid(float x)
{
    float t = samba__exp_scaled(1.0f, -samba__abs_upto(x, 126.0f), 0.0f), top = x < 0.0f ? t : 1.0f;
    float bottom = 1.0f + t, lost = t - (bottom - 1.0f), i = 1.0f / bottom, y = top * i;
    y = samba__fma(samba__fma(-y, lost, samba__fma(-y, bottom, top)), i, y);
    return samba__unless_nan(x, y);
}

/* log(1 + e^x) = max(x, 0) + log(1 + e^-|x|) */
SAMBA__INLINE float samba__softplus(float x)
{
    float t = samba__exp_scaled(1.0f, -samba__abs_upto(x, 126.0f), 0.0f);
    return samba__unless_nan(x, (x > 0.0f ? x : 0.0f) + samba__log1p(t));
}

/* The three smooth ReLUs are x S(x) for a step S with S(x) + S(-x) = 1. Hence, with a = |x|,
       x S(x) = max(x, 0) - a S(-a),        d/dx (x S(x)) = D if x < 0, 1 - D otherwise,
   where D is the derivative at -a: only the left tail is computed, and nothing cancels. x S(x) of
   -inf is -inf 0, and the derivative at either infinity inf 0: NaN, as in PyTorch, though they have
   limits. An activation that overflowed is to be seen. */
SAMBA__INLINE float samba__smooth_relu(float x, float tail)
{
    float y = (x > 0.0f ? x : 0.0f) - tail;
    return x > -SAMBA__INF ? y : SAMBA__NAN;
}

SAMBA__INLINE float samba__smooth_relu_grad(float x, float d)
{
    float slope = x < 0.0f ? d : 1.0f - d;
    return samba__abs(x) < SAMBA__INF ? slope : SAMBA__NAN;
}

/* SiLU, x sigmoid(x): a S(-a) = a / (1 + t) e^-a with t = e^-a. */
SAMBA__INLINE float samba__silu(float x)
{
    float a = samba__abs_upto(x, 126.0f), t = samba__exp_scaled(1.0f, -a, 0.0f);
    return samba__smooth_relu(x, samba__exp_scaled(a / (1.0f + t), -a, 0.0f));
}

/* D = S (1 - a (1 - S)) at -a, where 1 - S = i = 1 / (1 + t) and S = t i. */
SAMBA__INLINE float samba__silu_grad(float x)
{
    float a = samba__abs_upto(x, 126.0f), i = 1.0f / (1.0f + samba__exp_scaled(1.0f, -a, 0.0f));
    return samba__smooth_relu_grad(x, samba__exp_scaled(i * samba__fma(-a, i, 1.0f), -a, 0.0f));
}

/* m e^(-a^2 / 2), the square kept in two parts so that the far tail stays accurate. */
SAMBA__INLINE float samba__gauss(float m, float a)
{
    float h = -0.5f * a, square = samba__mul(h, a);
    return samba__exp_scaled(m, square, samba__fma(h, a, -square));
}

/* e^(a^2 / 2) Q(a), a >= 0, where Q(a) is the normal distribution's mass above a: a slowly falling
   function, fitted as (1 - q) P(q) with q = (a - 4) / (a + 4) (Shepherd and Laframboise 1981). The
   quotient is refined by its residual a - 4 - q (a + 4). */
SAMBA__INLINE float samba__normal_tail(float a)
{
    float i = 1.0f / (a + 4.0f), q = (a - 4.0f) * i, p;
    q = samba__fma(i, samba__fma(-q, a, samba__fma(-4.0f, q + 1.0f, a)), q);
    p = samba__poly(q, 0.09441064299f, -0.0759870708f, 0.04839203134f,
                    samba__poly(q, -0.02331547067f, 0.007551398594f, -0.0009402878932f,
                                samba__poly(q, -0.0004423804639f, 0.0001944094984f, 2.619799852e-5f,
                                            -1.369322763e-5f)));
    return samba__fma(-q, p, p);
}

/* GELU, x (1 + erf(x / sqrt(2))) / 2: a smooth ReLU whose S(-a) is Q(a). */
SAMBA__INLINE float samba__gelu(float x)
{
    float a = samba__abs_upto(x, 15.0f);
    return samba__smooth_relu(x, samba__gauss(a * samba__normal_tail(a), a));
}

/* D = Q(a) - a e^(-a^2 / 2) / sqrt(2 pi) */
SAMBA__INLINE float samba__gelu_grad(float x)
{
    float a = samba__abs_upto(x, 15.0f);
    float d = samba__gauss(samba__fma(a, -0.3989422917f, samba__normal_tail(a)), a);
    return samba__smooth_relu_grad(x, d);
}

/* GELU's tanh form, x (1 + tanh u) / 2 = x sigmoid(2u), 2u = sqrt(8 / pi) (x + 0.044715 x^3) =
   x (c + d x^2). An error of 2u makes one many times as large in the result, so this returns 2u
   at -a, a <= 12, with what rounding lost in low. c has 20 bits behind the point, so that c - w is
   exact; the rest of c, 1.9e-7, the rest of d and that of s = a^2 are added to what w lost. */
SAMBA__INLINE float samba__gelu_tanh_arg(float a, float *low)
{
    const float c = 1.595768929f, d = 0.07135481387f;
    float s = samba__mul(a, a), w = samba__fma(d, s, c), y = samba__mul(-a, w), wl;
    wl = samba__fma(d, samba__fma(a, a, -s), samba__fma(s, 2.398832396e-9f, 1.930778987e-7f));
    wl += samba__fma(d, s, c - w);
    *low = samba__fma(-a, wl, samba__fma(-a, w, -y));
    return y;
}

SAMBA__INLINE float samba__gelu_tanh(float x)
{
    float low, a = samba__abs_upto(x, 12.0f), y = samba__gelu_tanh_arg(a, &low);
    float t = samba__exp_scaled(1.0f, y, low);
    return samba__smooth_relu(x, samba__exp_scaled(a / (1.0f + t), y, low));
}

/* D as for SiLU, times the inner derivative: S (1 - a (1 - S) (c + 3 d a^2)). */
SAMBA__INLINE float samba__gelu_tanh_grad(float x)
{
    float low, a = samba__abs_upto(x, 12.0f), y = samba__gelu_tanh_arg(a, &low);
    float i = 1.0f / (1.0f + samba__exp_scaled(1.0f, y, low));
    float slope = samba__fma(a * a, 0.2140644491f, 1.595769167f);
    float d = samba__exp_scaled(i * samba__fma(-a * i, slope, 1.0f), y, low);
    return samba__smooth_relu_grad(x, d);
}

/* log x for x > 0 as a sum hi + low: e ln 2 + 2 atanh s with s = f / (2 + f), |s| < 0.172. The
   large terms, e ln 2 and 2s, keep their rounding errors (ln 2 has a first part of 16 bits, whose
   product with e is exact); 2 s^3 (1/3 + s^2 / 5 + ...) is small enough to need no such care. */
SAMBA__INLINE float samba__log_pair(float x, float *low)
{
    float e, f = samba__log_split(x, &e), i = 1.0f / (2.0f + f);
    float s = samba__mul(f, i), z = s * s, two_s = s + s;
    float lost = samba__fma(-s, f, f - two_s) * i; /* of s: the quotient's residual, divided */
    float el = samba__mul(e, 0.693145752f), a = el + two_s, rest, y;

    rest = samba__fma(e, 1.428606765e-6f, 2.0f * lost);
    rest = samba__fma(two_s * z,
                      samba__poly(z, 0.3333333135f, 0.2000048608f, 0.1424940675f, 0.1213891879f),
                      rest);
    rest += (el - a) + two_s;

    y = a + rest;
    *low = (a - y) + rest;
    return y;
}

/* Is a >= 0 an integer? Adding 2^23 rounds to one; above that, every float is. */
SAMBA__INLINE int samba__is_whole(float a)
{
    a = a < 8388608.0f ? a : 8388608.0f;
    return (a + 8388608.0f) - 8388608.0f == a;
}

/* x^y = e^(y log|x|), the product kept in two parts; negative where x is and y is odd. As in C:
   x^0 = 1^y = 1, even for NaN; no real power of a negative x exists unless y is an integer. */
SAMBA__INLINE float samba__pow(float x, float y)
{
    float a = samba__abs(x), b = samba__abs(y), p, low, hi = samba__log_pair(a, &low), r, real;
    uint32_t sign = samba__is_whole(0.5f * b) ? 0u : samba__float_bits(x) & 0x80000000u;
    sign = samba__is_whole(b) ? sign : 0u;

    hi = a == 0.0f ? -SAMBA__INF : hi;
    hi = a == SAMBA__INF ? SAMBA__INF : hi;
    p = a == 1.0f ? 0.0f : samba__mul(y, hi);
    low = samba__fma(y, low, samba__fma(y, hi, -p));
    low = samba__abs(p) < 150.0f ? low : 0.0f;
    low = p == 0.0f ? 0.0f : low;

    r = samba__exp_scaled(1.0f, samba__with_sign(samba__abs_upto(p, 126.0f), p), low);
    r = samba__bits_float(samba__float_bits(r) | sign);

    real = samba__is_whole(b) ? r : SAMBA__NAN;
    real = x == -SAMBA__INF ? r : real;
    r = x < 0.0f ? real : r;

    r = samba__unless_nan(x, samba__unless_nan(y, r));
    r = x == 1.0f ? 1.0f : r;
    return y == 0.0f ? 1.0f : r;
}

/* dy x^y log x, the gradient of power = x^y in y; where x is 0, it is 0, or infinite as the power.
 */
SAMBA__INLINE float samba__pow_slope(float dy, float x, float power)
{
    float slope = dy * (power * samba__log(x)), at_zero = power < SAMBA__INF ? 0.0f : dy * -power;
    return x == 0.0f ? at_zero : slope;
}

/* sin(r + n pi/2), |r| <= pi/4: the low two bits of n choose sin r, cos r, -sin r or -cos r. */
SAMBA__INLINE float samba__sin_quadrant(float r, uint32_t n)
{
    float s = r * r;
    float sine = samba__fma(
        r * s, samba__poly(s, -0.1666666716f, 0.008333379403f, -0.000198530659f, 2.832548716e-6f),
        r);
    float cosine = samba__poly(s, 1.0f, -0.5f, 0.04166664556f,
                               samba__fma(s, 2.443232734e-5f, -0.001388730947f));

    float y = (n & 1u) ? cosine : sine;
    return samba__bits_float(samba__float_bits(y) ^ ((n & 2u) << 30));
}

/* sin(2 pi u + turn pi/2), u in [0, 1): the reduction u - n/4 is exact. */
SAMBA__INLINE float samba__sin_2pi(float u, uint32_t turn)
{
    uint32_t n;
    float f = samba__fma(samba__round_product(u, 4.0f, &n), -0.25f, u);
    float r = samba__fma(f, 6.283185482f, f * -1.748455531e-7f);
    return samba__abs(u) < 1048576.0f ? samba__sin_quadrant(r, n + turn) : SAMBA__NAN;
}

/* x (2/pi) mod 4 for x from 2^17 on, its nearest integer as n, and what is left times pi/2: Payne,
   Hanek, "Radian reduction for trigonometric functions", 1983. With x = m 2^s, bits of 2/pi before
   the window make multiples of 4, and those behind its 96 bits are too small to matter. */
SAMBA__INLINE float samba__reduce_large(float x, uint32_t *n)
{
    static const uint32_t two_over_pi[8] = { 0u,          0xA2F9836Eu, 0x4E441529u, 0xFC2757D1u,
                                             0xF534DDC0u, 0xDB629599u, 0x3C439041u, 0xFE5163ABu };
    uint32_t u = samba__float_bits(x), first = (u >> 23) - 120u; /* s - 2, and 32 bits of zeros */
    first = u < 0x48000000u ? 24u : first;
    first = u < 0x7f800000u ? first : 24u;
    uint32_t word = first >> 5, shift = first & 31u, back = 31u - shift;
    uint32_t m = (u & 0x007fffffu) | 0x00800000u;
    uint32_t w0 = two_over_pi[word], w1 = two_over_pi[word + 1u];
    uint32_t w2 = two_over_pi[word + 2u], w3 = two_over_pi[word + 3u];
    w0 = (w0 << shift) | (w1 >> 1 >> back);
    w1 = (w1 << shift) | (w2 >> 1 >> back);
    w2 = (w2 << shift) | (w3 >> 1 >> back);

    /* The upper 64 of 96 bits of m times the window: 2 bits of n, and 62 of a fraction. */
    uint64_t turns = ((uint64_t)(m * w0) << 32) + (uint64_t)m * w1 + ((uint64_t)m * w2 >> 32);
    uint32_t high = (uint32_t)(turns >> 32), low = (uint32_t)turns;
    uint32_t nearest = (high + 0x20000000u) >> 30;
    *n = nearest;
    float rest = (float)(int32_t)(high - (nearest << 30));
    rest = samba__fma(rest, 16777216.0f, (float)(int32_t)(low >> 8)); /* in units of 2^-54 */
    return samba__mul(rest, 8.71967124e-17f);                         /* pi/2 2^-54 */
}

/* sin(|x| + turn pi/2). Below 2^17 by Cody and Waite: pi/2 has three parts, and the first
   multiply-add is exact, as what it leaves has no more bits than a float. */
SAMBA__INLINE float samba__sin_from(float x, uint32_t turn)
{
    uint32_t n, n_large;
    float a = samba__abs(x), r_large = samba__reduce_large(a, &n_large);
    float t = samba__round_product(samba__abs_upto(x, 131072.0f), 0.636619747f, &n);
    float r = samba__fma(t, -1.57079637f, samba__abs_upto(x, 131072.0f));
    r = samba__fma(t, 4.37113883e-8f, r);
    r = samba__fma(t, 1.71512489e-15f, r);

    n = a < 131072.0f ? n : n_large;
    r = a < 131072.0f ? r : r_large;
    float y = samba__sin_quadrant(r, n + turn);
    return a < SAMBA__INF ? y : SAMBA__NAN;
}

SAMBA__INLINE float samba__sin(float x)
{
    float y = samba__sin_from(x, 0u);
    y = samba__bits_float(samba__float_bits(y) ^ (samba__float_bits(x) & 0x80000000u));
    return samba__abs(x) < SAMBA__INF ? y : SAMBA__NAN;
}

SAMBA__INLINE float samba__cos(float x)
{
    return samba__sin_from(x, 1u);
}

/* erf x: x + x P(x^2) up to 0.9, else 1 - 2 Q(sqrt(2) |x|) with the sign put back. */
SAMBA__INLINE float samba__erf(float x)
{
    float a = samba__abs_upto(x, 10.0f), s = a * a, b = samba__mul(a, 1.41421354f);
    float p = samba__poly(
        s, 0.1283791661f, -0.3761263192f, 0.1128368154f,
        samba__poly(s, -0.02685902268f, 0.005200721789f, -0.0008144158055f, 8.392268501e-05f));
    float inner = samba__fma(a, p, a);
    float outer = samba__fma(-2.0f, samba__gauss(samba__normal_tail(b), b), 1.0f);
    return samba__unless_nan(x, samba__with_sign(a < 0.9f ? inner : outer, x));
}

/* e^x - 1 = 2^n (e^r - 1) + (2^n - 1), with n and r of samba__exp_scaled. */
SAMBA__INLINE float samba__expm1(float x)
{
    uint32_t n;
    float limited = samba__with_sign(samba__abs_upto(x, 80.0f), x);
    float t = samba__round_product(limited, 1.442695022f, &n);
    float r = samba__fma(t, 1.904654212e-9f, samba__fma(t, -0.6931471825f, limited));
    float p = samba__poly(r, 0.4999999404f, 0.1666651517f, 0.04166808724f,
                          samba__fma(r, 0.001383823925f, 0.008369296789f));
    float scale = samba__bits_float((n + 127u) << 23);
    float y = samba__fma(scale, samba__fma(r * r, p, r), scale - 1.0f);
    y = x < -80.0f ? -1.0f : y;
    y = x > 80.0f ? samba__exp(x) : y;
    y = x == 0.0f ? x : y;
    return samba__unless_nan(x, y);
}

/* The nearest integer, halves to even. From 2^23 on every float is one. */
SAMBA__INLINE float samba__round(float x)
{
    float a = samba__abs_upto(x, 8388608.0f), y = (a + 8388608.0f) - 8388608.0f;
    y = samba__abs(x) < 8388608.0f ? samba__with_sign(y, x) : x;
    return samba__unless_nan(x, y);
}

SAMBA__INLINE float samba__floor(float x)
{
    float y = samba__round(x);
    return samba__unless_nan(x, y > x ? y - 1.0f : y);
}

SAMBA__INLINE float samba__ceil(float x)
{
    float y = samba__round(x), above = samba__with_sign(samba__abs(y + 1.0f), x);
    return samba__unless_nan(x, y < x ? above : y);
}

/* -1, 0 or 1. */
SAMBA__INLINE float samba__sign(float x)
{
    float y = x > 0.0f ? 1.0f : 0.0f;
    return samba__unless_nan(x, x < 0.0f ? -1.0f : y);
}

/* ---- Does this machine compute as this chapter assumes? ---- */
/* Rows of a, b, c and fma(a, b, c): double rounding, both ways; cancellation, of which a rounded
   product leaves nothing; the middle between two subnormals; an infinity that a product of finite
   numbers must not meet as another one; the sign of zero. */
static const uint32_t samba__fma_cases[6][4] = {
    { 0x3f800800u, 0x3f800800u, 0x21800000u, 0x3f801001u },
    { 0x3f800800u, 0x3f801800u, 0xa1800000u, 0x3f802001u },
    { 0x3f800800u, 0x3f800800u, 0xbf801000u, 0x33800000u },
    { 0x19fffffeu, 0x1a000001u, 0x00400001u, 0x00400001u },
    { 0x71800000u, 0x71800000u, 0xff800000u, 0xff800000u },
    { 0x3f800000u, 0x80000000u, 0x80000000u, 0x80000000u },
};

SAMBA__NOINLINE const char *samba__find_wrong_arithmetic(void)
{
#if !defined(SAMBA_ALLOW_FAST_MATH) && !defined(SAMBA_ALLOW_EXCESS_PRECISION)
    volatile float one = 1.0f, half_ulp = 5.96046448e-8f, half = 0.5f, two = 2.0f;
    volatile float ulp_and_half = 1.78813934e-7f, two_ulps = 2.38418579e-7f;
    volatile float least_normal = 1.17549435e-38f, subnormal = samba__bits_float(0x00400000u);
    volatile uint32_t word;

    if ((one + half_ulp) - one != 0.0f)
        return SAMBA__TEXT(
            "the processor does not round to nearest, or computes with more than the precision of float: call fesetround(FE_TONEAREST); on 32-bit x86 compile with -msse2 -mfpmath=sse");
    if ((one + ulp_and_half) - one != two_ulps)
        return SAMBA__TEXT(
            "the processor does not round to nearest: call fesetround(FE_TONEAREST)");
    if (samba__float_bits(least_normal * half) != 0x00400000u
        || samba__float_bits(subnormal * two) != 0x00800000u)
        return SAMBA__TEXT(
            "the processor flushes subnormal numbers to zero, which a library that was linked with -ffast-math may have asked for: switch that off (on x86 FTZ and DAZ of MXCSR, on ARM FZ of FPSCR or FPCR)");

    for (int i = 0; i < 6; i++) {
        float x[3];
        for (int k = 0; k < 3; k++) {
            word = samba__fma_cases[i][k];
            x[k] = samba__bits_float(word);
        }

        if (samba__float_bits(samba__fma(x[0], x[1], x[2])) != samba__fma_cases[i][3])
            return SAMBA__TEXT(
                "fmaf of the C library, or an instruction in its place, is not exact: compile samba.h with -DSAMBA_NO_SIMD, which has its own");
    }
#endif
    return NULL;
}

/* NULL, or why results would not be those of other machines. Costs less than a microsecond. */
SAMBA__FN const char *samba__wrong_arithmetic(void)
{
    samba__float_mode callers = samba__enter_float_mode();
    const char *wrong = samba__find_wrong_arithmetic();
    samba__leave_float_mode(callers);
    return wrong;
}

