/* solve/burst: one proximal step of the sweep solver by Newton's method on the velocities of the bodies.
   With a compliance e > 0 around a centre the impulse of every contact is a function of the velocity in closed form,
   lambda = Project(centre - u / e). In w = E v (bodies.c, A = E' E), counted from the start of the step, F(w) =
   J' (lambda(w) - centre) - w = 0 is an equation in w alone with the Jacobian I + J' (Project' / e) J. Its factors live
   in the memory of Anderson's ring, idle meanwhile; where they do not fit, the sweeps go on alone. On small islands and
   trees alone they are an envelope of all contacts, elsewhere the contacts that press in an order of least degree. */
#include "private.h"

static const csimi_wide CSIMI_BURST_VISIT = 256; /* multiplications that take as long as a contact in a sweep */
static const csimi_wide CSIMI_BURST_PIECE = CSIMI_WIDE(72.0); /* as long as a piece, where a contact reaches many */
static const csimi_wide CSIMI_BURST_MOST = 64; /* sweeps that a factor may cost: beyond that they go on alone */
static const csimi_wide CSIMI_BURST_ROUNDING = CSIMI_WIDE(1e-8); /* of the first merit, a square */

/* Speed of parting over pace up to which a contact may still close: 0.25 takes the same steps with a sixth more of the
   contacts. */
static const csim_real CSIMI_BURST_CLOSES = CSIM_R(0.03);
#ifdef CSIMI_COUPLES
#define CSIMI_BURST_COUPLED(s, field) ((s)->basis.coupled.field)
#else
#define CSIMI_BURST_COUPLED(s, field) 0
#endif

/* ---- what sweeps and bursts share */

CSIMI_FN void csimi_contact_velocity(const csimi_sweep *s, const csimi_sweep_contact *c, csim_real *u) {
    u[0] = c->phi[0];
    u[1] = c->phi[1];
    u[2] = c->phi[2];
    csimi_pieces_velocity_wide(s->pieces + c->first, c->count, s->w, u);
}

/* w from lambda anew: after a jump, and to shed the rounding of incremental updates. */
CSIMI_FN void csimi_sweep_velocities(csimi_sweep *s) {
    int m;
    CSIMI_MEMSET(s->w, 0, 3 * (size_t)s->n * sizeof *s->w);
    for (m = 0; m < s->contact_count; ++m)
        csimi_pieces_push_wide(s->pieces + s->contacts[m].first, s->contacts[m].count, s->loop.x + 3 * (ptrdiff_t)m,
                               s->w);
}

CSIMI_FN void csimi_sweep_prepare(csimi_sweep *s, csimi_wide eps) {
    int m;
    for (m = 0; m < s->contact_count; ++m)
        csimi_local_prepare(&s->contacts[m].local, s->contacts[m].local.contact, (csim_real)eps);
}

/* ---- the order of the rows */

/* Blocks that share a contact with the block at order[head], appended to order[count..]. */
static int csimi_burst_neighbours(csimi_sweep *s, const int *list_start, const int *list, int head, int count) {
    const int i = s->order[head];
    int k, q;
    for (k = list_start[i]; k < list_start[i + 1]; ++k) {
        const csimi_sweep_contact *c = s->contacts + list[k];
        for (q = c->first; q < c->first + c->count; ++q) {
            const int j = s->pieces[q].block;
            /* ordered before, from here or from another contact */
            if (s->place[j] >= 0) continue;
            s->place[j] = count;
            s->order[count++] = j;
        }
    }
    return count;
}

/* Breadth first through the component of block seed; returns the count of ordered blocks. */
static int csimi_burst_walk(csimi_sweep *s, const int *list_start, const int *list, int seed, int count) {
    int head = count;
    s->place[seed] = count;
    s->order[count++] = seed;
    for (; head < count; ++head) count = csimi_burst_neighbours(s, list_start, list, head, count);
    return count;
}

/* Cuthill-McKee: each component from a block far from the first one found. */
static void csimi_burst_order(csimi_sweep *s, const int *list_start, const int *list) {
    int i, k, count = 0;
    for (i = 0; i < s->n; ++i) s->place[i] = -1;
    for (i = 0; i < s->n; ++i) {
        int end, far;
        if (s->place[i] >= 0) continue;
        end = csimi_burst_walk(s, list_start, list, i, count);
        /* the last one found is as far as any: from there the layers are thin, and the envelope with them */
        far = s->order[end - 1];
        for (k = count; k < end; ++k) s->place[s->order[k]] = -1; /* the first walk was for its end only */
        count = csimi_burst_walk(s, list_start, list, far, count);
    }
}

/* A tree alone: its limbs, which touch each other by the base only, then the base. No zero between them is filled. */
static void csimi_burst_order_tree(csimi_sweep *s) {
    int i;
    for (i = 0; i < s->n; ++i) {
        s->order[i] = s->n - 1 - i;
        s->place[s->n - 1 - i] = i;
    }
}

