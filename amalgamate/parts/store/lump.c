/* store/lump: bodies of nodes (particles, solids, cloth, cables) as one lump: what engines ask of every body, a pose,
   a velocity, a torque, a mass, means the rigid motion of all nodes, and of the edges of cables with their turns. */
#include "private.h"

CSIMI_FN void csimi_add3(csim_real *a, csim_vec3 v) { csimi_store3(a, csim_add(csimi_load3(a), v)); }

CSIMI_FN void csimi_set_node_velocity(csimi_store *s, int node, csim_vec3 v) {
    if (s->state.node_mode[node] == CSIMI_FIXED) v = csim_v3(0, 0, 0);
    csimi_store3(s->state.v + 3 * node, v);
    csimi_store3(s->node_rep + 3 * node, v);
}

/* Mean of a 3-vector over the nodes, by mass; *mass: of all, may be null. */
static csim_vec3 csimi_lump_mean(const csimi_store *s, const csimi_body *b, const csim_real *a, csim_real *mass) {
    csim_vec3 mean = csim_v3(0, 0, 0);
    csim_real sum = 0;
    int i;
    for (i = b->first_node; i < b->first_node + b->node_count; i++) {
        mean = csim_madd(mean, s->state.node_mass[i], csimi_load3(a + 3 * i));
        sum += s->state.node_mass[i];
    }
    if (mass) *mass = sum;
    if (b->node_count == 1) return csimi_load3(a + 3 * b->first_node); /* not rounded: a particle has no inertia */
    return csim_scale(1 / sum, mean);                                 /* no body is made without mass */
}

CSIMI_FN csim_vec3 csimi_lump_centre(const csimi_store *s, const csimi_body *b) {
    return csimi_lump_mean(s, b, s->state.x, NULL);
}

CSIMI_FN csimi_lump csimi_lump_of(const csimi_store *s, const csimi_body *b) {
    csimi_lump p;
    int i, k;
    CSIMI_MEMSET(&p, 0, sizeof p);
    p.centre = csimi_lump_mean(s, b, s->state.x, &p.mass);
    for (i = b->first_node; i < b->first_node + b->node_count; i++) {
        const csim_vec3 r = csim_sub(csimi_load3(s->state.x + 3 * i), p.centre);
        csim_real a[3];
        csimi_store3(a, r);
        for (k = 0; k < 9; k++)
            p.inertia[k] += s->state.node_mass[i] * ((k % 4 == 0 ? csim_dot(r, r) : 0) - a[k / 3] * a[k % 3]);
    }
    for (i = b->first_frame; i < b->first_frame + b->frame_count; i++) {
        csim_real I[9];
        csimi_frame_inertia_world(&s->state, i, I);
        for (k = 0; k < 9; k++) p.inertia[k] += I[k];
    }
    return p;
}

/* I^-1 a; 0 for a particle, which has no turn. */
static csim_vec3 csimi_lump_turn(const csimi_lump *p, csim_vec3 a) {
    csim_real inverse[9], in[3], out[3];
    if (!csimi_inverse3(p->inertia, inverse)) return csim_v3(0, 0, 0);
    csimi_store3(in, a);
    csimi_mul3(inverse, in, out);
    return csimi_load3(out);
}

CSIMI_FN void csimi_lump_velocity(const csimi_store *s, const csimi_body *b, bool end, csim_vec3 *linear,
                                   csim_vec3 *angular) {
    const csim_real *v = end ? s->state.v : s->node_rep, *spin = end ? s->state.frame_velocity : s->frame_rep;
    csim_vec3 L = csim_v3(0, 0, 0);
    csimi_lump p;
    int i;
    *linear = csimi_lump_mean(s, b, v, NULL);
    if (!angular) return;
    p = csimi_lump_of(s, b);
    for (i = b->first_node; i < b->first_node + b->node_count; i++)
        L = csim_madd(L, s->state.node_mass[i],
                      csim_cross(csim_sub(csimi_load3(s->state.x + 3 * i), p.centre), csimi_load3(v + 3 * i)));
    for (i = b->first_frame; i < b->first_frame + b->frame_count; i++) {
        csim_real I[9], turn[3] = {0, 0, 0};
        csimi_frame_inertia_world(&s->state, i, I);
        csimi_mul3(I, spin + 3 * i, turn);
        L = csim_add(L, csimi_load3(turn));
    }
    *angular = csimi_lump_turn(&p, L);
}

