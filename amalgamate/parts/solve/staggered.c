/* solve/staggered: staggered projections (Kaufman et al. 2008; Kaufman's thesis, Algorithm 1). Two convex problems in
   turn, each solved by the projected gradient of solve/apgd.c: the normal impulses with friction held, and the friction
   with the normal impulses held, over disks of radius mu alpha, ellipses, or polygons inside them. The last projection
   is one of the normals, so that nothing penetrates whenever the loop is left. Joints, limits and contacts of the
   convex law belong to the first of the two. */
#include "private.h"

enum { CSIMI_STAGGERED_PATIENCE = 1000 };
enum { CSIMI_STAGGERED_INNER = 400 }; /* most steps of a projection */
enum { CSIMI_STAGGERED_SHARE = 100 }; /* most steps, for each stagger of the cap; the last projection as many */

typedef struct csimi_staggered {
    csimi_watch watch;
    csimi_gradient gradient;
    csim_real *held;        /* [3 contacts] what the projection at work must not change */
    csim_real *last;        /* [3 contacts] after the last projection of the normals */
    int left;               /* steps of projections */
    int sides;              /* of the friction polygon; 0: disk */
    csim_real cosine, sine; /* of the angle between its corners */
} csimi_staggered;

static void csimi_staggered_layout(csimi_staggered *s, csimi_arena *arena, int contacts) {
    csimi_watch_layout(&s->watch, arena, contacts);
    csimi_gradient_layout(&s->gradient, arena, contacts);
    s->held = CSIMI_PUSH(arena, csim_real, 3 * (size_t)contacts);
    s->last = CSIMI_PUSH(arena, csim_real, 3 * (size_t)contacts);
}

CSIMI_LAYOUT_BYTES(staggered, staggered)

/* Laws whose normal impulse and friction are two problems. */
static bool csimi_staggered_splits(const csim_contact *law) {
    return law->law == CSIM_LAW_STRICT || law->law == CSIM_LAW_ANISOTROPIC || law->law == CSIM_LAW_INVERTIBLE;
}

/* Normals not negative, friction as held; other laws whole. */
static void csimi_staggered_normals(void *context, csim_real *x) {
    const csimi_staggered *s = (const csimi_staggered *)context;
    const csimi_delassus *W = s->gradient.W;
    int c;
    for (c = 0; c < W->contacts; ++c) {
        const ptrdiff_t at = 3 * (ptrdiff_t)c;
        if (csimi_staggered_splits(W->laws + c)) {
            x[at] = csimi_max(x[at], 0);
            x[at + 1] = s->held[at + 1];
            x[at + 2] = s->held[at + 2];
        } else {
            csim_project(W->laws + c, 1, x + at, x + at);
        }
    }
}

/* Nearest point of the polygon with corners at equal angles of a disk that is stretched to these axes, the first on the
   first of them: of the sides that t is outside of. */
static void csimi_staggered_polygon(const csimi_staggered *s, csim_real a, csim_real b, csim_real *t) {
    const csim_real x = t[0], y = t[1];
    csim_real px = a, py = 0, cosine = 1, sine = 0, least = CSIMI_HUGE, ex, ey, share, far, tx, ty;
    int k;
    for (k = 0; k < s->sides; ++k, px += ex, py += ey) {
        const csim_real turned = s->cosine * cosine - s->sine * sine;
        sine = s->sine * cosine + s->cosine * sine, cosine = turned;
        ex = a * cosine - px, ey = b * sine - py, far = ex * ex + ey * ey; /* the set is on its left */
        if (ex * (y - py) - ey * (x - px) > 0) continue;
        share = far > 0 ? csimi_clamp((ex * (x - px) + ey * (y - py)) / far, 0, 1) : 0;
        tx = px + share * ex, ty = py + share * ey;
        far = (x - tx) * (x - tx) + (y - ty) * (y - ty);
        if (far < least) least = far, t[0] = tx, t[1] = ty;
    }
}

/* Normals and other laws as held, friction in its set. */
static void csimi_staggered_friction(void *context, csim_real *x) {
    const csimi_staggered *s = (const csimi_staggered *)context;
    const csimi_delassus *W = s->gradient.W;
    int c, k;
    for (c = 0; c < W->contacts; ++c) {
        const csim_contact *law = W->laws + c;
        const csim_real *held = s->held + 3 * (ptrdiff_t)c;
        csim_real *p = x + 3 * (ptrdiff_t)c, a, b;
        if (!csimi_staggered_splits(law)) {
            for (k = 0; k < 3; ++k) p[k] = held[k];
            continue;
        }
        p[0] = held[0];
        /* mu[1] is read under the anisotropic law only */
        a = law->mu[0] * held[0], b = law->mu[law->law == CSIM_LAW_ANISOTROPIC] * held[0];
        if (s->sides > 0)
            csimi_staggered_polygon(s, a, b, p + 1);
        else
            csim_project_ellipse(a, b, p + 1, p + 1);
    }
}

