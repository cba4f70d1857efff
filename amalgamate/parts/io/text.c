/* io/text: a cursor over text: words, numbers independent of any locale, and errors that name their line. */
#include "private.h"

#ifndef CONDSIM_NO_LOADERS

CSIMI_FN csimi_text csimi_text_of(const char *name, const char *text, size_t size, csim_error *error) {
    csimi_text t;
    t.name = name;
    t.begin = t.at = t.token = text;
    t.end = text + size;
    t.comment = 0;
    t.one_line = t.joins_lines = false;
    t.status = CSIM_OK;
    t.error = error;
    if (size >= 3 && text[0] == '\xef' && text[1] == '\xbb' && text[2] == '\xbf') t.at += 3; /* UTF-8 mark */
    return t;
}

/* ---- failing */

/* Lines end in LF, CR LF or CR. Counted only when something failed. */
static long csimi_text_line(const csimi_text *t) {
    const char *p;
    long line = 1;
    for (p = t->begin; p < t->token; ++p)
        if (*p == '\n' || (*p == '\r' && (p + 1 == t->end || p[1] != '\n'))) ++line;
    return line;
}

/* "name: line N: "; false when a sentence is not wanted (an earlier failure stands, or nobody reads it). */
static bool csimi_text_begin_failure(csimi_text *t, csim_status status) {
    const size_t capacity = sizeof t->error->text;
    size_t length;
    char *out;
    if (t->status != CSIM_OK) return false;
    t->status = csimi_deny(t->error, status, t->name, NULL, NULL);
    t->at = t->end;
    if (!t->error) return false;
    out = t->error->text;
    length = csimi_append_text(out, capacity, 0, t->name);
    length = csimi_append_text(out, capacity, length, ": line ");
    length = csimi_append_int(out, capacity, length, csimi_text_line(t));
    csimi_append_text(out, capacity, length, ": ");
    return true;
}

static void csimi_text_say(csimi_text *t, const char *words) {
    size_t length = 0;
    while (length < sizeof t->error->text && t->error->text[length]) ++length;
    csimi_append_text(t->error->text, sizeof t->error->text, length, words);
}

CSIMI_FN bool csimi_text_fail(csimi_text *t, csim_status status, const char *sentence) {
    if (csimi_text_begin_failure(t, status)) csimi_text_say(t, sentence);
    return false;
}

CSIMI_FN bool csimi_text_fail_number(csimi_text *t, csim_status status, const char *before, int64_t number,
                                     const char *after) {
    char digits[24];
    if (!csimi_text_begin_failure(t, status)) return false;
    if (number == (int64_t)(long)number)
        csimi_append_int(digits, sizeof digits, 0, (long)number);
    else /* long may have 32 bits */
        csimi_append_real(digits, sizeof digits, 0, (double)number);
    csimi_text_say(t, before);
    csimi_text_say(t, digits);
    csimi_text_say(t, after);
    return false;
}

CSIMI_FN bool csimi_is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

CSIMI_FN bool csimi_text_expected(csimi_text *t, const char *what) {
    char word[28];
    size_t n = 0;
    const char *p = t->at;
    t->token = p;
    if (!csimi_text_begin_failure(t, CSIM_PARSE_ERROR)) return false;
    csimi_text_say(t, "expected ");
    csimi_text_say(t, what);
    if (p == t->end) {
        csimi_text_say(t, ", found the end of the text");
        return false;
    }
    for (; p < t->end && !csimi_is_space(*p) && n < 24; ++p) word[n++] = *p > ' ' && *p <= '~' ? *p : '?';
    while (p < t->end && !csimi_is_space(*p) && n < 27) { /* cut short */
        word[n++] = '.';
        ++p;
    }
    word[n] = 0;
    csimi_text_say(t, n ? ", found '" : ", found the end of the line");
    csimi_text_say(t, word);
    csimi_text_say(t, n ? "'" : "");
    return false;
}

