/* Events against an oracle that asks public getters alone: it takes the poses before a step and its own geometry, says
   which shapes touch, must touch or may be told either way (where a distance of boxes is not one number), and keeps the
   list of touching pairs as a user would. EVENT_STEPS=100000 EVENT_SEED=7: the long form. */
#define _POSIX_C_SOURCE 200112L
#include "check.h"
#include <math.h>

/* ---- geometry of the oracle, in double */

typedef struct vec { double x, y, z; } vec;
static vec v3(double x, double y, double z) { vec v = {x, y, z}; return v; }
static vec of(csim_vec3 v) { return v3((double)v.x, (double)v.y, (double)v.z); }
static vec sub(vec a, vec b) { return v3(a.x - b.x, a.y - b.y, a.z - b.z); }
static vec along(vec a, double t, vec d) { return v3(a.x + t * d.x, a.y + t * d.y, a.z + t * d.z); }
static double dot(vec a, vec b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
static vec cross(vec a, vec b) { return v3(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x); }
static double norm(vec a) { return sqrt(dot(a, a)); }
static double clamp01(double t) { return t < 0 ? 0 : t > 1 ? 1 : t; }

typedef enum part_kind { BALL, ROD, BLOCK, FLOOR } part_kind;
typedef struct part { /* of a body: one shape, or the nodes of one */
    part_kind kind;
    vec a, b, axis[3], half; /* ball: a; rod: ends; block: centre a; floor: point a, normal b */
    double r;
} part;

static double point_block(vec p, const part *q) { /* signed */
    vec d = sub(p, q->a);
    const double h[3] = {q->half.x, q->half.y, q->half.z};
    double out = 0, in = -1e300;
    int k;
    for (k = 0; k < 3; k++) {
        const double x = fabs(dot(d, q->axis[k])) - h[k];
        if (x > 0) out += x * x;
        if (x > in) in = x;
    }
    return out > 0 ? sqrt(out) : in;
}

static double point_rod(vec p, vec a, vec b) {
    const vec d = sub(b, a);
    const double l = dot(d, d), t = l > 0 ? clamp01(dot(sub(p, a), d) / l) : 0;
    return norm(sub(p, along(a, t, d)));
}

static double rod_rod(vec a, vec b, vec c, vec d) { /* convex in both shares: by turns */
    double low = 0, high = 1;
    int i;
    for (i = 0; i < 200; i++) {
        const double s = low + (high - low) / 3, t = high - (high - low) / 3;
        if (point_rod(along(a, s, sub(b, a)), c, d) < point_rod(along(a, t, sub(b, a)), c, d)) high = t;
        else low = s;
    }
    return point_rod(along(a, low, sub(b, a)), c, d);
}

static double rod_block(vec a, vec b, const part *q) {
    double low = 0, high = 1;
    int i;
    for (i = 0; i < 200; i++) {
        const double s = low + (high - low) / 3, t = high - (high - low) / 3;
        if (point_block(along(a, s, sub(b, a)), q) < point_block(along(a, t, sub(b, a)), q)) high = t;
        else low = s;
    }
    return point_block(along(a, low, sub(b, a)), q);
}

static vec corner(const part *q, int i) {
    vec x = q->a;
    x = along(x, i & 1 ? q->half.x : -q->half.x, q->axis[0]);
    x = along(x, i & 2 ? q->half.y : -q->half.y, q->axis[1]);
    return along(x, i & 4 ? q->half.z : -q->half.z, q->axis[2]);
}

/* Two blocks: no axis separates them by more than `low`; their edges and corners are `high` apart. */
static void block_block(const part *p, const part *q, double *low, double *high) {
    static const int edge[12][2] = {{0, 1}, {2, 3}, {4, 5}, {6, 7}, {0, 2}, {1, 3},
                                    {4, 6}, {5, 7}, {0, 4}, {1, 5}, {2, 6}, {3, 7}};
    vec axis[15];
    int n = 0, i, j;
    for (i = 0; i < 3; i++) axis[n++] = p->axis[i], axis[n++] = q->axis[i];
    for (i = 0; i < 3; i++)
        for (j = 0; j < 3; j++) {
            const vec c = cross(p->axis[i], q->axis[j]);
            const double l = norm(c);
            if (l > 1e-6) axis[n++] = v3(c.x / l, c.y / l, c.z / l);
        }
    *low = -1e300;
    for (i = 0; i < n; i++) {
        const vec e = axis[i];
        const double reach = p->half.x * fabs(dot(e, p->axis[0])) + p->half.y * fabs(dot(e, p->axis[1])) +
                             p->half.z * fabs(dot(e, p->axis[2])) + q->half.x * fabs(dot(e, q->axis[0])) +
                             q->half.y * fabs(dot(e, q->axis[1])) + q->half.z * fabs(dot(e, q->axis[2]));
        const double gap = fabs(dot(e, sub(q->a, p->a))) - reach;
        if (gap > *low) *low = gap;
    }
    *high = 1e300;
    if (*low <= 0 || *low > 0.02) { /* overlap; far away */
        *high = *low;
        return;
    }
    for (i = 0; i < 8; i++) {
        *high = fmin(*high, point_block(corner(p, i), q));
        *high = fmin(*high, point_block(corner(q, i), p));
    }
    for (i = 0; i < 12; i++)
        for (j = 0; j < 12; j++)
            *high = fmin(*high, rod_rod(corner(p, edge[i][0]), corner(p, edge[i][1]), corner(q, edge[j][0]),
                                        corner(q, edge[j][1])));
}

static double floor_gap(const part *f, const part *q) {
    double g = 1e300;
    int i;
    if (q->kind == BALL) return dot(f->b, sub(q->a, f->a)) - q->r;
    if (q->kind == ROD) return fmin(dot(f->b, sub(q->a, f->a)), dot(f->b, sub(q->b, f->a))) - q->r;
    for (i = 0; i < 8; i++) g = fmin(g, dot(f->b, sub(corner(q, i), f->a)));
    return g;
}

/* Between which numbers the distance of two parts is. */
static void gap_of(const part *p, const part *q, double *low, double *high) {
    if (p->kind > q->kind) {
        const part *s = p;
        p = q;
        q = s;
    }
    if (q->kind == FLOOR) *low = floor_gap(q, p);
    else if (p->kind == BALL && q->kind == BALL) *low = norm(sub(p->a, q->a)) - p->r - q->r;
    else if (p->kind == BALL && q->kind == ROD) *low = point_rod(p->a, q->a, q->b) - p->r - q->r;
    else if (p->kind == BALL) *low = point_block(p->a, q) - p->r;
    else if (q->kind == ROD) *low = rod_rod(p->a, p->b, q->a, q->b) - p->r - q->r;
    else if (p->kind == ROD) *low = rod_block(p->a, p->b, q) - p->r;
    else {
        block_block(p, q, low, high);
        return;
    }
    *high = *low;
}

/* ---- bodies as getters show them */

enum { BODIES = 24, SHAPES = 3, PARTS = 12 };
typedef struct seen { /* a body before the step */
    csim_body_id id;
    void *user;
    csim_motion motion;
    csim_pose pose;
    csim_vec3 centre, linear, angular;
    csim_pose link[SHAPES];
    int shapes; /* 0: nodes */
    part part[PARTS]; /* of shapes; of nodes */
    int parts;
} seen;
typedef struct scene {
    csim_world *w;
    seen body[BODIES];
    int count;
} scene;

static part part_of(const csim_geometry *g, csim_pose pose) {
    const csim_pose at = csim_pose_mul(pose, g->local);
    const csim_vec3 up = csim_rotate(at.rotation, csim_v3(0, 0, g->half_height));
    part p;
    memset(&p, 0, sizeof p);
    p.a = of(at.position);
    p.r = (double)g->radius;
    if (g->kind == CSIM_SHAPE_SPHERE) p.kind = BALL;
    if (g->kind == CSIM_SHAPE_CAPSULE) {
        p.kind = ROD;
        p.a = of(csim_sub(at.position, up));
        p.b = of(csim_add(at.position, up));
    }
    if (g->kind == CSIM_SHAPE_BOX) {
        p.kind = BLOCK;
        p.half = of(g->half);
        p.axis[0] = of(csim_rotate(at.rotation, csim_v3(1, 0, 0)));
        p.axis[1] = of(csim_rotate(at.rotation, csim_v3(0, 1, 0)));
        p.axis[2] = of(csim_rotate(at.rotation, csim_v3(0, 0, 1)));
    }
    if (g->kind == CSIM_SHAPE_HALF_SPACE) {
        p.kind = FLOOR;
        p.b = of(csim_rotate(at.rotation, csim_v3(0, 0, 1)));
    }
    return p;
}

static void look_at(scene *s) {
    csim_body_id id[BODIES];
    int i, k;
    s->count = csim_world_bodies(s->w, id, BODIES);
    REQUIRE(s->count <= BODIES);
    for (i = 0; i < s->count; i++) {
        seen *b = s->body + i;
        csim_body_kind kind;
        csim_mass mass;
        memset(b, 0, sizeof *b);
        b->id = id[i];
        csim_body_get_user_data(s->w, id[i], &b->user);
        csim_body_get_motion(s->w, id[i], &b->motion);
        csim_body_get_kind(s->w, id[i], &kind);
        csim_body_get_pose(s->w, id[i], &b->pose);
        csim_body_get_mass(s->w, id[i], &mass);
        b->centre = csim_pose_point(b->pose, mass.centre);
        csim_body_get_end_velocity(s->w, id[i], &b->linear, &b->angular);
        b->parts = b->shapes = csim_body_shape_count(s->w, id[i]);
        for (k = 0; k < b->shapes; k++) {
            const csim_geometry *g = NULL;
            csim_pose pose = b->pose;
            csim_body_shape(s->w, id[i], k, &g, NULL);
            if (kind == CSIM_BODY_TREE) csim_tree_link_pose(s->w, id[i], k, &pose); /* a shape a link, here */
            b->part[k] = part_of(g, b->link[k] = pose);
        }
        if (b->shapes == 0) {
            csim_real x[3 * PARTS], r = kind == CSIM_PARTICLE ? CSIM_R(0.1) : 0; /* as made below */
            b->parts = csim_body_node_count(s->w, id[i]);
            if (b->parts > PARTS) b->parts = 0; /* asked for its id alone */
            else csim_body_get_nodes(s->w, id[i], x, 3);
            for (k = 0; k < b->parts; k++) {
                b->part[k].kind = BALL;
                b->part[k].a = v3((double)x[3 * k], (double)x[3 * k + 1], (double)x[3 * k + 2]);
                b->part[k].r = (double)r;
            }
        }
    }
}

static const seen *find(const scene *s, csim_body_id id) {
    int i;
    for (i = 0; i < s->count; i++)
        if (s->body[i].id.index1 == id.index1 && s->body[i].id.generation == id.generation) return s->body + i;
    return NULL;
}

/* ---- the list that a user would keep */

typedef struct pair {
    csim_body_id a, b;
    int i, j;
    void *user_a, *user_b;
} pair;
enum { PAIRS = 1024 };
typedef struct book {
    pair pair[PAIRS];
    int count;
} book;

static bool same_id(csim_body_id a, csim_body_id b) { return a.index1 == b.index1 && a.generation == b.generation; }
static int entry(const book *k, csim_body_id a, int i, csim_body_id b, int j) {
    int n;
    for (n = 0; n < k->count; n++)
        if (same_id(k->pair[n].a, a) && same_id(k->pair[n].b, b) && k->pair[n].i == i && k->pair[n].j == j) return n;
    return -1;
}
static int together(const book *k, csim_body_id a, csim_body_id b) {
    int n, count = 0;
    for (n = 0; n < k->count; n++) count += same_id(k->pair[n].a, a) && same_id(k->pair[n].b, b);
    return count;
}

/* Begins and ends in turns, flags of pairs of bodies, pointers, and the list of all that touch. */
static void keep_book(book *k, const csim_events *e, const scene *s) {
    book before = *k;
    int n, flags;
    for (n = 0; n < e->end_count; n++) {
        const csim_touch_event *t = e->ends + n;
        const int at = entry(k, t->body_a, t->shape_a, t->body_b, t->shape_b);
        REQUIRE(at >= 0);
        CHECK(t->user_data_a == k->pair[at].user_a && t->user_data_b == k->pair[at].user_b);
        k->pair[at] = k->pair[--k->count];
    }
    for (n = 0; n < e->begin_count; n++) {
        const csim_touch_event *t = e->begins + n;
        const seen *a = find(s, t->body_a), *b = find(s, t->body_b);
        REQUIRE(a && b && k->count < PAIRS);
        REQUIRE(entry(k, t->body_a, t->shape_a, t->body_b, t->shape_b) < 0);
        CHECK(a->user == t->user_data_a && b->user == t->user_data_b);
        k->pair[k->count].a = t->body_a, k->pair[k->count].b = t->body_b;
        k->pair[k->count].i = t->shape_a, k->pair[k->count].j = t->shape_b;
        k->pair[k->count].user_a = t->user_data_a, k->pair[k->count++].user_b = t->user_data_b;
    }
    for (n = flags = 0; n < e->end_count; n++) {
        const csim_touch_event *t = e->ends + n;
        if (!t->bodies) continue;
        flags++;
        CHECK(together(k, t->body_a, t->body_b) == 0);
    }
    for (n = 0; n < e->begin_count; n++) {
        const csim_touch_event *t = e->begins + n;
        if (!t->bodies) continue;
        flags++;
        CHECK(together(&before, t->body_a, t->body_b) == 0);
    }
    for (n = 0; n < before.count; n++) { /* pairs of bodies that ended */
        const pair *p = before.pair + n;
        if (together(k, p->a, p->b) > 0) continue;
        flags -= entry(&before, p->a, p->i, p->b, p->j) == n && together(&before, p->a, p->b) > 0;
        { /* once a pair of bodies */
            int m;
            for (m = 0; m < n; m++)
                if (same_id(before.pair[m].a, p->a) && same_id(before.pair[m].b, p->b)) break;
            flags += m < n;
        }
    }
    for (n = 0; n < k->count; n++) { /* and that began */
        const pair *p = k->pair + n;
        int m;
        if (together(&before, p->a, p->b) > 0) continue;
        for (m = 0; m < n; m++)
            if (same_id(k->pair[m].a, p->a) && same_id(k->pair[m].b, p->b)) break;
        flags -= m == n;
    }
    EQUAL(flags, 0);
    EQUAL(e->touching_count, k->count);
    for (n = 0; n < e->touching_count; n++) {
        const csim_touch_event *t = e->touching + n;
        CHECK(entry(k, t->body_a, t->shape_a, t->body_b, t->shape_b) >= 0);
    }
}

/* ---- what must be told */

static bool apart(const csim_body_id *x, csim_body_id a, csim_body_id b) {
    return x[0].index1 && ((same_id(x[0], a) && same_id(x[1], b)) || (same_id(x[0], b) && same_id(x[1], a)));
}

static bool pressed(const csim_contact_info *c, int count, csim_body_id a, int i, csim_body_id b, int j) {
    int n;
    for (n = 0; n < count; n++)
        if (c[n].normal_impulse > 0 &&
            ((same_id(c[n].body_a, a) && c[n].shape_a == i && same_id(c[n].body_b, b) && c[n].shape_b == j) ||
             (same_id(c[n].body_a, b) && c[n].shape_a == j && same_id(c[n].body_b, a) && c[n].shape_b == i)))
            return true;
    return false;
}

/* Every pair of parts: told touching where it must be, not where it must not. excluded: two bodies that never touch. */
static long judge(const scene *s, const book *before, const book *now, const csim_body_id *excluded, double on) {
    /* boxes: ties of their features move a gap by 1e-5 of a size of 0.5; the rest is rounding */
    const double off = 2 * on, blur = TOL(6e-6, 2e-5);
    int count, i, j, m, n;
    long asked = 0;
    const csim_contact_info *c = csim_world_contacts(s->w, &count);
    for (i = 0; i < s->count; i++)
        for (j = i + 1; j < s->count; j++) {
            const seen *a = s->body + i, *b = s->body + j;
            const int as = a->shapes ? a->shapes : 1, bs = b->shapes ? b->shapes : 1;
            if (a->id.index1 > b->id.index1) {
                a = s->body + j;
                b = s->body + i;
            }
            if (a->motion != CSIM_DYNAMIC && b->motion != CSIM_DYNAMIC) continue;
            if (!a->shapes && !b->shapes && (a->parts > 1 || b->parts > 1)) continue; /* solids: not judged */
            for (m = 0; m < (a == s->body + i ? as : bs); m++)
                for (n = 0; n < (a == s->body + i ? bs : as); n++) {
                    const int x = a->shapes ? m : -1, y = b->shapes ? n : -1;
                    const bool was = entry(before, a->id, x, b->id, y) >= 0, is = entry(now, a->id, x, b->id, y) >= 0;
                    const bool presses = pressed(c, count, a->id, x, b->id, y);
                    double low = 1e300, high = 1e300;
                    int p, q;
                    for (p = a->shapes ? m : 0; p < (a->shapes ? m + 1 : a->parts); p++)
                        for (q = b->shapes ? n : 0; q < (b->shapes ? n + 1 : b->parts); q++) {
                            double l, h;
                            gap_of(a->part + p, b->part + q, &l, &h);
                            low = fmin(low, l);
                            high = fmin(high, h);
                        }
                    asked++;
                    CASE("bodies %u and %u, shapes %d and %d, %.7g .. %.7g apart, before %d, presses %d", a->id.index1,
                         b->id.index1, x, y, low, high, was, presses);
                    if (apart(excluded, a->id, b->id)) CHECK(!is);
                    else if (presses || high <= (was ? off : on) - blur) CHECK(is);
                    else if (low > (was ? off : on) + blur) CHECK(!is);
                }
        }
    CASE("%s", "");
    return asked;
}

/* ---- hits */

enum { CONTACTS = 1024 };
typedef struct memory { /* contacts of the step before */
    csim_contact_info c[CONTACTS];
    int count;
} memory;

static void remember(memory *m, csim_world *w) {
    const csim_contact_info *c = csim_world_contacts(w, &m->count);
    REQUIRE(m->count <= CONTACTS);
    memcpy(m->c, c, sizeof *c * (size_t)m->count);
}

static const csim_contact_info *recall(const memory *m, uint64_t id) {
    int n;
    for (n = 0; n < m->count; n++)
        if (m->c[n].id == id) return m->c + n;
    return NULL;
}

/* How fast a contact of two rigid bodies closed before the step; NAN: of other bodies. */
static double closing(const scene *s, const csim_contact_info *c) {
    const seen *b[2];
    vec v[2], x = of(c->point);
    int k;
    b[0] = find(s, c->body_a), b[1] = find(s, c->body_b);
    for (k = 0; k < 2; k++) {
        csim_body_kind kind = CSIM_PARTICLE;
        if (b[k]) csim_body_get_kind(s->w, b[k]->id, &kind);
        if (kind != CSIM_RIGID) return NAN;
        if (b[k]->part[k ? c->shape_b : c->shape_a].kind == ROD) return NAN; /* its arm is not that of the point */
        v[k] = along(of(b[k]->linear), 1, cross(of(b[k]->angular), sub(x, of(b[k]->centre))));
    }
    return -dot(of(c->normal), sub(v[0], v[1]));
}

/* Speeds and impulses from velocities before the step and the contacts of both steps; and that none is left out. */
static void judge_hits(const scene *s, const memory *last, const csim_events *e, double threshold, long *judged) {
    int count, n, m;
    const csim_contact_info *c = csim_world_contacts(s->w, &count);
    for (n = 0; n < count; n++) {
        const csim_contact_info *old = recall(last, c[n].id);
        const bool goes_on = !c[n].began && old && old->coming > 0;
        const double speed = goes_on ? (double)old->coming : closing(s, c + n);
        const csim_hit_event *h = NULL;
        if (!(c[n].normal_impulse > 0)) {
            CHECK(!(c[n].coming > 0));
            continue;
        }
        if (c[n].coming > 0) { /* not yet */
            if (speed == speed) NEAR((double)c[n].coming, speed, TOL(1e-9, 1e-4) * (1 + speed));
            continue;
        }
        for (m = 0; m < e->hit_count && !h; m++)
            if ((same_id(e->hits[m].body_a, c[n].body_a) && same_id(e->hits[m].body_b, c[n].body_b) &&
                 e->hits[m].shape_a == c[n].shape_a && e->hits[m].shape_b == c[n].shape_b) ||
                (same_id(e->hits[m].body_a, c[n].body_b) && same_id(e->hits[m].body_b, c[n].body_a) &&
                 e->hits[m].shape_a == c[n].shape_b && e->hits[m].shape_b == c[n].shape_a))
                h = e->hits + m;
        if ((!c[n].began && !goes_on) || speed != speed) continue;
        if (speed > threshold + TOL(1e-9, 1e-4)) REQUIRE(h != NULL);
        if (h) CHECK((double)h->speed >= speed - TOL(1e-9, 1e-4) * (1 + speed));
    }
    for (m = 0; m < e->hit_count; m++) {
        const csim_hit_event *h = e->hits + m;
        const seen *a = find(s, h->body_a), *b = find(s, h->body_b);
        bool known = true, reached = false;
        vec sum = v3(0, 0, 0);
        REQUIRE(a && b);
        CHECK(h->user_data_a == a->user && h->user_data_b == b->user);
        CHECK((double)h->speed > threshold);
        for (n = 0; n < count; n++) {
            const bool same = same_id(c[n].body_a, h->body_a) && same_id(c[n].body_b, h->body_b) &&
                              c[n].shape_a == h->shape_a && c[n].shape_b == h->shape_b;
            const bool turned = same_id(c[n].body_a, h->body_b) && same_id(c[n].body_b, h->body_a) &&
                                c[n].shape_a == h->shape_b && c[n].shape_b == h->shape_a;
            const csim_contact_info *old = recall(last, c[n].id);
            const bool goes_on = !c[n].began && old && old->coming > 0;
            double speed;
            if (!(same || turned) || !(c[n].normal_impulse > 0)) continue;
            sum = along(sum, same ? 1 : -1, of(c[n].impulse));
            if (goes_on) sum = along(sum, same ? 1 : -1, of(old->impulse));
            speed = goes_on ? (double)old->coming : closing(s, c + n);
            known &= speed == speed;
            reached |= c[n].coming <= 0 && fabs(speed - (double)h->speed) <= TOL(1e-9, 1e-4) * (1 + speed);
        }
        NEAR(norm(sub(sum, of(h->impulse))), 0, TOL(1e-12, 1e-5) * (1 + norm(sum)));
        *judged += known;
        if (known) CHECK(reached);
    }
}

/* ---- what moved */

static bool differ(const csim_real *a, const csim_real *b, int count) {
    int i;
    for (i = 0; i < count; i++)
        if (a[i] < b[i] || a[i] > b[i]) return true;
    return false;
}

/* Bodies whose pose or nodes differ from before, and no others. */
static void judge_moves(const scene *before, const csim_events *e) {
    scene now = *before;
    int i, k, m = 0;
    look_at(&now);
    for (i = 0; i < now.count; i++) {
        const seen *x = before->body + i, *y = now.body + i;
        bool moved = differ(&x->pose.position.x, &y->pose.position.x, 7);
        for (k = 0; k < x->shapes; k++) moved |= differ(&x->link[k].position.x, &y->link[k].position.x, 7);
        for (k = 0; k < x->parts && x->shapes == 0; k++) {
            const vec d = sub(x->part[k].a, y->part[k].a);
            moved |= fabs(d.x) + fabs(d.y) + fabs(d.z) > 0;
        }
        if (!moved) continue;
        REQUIRE(m < e->move_count);
        CHECK(same_id(e->moves[m].body, now.body[i].id) && e->moves[m].user_data == now.body[i].user);
        CHECK(memcmp(&e->moves[m].pose, &now.body[i].pose, sizeof(csim_pose)) == 0);
        m++;
    }
    EQUAL(e->move_count, m);
}

/* ---- a world that changes */

static double draw(double low, double high) { return check_random(low, high); }
static csim_vec3 somewhere(double height) {
    return csim_v3((csim_real)draw(-1.2, 1.2), (csim_real)draw(-1.2, 1.2), (csim_real)draw(0.3, height));
}

static void add_rigid(csim_world *w) {
    csim_rigid_def d = csim_default_rigid_def();
    csim_shape shape[SHAPES];
    csim_body_id id;
    int i, kind = (int)draw(0, 3.999);
    d.shapes = shape;
    d.shape_count = kind == 3 ? 3 : 1;
    for (i = 0; i < d.shape_count; i++) {
        const int k = kind == 3 ? i : kind;
        shape[i] = k == 0 ? csim_sphere((csim_real)draw(0.1, 0.25))
                   : k == 1 ? csim_box(csim_v3((csim_real)draw(0.08, 0.25), (csim_real)draw(0.08, 0.25),
                                               (csim_real)draw(0.08, 0.25)))
                            : csim_capsule((csim_real)draw(0.06, 0.15), (csim_real)draw(0.05, 0.2));
        if (kind == 3) shape[i].local.position = csim_v3((csim_real)(0.3 * (i - 1)), 0, 0);
    }
    d.pose.position = somewhere(2.5);
    d.pose.rotation = csim_quat_axis_angle(csim_v3((csim_real)draw(-1, 1), (csim_real)draw(-1, 1), 1),
                                           (csim_real)draw(-3, 3));
    d.motion = draw(0, 1) < 0.12 ? CSIM_KINEMATIC : draw(0, 1) < 0.1 ? CSIM_STATIC : CSIM_DYNAMIC;
    if (d.motion != CSIM_STATIC) d.velocity = csim_v3((csim_real)draw(-1, 1), (csim_real)draw(-1, 1), 0);
    if (d.motion == CSIM_KINEMATIC) d.angular_velocity = csim_v3(0, (csim_real)draw(-1, 1), 1);
    d.surface.restitution = draw(0, 1) < 0.3 ? CSIM_R(0.6) : 0;
    d.user_data = (char *)NULL + (int)draw(1, 1000);
    STATUS(csim_create_rigid(w, &d, &id), CSIM_OK);
}

static void add_other(csim_world *w) {
    csim_body_id id;
    const int kind = (int)draw(0, 2.999);
    if (kind == 0) {
        csim_particle_def d = csim_default_particle_def();
        d.position = somewhere(2);
        d.radius = CSIM_R(0.1);
        d.user_data = (char *)NULL + (int)draw(1, 1000);
        STATUS(csim_create_particle(w, &d, &id), CSIM_OK);
    } else if (kind == 1) {
        csim_tree_link_def link[2];
        csim_tree_def d = csim_default_tree_def();
        csim_shape shape[2];
        int i;
        for (i = 0; i < 2; i++) {
            shape[i] = i ? csim_capsule(CSIM_R(0.06), CSIM_R(0.15)) : csim_sphere(CSIM_R(0.15));
            link[i] = csim_default_tree_link_def();
            link[i].shapes = shape + i;
            link[i].shape_count = 1;
            link[i].parent = i - 1;
            link[i].joint = i ? CSIM_TREE_REVOLUTE : CSIM_TREE_FLOATING;
            link[i].axis = csim_v3(1, 0, 0);
            link[i].frame.position = csim_v3(0, 0, i ? CSIM_R(0.4) : 0);
        }
        d.links = link;
        d.link_count = 2;
        d.pose.position = somewhere(2);
        d.user_data = (char *)NULL + (int)draw(1, 1000);
        STATUS(csim_create_tree(w, &d, &id), CSIM_OK);
    } else {
        static const int tet[8] = {0, 1, 2, 3, 1, 2, 3, 4};
        csim_real x[15] = {0, 0, 0, CSIM_R(.3), 0, 0, 0, CSIM_R(.3), 0, 0,
                           0, CSIM_R(.3), CSIM_R(.3), CSIM_R(.3), CSIM_R(.3)};
        csim_soft_def d = csim_default_soft_def();
        d.vertices = x;
        d.vertex_count = 5;
        d.tets = tet;
        d.tet_count = 2;
        d.pose.position = somewhere(2);
        d.user_data = (char *)NULL + (int)draw(1, 1000);
        STATUS(csim_create_soft(w, &d, &id), CSIM_OK);
    }
}

/* Between steps: bodies come and go, jump, are held; two never touch for a while. */
static void disturb(csim_world *w, csim_body_id *excluded, csim_link_id *link) {
    csim_body_id id[BODIES];
    const int count = csim_world_bodies(w, id, BODIES), n = (int)draw(1, count - 0.001);
    const double what = draw(0, 1);
    if (what < 0.3 && count < BODIES - 1) {
        if (draw(0, 1) < 0.7) add_rigid(w);
        else add_other(w);
    } else if (what < 0.5 && count > 8) {
        STATUS(csim_destroy_body(w, id[n]), CSIM_OK);
    } else if (what < 0.7) {
        csim_pose pose;
        csim_body_kind kind;
        csim_body_get_kind(w, id[n], &kind);
        csim_body_get_pose(w, id[n], &pose);
        if (kind == CSIM_SOFT) return;
        pose.position = somewhere(1);
        STATUS(csim_body_set_pose(w, id[n], pose), CSIM_OK);
    } else if (what < 0.8) {
        csim_body_kind kind;
        csim_body_get_kind(w, id[n], &kind);
        if (kind == CSIM_RIGID) csim_body_set_motion(w, id[n], draw(0, 1) < 0.4 ? CSIM_STATIC : CSIM_DYNAMIC);
    } else if (csim_link_valid(w, *link)) {
        STATUS(csim_destroy_link(w, *link), CSIM_OK);
    } else {
        excluded[0] = id[n];
        excluded[1] = id[draw(0, 1) < 0.6 ? 0 : n > 1 ? n - 1 : n + 1];
        if (count > 2) STATUS(csim_create_exclusion(w, excluded[0], excluded[1], link), CSIM_OK);
    }
    if (!csim_link_valid(w, *link)) memset(excluded, 0, 2 * sizeof *excluded);
}

static uint64_t hash_events(const csim_events *e) {
    uint64_t h = 1469598103934665603ull;
    int n, pass;
    for (pass = 0; pass < 2; pass++)
        for (n = 0; n < (pass ? e->touching_count : e->end_count); n++) {
            const csim_touch_event *t = (pass ? e->touching : e->ends) + n;
            const uint64_t x[5] = {t->body_a.index1, t->body_b.index1, (uint64_t)(int64_t)t->shape_a,
                                   (uint64_t)(int64_t)t->shape_b, (uint64_t)t->bodies + 2u * (n < e->begin_count)};
            int k;
            for (k = 0; k < 5; k++) h = (h ^ x[k]) * 1099511628211ull;
        }
    return h ^ (uint64_t)e->hit_count << 32 ^ (uint64_t)e->move_count;
}

/* A step; where it lacks room as a user does it: room, and once more. */
static csim_status take(csim_world *w) {
    csim_status status = csim_world_step(w, CSIM_R(1) / 60);
    if (status == CSIM_CAPACITY) {
        csim_capacity c = csim_world_used(w);
        c.contacts *= 2, c.pairs *= 2;
        STATUS(csim_world_reserve(w, &c), CSIM_OK);
        status = csim_world_step(w, CSIM_R(1) / 60);
    }
    return status;
}

/* Goes back by a snapshot and forward again: the same events, in the book as if nothing had been. */
static void go_back(scene *s) {
    uint64_t first[3];
    size_t bytes = 0;
    void *saved;
    book none;
    int i, pass;
    csim_events e;
    memset(&none, 0, sizeof none);
    csim_world_save(s->w, NULL, &bytes);
    saved = malloc(bytes);
    STATUS(csim_world_save(s->w, saved, &bytes), CSIM_OK);
    e = csim_world_events(s->w);
    none.count = e.touching_count;
    for (pass = 0; pass < 2; pass++) {
        for (i = 0; i < 3; i++) {
            STATUS(take(s->w), CSIM_OK);
            e = csim_world_events(s->w);
            if (pass == 0) first[i] = hash_events(&e);
            else CHECK(first[i] == hash_events(&e));
        }
        STATUS(csim_world_restore(s->w, saved, bytes), CSIM_OK);
        e = csim_world_events(s->w);
        EQUAL(e.touching_count, none.count);
        EQUAL(e.move_count + e.hit_count, 0);
    }
    free(saved);
}

static void fuzz(int steps, int seed) {
    csim_world_def def = csim_default_world_def();
    csim_body_id excluded[2], ground;
    csim_link_id link;
    static scene s;
    static book now, before;
    static memory last;
    long asked = 0, begins = 0, ends = 0, hits = 0, judged = 0;
    int i;
    memset(&s, 0, sizeof s);
    memset(&now, 0, sizeof now);
    memset(excluded, 0, sizeof excluded);
    memset(&link, 0, sizeof link);
    for (i = 0; i < seed; i++) draw(0, 1);
    STATUS(csim_create_world(&def, &s.w, NULL), CSIM_OK);
    STATUS(csim_create_ground(s.w, csim_v3(0, 0, 0), csim_v3(0, 0, 1), CSIM_R(0.5), &ground), CSIM_OK);
    for (i = 0; i < 10; i++) add_rigid(s.w);
    for (i = 0; i < 4; i++) add_other(s.w);
    for (i = 0; i < steps; i++) {
        csim_events e;
        if (draw(0, 1) < 0.05) disturb(s.w, excluded, &link);
        if (i % 97 == 50) go_back(&s);
        look_at(&s);
        before = now;
        remember(&last, s.w);
        STATUS(take(s.w), CSIM_OK);
        e = csim_world_events(s.w);
        keep_book(&now, &e, &s);
        asked += judge(&s, &before, &now, excluded, (double)def.touch_distance);
        judge_hits(&s, &last, &e, (double)def.hit_speed, &judged);
        judge_moves(&s, &e);
        begins += e.begin_count, ends += e.end_count, hits += e.hit_count;
    }
    CHECK(asked > 50L * steps);
    /* the world was no dull one */
    CHECK(begins > steps / 20 && ends > steps / 30 && hits > steps / 100 && judged > hits / 10);
    if (getenv("EVENT_STEPS")) 
        printf("steps %d, pairs asked %ld, begins %ld, ends %ld, hits %ld, judged %ld\n",
               steps, asked, begins, ends, hits, judged);
    csim_destroy_world(s.w);
}

/* ---- what is known beforehand */

/* A heap that came to rest has nothing to tell, and on the way there single contacts begin many times over while the
   pair of shapes they belong to is told once. */
static void comes_to_rest(int count, int wide, double apart, int steps) {
    csim_world_def def = csim_default_world_def();
    csim_rigid_def d = csim_default_rigid_def();
    const csim_shape box = csim_box(csim_v3(CSIM_R(0.1), CSIM_R(0.1), CSIM_R(0.1)));
    csim_world *w;
    csim_body_id id;
    int i, told = 0, begins = 0, touching = 0, awake = 0;
    long single = 0;
    STATUS(csim_create_world(&def, &w, NULL), CSIM_OK);
    csim_create_ground(w, csim_v3(0, 0, 0), csim_v3(0, 0, 1), CSIM_R(0.6), &id);
    d.shapes = &box;
    d.shape_count = 1;
    for (i = 0; i < count; i++) {
        d.pose.position = csim_v3((csim_real)(apart * (i % wide) + draw(0, 0.05)),
                                  (csim_real)(apart * (i / wide % wide) + draw(0, 0.05)),
                                  (csim_real)(0.15 + apart * (i / (wide * wide))));
        d.pose.rotation = csim_quat_axis_angle(csim_v3((csim_real)draw(0, 1), (csim_real)draw(0, 1), 1),
                                               (csim_real)draw(0, 2));
        csim_create_rigid(w, &d, &id);
    }
    for (i = 0; i < steps; i++) {
        csim_events e;
        int n, k;
        const csim_contact_info *c;
        STATUS(csim_world_step(w, CSIM_R(1) / 60), CSIM_OK);
        e = csim_world_events(w);
        begins += e.begin_count;
        touching = e.touching_count;
        c = csim_world_contacts(w, &n);
        for (k = 0; k < n; k++) single += c[k].began;
        if (i < steps - 60) continue;
        told += e.begin_count + e.end_count + e.hit_count;
        awake += n;
    }
    CHECK(begins > count && touching >= count && awake > 60 * count);
    CHECK(single > 2L * begins);
    EQUAL(told, 0);
    printf("    %d boxes: %d pairs began on the way and %d touch; in the last second %d are told\n", count, begins,
           touching, told);
    csim_destroy_world(w);
}

SLOW_TEST(rest_tells_nothing) { comes_to_rest(60, 3, 0.25, 540); }

LONG_TEST(rest_of_a_thousand_tells_nothing) { comes_to_rest(1000, 10, 0.4, 900); }

static csim_body_id put(csim_world *w, csim_shape shape, csim_vec3 at, csim_vec3 velocity, void *user) {
    csim_rigid_def d = csim_default_rigid_def();
    csim_body_id id;
    d.shapes = &shape;
    d.shape_count = 1;
    d.pose.position = at;
    d.velocity = velocity;
    d.user_data = user;
    d.surface.restitution = CSIM_R(0.5);
    STATUS(csim_create_rigid(w, &d, &id), CSIM_OK);
    return id;
}

/* Two balls without weight: the speed at which they meet, and m v (1 + e) / 2 between them. */
TEST(hit_of_two_balls) {
    csim_world_def def = csim_default_world_def();
    csim_world *w;
    char a, b;
    int i, hits = 0, begins = 0, ends = 0;
    csim_mass mass;
    csim_body_id id;
    def.gravity = csim_v3(0, 0, 0);
    STATUS(csim_create_world(&def, &w, NULL), CSIM_OK);
    id = put(w, csim_sphere(CSIM_R(0.1)), csim_v3(-1, 0, 0), csim_v3(3, 0, 0), &a);
    put(w, csim_sphere(CSIM_R(0.1)), csim_v3(1, 0, 0), csim_v3(-1, 0, 0), &b);
    csim_body_get_mass(w, id, &mass);
    for (i = 0; i < 60; i++) {
        csim_events e;
        STATUS(csim_world_step(w, CSIM_R(0.01)), CSIM_OK);
        e = csim_world_events(w);
        begins += e.begin_count, ends += e.end_count, hits += e.hit_count;
        if (e.hit_count == 0) continue;
        CHECK(e.hits[0].user_data_a == &a && e.hits[0].user_data_b == &b);
        CHECK(e.begin_count == 1 && e.begins[0].bodies); /* the step that bounces says both */
        NEAR((double)e.hits[0].speed, 4, TOL(1e-12, 1e-5));
        NEAR((double)e.hits[0].impulse.x, -(double)mass.mass * 4 * 1.5 / 2, TOL(1e-3, 1e-3) * (double)mass.mass);
        NEAR((double)e.hits[0].normal.x, -1, TOL(1e-12, 1e-6));
    }
    EQUAL(hits, 1);
    EQUAL(begins, 1);
    EQUAL(ends, 1);
    csim_destroy_world(w);
}

/* Three pairs of balls that meet in the same step, each at a speed of its own: every one is told. */
TEST(hits_of_one_step) {
    csim_world_def def = csim_default_world_def();
    csim_world *w;
    char user[3];
    int i, k, m, told[3] = {0, 0, 0};
    def.gravity = csim_v3(0, 0, 0);
    STATUS(csim_create_world(&def, &w, NULL), CSIM_OK);
    for (k = 0; k < 3; k++) {
        const csim_real v = (csim_real)(k + 1), y = (csim_real)(5 * k), x = CSIM_R(1.005) * v + CSIM_R(0.1);
        put(w, csim_sphere(CSIM_R(0.1)), csim_v3(-x, y, 0), csim_v3(v, 0, 0), user + k);
        put(w, csim_sphere(CSIM_R(0.1)), csim_v3(x, y, 0), csim_v3(-v, 0, 0), user + k);
    }
    for (i = 0; i < 120; i++) {
        csim_events e;
        STATUS(csim_world_step(w, CSIM_R(0.01)), CSIM_OK);
        e = csim_world_events(w);
        CHECK(e.hit_count % 3 == 0);
        for (m = 0; m < e.hit_count; m++) {
            k = (int)((char *)e.hits[m].user_data_a - user);
            NEAR((double)e.hits[m].speed, 2 * (k + 1), TOL(1e-12, 1e-5));
            told[k]++;
        }
    }
    for (k = 0; k < 3; k++) EQUAL(told[k], 1);
    csim_destroy_world(w);
}

/* What is destroyed between two steps ends in the next, with its pointer and the old name, also when another body took
   its slot and lies in the same place. */
TEST(the_destroyed_ends) {
    csim_world_def def = csim_default_world_def();
    csim_world *w;
    csim_events e;
    char ground, crate, other;
    csim_body_id id, next, ground_id;
    csim_rigid_def g = csim_default_rigid_def();
    const csim_shape floor = csim_half_space(csim_v3(0, 0, 0), csim_v3(0, 0, 1));
    const csim_vec3 at = csim_v3(0, 0, CSIM_R(0.1)), still = csim_v3(0, 0, 0);
    int i;
    STATUS(csim_create_world(&def, &w, NULL), CSIM_OK);
    CHECK(csim_world_events(NULL).end_count == 0 && csim_world_events(w).touching_count == 0);
    CHECK(csim_world_stats(NULL).result == CSIM_RESULT_NOT_FINITE && csim_world_stats(NULL).iterations == 0);
    g.shapes = &floor, g.shape_count = 1, g.motion = CSIM_STATIC, g.user_data = &ground;
    STATUS(csim_create_rigid(w, &g, &ground_id), CSIM_OK);
    id = put(w, csim_sphere(CSIM_R(0.1)), at, still, &crate);
    for (i = 0; i < 3; i++) STATUS(csim_world_step(w, CSIM_R(0.01)), CSIM_OK);
    e = csim_world_events(w);
    EQUAL(e.touching_count, 1);
    EQUAL(e.begin_count + e.end_count, 0);
    STATUS(csim_destroy_body(w, id), CSIM_OK);
    next = put(w, csim_sphere(CSIM_R(0.1)), at, still, &other);
    EQUAL(next.index1, id.index1);
    for (i = 0; i < 40; i++) /* grows */
        put(w, csim_sphere(CSIM_R(0.1)), csim_v3(10, 0, (csim_real)(10 + i)), still, NULL);
    STATUS(csim_world_step(w, CSIM_R(0.01)), CSIM_OK);
    e = csim_world_events(w);
    REQUIRE(e.end_count == 1 && e.begin_count == 1);
    CHECK(e.ends[0].bodies && e.begins[0].bodies);
    CHECK(same_id(e.ends[0].body_b, id) && e.ends[0].user_data_b == &crate && e.ends[0].user_data_a == &ground);
    CHECK(same_id(e.begins[0].body_b, next) && e.begins[0].user_data_b == &other);
    CHECK(!csim_body_valid(w, e.ends[0].body_b));
    csim_destroy_world(w);
}

/* A pin that holds less than a weight asks. */
TEST(joint_that_breaks) {
    csim_world_def def = csim_default_world_def();
    csim_pin_def pin = csim_default_pin_def();
    csim_world *w;
    csim_link_id link;
    char user;
    int i, breaks = 0;
    csim_body_id id;
    STATUS(csim_create_world(&def, &w, NULL), CSIM_OK);
    id = put(w, csim_sphere(CSIM_R(0.1)), csim_v3(0, 0, 1), csim_v3(0, 0, 0), &user);
    pin.a.body = id, pin.a.point = pin.b.point = csim_v3(0, 0, CSIM_R(1.5));
    pin.break_force = 10;
    STATUS(csim_create_pin(w, &pin, &link), CSIM_OK);
    for (i = 0; i < 5; i++) {
        csim_events e;
        STATUS(csim_world_step(w, CSIM_R(0.01)), CSIM_OK);
        e = csim_world_events(w);
        EQUAL(e.break_count, csim_world_broken(w, NULL, 0));
        breaks += e.break_count;
        if (e.break_count == 0) continue;
        CHECK(e.breaks[0].joint.index1 == link.index1 && e.breaks[0].joint.generation == link.generation);
        CHECK(same_id(e.breaks[0].body_a, id) && e.breaks[0].user_data_a == &user);
        CHECK(e.breaks[0].body_b.index1 == 0 && e.breaks[0].user_data_b == NULL);
    }
    EQUAL(breaks, 1);
    csim_destroy_world(w);
}

/* Ropes, cloth and solids among boxes, with bounded frames and without: begins and ends in turns, and back in time. */
TEST(every_kind_in_turns) {
    int pass, i, k;
    for (pass = 0; pass < 2; pass++) {
        csim_world_def def = pass == 1 ? csim_realtime_world_def() : csim_default_world_def();
        csim_cable_def cable = csim_default_cable_def();
        csim_cloth_def cloth = csim_default_cloth_def();
        csim_real x[3 * 16];
        int triangle[3 * 18], n = 0, kinds = 0;
        static scene s;
        static book now;
        csim_body_id id;
        memset(&s, 0, sizeof s);
        memset(&now, 0, sizeof now);
        if (pass == 1) def.budget = 300;
        def.can_sleep = false; /* pairs that fall asleep leave the list without an end: tests/test_sleep.c */
        CASE("pass %d", pass);
        STATUS(csim_create_world(&def, &s.w, NULL), CSIM_OK);
        csim_create_ground(s.w, csim_v3(0, 0, 0), csim_v3(0, 0, 1), CSIM_R(0.5), &id);
        cable.start = csim_v3(-1, 0, CSIM_R(0.8)), cable.end = csim_v3(1, CSIM_R(0.1), CSIM_R(0.8));
        cable.segments = 16, cable.radius = CSIM_R(0.03);
        STATUS(csim_create_cable(s.w, &cable, &id), CSIM_OK);
        for (i = 0; i < 16; i++) {
            x[3 * i] = (csim_real)(0.2 * (i % 4)), x[3 * i + 1] = (csim_real)(0.2 * (i / 4));
            x[3 * i + 2] = CSIM_R(1.2);
            if (i % 4 == 3 || i / 4 == 3) continue;
            triangle[n] = i, triangle[n + 1] = i + 1, triangle[n + 2] = i + 5;
            triangle[n + 3] = i, triangle[n + 4] = i + 5, triangle[n + 5] = i + 4;
            n += 6;
        }
        cloth.vertices = x, cloth.vertex_count = 16, cloth.triangles = triangle, cloth.triangle_count = 18;
        STATUS(csim_create_cloth(s.w, &cloth, &id), CSIM_OK);
        for (i = 0; i < 8; i++) add_rigid(s.w);
        for (i = 0; i < 6; i++) add_other(s.w);
        for (i = 0; i < 150; i++) {
            csim_events e;
            if (i % 10 == 9) {
                csim_body_id all[BODIES];
                const int count = csim_world_bodies(s.w, all, BODIES);
                if (count > 8) STATUS(csim_destroy_body(s.w, all[count - 1 - (int)draw(0, 5)]), CSIM_OK);
                if (count < BODIES - 1) add_rigid(s.w);
            }
            if (i % 40 == 20) go_back(&s);
            look_at(&s);
            STATUS(take(s.w), CSIM_OK);
            e = csim_world_events(s.w);
            keep_book(&now, &e, &s);
            for (k = 0; k < e.begin_count; k++) {
                csim_body_kind a, b;
                csim_body_get_kind(s.w, e.begins[k].body_a, &a);
                csim_body_get_kind(s.w, e.begins[k].body_b, &b);
                kinds |= 1 << a | 1 << b;
            }
        }
        CHECK((kinds & (1 << CSIM_BODY_CABLE)) && (kinds & (1 << CSIM_BODY_CLOTH)));
        CHECK((kinds & (1 << CSIM_RIGID)) != 0);
        csim_destroy_world(s.w);
    }
}

/* A fixed block without room for all that touches says so, and stays as it is. */
TEST(no_room_is_said) {
    csim_world_def def = csim_default_world_def();
    csim_world *w = NULL;
    csim_body_id id;
    size_t bytes;
    void *block;
    int i;
    uint64_t before;
    def.capacity.bodies = 8, def.capacity.shapes = 8, def.capacity.pairs = 3, def.capacity.contacts = 64;
    STATUS(csim_world_bytes(&def, &bytes, NULL), CSIM_OK);
    block = malloc(bytes + 64);
    STATUS(csim_create_world_in(&def, (void *)(((uintptr_t)block + 63) / 64 * 64), bytes, &w, NULL), CSIM_OK);
    csim_create_ground(w, csim_v3(0, 0, 0), csim_v3(0, 0, 1), CSIM_R(0.5), &id);
    for (i = 0; i < 3; i++)
        id = put(w, csim_sphere(CSIM_R(0.1)), csim_v3((csim_real)i, 0, CSIM_R(0.1)), csim_v3(0, 0, 0), NULL);
    STATUS(csim_world_step(w, CSIM_R(0.01)), CSIM_OK);
    EQUAL(csim_world_events(w).begin_count, 3);
    STATUS(csim_destroy_body(w, id), CSIM_OK);
    put(w, csim_sphere(CSIM_R(0.1)), csim_v3(5, 0, CSIM_R(0.1)), csim_v3(0, 0, 0), NULL);
    before = csim_world_hash(w);
    STATUS(csim_world_step(w, CSIM_R(0.01)), CSIM_CAPACITY); /* three touch, one no longer */
    CHECK(csim_world_stats(w).flags & CSIM_FLAG_PAIRS_FULL);
    CHECK(csim_world_hash(w) == before);
    CHECK(csim_world_used(w).pairs >= 4);
    free(block);
}

/* ---- sensors */

static bool seen_now(const csim_events *e, csim_body_id sensor, csim_body_id body, int shape) {
    int n;
    for (n = 0; n < e->sensing_count; n++)
        if (same_id(e->sensing[n].body_a, sensor) && same_id(e->sensing[n].body_b, body) &&
            e->sensing[n].shape_b == shape)
            return true;
    return false;
}

static csim_body_id put_sensor(csim_world *w, csim_shape shape, csim_vec3 at, csim_motion motion, void *user) {
    csim_rigid_def d = csim_default_rigid_def();
    csim_body_id id;
    shape.sensor = true;
    shape.user_data = user;
    d.shapes = &shape;
    d.shape_count = 1;
    d.motion = motion;
    d.pose.position = at;
    STATUS(csim_create_rigid(w, &d, &id), CSIM_OK);
    return id;
}

/* A ball that falls through a gate: it enters once, leaves once, and does not feel it: the same bits as without. */
TEST(sensor_is_not_felt) {
    csim_pose end[2];
    int pass;
    for (pass = 0; pass < 2; pass++) {
        csim_world_def def = csim_default_world_def();
        csim_world *w;
        csim_body_id gate, ball;
        csim_query_def query = csim_default_query_def();
        csim_query_hit hit;
        int i, entered = 0, left = 0, rows = 0, count;
        char name, user;
        memset(&gate, 0, sizeof gate);
        STATUS(csim_create_world(&def, &w, NULL), CSIM_OK);
        if (pass)
            gate = put_sensor(w, csim_box(csim_v3(1, 1, CSIM_R(0.1))), csim_v3(0, 0, 0), CSIM_STATIC, &name);
        ball = put(w, csim_sphere(CSIM_R(0.1)), csim_v3(0, 0, 1), csim_v3(0, 0, 0), &user);
        for (i = 0; i < 60; i++) {
            csim_pose pose;
            csim_events e;
            csim_body_get_pose(w, ball, &pose);
            STATUS(csim_world_step(w, CSIM_R(1) / 60), CSIM_OK);
            e = csim_world_events(w);
            csim_world_contacts(w, &count);
            rows += count + e.touching_count;
            if (!pass) continue;
            CHECK(seen_now(&e, gate, ball, 0) == (fabs((double)pose.position.z) < 0.2 + 1e-4));
            entered += e.sensor_begin_count, left += e.sensor_end_count;
            if (e.sensor_begin_count == 0) continue;
            CHECK(e.sensor_begins[0].shape_user_data_a == &name && e.sensor_begins[0].user_data_b == &user);
            CHECK(e.sensor_begins[0].bodies && e.sensor_begins[0].shape_a == 0);
        }
        EQUAL(rows, 0);
        EQUAL(entered, pass);
        EQUAL(left, pass);
        csim_body_get_pose(w, ball, end + pass);
        if (pass) { /* queries see it only if asked */
            CHECK(!csim_world_cast_ray(w, &query, csim_v3(0, 0, 1), csim_v3(0, 0, -2), &hit));
            query.sensors = true;
            CHECK(csim_world_cast_ray(w, &query, csim_v3(0, 0, 1), csim_v3(0, 0, -2), &hit));
            CHECK(same_id(hit.body, gate) && hit.shape_user_data == &name);
        }
        csim_destroy_world(w);
    }
    CHECK(memcmp(end, end + 1, sizeof *end) == 0);
}

/* What lies within reach of a ball that feels about, of every kind, against distances of the oracle's own. Cables by
   their edges, solids and cloth by their corners, edges and faces, from outside and from inside. */
static double face_distance(vec p, vec a, vec b, vec c) {
    const vec u = sub(b, a), v = sub(c, a), n = cross(u, v), w = sub(p, a);
    const double nn = dot(n, n), s = dot(cross(w, v), n) / nn, t = dot(cross(u, w), n) / nn;
    if (s >= 0 && t >= 0 && s + t <= 1) return fabs(dot(w, n)) / sqrt(nn);
    return fmin(point_rod(p, a, b), fmin(point_rod(p, b, c), point_rod(p, c, a)));
}

TEST(sensor_sees_every_kind) {
    static const int tet[4] = {0, 1, 2, 3};
    const double r = 0.15, blur = TOL(1e-9, 1e-5);
    csim_world_def def = csim_default_world_def();
    csim_world *w;
    csim_body_id ground, box, particle, cable, soft, sheet, feeler, other, kinematic;
    csim_cable_def cd = csim_default_cable_def();
    csim_cloth_def clothes = csim_default_cloth_def();
    csim_soft_def sd = csim_default_soft_def();
    csim_particle_def pd = csim_default_particle_def();
    csim_rigid_def rd = csim_default_rigid_def();
    csim_shape shape = csim_box(csim_v3(CSIM_R(0.2), CSIM_R(0.2), CSIM_R(0.2)));
    csim_real x[12] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1};
    int triangle[3] = {0, 1, 2}, i, seen_kinds[8] = {0}, unseen[8] = {0};
    def.gravity = csim_v3(0, 0, 0);
    STATUS(csim_create_world(&def, &w, NULL), CSIM_OK);
    STATUS(csim_create_ground(w, csim_v3(0, 0, -1), csim_v3(0, 0, 1), CSIM_R(0.5), &ground), CSIM_OK);
    rd.shapes = &shape, rd.shape_count = 1, rd.motion = CSIM_STATIC, rd.pose.position = csim_v3(-2, 0, 0);
    STATUS(csim_create_rigid(w, &rd, &box), CSIM_OK);
    rd.motion = CSIM_KINEMATIC, rd.pose.position = csim_v3(-2, -2, 0);
    STATUS(csim_create_rigid(w, &rd, &kinematic), CSIM_OK);
    pd.position = csim_v3(0, -2, 0), pd.radius = CSIM_R(0.05);
    STATUS(csim_create_particle(w, &pd, &particle), CSIM_OK);
    cd.start = csim_v3(1, -2, 0), cd.end = csim_v3(2, -1, 0), cd.segments = 3, cd.radius = CSIM_R(0.02);
    STATUS(csim_create_cable(w, &cd, &cable), CSIM_OK);
    sd.vertices = x, sd.vertex_count = 4, sd.tets = tet, sd.tet_count = 1, sd.pose.position = csim_v3(2, 0, 0);
    STATUS(csim_create_soft(w, &sd, &soft), CSIM_OK);
    clothes.vertices = x, clothes.vertex_count = 3, clothes.triangles = triangle, clothes.triangle_count = 1;
    clothes.pose.position = csim_v3(-1, 1, 0);
    STATUS(csim_create_cloth(w, &clothes, &sheet), CSIM_OK);
    feeler = put_sensor(w, csim_sphere((csim_real)r), csim_v3(0, 0, 5), CSIM_STATIC, NULL);
    other = put_sensor(w, csim_sphere(CSIM_R(9)), csim_v3(0, 0, 0), CSIM_KINEMATIC, NULL); /* sensors see no sensors */
    for (i = 0; i < 2500; i++) {
        static const int face[4][3] = {{0, 1, 2}, {0, 1, 3}, {0, 2, 3}, {1, 2, 3}};
        static const double near[7][3] = {{0, 0, -1}, {-2, 0, 0}, {-2, -2, 0}, {0, -2, 0}, {1.5, -1.5, 0},
                                          {2.3, .3, .3},
                                          {-.7, 1.3, 0}};
        const double *at = near[(int)draw(0, 6.999)];
        const vec p = v3(at[0] + draw(-0.4, 0.4), at[1] + draw(-0.4, 0.4), at[2] + draw(-0.4, 0.4));
        csim_pose pose = csim_pose_identity();
        csim_real nodes[12];
        part block;
        double d[8];
        csim_body_id id[8];
        csim_events e;
        int k, n;
        pose.position = csim_v3((csim_real)p.x, (csim_real)p.y, (csim_real)p.z);
        STATUS(csim_body_set_pose(w, feeler, pose), CSIM_OK);
        id[0] = ground, id[1] = box, id[2] = kinematic, id[3] = particle;
        id[4] = cable, id[5] = soft, id[6] = sheet, id[7] = other;
        memset(&block, 0, sizeof block);
        block.half = v3(0.2, 0.2, 0.2);
        block.axis[0] = v3(1, 0, 0), block.axis[1] = v3(0, 1, 0), block.axis[2] = v3(0, 0, 1);
        d[0] = p.z + 1;
        block.a = v3(-2, 0, 0), d[1] = point_block(p, &block);
        block.a = v3(-2, -2, 0), d[2] = point_block(p, &block);
        for (n = 3; n < 7; n++) {
            vec y[4];
            d[n] = 1e300;
            csim_body_get_nodes(w, id[n], nodes, 3);
            for (k = 0; k < csim_body_node_count(w, id[n]); k++)
                y[k] = v3((double)nodes[3 * k], (double)nodes[3 * k + 1], (double)nodes[3 * k + 2]);
            if (n == 3) d[n] = norm(sub(p, y[0])) - 0.05;
            for (k = 0; k < 3 && n == 4; k++) d[n] = fmin(d[n], point_rod(p, y[k], y[k + 1]) - 0.02);
            for (k = 0; k < (n == 5 ? 4 : n == 6); k++)
                d[n] = fmin(d[n], face_distance(p, y[face[k][0]], y[face[k][1]], y[face[k][2]]));
            if (n == 6) d[n] -= (double)clothes.thickness / 2;
            if (n == 5 && dot(sub(p, y[0]), v3(1, 1, 1)) < 1 && p.x > y[0].x && p.y > y[0].y && p.z > y[0].z) d[n] = -1;
        }
        STATUS(csim_world_step(w, CSIM_R(0.001)), CSIM_OK);
        e = csim_world_events(w);
        CHECK(!seen_now(&e, feeler, other, 0) && !seen_now(&e, other, feeler, 0));
        for (n = 0; n < 7; n++) {
            const bool sees = seen_now(&e, feeler, id[n], n < 3 ? 0 : -1);
            CASE("look %d, kind %d, %.9g apart", i, n, d[n] - r);
            if (d[n] - r < 1e-4 - blur) CHECK(sees);
            if (d[n] - r > 2e-4 + blur) CHECK(!sees);
            seen_kinds[n] += sees;
            unseen[n] += !sees;
        }
        CHECK(seen_now(&e, other, soft, -1) && seen_now(&e, other, box, 0) && seen_now(&e, other, cable, -1));
    }
    CASE("%s", "");
    for (i = 0; i < 7; i++) CHECK(seen_kinds[i] > 10 && unseen[i] > 500);
    csim_destroy_world(w);
}

