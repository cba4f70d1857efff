/* base/status: status sentences, the one way to fail, and number formatting without stdio. */
#include "private.h"

CSIM_API const char *csim_status_text(csim_status status) {
#ifdef CONDSIM_NO_ERROR_TEXT
    (void)status;
#else
    switch (status) {
#define CSIMI_X(name, value, text) \
    case CSIM_##name: return text;
        CSIM_STATUS_LIST(CSIMI_X)
#undef CSIMI_X
    case CSIM_STATUS_LAST_: break;
    }
#endif
    return "not a status of this library";
}

/* An exponent of all ones means NaN or infinity; comparing numbers instead would vanish under -ffast-math. */
#ifdef CONDSIM_FLOAT
#define CSIMI_EXPONENT 0x7f800000u
#else
#define CSIMI_EXPONENT ((uint64_t)0x7ff << 52)
#endif

CSIMI_FN bool csimi_finite(csim_real x) {
    csimi_bits bits;
    CSIMI_MEMCPY(&bits, &x, sizeof bits);
    return (bits & CSIMI_EXPONENT) != CSIMI_EXPONENT;
}

#if defined(__GNUC__) && !defined(__ARM_ARCH_7EM__) /* Cortex-M has no vectors */
#define CSIMI_FOURS
typedef csimi_bits csimi_bits_four __attribute__((vector_size(4 * CSIM_REAL_SIZE), aligned(CSIM_REAL_SIZE), may_alias));
#endif

CSIMI_FN bool csimi_all_finite(const csim_real *x, int count) {
    const csimi_bits e = CSIMI_EXPONENT, step = e & (~e + 1); /* a full exponent carries into the sign */
    int i = 0;
    csimi_bits bits, bad = 0; /* without an early exit: the good case reads everything anyway */
#ifdef CSIMI_FOURS
    const csimi_bits_four E = {e, e, e, e}, S = {step, step, step, step};
    csimi_bits_four all = {0, 0, 0, 0};
    for (; i + 4 <= count; i += 4) all |= (*(const csimi_bits_four *)(x + i) & E) + S;
    bad = all[0] | all[1] | all[2] | all[3];
#endif
    for (; i < count; ++i) {
        CSIMI_MEMCPY(&bits, x + i, sizeof bits);
        bad |= (bits & e) + step;
    }
    return bad >> (8 * sizeof bad - 1) == 0;
}
#undef CSIMI_EXPONENT
#undef CSIMI_FOURS

#ifndef CONDSIM_NO_ERROR_TEXT
CSIMI_FN size_t csimi_append_text(char *buffer, size_t capacity, size_t length, const char *text) {
    if (capacity == 0) return 0;
    while (*text && length + 1 < capacity) buffer[length++] = *text++;
    if (length >= capacity) length = capacity - 1;
    buffer[length] = 0;
    return length;
}

CSIMI_FN size_t csimi_append_int(char *buffer, size_t capacity, size_t length, long value) {
    char digits[24]; /* 64 bits need 20 */
    size_t at = sizeof digits;
    unsigned long rest = value < 0 ? 0ul - (unsigned long)value : (unsigned long)value;
    digits[--at] = 0;
    do {
        digits[--at] = (char)('0' + (int)(rest % 10));
        rest /= 10;
    } while (rest);
    if (value < 0) digits[--at] = '-';
    return csimi_append_text(buffer, capacity, length, digits + at);
}

/* x > 0, finite, as digits * 10^exponent with 100000 <= digits <= 999999. */
static long csimi_six_digits(double x, int *exponent) {
    int e = 0;
    long digits;
    for (; x >= 1e22; e += 16) x /= 1e16; /* long strides: few roundings even from 1e308 and 1e-308 */
    for (; x < 1e-10; e -= 16) x *= 1e16;
    for (; x >= 1e6; ++e) x /= 10;
    for (; x < 1e5; --e) x *= 10;
    digits = (long)(x + 0.5);
    if (digits == 1000000) {
        digits = 100000;
        ++e;
    }
    *exponent = e;
    return digits;
}