/* ---- blanks and words */

static void csimi_text_skip_comment(csimi_text *t) {
    if (!t->comment || t->at == t->end || *t->at != t->comment) return;
    while (t->at < t->end && *t->at != '\n' && *t->at != '\r') ++t->at;
}

CSIMI_FN void csimi_text_next_line(csimi_text *t) {
    while (t->at < t->end && *t->at != '\n' && *t->at != '\r') ++t->at;
    if (t->at < t->end && *t->at == '\r') ++t->at;
    if (t->at < t->end && *t->at == '\n') ++t->at;
}

static bool csimi_at_line_end(const csimi_text *t, const char *p) { return p == t->end || *p == '\n' || *p == '\r'; }

CSIMI_FN bool csimi_text_more_on_line(csimi_text *t) {
    for (;;) {
        while (!csimi_at_line_end(t, t->at) && csimi_is_space(*t->at)) ++t->at;
        if (!t->joins_lines || t->at == t->end || *t->at != '\\' || !csimi_at_line_end(t, t->at + 1)) break;
        csimi_text_next_line(t);
    }
    csimi_text_skip_comment(t);
    t->token = t->at;
    return !csimi_at_line_end(t, t->at);
}

CSIMI_FN void csimi_text_space(csimi_text *t) {
    const char *start;
    if (t->one_line) {
        csimi_text_more_on_line(t);
        return;
    }
    do {
        start = t->at;
        while (t->at < t->end && csimi_is_space(*t->at)) ++t->at;
        csimi_text_skip_comment(t);
    } while (t->at != start);
    t->token = t->at;
}

static char csimi_lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c; }

/* Where the text goes on after word; null when it does not begin with it. */
static const char *csimi_text_after(const csimi_text *t, const char *word) {
    const char *p = t->at;
    for (; *word; ++p, ++word)
        if (p == t->end || csimi_lower(*p) != csimi_lower(*word)) return NULL;
    return p;
}

CSIMI_FN bool csimi_text_begins(const csimi_text *t, const char *word) { return csimi_text_after(t, word) != NULL; }

CSIMI_FN bool csimi_text_accept(csimi_text *t, const char *word) {
    const char *p;
    csimi_text_space(t);
    p = csimi_text_after(t, word);
    if (!p || (p < t->end && !csimi_is_space(*p))) return false;
    t->at = p;
    return t->status == CSIM_OK;
}

CSIMI_FN bool csimi_text_need(csimi_text *t, const char *word) {
    return csimi_text_accept(t, word) || csimi_text_expected(t, word);
}

CSIMI_FN bool csimi_text_skip_word(csimi_text *t) {
    csimi_text_space(t);
    if (t->at == t->end) return csimi_text_expected(t, "a word");
    while (t->at < t->end && !csimi_is_space(*t->at)) ++t->at;
    return true;
}

/* ---- whole numbers */

static bool csimi_is_digit(char c) { return c >= '0' && c <= '9'; }

/* Whether a number may not end before p: "1x", "1.5.2", "1_0" and "1e" are no numbers, "1/2" and "1<" are. */
static bool csimi_in_word(const csimi_text *t, const char *p) {
    if (p == t->end) return false;
    return csimi_is_digit(*p) || (csimi_lower(*p) >= 'a' && csimi_lower(*p) <= 'z') || *p == '.' || *p == '_' ||
           *p == '+' || *p == '-' || (unsigned char)*p >= 128;
}

CSIMI_FN bool csimi_text_int(csimi_text *t, int64_t *value) {
    const char *p;
    uint64_t x = 0;
    bool negative = false;
    *value = 0;
    csimi_text_space(t);
    p = t->at;
    if (p < t->end && (*p == '-' || *p == '+')) negative = *p++ == '-';
    if (p == t->end || !csimi_is_digit(*p)) return csimi_text_expected(t, "a whole number");
    for (; p < t->end && csimi_is_digit(*p); ++p) {
        x = x * 10 + (uint64_t)(*p - '0');
        if (x > (uint64_t)1 << 53) return csimi_text_expected(t, "a whole number below 2^53");
    }
    if (csimi_in_word(t, p)) return csimi_text_expected(t, "a whole number");
    t->at = p;
    *value = negative ? -(int64_t)x : (int64_t)x;
    return true;
}