static void csimi_staggered_project(csimi_staggered *s, void (*project)(void *, csim_real *), double aim, int budget) {
    CSIMI_MEMCPY(s->held, s->gradient.x, 3 * (size_t)s->gradient.W->contacts * sizeof *s->held);
    s->gradient.project = project;
    csimi_gradient_rest(&s->gradient); /* another problem: no momentum from the last one */
    s->left -= csimi_gradient_solve(&s->gradient, aim, budget);
}

/* |change of the friction in this turn|^2 / |x|^2 */
static double csimi_staggered_change(const csimi_staggered *s) {
    const int n = 3 * s->gradient.W->contacts;
    const double size = csimi_sum_dot(n, s->gradient.x, s->gradient.x);
    double moved = 0;
    int i;
    for (i = 0; i < n; ++i) {
        const double d = (double)s->gradient.x[i] - (double)s->last[i];
        moved += d * d;
    }
    return size > 0 ? moved / size : moved > 0 ? 1 : 0;
}

static void csimi_staggered_open(csimi_staggered *s, csimi_impulse_run *run) {
    csimi_staggered_layout(s, run->arena, run->W->contacts);
    csimi_watch_open(&s->watch, run, CSIMI_STAGGERED_PATIENCE);
    /* products of earlier runs of this call are taken off */
    s->left = CSIMI_STAGGERED_SHARE * csimi_imin(run->params->max_iterations, 10000000) - run->W->products;
    s->sides = run->params->impulse.sides;
    s->cosine = CSIMI_COS(2 * CSIMI_PI / CSIM_R(csimi_imax(s->sides, 1)));
    s->sine = CSIMI_SIN(2 * CSIMI_PI / CSIM_R(csimi_imax(s->sides, 1)));
    csimi_gradient_begin(&s->gradient, run->W, run->r);
    s->gradient.context = s;
    CSIMI_MEMCPY(s->gradient.q, run->W->q, 3 * (size_t)run->W->contacts * sizeof *s->gradient.q);
    csimi_gradient_velocity(&s->gradient, s->watch.u);
}

/* Where the loop ended before the measure was good: one contact projection more, as exact as it gets, from the best
   friction (with polygons, which Coulomb's measure cannot judge, from the last), and that is the answer. */
static void csimi_staggered_degrade(csimi_staggered *s) {
    const size_t bytes = 3 * (size_t)s->gradient.W->contacts * sizeof(csim_real);
    double size;
    if (s->sides == 0) csimi_gradient_begin(&s->gradient, s->gradient.W, s->watch.best); /* else x, the last, stays */
    size = csimi_sqrt64(csimi_sum_dot(3 * s->gradient.W->contacts, s->gradient.x, s->gradient.x));
    csimi_staggered_project(s, csimi_staggered_normals, 1e-3 * s->watch.run->target * size,
                            CSIMI_STAGGERED_SHARE * csimi_imin(s->watch.run->params->max_iterations, 16));
    csimi_gradient_velocity(&s->gradient, s->watch.u);
    (void)csimi_watch_look(&s->watch, s->gradient.x, s->watch.u);
    CSIMI_MEMCPY(s->watch.best, s->gradient.x, bytes);
    s->watch.best_measure = s->watch.measure;
}

CSIMI_FN bool csimi_staggered_solve(csimi_impulse_run *run) {
    const double still = 1e-4 * run->target * run->target; /* of squares: a hundredth of the target */
    csimi_staggered s;
    bool on = true;
    csimi_staggered_open(&s, run);
    while (on && s.left > 0) {
        /* 0.05 of the natural map: with coarser projections the stagger does not get to the exact impulses */
        const double aim = 0.05 * csimi_gradient_residual(&s.gradient, s.watch.u);
        bool stands;
        csimi_staggered_project(&s, csimi_staggered_normals, aim, csimi_imin(s.left, CSIMI_STAGGERED_INNER));
        csimi_gradient_velocity(&s.gradient, s.watch.u);
        ++s.watch.iterations;
        CSIMI_MEMCPY(s.last, s.gradient.x, 3 * (size_t)run->W->contacts * sizeof *s.last);
        /* looked at after the normals: what is kept never penetrates */
        if (!csimi_watch_look(&s.watch, s.gradient.x, s.watch.u)) break;
        csimi_staggered_project(&s, csimi_staggered_friction, aim, csimi_imin(s.left, CSIMI_STAGGERED_INNER));
        stands = s.sides > 0 && csimi_staggered_change(&s) <= still; /* a disk ends by the measure instead */
        csimi_gradient_velocity(&s.gradient, s.watch.u);
        on = !stands;
    }
    if (!s.watch.broken && s.watch.best_measure > run->target) csimi_staggered_degrade(&s);
    return csimi_watch_close(&s.watch);
}