/* Contacts of each block, in the ring: false when even this does not fit. */
static bool csimi_burst_lists(csimi_sweep *s, csimi_arena *ring, int **list_start, int **list) {
    int i, q, m, total = 0;
    for (m = 0; m < s->contact_count; ++m) total += s->contacts[m].count;
    /* counts go two places on: filling by list_start[block + 1]++ then leaves every start in its place */
    *list_start = CSIMI_PUSH(ring, int, s->n + 2);
    *list = CSIMI_PUSH(ring, int, total);
    if (ring->overflow) return false;
    for (i = 0; i < s->n + 2; ++i) (*list_start)[i] = 0;
    for (q = 0; q < total; ++q) ++(*list_start)[s->pieces[q].block + 2];
    for (i = 0; i < s->n; ++i) (*list_start)[i + 2] += (*list_start)[i + 1];
    for (m = 0; m < s->contact_count; ++m)
        for (q = s->contacts[m].first; q < s->contacts[m].first + s->contacts[m].count; ++q)
            (*list)[(*list_start)[s->pieces[q].block + 1]++] = m;
    return true;
}

/* A contact makes neighbours of all its blocks: each row begins with the first of them in the order. */
static void csimi_burst_envelope(csimi_sweep *s) {
    csimi_envelope *e = &s->envelope;
    int i, m;
    e->n = s->n;
    for (i = 0; i < s->n; ++i) e->first[i] = i;
    for (m = 0; m < s->contact_count; ++m) {
        const csimi_piece *begin = s->pieces + s->contacts[m].first, *end = begin + s->contacts[m].count, *p;
        int least = s->n;
        for (p = begin; p < end; ++p) least = csimi_imin(least, s->place[p->block]);
        for (p = begin; p < end; ++p) e->first[s->place[p->block]] = csimi_imin(e->first[s->place[p->block]], least);
    }
    e->blocks = 0;
    s->work = 0;
    for (i = 0; i < s->n; ++i) {
        const csimi_wide width = CSIMI_WIDE(i - e->first[i]);
        e->start[i] = e->blocks;
        e->blocks += (size_t)(i - e->first[i]);
        s->work += 27 * (width + 1) * (width + 1); /* products of 3x3 blocks */
    }
}

/* Vectors of one Newton step. */
typedef struct csimi_burst_vectors {
    csimi_wide *F, *direction, *start; /* [3n]; start: velocities a line search starts from */
    csimi_wide *best, least;           /* [3n] large: velocities of the least merit */
} csimi_burst_vectors;

CSIMI_FN bool csimi_burst_is_large(const csimi_sweep *s) {
#ifdef CONDSIM_NO_LARGE
    return (void)s, false;
#else
    /* a tree alone is not large: in its own order nothing is filled, however long it is */
    return s->n > CSIMI_BURST_SMALL && (s->basis.couples || s->basis.bodies.size[0] < s->n);
#endif
}

/* The vectors, and the factors; of a large island what is left of the ring is for its plan. */
static bool csimi_burst_layout(csimi_sweep *s, csimi_burst_vectors *x, csimi_arena *ring) {
    csimi_envelope *e = &s->envelope;
    x->F = CSIMI_PUSH(ring, csimi_wide, 3 * (size_t)s->n);
    x->direction = CSIMI_PUSH(ring, csimi_wide, 3 * (size_t)s->n);
    x->start = CSIMI_PUSH(ring, csimi_wide, 3 * (size_t)s->n);
    if (csimi_burst_is_large(s)) {
        x->best = CSIMI_PUSH(ring, csimi_wide, 3 * (size_t)s->n);
        s->active = CSIMI_PUSH(ring, int, s->contact_count);
        s->covered = CSIMI_PUSH(ring, unsigned char, s->contact_count);
        return !ring->overflow;
    }
    /* small: every contact takes part, so that the plan stays what it is */
    s->active = NULL;
    s->active_count = s->contact_count;
    e->lower = CSIMI_PUSH(ring, csimi_wide, 9 * e->blocks);
    e->upper = CSIMI_PUSH(ring, csimi_wide, 9 * e->blocks);
    e->diag = CSIMI_PUSH(ring, csimi_wide, 9 * (size_t)s->n);
    return !ring->overflow;
}

/* Blocks [first, first + count) that are one node where they are few. */
static int csimi_burst_group(const csimi_sweep *s, int block, int *first) {
    int size = s->basis.couples ? CSIMI_BURST_COUPLED(s, size[block]) : s->basis.bodies.size[block];
    *first = s->basis.couples ? CSIMI_BURST_COUPLED(s, first[block]) : s->basis.bodies.first[block];
    /* a rigid body is one node of six numbers; of larger bodies each block is one */
    if (3 * size <= CSIMI_DEGREE_MOST) return size;
    *first = block;
    return 1;
}

