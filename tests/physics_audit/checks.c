/* checks: what one step must obey, from the states before and after it and its contacts. */
#include "audit.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

const char *const violation_text[VIOLATION_COUNT] = {
#define AUDIT_X(name, text, unit, always) text,
    AUDIT_LIST(AUDIT_X)
#undef AUDIT_X
};

const char *const violation_unit[VIOLATION_COUNT] = {
#define AUDIT_X(name, text, unit, always) unit,
    AUDIT_LIST(AUDIT_X)
#undef AUDIT_X
};

static const bool violation_always[VIOLATION_COUNT] = {
#define AUDIT_X(name, text, unit, always) always,
    AUDIT_LIST(AUDIT_X)
#undef AUDIT_X
};

/* ---- limits; docs/results/audit.md states them */

static const double audit_speed = 0.01;    /* m/s: of slips, of open and closing contacts, of momentum over mass */
static const double audit_spin = 0.1;      /* rad/s */
static const double audit_carried = 1e-3;  /* a contact that carries less than this share of the lighter side's weight
                                              over the step is open */
static const double audit_layers = 1e-9;   /* m: as near as each other */
static const double audit_seen = 1e-3;     /* m: wider contacts with sheets are judged by their impulse alone */
static const double audit_opposed = 0.1;   /* share of mu lambda_n that friction may be off its place */
static const double audit_gain = 1e-3;     /* of the energy before */
static const double audit_depth = 1e-4;    /* m */
static const double audit_claim = 1e-2;    /* m */

