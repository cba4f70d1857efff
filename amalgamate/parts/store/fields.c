/* store/fields: checks of the fields of definitions: ranges, finite numbers, turns, choices, integrators. */
#include "private.h"

CSIMI_FN csim_status csimi_check_guard(csim_error *error, const char *function, const char *def, uint32_t guard) {
    if (guard == CSIMI_GUARD) return CSIM_OK;
    return csimi_fail(error, CSIM_DEF_NOT_INITIALISED, function, "guard", (double)guard, def);
}

CSIMI_FN csim_status csimi_check_fields(csim_error *error, const char *function, const void *def,
                                        const csimi_field *fields, int count) {
    int i;
    for (i = 0; i < count; i++) {
        const csimi_field *f = fields + i;
#ifndef CONDSIM_NO_ERROR_TEXT
        const char *name = f->name, *range = f->range;
#else
        const char *name = NULL, *range = NULL;
#endif
        csim_real x;
        CSIMI_MEMCPY(&x, (const unsigned char *)def + f->offset, sizeof x);
        if (!csimi_finite(x)) return csimi_fail(error, CSIM_NOT_FINITE, function, name, (double)x, range);
        if (x < f->lowest || x > f->highest || (f->open_low && x <= f->lowest) || (f->open_high && x >= f->highest))
            return csimi_unfit(error, function, name, (double)x, range);
    }
    return CSIM_OK;
}