/* Nodes of the blocks that active contacts touch; returns their number. */
static int csimi_burst_nodes(csimi_sweep *s) {
    int i, k, a, first, end, count = 0;
    for (i = 0; i < s->n; ++i) s->order[i] = -1; /* what nothing touches keeps its velocity */
    for (a = 0; a < s->active_count; ++a) {
        const csimi_sweep_contact *c = s->contacts + s->active[a];
        for (k = c->first; k < c->first + c->count; ++k) s->order[s->pieces[k].block] = 0;
    }
    for (i = 0; i < s->n; i = end) {
        bool touched = false;
        end = csimi_burst_group(s, i, &first) + i;
        for (k = i; k < end; ++k) touched = touched || s->order[k] == 0;
        /* a body is in the system with all its blocks or with none */
        for (k = i; k < end; ++k) s->order[k] = touched ? count : -1;
        count += touched;
    }
    return count;
}

/* Multiplications that take as long as a sweep. */
static csimi_wide csimi_burst_sweep_work(const csimi_sweep *s) {
    const csimi_sweep_contact *last = s->contacts + s->contact_count - 1;
    const csimi_wide contacts = CSIMI_BURST_VISIT * (csimi_wide)s->contact_count;
    return s->basis.couples ? contacts + CSIMI_BURST_PIECE * (csimi_wide)(last->first + last->count) : contacts;
}

/* The order of the factors of the active contacts, in what the vectors have left of the ring. */
static bool csimi_burst_plan_large(csimi_sweep *s) {
    csimi_arena ring = csimi_stages_ring(&s->loop);
    csimi_burst_vectors x;
    csimi_degree *d = &s->degree;
    int i, a, k, count;
    s->work = 0;
    if (!csimi_burst_layout(s, &x, &ring)) return false;
    count = csimi_burst_nodes(s);
    csimi_degree_open(d, &ring, count);
    if (ring.overflow) return false;
    for (i = 0; i < s->n; ++i)
        if (s->order[i] >= 0) {
            /* within its node; where that begins is known after the ordering */
            s->place[i] = d->size[s->order[i]];
            d->size[s->order[i]] += 3;
        }
    CSIMI_MEMSET(s->covered, 0, (size_t)s->contact_count);
    for (a = 0; a < s->active_count; ++a) {
        const csimi_sweep_contact *c = s->contacts + s->active[a];
        for (k = count = 0; k < c->count; ++k) {
            const int node = s->order[s->pieces[c->first + k].block];
            /* blocks of one node follow each other: d->order serves as a list meanwhile */
            if (count == 0 || d->order[count - 1] != node) d->order[count++] = node;
        }
        s->covered[s->active[a]] = 1;
        if (!csimi_degree_clique(d, d->order, count)) return false;
    }
    if (!csimi_degree_plan(d, &ring)) return false; /* more fill than there is room */
    if (d->work > CSIMI_BURST_MOST * csimi_burst_sweep_work(s)) return false;
    for (i = 0; i < s->n; ++i) s->place[i] = s->order[i] >= 0 ? s->place[i] + d->at[s->order[i]] : -1;
    s->work = d->work + 1; /* above 0: there is a plan */
    return true;
}

/* Whether the plan has the blocks of a contact. */
static bool csimi_burst_covers(csimi_sweep *s, int m) {
    const csimi_sweep_contact *c = s->contacts + m;
    int p, q;
    size_t down, right;
    if (s->covered[m]) return true;
    for (p = c->first; p < c->first + c->count; ++p) {
        const int u = s->order[s->pieces[p].block];
        if (u < 0) return false; /* the plan has no node there */
        /* filled blocks serve as well: the contact needs no edge of its own */
        for (q = c->first; q < p; ++q)
            if (!csimi_degree_block(&s->degree, u, s->order[s->pieces[q].block], &down, &right)) return false;
    }
    s->covered[m] = 1;
    return true;
}

/* The contacts that press or may close in a step from here, and a plan for them. */
static bool csimi_burst_choose(csimi_sweep *s) {
    /* ordering costs as much as some sweeps: a plan that has all contacts is kept */
    bool covered = s->planned && s->work > 0;
    int m, a;
    for (m = s->active_count = 0; m < s->contact_count; ++m) {
        const csimi_sweep_contact *c = s->contacts + m;
        const csim_real *lambda = s->loop.x + 3 * (ptrdiff_t)m;
        const bool friction = c->local.contact->law != CSIM_LAW_BILATERAL && c->local.contact->law != CSIM_LAW_BOX;
        const csim_real pace = csimi_max(csimi_max(c->speed, s->rms), CSIMI_TINY); /* to measure velocities */
        /* open, and parting too fast to close in this step */
        if (friction && !(csimi_norm3(lambda) > 0) && c->phi[0] > CSIMI_BURST_CLOSES * pace) continue;
        s->active[s->active_count++] = m;
    }
    for (a = 0; a < s->active_count && covered; ++a) covered = csimi_burst_covers(s, s->active[a]);
    s->planned = true;
    return covered || csimi_burst_plan_large(s);
}