/* A sensor on a link and one beside a shape that touches, through a snapshot and the end of its body. */
TEST(sensor_on_a_link) {
    csim_world_def def = csim_default_world_def();
    csim_tree_link_def link = csim_default_tree_link_def();
    csim_tree_def d = csim_default_tree_def();
    csim_shape shape[2];
    csim_world *w;
    csim_body_id tree, ground;
    csim_mass mass;
    size_t bytes = 0;
    void *saved;
    csim_events e;
    int i;
    def.gravity = csim_v3(0, 0, -1);
    STATUS(csim_create_world(&def, &w, NULL), CSIM_OK);
    STATUS(csim_create_ground(w, csim_v3(0, 0, 0), csim_v3(0, 0, 1), CSIM_R(0.5), &ground), CSIM_OK);
    shape[0] = csim_sphere(CSIM_R(0.1));
    shape[1] = csim_sphere(CSIM_R(0.3));
    shape[1].sensor = true;
    link.shapes = shape, link.shape_count = 2, link.joint = CSIM_TREE_FLOATING;
    d.links = &link, d.link_count = 1, d.pose.position = csim_v3(0, 0, CSIM_R(0.25));
    STATUS(csim_create_tree(w, &d, &tree), CSIM_OK);
    STATUS(csim_body_get_mass(w, tree, &mass), CSIM_OK);
    NEAR((double)mass.mass, 1000 * 4.0 / 3 * 3.14159265358979 * 1e-3, TOL(1e-9, 1e-5)); /* of the ball alone */
    STATUS(csim_world_step(w, CSIM_R(0.01)), CSIM_OK);
    e = csim_world_events(w);
    EQUAL(e.begin_count, 0);
    REQUIRE(e.sensor_begin_count == 1);
    CHECK(same_id(e.sensor_begins[0].body_a, tree) && e.sensor_begins[0].shape_a == 1);
    csim_world_save(w, NULL, &bytes);
    saved = malloc(bytes);
    STATUS(csim_world_save(w, saved, &bytes), CSIM_OK);
    for (i = 0; i < 2; i++) { /* twice: through the snapshot the same */
        STATUS(csim_world_step(w, CSIM_R(0.01)), CSIM_OK);
        e = csim_world_events(w);
        EQUAL(e.sensor_begin_count + e.sensor_end_count, 0);
        EQUAL(e.sensing_count, 1);
        STATUS(csim_destroy_body(w, tree), CSIM_OK);
        STATUS(csim_world_step(w, CSIM_R(0.01)), CSIM_OK);
        e = csim_world_events(w);
        EQUAL(e.sensor_end_count, 1);
        EQUAL(e.sensing_count, 0);
        STATUS(csim_world_restore(w, saved, bytes), CSIM_OK);
    }
    free(saved);
    csim_destroy_world(w);
}