static double dot(const double *a, const double *b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

static double size(const double *a) { return sqrt(dot(a, a)); }

static void cross(const double *a, const double *b, double *c) {
    c[0] = a[1] * b[2] - a[2] * b[1];
    c[1] = a[2] * b[0] - a[0] * b[2];
    c[2] = a[0] * b[1] - a[1] * b[0];
}

static void numbers(csim_vec3 v, double *out) {
    out[0] = (double)v.x;
    out[1] = (double)v.y;
    out[2] = (double)v.z;
}

/* value: how bad it is, in the unit of the kind. */
static void judge(audit_run *run, violation kind, bool certified, double value, double limit) {
    tally *t = run->tally;
    if (!certified && !violation_always[kind]) return;
    if (value <= limit) return; /* a NaN counts */
    t->count[kind]++;
    if (!(value <= t->worst[kind])) t->worst[kind] = value;
    if (run->name)
        fprintf(stderr, "%s, step %d: %s: %g %s%s\n", run->name, run->step, violation_text[kind], value,
                violation_unit[kind], run->about);
}

/* ---- one contact */

typedef struct contact {
    const body *a, *b;   /* null: the ground */
    int ia, ib;
    double point[3], meet[3], n[3], impulse[3], normal, tangent[3];
    double u[3], un, slip[3]; /* own: velocity of a against b after the step, its normal part and the rest */
    double bound;             /* target - u_n: what the law asks of the normal velocity, m/s */
    double floor, mu;
    bool self;
    bool unseen;              /* its sides are too far apart to say which place of a sheet it is about */
} contact;

static int find_body(const audit_world *w, csim_body_id id) {
    int i;
    for (i = 0; i < w->count; i++)
        if (w->body[i].id.index1 == id.index1) return i;
    return -1;
}

/* A place of a body of nodes: weights of the corners of its nearest triangle (or edge), before the step. */
typedef struct place {
    int corner[3];
    double weight[3], away[3], distance; /* away: from there to the point */
    bool triangle, corner_there;         /* nearest is a corner */
} place;

/* Of layers of a sheet that lie on each other the one with a corner there: what is flat is met by corners. */
static bool nearer_place(const place *p, const place *than) {
    if (fabs(p->distance - than->distance) >= audit_layers) return p->distance < than->distance;
    return p->corner_there && !than->corner_there;
}

static place nearest_place(const audit_world *w, const body *b, const moment *before, const double *point) {
    const int *triangle = NULL;
    place best, p;
    int count = 0, parts, i, k, j;
    memset(&best, 0, sizeof best);
    best.distance = 1e300;
    if (b->kind != BODY_CABLE) csim_body_surface(w->world, b->id, &triangle, &count);
    parts = b->kind == BODY_CABLE ? b->nodes - 1 : count;
    p.triangle = triangle != NULL;
    for (i = 0; i < parts; i++) {
        for (k = 0; k < 3; k++) p.corner[k] = triangle ? triangle[3 * i + k] : k < 2 ? i + k : i;
        nearest_weights(point, before->node + 3 * p.corner[0], before->node + 3 * p.corner[1],
                        triangle ? before->node + 3 * p.corner[2] : NULL, p.weight);
        for (j = 0; j < 3; j++) {
            p.away[j] = point[j];
            for (k = 0; k < 3; k++) p.away[j] -= p.weight[k] * before->node[3 * p.corner[k] + j];
        }
        p.distance = size(p.away);
        p.corner_there = fmax(p.weight[0], fmax(p.weight[1], p.weight[2])) > 1 - 1e-9;
        if (nearer_place(&p, &best)) best = p;
    }
    return best;
}

/* Its velocity after the step. Above a triangle the point turns with it: d/dt of the unit normal. false: the point is
   beside the triangle or near its side, where its neighbour has a say. */
static bool place_velocity(const place *p, const moment *before, const moment *after, double *out) {
    double e[2][3], rate[2][3], n[3], a[3], b[3], height, area;
    int k, j;
    for (j = 0; j < 3; j++)
        for (out[j] = 0, k = 0; k < 3; k++) out[j] += p->weight[k] * after->speed[3 * p->corner[k] + j];
    if (!p->triangle || p->distance < 1e-9) return true;
    for (k = 0; k < 2; k++)
        for (j = 0; j < 3; j++) {
            e[k][j] = before->node[3 * p->corner[k + 1] + j] - before->node[3 * p->corner[0] + j];
            rate[k][j] = after->speed[3 * p->corner[k + 1] + j] - after->speed[3 * p->corner[0] + j];
        }
    cross(e[0], e[1], n);
    area = size(n);
    cross(rate[0], e[1], a);
    cross(e[0], rate[1], b);
    for (j = 0; j < 3; j++) {
        n[j] /= area;
        a[j] = (a[j] + b[j]) / area;
    }
    height = dot(n, p->away);
    for (j = 0; j < 3; j++) out[j] += height * (a[j] - dot(a, n) * n[j]);
    return fabs(height) > (1 - 1e-6) * p->distance && fmin(p->weight[0], fmin(p->weight[1], p->weight[2])) > 0.02;
}

static bool is_sheet(const body *b) { return b && b->kind != BODY_RIGID; }

/* The same triangle under another point: it goes with the plane of the triangle. */
static void move_place(place *p, const moment *before, const double *point) {
    const double *x = before->node + 3 * p->corner[0];
    double e[2][3], d[3], n[3], part[3];
    int k, j;
    for (j = 0; j < 3; j++) {
        for (k = 0; k < 2; k++) e[k][j] = before->node[3 * p->corner[k + 1] + j] - x[j];
        d[j] = point[j] - x[j];
    }
    cross(e[0], e[1], n);
    cross(d, e[1], part);
    p->weight[1] = dot(part, n) / dot(n, n);
    cross(e[0], d, part);
    p->weight[2] = dot(part, n) / dot(n, n);
    p->weight[0] = 1 - p->weight[1] - p->weight[2];
    for (j = 0; j < 3; j++) p->away[j] = dot(d, n) / dot(n, n) * n[j];
    p->distance = size(p->away);
}

/* Of what is at `foot` on the body's surface, with the point. */
static bool side_velocity(const audit_run *run, int i, const double *foot, const double *point, double *out) {
    const audit_world *w = run->world;
    const moment *before = run->before.body + i, *after = run->after.body + i;
    double arm[3];
    int k;
    memset(out, 0, 3 * sizeof *out);
    if (i < 0 || w->body[i].fixed) return true;
    if (w->body[i].kind != BODY_RIGID) {
        place p = nearest_place(w, w->body + i, before, foot);
        if (p.triangle) move_place(&p, before, point);
        return place_velocity(&p, before, after, out);
    }
    for (k = 0; k < 3; k++) arm[k] = point[k] - before->x[k];
    cross(after->w, arm, out);
    for (k = 0; k < 3; k++) out[k] += after->v[k];
    return true;
}

static double side_mass(const body *b) {
    double sum = 0;
    int i;
    if (!b || b->fixed) return 1e300;
    if (b->kind == BODY_RIGID) return b->mass;
    for (i = 0; i < b->nodes; i++) sum += b->node_mass[i];
    return sum / b->nodes;
}

/* The velocity at which a gap is to open, less than 0 where it may close: docs/contact.md. */
static double wanted_speed(const audit_world *w, double gap) {
    const csim_world_def *d = &w->def;
    if (gap >= 0) return -gap / w->h;
    return fmin((double)d->stabilization * fmax(0, -gap - (double)d->slop) / w->h, (double)d->push_out_speed);
}

/* Where both sides act, so that an impulse leaves no couple: at the point given, but for nodes and cables, which act on
   their line: found as the place of a that is nearest to one of those the point can have been made from. */
static void find_meet(const audit_run *run, const csim_contact_info *info, contact *c) {
    const audit_world *w = run->world;
    double radius = (c->a ? c->a->thickness : 0), other = c->b ? c->b->thickness : 0, off[3];
    place best;
    int i, k;
    if (!is_sheet(c->a)) return;
    memset(&best, 0, sizeof best);
    best.distance = 1e300;
    off[0] = radius;
    off[1] = (double)info->gap + radius + other;
    off[2] = 0;
    for (i = 0; i < 3; i++) {
        double p[3];
        place at;
        for (k = 0; k < 3; k++) p[k] = c->point[k] + off[i] * c->n[k];
        at = nearest_place(w, c->a, run->before.body + c->ia, p);
        if (!nearer_place(&at, &best)) continue;
        best = at;
        for (k = 0; k < 3; k++) c->meet[k] = p[k] - (c->a->kind == BODY_CABLE ? at.away[k] : 0);
    }
}

static void read_contact(const audit_run *run, const csim_contact_info *info, contact *c) {
    const audit_world *w = run->world;
    double b[3], foot[3], g = -(double)w->def.gravity.z;
    int k;
    memset(c, 0, sizeof *c);
    c->ia = find_body(w, info->body_a);
    c->ib = find_body(w, info->body_b);
    c->a = c->ia >= 0 ? w->body + c->ia : NULL;
    c->b = c->ib >= 0 ? w->body + c->ib : NULL;
    c->self = c->ia >= 0 && c->ia == c->ib;
    numbers(info->point, c->point);
    numbers(info->normal, c->n);
    numbers(info->impulse, c->impulse);
    memcpy(c->meet, c->point, sizeof c->meet);
    find_meet(run, info, c);
    c->unseen = !side_velocity(run, c->ia, c->meet, c->meet, c->u);
    for (k = 0; k < 3; k++)
        foot[k] = is_sheet(c->b) ? c->point[k] - ((double)info->gap + c->b->thickness) * c->n[k] : c->meet[k];
    c->unseen = !side_velocity(run, c->ib, foot, c->meet, b) || c->unseen || c->self ||
                (is_sheet(c->b) && fabs((double)info->gap) > audit_seen);
    for (k = 0; k < 3; k++) c->u[k] -= b[k];
    c->un = dot(c->n, c->u);
    c->normal = dot(c->n, c->impulse);
    for (k = 0; k < 3; k++) {
        c->slip[k] = c->u[k] - c->un * c->n[k];
        c->tangent[k] = c->impulse[k] - c->normal * c->n[k];
    }
    c->bound = wanted_speed(w, (double)info->gap);
    c->floor = audit_carried * fmin(side_mass(c->a), side_mass(c->b)) * g * w->h;
    c->mu = sqrt((c->a ? c->a->friction : 0.5) * (c->b ? c->b->friction : 0.5));
}

static const char *side_name(const body *b) {
    static const char *const rigid[] = {"box", "ball", "capsule"}, *const other[] = {"", "solid", "cable", "cloth"};
    if (!b || b->fixed) return "floor";
    return b->kind == BODY_RIGID ? rigid[b->shape.kind] : other[b->kind];
}

static void judge_contact(audit_run *run, const csim_contact_info *info, bool certified) {
    contact c;
    double said[3], off[3], speed, limit;
    int k;
    read_contact(run, info, &c);
    limit = c.mu * c.normal;
    if (run->name)
        snprintf(run->about, sizeof run->about, ", %s on %s, gap %g m", side_name(c.a), side_name(c.b), (double)info->gap);
    judge(run, VIOLATION_cone, certified, fmax(size(c.tangent) - 1.001 * limit, -c.normal) - c.floor, 0);
    if (c.unseen) return;
    judge(run, VIOLATION_approach, certified, c.bound - c.un, audit_speed);
    if (!(c.normal > c.floor)) return;
    judge(run, VIOLATION_open, certified, c.un - c.bound, audit_speed);
    numbers(info->slip, said);
    for (k = 0; k < 3; k++) off[k] = said[k] - c.slip[k];
    speed = size(c.slip);
    judge(run, VIOLATION_slip, certified, size(off) - 0.01 * speed, audit_speed);
    if (!(speed > audit_speed)) return;
    for (k = 0; k < 3; k++) off[k] = c.tangent[k] + limit * c.slip[k] / speed;
    if (size(off) > audit_opposed * limit) judge(run, VIOLATION_friction, certified, speed, 0);
}

/* ---- the whole step */

typedef struct sums {
    double impulse[AUDIT_BODIES][3], turn[AUDIT_BODIES][3], outside[3];
    double put_in; /* J by stabilisation */
} sums;

static void add_side(const audit_run *run, sums *s, int i, const double *point, const double *impulse, double sign) {
    double arm[3], turn[3];
    int k;
    if (i < 0 || run->world->body[i].fixed) return;
    for (k = 0; k < 3; k++) arm[k] = point[k] - run->before.body[i].x[k];
    cross(arm, impulse, turn);
    for (k = 0; k < 3; k++) {
        s->impulse[i][k] += sign * impulse[k];
        s->turn[i][k] += sign * turn[k];
    }
}

static void judge_contacts(audit_run *run, bool certified, sums *s) {
    const audit_world *w = run->world;
    int count = 0, i, k;
    const csim_contact_info *info = csim_world_contacts(w->world, &count);
    memset(s, 0, sizeof *s);
    run->tally->contacts += count;
    for (i = 0; i < count; i++) {
        contact c;
        judge_contact(run, info + i, certified);
        read_contact(run, info + i, &c);
        add_side(run, s, c.ia, c.meet, c.impulse, 1);
        add_side(run, s, c.ib, c.meet, c.impulse, -1);
        if (!c.b || c.b->fixed)
            for (k = 0; k < 3; k++) s->outside[k] += c.impulse[k];
        if (!c.a || c.a->fixed)
            for (k = 0; k < 3; k++) s->outside[k] -= c.impulse[k];
        s->put_in += fmax(0, c.normal) * fmax(0, c.bound);
    }
    run->about[0] = 0;
}

/* Change of the spin of a rigid body that the impulses do not explain, rad/s. The gyroscopic term is of the order of
   h w^2 and left out: it is allowed for. */
static double unexplained_spin(const audit_run *run, int i, const double *turn) {
    const body *b = run->world->body + i;
    const moment *m = run->before.body + i, *after = run->after.body + i;
    double sum = 0, change[3], spin = fmax(size(m->w), size(after->w));
    int k, j;
    for (k = 0; k < 3; k++) change[k] = after->w[k] - m->w[k];
    for (k = 0; k < 3; k++) {
        double d = 0, asked = 0;
        for (j = 0; j < 3; j++) {
            d += m->R[3 * j + k] * change[j];
            asked += m->R[3 * j + k] * turn[j];
        }
        sum += (d - asked / b->inertia[k]) * (d - asked / b->inertia[k]);
    }
    return sqrt(sum) - (b->shape.kind == SOLID_BALL ? 0 : 4 * run->world->h * spin * spin);
}

static void judge_momentum(audit_run *run, bool certified, const sums *s) {
    const audit_world *w = run->world;
    double g = (double)w->def.gravity.z, mass = 0, off[3];
    int i, k;
    for (i = 0; i < w->count; i++) {
        const body *b = w->body + i;
        if (b->fixed) continue;
        if (b->kind != BODY_RIGID) {
            mass += side_mass(b) * b->nodes;
            continue;
        }
        mass += b->mass;
        if (w->linked) continue;
        for (k = 0; k < 3; k++)
            off[k] = run->after.body[i].v[k] - run->before.body[i].v[k] - s->impulse[i][k] / b->mass -
                     (k == 2 ? w->h * g : 0);
        judge(run, VIOLATION_momentum, certified, size(off), audit_speed);
        judge(run, VIOLATION_spin, certified, unexplained_spin(run, i, s->turn[i]), audit_spin);
    }
    for (k = 0; k < 3; k++)
        off[k] = (run->after.momentum[k] - run->before.momentum[k] - s->outside[k]) / mass - (k == 2 ? w->h * g : 0);
    judge(run, VIOLATION_momentum, certified, size(off), audit_speed);
}

static void judge_energy(audit_run *run, bool certified, const sums *s) {
    double before = fmax(run->before.total, 1e-9), gain = run->after.total - run->before.total - s->put_in;
    run->put_in += s->put_in;
    judge(run, VIOLATION_energy, certified, gain / before, audit_gain);
    judge(run, VIOLATION_energy_raw, certified, (gain + s->put_in) / before, audit_gain);
    if (!certified) judge(run, VIOLATION_energy_missed, certified, gain / before, audit_gain);
    judge(run, VIOLATION_above_start, certified, (run->after.total - run->first - run->put_in) / run->first, 0.01);
}

/* ---- depths after the step */

static solid placed(const body *b, const moment *m) {
    solid s = b->shape;
    memcpy(s.x, m->x, sizeof s.x);
    memcpy(s.R, m->R, sizeof s.R);
    return s;
}

/* Deepest point of a body of nodes below the floor or in a solid (null: the floor); cables between their nodes too. */
static double nodes_depth(const body *b, const moment *m, const solid *s) {
    double worst = -1e300, p[3];
    int i, j, k, cuts = b->kind == BODY_CABLE ? 4 : 1;
    for (i = 0; i < b->nodes; i++)
        for (j = 0; j < cuts && (j == 0 || i + 1 < b->nodes); j++) {
            const double *x = m->node + 3 * i, t = (double)j / cuts;
            for (k = 0; k < 3; k++) p[k] = j ? x[k] + t * (x[k + 3] - x[k]) : x[k];
            worst = fmax(worst, b->thickness - (s ? point_gap(s, p) : p[2]));
        }
    return worst;
}

static bool inside_tet(const double *node, const int *tet, const double *p) {
    double e[9], d[3], c[3], det;
    int i, k;
    double sum = 0;
    for (i = 0; i < 3; i++)
        for (k = 0; k < 3; k++) e[3 * i + k] = node[3 * tet[i + 1] + k] - node[3 * tet[0] + k];
    for (k = 0; k < 3; k++) d[k] = p[k] - node[3 * tet[0] + k];
    cross(e + 3, e + 6, c);
    det = dot(e, c);
    for (i = 0; i < 3; i++) {
        double weight;
        cross(e + 3 * ((i + 1) % 3), e + 3 * ((i + 2) % 3), c);
        weight = dot(d, c) / det;
        if (!(weight >= 0)) return false;
        sum += weight;
    }
    return sum <= 1;
}

/* Nodes of another body inside the tets of a soft one: depth to its surface. */
static double inside_depth(const audit_world *w, const body *soft, const moment *m, const body *other,
                           const moment *o) {
    const int *triangle = NULL;
    double worst = -1e300;
    int count = 0, i, j, k, l;
    csim_body_surface(w->world, soft->id, &triangle, &count);
    for (i = 0; i < other->nodes; i++) {
        const double *p = o->node + 3 * i;
        double best = 1e300;
        for (j = 0; j < soft->tets && !inside_tet(m->node, soft->tet + 4 * j, p); j++) {}
        if (j == soft->tets) continue;
        for (j = 0; j < count; j++) {
            const int *t = triangle + 3 * j;
            double weight[3], d[3];
            nearest_weights(p, m->node + 3 * t[0], m->node + 3 * t[1], m->node + 3 * t[2], weight);
            for (k = 0; k < 3; k++)
                for (d[k] = -p[k], l = 0; l < 3; l++) d[k] += weight[l] * m->node[3 * t[l] + k];
            best = fmin(best, size(d));
        }
        worst = fmax(worst, best + other->thickness);
    }
    return worst;
}

/* b null: the floor. */
static void take_depth(audit_run *run, const body *a, const body *b, double depth, double *worst) {
    if (!(depth > *worst)) return;
    *worst = depth;
    if (run->name) snprintf(run->about, sizeof run->about, ", %s in %s", side_name(b), side_name(a));
}

static double deepest(audit_run *run, bool *through) {
    const audit_world *w = run->world;
    double worst = 0;
    int i, j;
    for (i = 0; i < w->count; i++) {
        const body *a = w->body + i;
        const moment *m = run->after.body + i;
        const bool rigid = a->kind == BODY_RIGID;
        solid s = placed(a, m);
        double low = rigid ? floor_depth(&s) : nodes_depth(a, m, NULL);
        if (!(low < (rigid ? 0.1 : 0.05) && low > -1e3)) *through = true;
        if (!a->fixed) take_depth(run, NULL, a, low, &worst);
        for (j = 0; j < w->count; j++) {
            const body *b = w->body + j;
            solid other = placed(b, run->after.body + j);
            if (rigid && b->kind == BODY_RIGID && j > i && b->partner != i)
                take_depth(run, a, b, solid_depth(&s, &other), &worst);
            if (rigid && b->kind != BODY_RIGID) take_depth(run, a, b, nodes_depth(b, run->after.body + j, &s), &worst);
            if (a->kind == BODY_SOFT && b->kind != BODY_RIGID && j != i)
                take_depth(run, a, b, inside_depth(w, a, m, b, run->after.body + j), &worst);
        }
    }
    return worst;
}

static void judge_depth(audit_run *run, bool certified, double reported) {
    bool through = false;
    double own = deepest(run, &through);
    judge(run, VIOLATION_through, certified, through ? 1 : 0, 0);
    judge(run, VIOLATION_hidden, certified, own - reported, audit_depth);
    if (run->world->rigid_only) judge(run, VIOLATION_claimed, certified, reported - own, audit_claim);
    run->about[0] = 0;
}

/* ---- stepping */

/* What the failed step said it needs. */
static bool make_room(csim_world *w) {
    csim_step_stats s = csim_world_stats(w);
    csim_capacity c = csim_world_capacity(w);
    bool more = s.contacts > c.contacts || s.pairs > c.pairs;
    if (s.contacts > c.contacts) c.contacts = 2 * s.contacts;
    if (s.pairs > c.pairs) c.pairs = 2 * s.pairs;
    return more && csim_world_reserve(w, &c) == CSIM_OK;
}

static bool audit_step(audit_run *run) {
    const audit_world *w = run->world;
    csim_step_stats stats;
    csim_status status = csim_world_step(w->world, (csim_real)w->h);
    bool certified, flagged;
    sums s;
    while (status == CSIM_CAPACITY && make_room(w->world)) status = csim_world_step(w->world, (csim_real)w->h);
    if (status != CSIM_OK) return false;
    stats = csim_world_stats(w->world);
    flagged = (stats.flags & CSIM_FLAG_UNCERTIFIED) != 0;
    certified = stats.result == CSIM_RESULT_CONVERGED && !flagged;
    run->tally->steps++;
    run->tally->certified += certified;
    judge(run, VIOLATION_missed, certified, flagged, 0);
    judge(run, VIOLATION_two_words, certified, (stats.result == CSIM_RESULT_CONVERGED) == flagged, 0);
    read_state(w, &run->after);
    judge_contacts(run, certified, &s);
    judge_momentum(run, certified, &s);
    judge_energy(run, certified, &s);
    judge_depth(run, certified, stats.penetration);
    run->before = run->after;
    return true;
}

void audit_steps(audit_run *run, int steps) {
    read_state(run->world, &run->before);
    run->first = run->before.total;
    run->put_in = 0;
    run->tally->worlds++;
    for (run->step = 1; run->step <= steps; run->step++)
        if (!audit_step(run)) {
            judge(run, VIOLATION_failed, false, 1, 0);
            return;
        }
}