/* Small islands have memory for any order, so that the plan can wait until sweeps have not done. */
CSIMI_FN bool csimi_burst_fits(const csimi_sweep *s) {
    const size_t n = (size_t)s->n, room = csimi_stages_ring(&s->loop).size / sizeof(csimi_wide);
    size_t ints = n + 2;
    int m;
    for (m = 0; m < s->contact_count; ++m) ints += (size_t)s->contacts[m].count;
    return s->contact_count > 0 && room >= CSIMI_BURST_NUMBERS(n) && ints <= room;
}

CSIMI_FN void csimi_burst_plan(csimi_sweep *s) {
    csimi_arena ring = csimi_stages_ring(&s->loop);
    int *list_start, *list, i;
    csimi_burst_vectors x;
    s->work = 0;
    s->planned = true;
    if (s->contact_count == 0) return;
    if (!s->basis.couples && s->basis.bodies.size[0] == s->n) { /* one body alone */
        csimi_burst_order_tree(s);
    } else {
        if (!csimi_burst_lists(s, &ring, &list_start, &list)) return;
        csimi_burst_order(s, list_start, list);
    }
    csimi_burst_envelope(s);
    for (i = 0; i < s->n; ++i) s->place[i] *= 3; /* from blocks to numbers */
    ring = csimi_stages_ring(&s->loop);
    if (!csimi_burst_layout(s, &x, &ring)) s->work = 0;
}

/* ---- lambda(w) and its derivative */

/* d(clip of t to the disk of radius mu n) by n and t, rows 1 and 2 of G; slip only. */
static void csimi_burst_disk(csimi_wide mu, const csimi_wide *t, csimi_wide n, csimi_wide *G) {
    const csimi_wide length = csimi_sqrt64(t[1] * t[1] + t[2] * t[2]), x = t[1] / length, y = t[2] / length;
    const csimi_wide k = mu * n / length;
    G[3] = mu * x;
    G[6] = mu * y;
    /* mu n / |t| (I - d d') with d = (x, y): the clip turns with t and does not move along it */
    G[4] = k * y * y;
    G[5] = G[7] = -k * x * y;
    G[8] = k * x * x;
}

/* The same for the ellipse of semi-axes mu n, at its point y nearest to t: y = a^2 t / (a^2 + s). */
static void csimi_burst_ellipse(const csimi_wide *mu, const csimi_wide *t, csimi_wide n, const csimi_wide *y,
                                csimi_wide *G) {
    csimi_wide g[2], normal[2], w[2], sum = 0, s = 0;
    int i, j;
    for (i = 0; i < 2; ++i)
        if (csimi_abs((csim_real)y[i]) > 0) s = (t[i + 1] / y[i] - 1) * mu[i] * mu[i] * n * n;
    for (i = 0; i < 2; ++i) {
        const csimi_wide a2 = mu[i] * mu[i] * n * n;
        g[i] = a2 > 0 ? a2 / (a2 + s) : 0;
        normal[i] = a2 > 0 ? y[i] / a2 : 0;
        w[i] = a2 > 0 ? y[i] / (a2 + s) : 0;
        sum += normal[i] * w[i];
    }
    for (i = 0; i < 2; ++i) {
        csimi_wide homogeneous = y[i]; /* of degree one in (n, t): n dy/dn + (dy/dt) t = y */
        for (j = 0; j < 2; ++j) {
            G[3 * (i + 1) + j + 1] = (i == j ? g[i] : 0) - (sum > 0 ? w[i] * normal[j] * g[j] / sum : 0);
            homogeneous -= G[3 * (i + 1) + j + 1] * t[j + 1];
        }
        G[3 * (i + 1)] = homogeneous / n;
    }
}