static void in_a_row(void *user, int count, int grain, csim_range_fn *fn, void *context) {
    int i;
    for (i = 0; i < count; i += grain) fn(context, i, i + grain < count ? i + grain : count);
    ++*(int *)user;
}

/* A ball in the middle of its own sensor: the two are a pair of one body that is no tree, which threads look at ahead.
   Sensors see the ball beside them, never their own, and the world keeps the bits that it has without threads. */
TEST(a_sensor_about_its_own_body_is_passed_over_by_threads) {
    enum { BALLS = 100 };
    int pass, loops = 0, i, k;
    uint64_t hash[2] = {0, 0};
    for (pass = 0; pass < 2; pass++) {
        csim_world_def def = csim_default_world_def();
        csim_world *w;
        csim_body_id id[BALLS];
        csim_shape shape[2];
        csim_events e;
        if (pass) def.tasks.run = in_a_row, def.tasks.user = &loops;
        STATUS(csim_create_world(&def, &w, NULL), CSIM_OK);
        shape[0] = csim_sphere(CSIM_R(0.1));
        shape[1] = csim_sphere(CSIM_R(0.3));
        shape[1].sensor = true;
        for (i = 0; i < BALLS; i++) { /* in pairs: 0.35 m from the one, 4.65 m from the next */
            csim_rigid_def d = csim_default_rigid_def();
            d.shapes = shape, d.shape_count = 2;
            d.pose.position = csim_v3(CSIM_R(5 * (i / 2) + 0.35 * (i % 2)), 0, 0);
            STATUS(csim_create_rigid(w, &d, id + i), CSIM_OK);
        }
        for (k = 0; k < 3; k++) STATUS(csim_world_step(w, CSIM_R(0.01)), CSIM_OK);
        e = csim_world_events(w);
        CHECK(csim_world_stats(w).pairs > 64); /* more than one range of them */
        EQUAL(e.sensing_count, BALLS);
        for (i = 0; i < BALLS; i++) CHECK(seen_now(&e, id[i], id[i ^ 1], 0) && !seen_now(&e, id[i], id[i], 0));
        hash[pass] = csim_world_hash(w);
        csim_destroy_world(w);
    }
    CHECK(loops > 0 && hash[0] == hash[1]);
}