/* 123450 with point 2 is "12.345", with point -1 "0.012345", with point 6 "123450"; out takes 16 characters. */
static void csimi_write_digits(char *out, long digits, int point) {
    int i, count = 6;
    long power = 1;
    for (; digits % 10 == 0; digits /= 10) --count;
    for (i = 1; i < count; ++i) power *= 10;
    for (i = point < 1 ? point - 1 : 0; i < count || i < point; ++i) {
        if (i == point) *out++ = '.';
        *out++ = (char)('0' + (i < 0 || !power ? 0 : (int)(digits / power % 10)));
        if (i >= 0) power /= 10;
    }
    *out = 0;
}

/* Like printf's %g: 6 significant digits, no trailing zeros, an exponent below 1e-4 and from 1e6. */
CSIMI_FN size_t csimi_append_real(char *buffer, size_t capacity, size_t length, double value) {
    char out[16];
    int exponent;
    long digits;
    uint64_t bits;
    CSIMI_MEMCPY(&bits, &value, sizeof bits);
    if (((bits >> 52) & 0x7ff) == 0x7ff) {
        const char *name = bits << 12 ? "nan" : bits >> 63 ? "-inf" : "inf";
        return csimi_append_text(buffer, capacity, length, name);
    }
    if (bits >> 63) length = csimi_append_text(buffer, capacity, length, "-");
    if (bits << 1 == 0) return csimi_append_text(buffer, capacity, length, "0");
    digits = csimi_six_digits(value < 0 ? -value : value, &exponent);
    exponent += 5; /* of the first digit */
    if (exponent >= -4 && exponent < 6) {
        csimi_write_digits(out, digits, exponent + 1);
        return csimi_append_text(buffer, capacity, length, out);
    }
    csimi_write_digits(out, digits, 1);
    length = csimi_append_text(buffer, capacity, length, out);
    length = csimi_append_text(buffer, capacity, length, exponent < 0 ? "e" : "e+");
    return csimi_append_int(buffer, capacity, length, exponent);
}
#endif

static csim_status csimi_refuse(csim_error *error, csim_status status, const char *function, const char *field,
                                bool has_value, double value, const char *allowed) {
#ifdef CONDSIM_NO_ERROR_TEXT
    (void)function, (void)field, (void)has_value, (void)value, (void)allowed;
    if (error) error->status = status;
    return status;
#else
    size_t length, capacity;
    if (!error) return status;
    capacity = sizeof error->text;
    error->status = status;
    length = csimi_append_text(error->text, capacity, 0, function);
    length = csimi_append_text(error->text, capacity, length, ": ");
    if (field) length = csimi_append_text(error->text, capacity, length, field);
    if (field && has_value) {
        length = csimi_append_text(error->text, capacity, length, " is ");
        length = csimi_append_real(error->text, capacity, length, value);
    } else {
        if (field) length = csimi_append_text(error->text, capacity, length, ": ");
        length = csimi_append_text(error->text, capacity, length, csim_status_text(status));
    }
    if (!allowed) return status;
    length = csimi_append_text(error->text, capacity, length, "; allowed: ");
    csimi_append_text(error->text, capacity, length, allowed);
    return status;
#endif
}

CSIMI_FN csim_status csimi_deny(csim_error *error, csim_status status, const char *function, const char *field,
                                const char *allowed) {
    return csimi_refuse(error, status, function, field, false, 0, allowed);
}
CSIMI_FN csim_status csimi_fail(csim_error *error, csim_status status, const char *function, const char *field,
                                double value, const char *allowed) {
    return csimi_refuse(error, status, function, field, true, value, allowed);
}
CSIMI_FN csim_status csimi_missing(csim_error *error, const char *function, const char *field) {
    return csimi_deny(error, CSIM_NULL_ARGUMENT, function, field, "not null");
}
CSIMI_FN csim_status csimi_unfit(csim_error *error, const char *function, const char *field, double value,
                                 const char *allowed) {
    return csimi_fail(error, CSIM_OUT_OF_RANGE, function, field, value, allowed);
}