/* Derivative of the projection at trial t with the projected impulse l. */
static void csimi_burst_derivative(csim_law law, const csim_contact *c, const csimi_wide *t, const csim_real *l,
                                   csimi_wide *G) {
    const csimi_wide mu = (csimi_wide)c->mu[0], length2 = t[1] * t[1] + t[2] * t[2];
    csimi_wide axes[2], y[2];
    int k;
    for (k = 0; k < 9; ++k) G[k] = k % 4 == 0 ? 1 : 0;
    switch (law) {
    case CSIM_LAW_STRICT:
    case CSIM_LAW_INVERTIBLE:
    case CSIM_LAW_ANISOTROPIC:
        if (!(t[0] > 0)) {
            G[0] = G[4] = G[8] = 0;
        } else if (law == CSIM_LAW_ANISOTROPIC) {
            y[0] = (csimi_wide)l[1];
            y[1] = (csimi_wide)l[2];
            axes[0] = mu;
            axes[1] = (csimi_wide)c->mu[1];
            /* inside the ellipse t stays as it is to the last bit: sticking */
            if (y[0] < t[1] || y[0] > t[1] || y[1] < t[2] || y[1] > t[2]) csimi_burst_ellipse(axes, t, t[0], y, G);
        } else if (length2 > mu * t[0] * mu * t[0]) {
            csimi_burst_disk(mu, t, t[0], G);
        }
        break;
    case CSIM_LAW_PROXIMAL:
        if (!((csimi_wide)l[0] > 0))
            G[0] = G[4] = G[8] = 0;
        else if (length2 > mu * t[0] * mu * t[0] || t[0] < 0)
            csimi_cone_derivative(mu, t, G);
        break;
    case CSIM_LAW_BILATERAL:
        for (k = 0; k < 3; ++k) G[4 * k] = CSIMI_WIDE(c->mask >> k & 1u ? 1 : 0);
        break;
    case CSIM_LAW_BOX:
        for (k = 0; k < 3; ++k) G[4 * k] = t[k] > (csimi_wide)c->lo[k] && t[k] < (csimi_wide)c->hi[k] ? 1 : 0;
        break;
    case CSIM_LAW_COUNT_:
    default: break;
    }
}

/* Contacts of a convex step: the projection is onto the cone, with the slip of the centre in the place of the true one
   (de Saxce's change of variable), so that F is the gradient of a convex function. */
static bool csimi_burst_is_convex(const csimi_sweep *s, const csimi_sweep_contact *c) {
    return s->convex && csimi_law_is(c->local.contact, CSIM_LAW_STRICT);
}

/* mu |u_t| of every contact at w. */
static void csimi_burst_lag(csimi_sweep *s) {
    int m;
    for (m = 0; m < s->contact_count; ++m) {
        csimi_sweep_contact *c = s->contacts + m;
        csim_real u[3];
        csimi_contact_velocity(s, c, u);
        c->lag = c->local.contact->mu[0] * CSIMI_SQRT(u[1] * u[1] + u[2] * u[2]);
    }
}

/* Compliance of row k and the trial impulse of a contact at w. */
static void csimi_burst_trial(const csimi_sweep *s, int m, csim_real *compliance, csim_real *trial) {
    const csimi_sweep_contact *c = s->contacts + m;
    const csim_real *centre = s->loop.centre + 3 * (ptrdiff_t)m;
    csim_real u[3];
    int k;
    csimi_contact_velocity(s, c, u);
    for (k = 0; k < 3; ++k) {
        compliance[k] = c->local.extra;
        if (csimi_law_is(c->local.contact, CSIM_LAW_INVERTIBLE)) compliance[k] += c->local.contact->omega[k > 0];
        /* zero of u + e (lambda - centre) + omega lambda */
        trial[k] = (c->local.extra * centre[k] - u[k]) / compliance[k];
    }
    if (csimi_burst_is_convex(s, c)) trial[0] -= c->lag / compliance[0];
}

static void csimi_burst_project(const csim_contact *contact, const csim_real *trial, csim_real *lambda) {
    if (csimi_law_is(contact, CSIM_LAW_INVERTIBLE)) { /* the compliance already holds omega */
        lambda[0] = csimi_max(trial[0], 0);
        csimi_clip_ellipse(contact->mu[0] * lambda[0], contact->mu[0] * lambda[0], trial + 1, lambda + 1);
    } else {
        csim_project(contact, 1, trial, lambda);
    }
}

/* lambda(w), F, and the merit F' F. */
static csimi_wide csimi_burst_evaluate(csimi_sweep *s, csimi_wide *F) {
    csimi_wide merit = 0, change[3];
    int a, i;
    /* F = J'(lambda(w) - centre) - w */
    for (i = 0; i < 3 * s->n; ++i) F[i] = -s->w[i];
    for (a = 0; a < s->active_count; ++a) {
        const int m = s->active ? s->active[a] : a;
        const csimi_sweep_contact *c = s->contacts + m;
        csim_real compliance[3], trial[3], *lambda = s->loop.x + 3 * (ptrdiff_t)m;
        csimi_burst_trial(s, m, compliance, trial);
        if (csimi_burst_is_convex(s, c))
            csim_project_cone(c->local.contact->mu[0], trial, lambda);
        else
            csimi_burst_project(c->local.contact, trial, lambda);
        for (i = 0; i < 3; ++i) change[i] = (csimi_wide)lambda[i] - (csimi_wide)s->loop.centre[3 * m + i];
        for (i = c->first; i < c->first + c->count; ++i)
            csimi_addmulT3_wide(s->pieces[i].J, change, F + 3 * (ptrdiff_t)s->pieces[i].block);
    }
    for (i = 0; i < 3 * s->n; ++i) merit += F[i] * F[i];
    ++s->loop.sweeps; /* it visits as many contacts as a sweep does */
    return merit;
}

/* ---- the linear system */

/* The rows [3 size] of a contact on the node of the piece *p, whose pieces follow each other, are left in *rows: in J,
   or where they lie. *p ends behind them. */