/* ---- surfaces of shapes */

/* A belt of 1 m/s takes a crate along: mu g until it runs as fast. One shape of the ground runs, the other does not. */
TEST(conveyor) {
    csim_world_def def = csim_default_world_def();
    csim_surface_def belt = csim_default_surface_def(), none = csim_default_surface_def();
    csim_rigid_def d = csim_default_rigid_def();
    csim_shape shape[3];
    csim_world *w;
    csim_body_id id, crate[3];
    csim_vec3 v;
    int i, k;
    STATUS(csim_create_world(&def, &w, NULL), CSIM_OK);
    belt.velocity = csim_v3(1, 0, CSIM_R(0.3)); /* what is not along the surface does not count */
    none.mask = 0;
    for (i = 0; i < 3; i++) {
        shape[i] = csim_box(csim_v3(5, CSIM_R(0.4), CSIM_R(0.1)));
        shape[i].local.position = csim_v3(0, (csim_real)i, CSIM_R(-0.1));
    }
    shape[0].surface = &belt;
    shape[2].surface = &none; /* nothing touches it */
    d.shapes = shape, d.shape_count = 3, d.motion = CSIM_STATIC;
    STATUS(csim_create_rigid(w, &d, &id), CSIM_OK);
    for (i = 0; i < 3; i++)
        crate[i] = put(w, csim_box(csim_v3(CSIM_R(0.1), CSIM_R(0.1), CSIM_R(0.1))),
                       csim_v3(0, (csim_real)i, CSIM_R(0.1)), csim_v3(0, 0, 0), NULL);
    for (k = 1; k <= 60; k++) {
        STATUS(csim_world_step(w, CSIM_R(0.01)), CSIM_OK);
        CHECK(csim_world_stats(w).uncertified == 0);
        csim_body_get_velocity(w, crate[0], &v, NULL);
        /* friction of both is 0.5 */
        NEAR((double)v.x, fmin(1, 0.5 * 9.81 * 0.01 * k), TOL(1e-4, 1e-3));
        NEAR((double)v.z, 0, 1e-4);
        csim_body_get_velocity(w, crate[1], &v, NULL);
        NEAR((double)v.x, 0, 1e-6);
    }
    csim_body_get_velocity(w, crate[2], &v, NULL);
    NEAR((double)v.z, -9.81 * 0.6, TOL(1e-9, 1e-4));
    csim_destroy_world(w);
}

SLOW_TEST(oracle) {
    const char *steps = getenv("EVENT_STEPS"), *seed = getenv("EVENT_SEED");
    fuzz(steps ? atoi(steps) : 1500, seed ? atoi(seed) : 0);
}

LONG_TEST(oracle_long) { fuzz(100000, 1); }