CSIMI_FN bool csimi_text_check_count(csimi_text *t, int64_t value, size_t bytes_each, const char *things, int *count) {
    const size_t rest = (size_t)(t->end - t->at) + 1; /* the last one needs no blank after it */
    *count = 0;
    if (t->status != CSIM_OK) return false;
    if (value < 0 || value > INT32_MAX / 4 || (uint64_t)value > rest / bytes_each)
        return csimi_text_fail_number(t, CSIM_PARSE_ERROR, things, value,
                                      value < 0 ? "; allowed: 0 or more" : "; the rest of the text cannot hold them");
    *count = (int)value;
    return true;
}

CSIMI_FN bool csimi_text_count(csimi_text *t, size_t bytes_each, const char *things, int *count) {
    int64_t value;
    *count = 0;
    return csimi_text_int(t, &value) && csimi_text_check_count(t, value, bytes_each, things, count);
}

/* ---- real numbers */

/* m * 2^e with the top bit of m set. */
typedef struct csimi_scaled {
    uint64_t m;
    int e;
} csimi_scaled;

/* Product, its 128 bits rounded to 64. */
static csimi_scaled csimi_scaled_product(csimi_scaled a, csimi_scaled b) {
    const uint64_t low = 0xffffffffu;
    const uint64_t al = a.m & low, ah = a.m >> 32, bl = b.m & low, bh = b.m >> 32;
    const uint64_t ll = al * bl, lh = al * bh, hl = ah * bl;
    const uint64_t middle = (ll >> 32) + (lh & low) + (hl & low);
    uint64_t high = ah * bh + (lh >> 32) + (hl >> 32) + (middle >> 32);
    uint64_t rest = middle << 32 | (ll & low);
    csimi_scaled c;
    c.e = a.e + b.e + 64;
    if (!(high >> 63)) {
        high = high << 1 | rest >> 63;
        rest <<= 1;
        --c.e;
    }
    high += rest >> 63;
    if (high == 0) { /* rounded up to 2^64 */
        high = (uint64_t)1 << 63;
        ++c.e;
    }
    c.m = high;
    return c;
}

/* The nearest double, halves to even; infinite when too large, subnormal or 0 when too small. */
static double csimi_scaled_double(csimi_scaled a) {
    const int exponent = a.e + 63; /* 2^exponent <= value < 2^(exponent + 1) */
    const int shift = exponent < -1022 ? 11 - 1022 - exponent : 11;
    uint64_t bits = 0, rest, half;
    double x;
    if (exponent > 1023) {
        bits = (uint64_t)0x7ff << 52;
    } else if (shift < 64) {
        bits = a.m >> shift;
        rest = a.m - (bits << shift);
        half = (uint64_t)1 << (shift - 1);
        bits += rest > half || (rest == half && (bits & 1)) ? 1u : 0u;
        if (exponent >= -1022) bits += (uint64_t)(exponent + 1022) << 52; /* the bit 52 of bits adds the missing 1 */
    } else if (shift == 64) {
        bits = a.m > (uint64_t)1 << 63 ? 1u : 0u;
    }
    CSIMI_MEMCPY(&x, &bits, sizeof x);
    return x;
}

/* Clinger's exact case (How to read floating point numbers accurately, 1990): two exact doubles, one rounding. Else
   at most nine 64-bit factors 10^(+-2^k), each within half a unit of 2^-63: together 2^-59, 0.02 of the last place. */