static int csimi_burst_gather(csimi_sweep *s, const csimi_piece **p, const csimi_piece *end, csim_real *J,
                              const csim_real **rows) {
    const csimi_degree *d = &s->degree;
    const int node = s->order[(*p)->block], size = d->size[node];
    int k;
    *rows = size == 3 ? (*p)->J : J; /* of one block there is one piece */
    if (size == 3) return ++*p, node;
    for (k = 0; k < 3 * size; ++k) J[k] = 0;
    for (; *p < end && s->order[(*p)->block] == node; ++*p) {
        csim_real *to = J + (s->place[(*p)->block] - d->at[node]);
        const csim_real *from = (*p)->J;
        for (k = 0; k < 3; ++k, to += size, from += 3) {
            to[0] += from[0];
            to[1] += from[1];
            to[2] += from[2];
        }
    }
    return node;
}

enum { CSIMI_BURST_RUNS = 5 }; /* nodes of a contact whose rows are kept while it is added: of the others anew */

/* J' (G / e) J of a contact into the matrix of nodes. */
static void csimi_burst_add_large(csimi_sweep *s, const csimi_sweep_contact *c, const csimi_wide *G) {
    csimi_degree *d = &s->degree;
    const csimi_piece *p, *q, *begin = s->pieces + c->first, *end = begin + c->count, *last[CSIMI_BURST_RUNS];
    enum { LENGTH = 3 * CSIMI_DEGREE_MOST };
    /* room for one row made anew for each of the two nodes, the product T, and RUNS rows kept */
    csim_real *first = d->turned, *second = first + LENGTH, *T = second + LENGTH, *room = T + LENGTH, g[9];
    const csim_real *row[CSIMI_BURST_RUNS], *J, *I;
    int node[CSIMI_BURST_RUNS], kept, a, b, i, u, v;
    for (i = 0; i < 9; ++i) g[i] = (csim_real)G[i];
    for (p = begin, kept = 0; p < end && kept < CSIMI_BURST_RUNS; ++kept, room += LENGTH) {
        node[kept] = csimi_burst_gather(s, &p, end, room, row + kept);
        last[kept] = p;
    }
    for (q = begin, a = 0; q < end; ++a) {
        if (a < kept) {
            v = node[a];
            q = last[a];
            J = row[a];
        } else {
            v = csimi_burst_gather(s, &q, end, first, &J);
        }
        for (i = 0, b = d->size[v]; i < b; ++i) {
            T[i] = g[0] * J[i] + g[1] * J[b + i] + g[2] * J[2 * b + i];
            T[b + i] = g[3] * J[i] + g[4] * J[b + i] + g[5] * J[2 * b + i];
            T[2 * b + i] = g[6] * J[i] + g[7] * J[b + i] + g[8] * J[2 * b + i];
        }
        /* all pairs of nodes: G has no symmetry where it slips */
        for (p = begin, b = 0; p < end; ++b) {
            if (b < kept) {
                u = node[b];
                p = last[b];
                I = row[b];
            } else {
                u = csimi_burst_gather(s, &p, end, second, &I);
            }
            csimi_degree_add(d, u, v, I, T);
        }
    }
}

/* Into the envelope or, large, the other matrix. */
static void csimi_burst_add_contact(csimi_sweep *s, int m, bool large) {
    const csimi_sweep_contact *c = s->contacts + m;
    const csimi_piece *p, *q, *begin = s->pieces + c->first, *end = begin + c->count;
    csim_real compliance[3], trial[3];
    csimi_wide t[3], G[9], J[9];
    int k;
    csimi_burst_trial(s, m, compliance, trial);
    for (k = 0; k < 3; ++k) t[k] = (csimi_wide)trial[k];
    /* de Saxce's projection on the cone is that of the proximal law */
    csimi_burst_derivative(csimi_burst_is_convex(s, c) ? CSIM_LAW_PROXIMAL : csimi_law_of(c->local.contact),
                           c->local.contact, t, s->loop.x + 3 * (ptrdiff_t)m, G);
    if (G[0] == 0 && G[4] == 0 && G[8] == 0) return; /* open, or at its limits */
    /* column k: the trial impulse falls by 1 / e of what u_k gains */
    for (k = 0; k < 9; ++k) G[k] /= (csimi_wide)compliance[k % 3];
    if (large) {
        csimi_burst_add_large(s, c, G);
        return;
    }
    for (q = begin; q < end; ++q) {
        csimi_wide T[9] = {0, 0, 0, 0, 0, 0, 0, 0, 0};
        for (k = 0; k < 9; ++k) J[k] = (csimi_wide)q->J[k];
        csimi_add_product(G, J, T);
        for (p = begin; p < end; ++p) {
            for (k = 0; k < 9; ++k) J[k] = (csimi_wide)p->J[k];
            csimi_add_productT(J, T,
                               csimi_envelope_block(&s->envelope, s->place[p->block] / 3, s->place[q->block] / 3));
        }
    }
}