#define CSIMI_SURFACE(part, lowest, highest, range) \
    CSIMI_FIELD("surface." #part, offsetof(csim_surface_def, part), lowest, highest, false, false, range)
#define CSIMI_SURFACE_VEC(vec3)                                                                           \
    CSIMI_SURFACE(vec3.x, -1e9, 1e9, "-1e9..1e9"), CSIMI_SURFACE(vec3.y, -1e9, 1e9, "-1e9..1e9"), \
        CSIMI_SURFACE(vec3.z, -1e9, 1e9, "-1e9..1e9")

CSIMI_FN csim_status csimi_check_surface(csim_error *error, const char *function, const csim_surface_def *def) {
    static const csimi_field fields[] = {
        CSIMI_SURFACE(friction, 0, 1e6, "0..1e6"), CSIMI_SURFACE(friction2, -1, 1e6, "-1 (isotropic) or 0..1e6"),
        CSIMI_SURFACE_VEC(friction_direction), CSIMI_SURFACE_VEC(velocity), CSIMI_SURFACE(restitution, 0, 1, "0..1"),
        CSIMI_SURFACE(thickness, 0, 1e3, "0..1000"), CSIMI_SURFACE(rolling_resistance, 0, 1e3, "0..1000")};
    csim_status s = csimi_check_fields(error, function, def, fields, CSIMI_COUNT_OF(fields));
    if (s) return s;
#ifdef CONDSIM_NO_JOINTS
    if (def->rolling_resistance > 0)
        return csimi_fail(error, CSIM_UNSUPPORTED, function, "surface.rolling_resistance",
                          (double)def->rolling_resistance, "builds without CONDSIM_NO_JOINTS");
#endif
#ifdef CONDSIM_NO_LAWS
    if (def->friction2 >= 0)
        return csimi_fail(error, CSIM_UNSUPPORTED, function, "surface.friction2", (double)def->friction2,
                          "builds without CONDSIM_NO_LAWS");
#endif
    if (def->friction2 >= 0 && !(csim_length(def->friction_direction) > 0))
        return csimi_unfit(error, function, "surface.friction_direction", 0, "not the zero vector");
    return CSIM_OK;
}

CSIMI_FN csim_status csimi_check_enum(csim_error *error, const char *function, const char *field, int value,
                                      int count) {
    char range[32];
    size_t length = csimi_append_text(range, sizeof range, 0, "0..");
    csimi_append_int(range, sizeof range, length, count - 1);
    if (value >= 0 && value < count) return CSIM_OK;
    return csimi_unfit(error, function, field, (double)value, range);
}

/* Numbers of a field that has several: none beyond most, each named field.x or the like. */
static csim_status csimi_check_parts(csim_error *error, const char *function, const char *field, const char *part,
                                     const csim_real *x, int count, csim_real most, const char *allowed) {
    char name[64], end[3] = {'.', 0, 0};
    int k;
    for (k = 0; k < count; k++) {
        const bool finite = csimi_finite(x[k]);
        if (finite && csimi_abs(x[k]) <= most) continue;
        end[1] = part[k];
        csimi_append_text(name, sizeof name, csimi_append_text(name, sizeof name, 0, field), end);
        return csimi_fail(error, finite ? CSIM_OUT_OF_RANGE : CSIM_NOT_FINITE, function, name, (double)x[k], allowed);
    }
    return CSIM_OK;
}

CSIMI_FN csim_status csimi_check_vec(csim_error *error, const char *function, const char *field, csim_vec3 v) {
    csim_real c[3];
    csimi_store3(c, v);
    return csimi_check_parts(error, function, field, "xyz", c, 3, CSIM_R(1e9), "-1e9..1e9");
}

CSIMI_FN csim_status csimi_check_turn(csim_error *error, const char *function, const char *field, csim_quat q) {
    const csim_real length2 = q.w * q.w + q.x * q.x + q.y * q.y + q.z * q.z;
    csim_real c[4];
    char name[64];
    csim_status s;
    csimi_store_quat(c, q);
    if ((s = csimi_check_parts(error, function, field, "wxyz", c, 4, 2, "a unit quaternion")) != 0) return s;
    if (length2 >= CSIM_R(0.998) && length2 <= CSIM_R(1.002)) return CSIM_OK;
    csimi_append_text(name, sizeof name, csimi_append_text(name, sizeof name, 0, field), " length squared");
    return csimi_unfit(error, function, name, (double)length2, "a unit quaternion, 1 within 0.002");
}

CSIMI_FN csim_status csimi_check_pose(csim_error *error, const char *function, const char *field, csim_pose pose) {
    char name[64];
    const size_t length = csimi_append_text(name, sizeof name, 0, field);
    csim_status s;
    csimi_append_text(name, sizeof name, length, ".position");
    if ((s = csimi_check_vec(error, function, name, pose.position)) != 0) return s;
    csimi_append_text(name, sizeof name, length, ".rotation");
    return csimi_check_turn(error, function, name, pose.rotation);
}

CSIMI_FN csim_status csimi_check_reals(csim_error *error, const char *fn, const char *field, const csim_real *x,
                                       int n) {
    int i;
    for (i = 0; x && i < n; i++) {
        if (!csimi_finite(x[i])) return csimi_fail(error, CSIM_NOT_FINITE, fn, field, (double)x[i], "finite");
        if (csimi_abs(x[i]) > CSIM_R(1e15)) return csimi_unfit(error, fn, field, (double)x[i], "-1e15..1e15");
    }
    return CSIM_OK;
}

CSIMI_FN csim_status csimi_check_softness(csim_error *e, const char *fn, const csim_softness *s) {
    static const csimi_field fields[] = {
        CSIMI_AT_LEAST_0(csim_softness, stiffness), CSIMI_AT_LEAST_0(csim_softness, damping),
        CSIMI_WITHIN(csim_softness, frequency, 0, 1e6, "0..1e6"), CSIMI_WITHIN(csim_softness, ratio, 0, 1e6, "0..1e6")};
    return csimi_check_fields(e, fn, s, fields, CSIMI_COUNT_OF(fields));
}

CSIMI_FN bool csimi_is_soft(const csim_softness *s) { return s->stiffness > 0 || s->damping > 0 || s->frequency > 0; }

CSIMI_FN csim_status csimi_check_integrator(const csim_world_def *def, csim_integrator integrator, int trees,
                                            int joints, const char *function, csim_error *error) {
    const bool variational = integrator == CSIM_TWO_STEP || integrator == CSIM_HALF_STEP;
    if (variational && trees > 0)
        return csimi_fail(error, CSIM_UNSUPPORTED, function, "integrator with trees", (double)integrator,
                          "CSIM_BACKWARD_EULER or CSIM_MIDPOINT: the mass of a tree changes with its pose");
    if (integrator == CSIM_HALF_STEP && joints > 0)
        return csimi_fail(error, CSIM_UNSUPPORTED, function, "integrator with joints", (double)integrator,
                          "CSIM_TWO_STEP, CSIM_MIDPOINT or CSIM_BACKWARD_EULER");
    if (integrator == CSIM_HALF_STEP && def->law != CSIM_LAW_STRICT)
        return csimi_fail(error, CSIM_UNSUPPORTED, function, "law with CSIM_HALF_STEP", (double)def->law,
                          "CSIM_LAW_STRICT: normals act at the middle of the step, friction at its end");
    return CSIM_OK;
}

#undef CSIMI_SURFACE
#undef CSIMI_SURFACE_VEC