static double csimi_decimal(uint64_t digits, int64_t exponent) {
    static const double small[23] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                     1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    static const csimi_scaled powers[2][9] = {{{0xa000000000000000u, -60},
                                               {0xc800000000000000u, -57},
                                               {0x9c40000000000000u, -50},
                                               {0xbebc200000000000u, -37},
                                               {0x8e1bc9bf04000000u, -10},
                                               {0x9dc5ada82b70b59eu, 43},
                                               {0xc2781f49ffcfa6d5u, 149},
                                               {0x93ba47c980e98ce0u, 362},
                                               {0xaa7eebfb9df9de8eu, 787}},
                                              {{0xcccccccccccccccdu, -67},
                                               {0xa3d70a3d70a3d70au, -70},
                                               {0xd1b71758e219652cu, -77},
                                               {0xabcc77118461cefdu, -90},
                                               {0xe69594bec44de15bu, -117},
                                               {0xcfb11ead453994bau, -170},
                                               {0xa87fea27a539e9a5u, -276},
                                               {0xddd0467c64bce4a1u, -489},
                                               {0xc0314325637a193au, -914}}};
    const int sign = exponent < 0;
    unsigned size;
    csimi_scaled x;
    int k;
    if (digits == 0) return 0;
    if (exponent > 400 || exponent < -400) exponent = sign ? -400 : 400; /* far outside whatever the digits */
    size = (unsigned)(sign ? -exponent : exponent);
    if (digits < (uint64_t)1 << 53 && size <= 22)
        return sign ? (double)digits / small[size] : (double)digits * small[size];
    x.m = digits;
    x.e = 0;
    for (; !(x.m >> 63); x.m <<= 1) --x.e;
    for (k = 0; k < 9; ++k)
        if (size >> k & 1) x = csimi_scaled_product(x, powers[sign][k]);
    return csimi_scaled_double(x);
}

/* [.digits][e[+-]digits] after the whole part; p at the first character; null when it is no number. The first 19
   digits count: what is cut off is below 1e-18 of the value. */
CSIMI_FN const char *csimi_scan_real(const csimi_text *t, const char *p, double *value) {
    uint64_t digits = 0;
    int64_t exponent = 0, power = 0;
    int used = 0, seen = 0;
    bool fraction = false, negative = false;
    for (; p < t->end && (csimi_is_digit(*p) || (*p == '.' && !fraction)); ++p) {
        if (*p == '.') {
            fraction = true;
            continue;
        }
        seen = 1;
        if (fraction) --exponent;
        if (used < 19) {
            digits = digits * 10 + (uint64_t)(*p - '0');
            used += digits != 0; /* leading zeros do not count */
        } else {
            ++exponent;
        }
    }
    if (!seen) return NULL;
    if (p < t->end && (*p == 'e' || *p == 'E')) {
        ++p;
        if (p < t->end && (*p == '-' || *p == '+')) negative = *p++ == '-';
        if (p == t->end || !csimi_is_digit(*p)) return NULL;
        for (; p < t->end && csimi_is_digit(*p); ++p)
            if (power < (int64_t)1 << 40) power = power * 10 + (*p - '0'); /* the digits may be billions too */
    }
    *value = csimi_decimal(digits, exponent + (negative ? -power : power));
    return csimi_in_word(t, p) ? NULL : p;
}

CSIMI_FN bool csimi_text_real(csimi_text *t, csim_real *value) {
    const char *p;
    double x = 0;
    bool negative = false;
    *value = 0;
    csimi_text_space(t);
    p = t->at;
    if (p < t->end && (*p == '-' || *p == '+')) negative = *p++ == '-';
    p = csimi_scan_real(t, p, &x);
    if (!p) return csimi_text_expected(t, "a number");
    if (x > (double)CSIMI_HUGE) return csimi_text_expected(t, "a number of reasonable size");
    t->at = p;
    *value = (csim_real)(negative ? -x : x);
    return true;
}

#endif