/* I + J'(G / e) J: minus the Jacobian of F, so that the step is this inverse times F. */
static bool csimi_burst_factor_large(csimi_sweep *s) {
    csimi_degree *d = &s->degree;
    int i, r, a;
    csimi_degree_clear(d);
    for (i = 0; i < d->n; ++i) {
        size_t down, right;
        csim_real *D = csimi_degree_block(d, i, i, &down, &right);
        for (r = 0; r < d->size[i]; ++r) D[(size_t)r * (down + right)] = 1;
    }
    for (a = 0; a < s->active_count; ++a) csimi_burst_add_contact(s, s->active[a], true);
    return csimi_degree_factor(d);
}

/* 7: sweeps that a factor costs beside its own. */
CSIMI_FN bool csimi_burst_is_dear(const csimi_sweep *s) {
    return s->work >= 7 * CSIMI_BURST_VISIT * (csimi_wide)s->contact_count;
}

static bool csimi_burst_factor(csimi_sweep *s) {
    int i, m;
    /* charged in sweeps, which is what budgets and caps count */
    s->loop.factors += 1 + (int)(s->work / (CSIMI_BURST_VISIT * (csimi_wide)s->contact_count));
    if (csimi_burst_is_large(s)) return csimi_burst_factor_large(s);
    csimi_envelope_clear(&s->envelope);
    for (i = 0; i < 9 * s->n; i += i % 9 < 8 ? 4 : 1) s->envelope.diag[i] = 1; /* I */
    for (m = 0; m < s->contact_count; ++m) csimi_burst_add_contact(s, m, false);
    return csimi_envelope_factor(&s->envelope);
}

static void csimi_burst_direction(csimi_sweep *s, csimi_burst_vectors *x) {
    int i, k;
    for (i = 0; i < s->n; ++i)
        for (k = 0; k < 3 && s->place[i] >= 0; ++k) x->direction[s->place[i] + k] = x->F[3 * (ptrdiff_t)i + k];
    if (csimi_burst_is_large(s))
        csimi_degree_solve(&s->degree, x->direction);
    else
        csimi_envelope_solve(&s->envelope, x->direction);
}

/* Moves to start + alpha direction and evaluates there. */
static csimi_wide csimi_burst_move(csimi_sweep *s, csimi_burst_vectors *x, csimi_wide alpha) {
    int i, k;
    csimi_wide merit;
    for (i = 0; i < s->n; ++i)
        for (k = 0; k < 3 && s->place[i] >= 0; ++k)
            s->w[3 * i + k] = x->start[3 * i + k] + alpha * x->direction[s->place[i] + k];
    merit = csimi_burst_evaluate(s, x->F);
    /* a search may end on a worse point: the best one stays for the end of the step */
    if (x->best && merit < x->least) {
        x->least = merit;
        CSIMI_MEMCPY(x->best, s->w, 3 * (size_t)s->n * sizeof *x->best);
    }
    return merit;
}

/* Steps back from the full step until the merit falls. At a kink of the projections no step may do: then the full one
   is taken all the same, since the pieces beyond the kink are what Newton needs to see. */
static csimi_wide csimi_burst_search(csimi_sweep *s, csimi_burst_vectors *x, csimi_wide merit) {
    csimi_wide alpha = 1;
    int k;
    CSIMI_MEMCPY(x->start, s->w, 3 * (size_t)s->n * sizeof *x->start);
    /* Armijo's rule with 1e-3: any real fall will do */
    for (k = 0; k < 4; ++k, alpha *= CSIMI_WIDE(0.4)) {
        const csimi_wide now = csimi_burst_move(s, x, alpha);
        if (now < (1 - CSIMI_WIDE(1e-3) * alpha) * merit) return now;
    }
    return csimi_burst_move(s, x, 1);
}

/* F . direction: the slope of the convex function along the step, with its sign turned. */
static csimi_wide csimi_burst_slope(const csimi_sweep *s, const csimi_burst_vectors *x) {
    csimi_wide sum = 0;
    int i, k;
    for (i = 0; i < s->n; ++i)
        for (k = 0; k < 3 && s->place[i] >= 0; ++k) sum += x->F[3 * i + k] * x->direction[s->place[i] + k];
    return sum;
}

/* The same for a convex step, by the slope alone: shorter while the step ends well beyond the least value. */
static csimi_wide csimi_burst_search_convex(csimi_sweep *s, csimi_burst_vectors *x) {
    const csimi_wide slope = csimi_burst_slope(s, x);
    csimi_wide alpha = 1, merit;
    int k;
    CSIMI_MEMCPY(x->start, s->w, 3 * (size_t)s->n * sizeof *x->start);
    for (k = 0;; ++k) {
        csimi_wide now, shorter;
        merit = csimi_burst_move(s, x, alpha);
        now = csimi_burst_slope(s, x);
        /* the slope has turned by less than half: no need to be closer to the least value */
        if (now >= -CSIMI_WIDE(0.5) * slope || k == 10) return merit;
        /* where the slope would be 0 on a straight line between both ends */
        shorter = slope / (slope - now);
        alpha *= shorter < CSIMI_WIDE(0.1) ? CSIMI_WIDE(0.1) : shorter;
    }
}