CSIMI_FN void csimi_lump_put(csimi_store *s, const csimi_body *b, csim_pose pose) {
    const csim_vec3 centre = csimi_lump_centre(s, b);
    int i;
    for (i = b->first_node; i < b->first_node + b->node_count; i++)
        csimi_store3(s->state.x + 3 * i, csim_pose_point(pose, csim_sub(csimi_load3(s->state.x + 3 * i), centre)));
    for (i = b->first_frame; i < b->first_frame + b->frame_count; i++)
        csimi_store_quat(s->state.frame + 4 * i,
                         csim_quat_normalize(csim_quat_mul(pose.rotation, csimi_load_quat(s->state.frame + 4 * i))));
}

/* Every node on its own straight way, edges by one turn: all are there after h. True: one of them moves; none does
   where the body is there, without any rounding. */
CSIMI_FN bool csimi_lump_send(csimi_store *s, const csimi_body *b, csim_pose pose, csim_vec3 turn, csim_real h) {
    const csim_vec3 centre = csimi_lump_centre(s, b), shift = csim_sub(pose.position, centre);
    csim_real most = csim_dot(turn, turn);
    int i;
    for (i = b->first_node; i < b->first_node + b->node_count; i++) {
        const csim_vec3 r = csim_sub(csimi_load3(s->state.x + 3 * i), centre);
        const csim_vec3 way = csim_add(shift, csim_sub(csim_rotate(pose.rotation, r), r));
        csimi_set_node_velocity(s, i, csim_scale(1 / h, way));
        most = csimi_max(most, csim_dot(way, way));
    }
    for (i = b->first_frame; i < b->first_frame + b->frame_count; i++)
        csimi_set_frame_velocity(s, i, csim_scale(1 / h, turn));
    return most > 0;
}

CSIMI_FN void csimi_lump_set_velocity(csimi_store *s, const csimi_body *b, csim_vec3 linear, csim_vec3 angular) {
    const csim_vec3 centre = csimi_lump_centre(s, b);
    int i;
    for (i = b->first_node; i < b->first_node + b->node_count; i++)
        csimi_set_node_velocity(
            s, i, csim_add(linear, csim_cross(angular, csim_sub(csimi_load3(s->state.x + 3 * i), centre))));
    for (i = b->first_frame; i < b->first_frame + b->frame_count; i++) csimi_set_frame_velocity(s, i, angular);
}

static void csimi_lump_twist(csimi_store *s, const csimi_body *b, csim_vec3 torque) {
    const csimi_lump p = csimi_lump_of(s, b);
    const csim_vec3 alpha = csimi_lump_turn(&p, torque);
    csim_real rate[3];
    int i;
    csimi_store3(rate, alpha);
    for (i = b->first_node; i < b->first_node + b->node_count; i++) {
        const csim_vec3 r = csim_sub(csimi_load3(s->state.x + 3 * i), p.centre);
        csimi_add3(s->state.node_force + 3 * i, csim_scale(s->state.node_mass[i], csim_cross(alpha, r)));
    }
    for (i = b->first_frame; i < b->first_frame + b->frame_count; i++) {
        csim_real I[9];
        csimi_frame_inertia_world(&s->state, i, I);
        csimi_addmul3(I, rate, s->state.frame_torque + 3 * i);
    }
}

/* As a rigid body would be accelerated: m (a + alpha x r), and I alpha of each edge. */
CSIMI_FN void csimi_lump_push(csimi_store *s, const csimi_body *b, csim_vec3 force, csim_vec3 torque) {
    csim_real mass;
    int i;
    (void)csimi_lump_mean(s, b, s->state.x, &mass);
    for (i = b->first_node; i < b->first_node + b->node_count; i++)
        csimi_add3(s->state.node_force + 3 * i, csim_scale(s->state.node_mass[i] / mass, force));
    if (csim_dot(torque, torque) > 0) csimi_lump_twist(s, b, torque);
}

/* Nodes and edges keep their shares; false, and nothing is changed: one would be too light or too heavy. */
CSIMI_FN bool csimi_lump_weigh(csimi_store *s, const csimi_body *b, csim_real mass) {
    csim_real now, ratio;
    int i;
    (void)csimi_lump_mean(s, b, s->state.x, &now);
    ratio = mass / now;
    for (i = b->first_node; i < b->first_node + b->node_count; i++)
        if (!csimi_weighs((double)(ratio * s->state.node_mass[i]))) return false;
    for (i = b->first_node; i < b->first_node + b->node_count; i++) s->state.node_mass[i] *= ratio;
    for (i = 3 * b->first_frame; i < 3 * (b->first_frame + b->frame_count); i++) s->state.frame_inertia[i] *= ratio;
    return true;
}