/* A proximal step may stop when F is small against what the step itself changes, eps |lambda - centre|. */
static csimi_wide csimi_burst_enough(const csimi_sweep *s, csimi_wide eps) {
    return CSIMI_WIDE(0.01) * eps * eps * csimi_stages_travel2(&s->loop) +
           CSIMI_WIDE(1e2) * (csimi_wide)CSIMI_EPS * (csimi_wide)CSIMI_EPS * s->load;
}

/* During a step w holds what the step adds and phi the u at its start. Impulses are differences of u divided
   by a small eps: taken from changes alone they keep their digits. */
static void csimi_burst_enter(csimi_sweep *s, csimi_wide eps) {
    int m;
    for (m = 0; m < s->contact_count; ++m) {
        const csim_real *W = s->contacts[m].local.W;
        csim_real u[3];
        /* W is packed: 0, 3, 5 are its diagonal */
        s->contacts[m].local.extra = (csim_real)eps * (W[0] + W[3] + W[5]) / 3;
        csimi_contact_velocity(s, s->contacts + m, u);
        /* from here on u of a contact is phi and what w adds, small numbers both */
        CSIMI_MEMCPY(s->contacts[m].phi, u, sizeof u);
    }
    CSIMI_MEMSET(s->w, 0, 3 * (size_t)s->n * sizeof *s->w);
}

static void csimi_burst_leave(csimi_sweep *s) {
    int m;
    for (m = 0; m < s->contact_count; ++m) {
        s->contacts[m].local.extra = 0;
        CSIMI_MEMCPY(s->contacts[m].phi, s->contacts[m].free, sizeof s->contacts[m].phi);
    }
}

CSIMI_FN bool csimi_burst_step(csimi_sweep *s, csimi_wide eps, int *iterations) {
    const size_t bytes = 3 * (size_t)s->contact_count * sizeof *s->loop.x;
    const bool large = csimi_burst_is_large(s);
    /* large: what eight steps leave is for plain sweeps; beyond what was asked no sweeps follow, and a step that gets
       lost is lost as a whole: four more cost less than that */
    const int most = !large ? 30 : s->fine ? 12 : 8;
    csimi_arena ring = csimi_stages_ring(&s->loop);
    csimi_burst_vectors x;
    csimi_wide merit, first, before;
    bool there;
    int k;
    *iterations = 0;
    CSIMI_MEMSET(&x, 0, sizeof x);
    if (!(large || s->work > 0) || !csimi_burst_layout(s, &x, &ring)) return false;
    /* the proximal step is around the impulses at hand */
    CSIMI_MEMCPY(s->loop.centre, s->loop.x, bytes);
    csimi_burst_enter(s, eps);
    if (large && !csimi_burst_choose(s)) {
        csimi_burst_leave(s);
        csimi_sweep_velocities(s);
        return false;
    }
    if (s->convex) csimi_burst_lag(s); /* the slip at the centre, held for the whole step */
    before = first = merit = csimi_burst_evaluate(s, x.F);
    x.least = merit;
    if (large) CSIMI_MEMSET(x.best, 0, 3 * (size_t)s->n * sizeof *x.best); /* w = 0: where the step begins */
    for (k = 0;; ++k) {
        const csimi_wide enough = csimi_burst_enough(s, eps);
        /* or as far as rounding lets it: no gain any more, far below the start */
        there = (merit <= enough || (merit > CSIMI_WIDE(0.25) * before && merit < CSIMI_BURST_ROUNDING * first)) &&
                enough < (csimi_wide)CSIMI_HUGE;
        before = merit;
        if (there || !(merit < (csimi_wide)CSIMI_HUGE) || k == most || csimi_stages_capped(&s->loop) ||
            !csimi_burst_factor(s))
            break;
        csimi_burst_direction(s, &x);
        merit = s->convex ? csimi_burst_search_convex(s, &x) : csimi_burst_search(s, &x, merit);
    }
    *iterations = k;
    /* part of the way is worth keeping far from the answer; near it a step counts as a whole or not */
    if (!there && large && !s->fine) {
        CSIMI_MEMCPY(s->w, x.best, 3 * (size_t)s->n * sizeof *x.best);
        (void)csimi_burst_evaluate(s, x.F);
    } else if (!there) {
        CSIMI_MEMCPY(s->loop.x, s->loop.centre, bytes);
    }
    csimi_burst_leave(s);
    csimi_sweep_velocities(s);
    return there;
}

#undef CSIMI_BURST_COUPLED
