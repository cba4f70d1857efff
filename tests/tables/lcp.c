/* Anitescu, Miller, Hart: constraint stabilisation. */
#include "tables.h"
#include <stdio.h>

enum { STEPS = 4000 };

typedef struct history {
    double depth[STEPS]; /* m */
    int count, uncertified;
    double certificate, open; /* joints at the end, m; NaN: the scene has none */
} history;

static bool run(const char *name, double gamma, double h, double seconds, csim_solver solver, history *out, char *why,
                size_t why_size) {
    scene_options o = scene_default_options();
    char setting[48];
    scene *s;
    memset(out, 0, sizeof *out);
    snprintf(setting, sizeof setting, "stabilization=%g", gamma);
    scene_set(&o, setting);
    o.solver = solver;
    o.h = h;
    o.seconds = seconds;
    s = scene_open(name, &o, why, why_size);
    if (!s) return false;
    while (s->step < s->steps && out->count < STEPS && scene_step(s)) {
        csim_step_stats t = csim_world_stats(s->world);
        out->depth[out->count++] = t.penetration;
        out->uncertified += (t.flags & CSIM_FLAG_UNCERTIFIED) != 0;
        out->certificate = fmax(out->certificate, csim_certificate_worst(&t.certificate));
    }
    snprintf(why, why_size, "%s", s->error);
    scene_finish(s);
    out->open = scene_figure_of(s, "joint_open_m");
    scene_close(s);
    return out->count > 1;
}

/* ---- the paper's own scheme for the ellipse in its plane: q = (x, y, angle), one contact with the table y = 0,
   Phi = y - s(angle), s^2 = a^2 sin^2 + b^2 cos^2, and one complementarity problem a step: M (v+ - v) = h k + n c_n + D
   b, n.v+ + gamma Phi / h >= 0 where Phi <= v_max h (2.9); Lemke's pivots. */

typedef struct ellipse {
    double q[3], v[3], inertia; /* mass 1; inertia over mass, m^2 */
    csim_real r[3];
} ellipse;

static double phi_of(const ellipse *e, double *slope) {
    const double a = 4, b = 2, c = cos(e->q[2]), s = sin(e->q[2]), reach = sqrt(a * a * s * s + b * b * c * c);
    if (slope) *slope = (a * a - b * b) * s * c / reach;
    return e->q[1] - reach;
}

/* Impulse of the contact: rows n = (0, 1, -slope), t = (1, 0, phi - y): the lowest point is s below the centre. */
static double ellipse_contact(ellipse *e, double gamma, double h, csim_real *r) {
    double size, slope, phi = phi_of(e, &slope), n[3] = {0, 1, 0}, t[3] = {1, 0, 0};
    csim_real W[9], q[3], mu = CSIM_R(0.3);
    csim_impulse_problem p;
    csim_solver_params params = csim_default_solver_params();
    csim_outcome o;
    csim_error error;
    size_t bytes;
    void *workspace;
    int i;
    n[2] = -slope;
    t[2] = e->q[1] - phi;
    memset(&p, 0, sizeof p);
    memset(W, 0, sizeof W);
    W[0] = (csim_real)(1 + n[2] * n[2] / e->inertia);
    W[4] = (csim_real)(1 + t[2] * t[2] / e->inertia);
    W[1] = W[3] = (csim_real)(n[2] * t[2] / e->inertia);
    W[8] = 1;
    q[0] = (csim_real)(e->v[1] + n[2] * e->v[2] + gamma * phi / h);
    q[1] = (csim_real)(e->v[0] + t[2] * e->v[2]);
    q[2] = 0;
    p.contact_count = 1;
    p.dense = W;
    p.q = q;
    p.mu = &mu;
    params.solver = CSIM_SOLVER_LEMKE;
    params.tolerance = CSIM_R(1e-10);
    bytes = csim_impulse_bytes(&p, &params);
    workspace = malloc(bytes);
    r[0] = r[1] = r[2] = 0;
    if (csim_impulse_solve(&p, &params, workspace, bytes, NULL, r, &o, &error)) o.certificate.natural_map_scaled = NAN;
    free(workspace);
    for (i = 0; i < 3; i++) e->v[i] += (n[i] * (double)r[0] + t[i] * (double)r[1]) / (i == 2 ? e->inertia : 1);
    size = sqrt((double)(r[0] * r[0] + r[1] * r[1]));
    return o.certificate.natural_map_scaled * size / fmax(size, 9.81 * h); /* impulses that matter: a step of weight */
}

typedef struct trial {
    double most, end, C, v2, worst;
    long touched;
} trial;

/* gamma, h; the least C of I_l <= (1 - gamma) I_(l-1) + C h^2 |v_l|^2 after the first contact, in the mass norm. */
static trial drop(double gamma, double h, plot_line *line) {
    ellipse e = {{0, 8, 0}, {0, 0, 3}, (16.0 + 4.0) / 4, {0, 0, 0}}; /* of an elliptic plate */
    trial t;
    double before = 0;
    int l, i, steps = (int)(15 / h + 0.5);
    memset(&t, 0, sizeof t);
    for (l = 0; l < steps; l++) {
        csim_real r[3] = {0, 0, 0};
        double depth, v2, gain;
        e.v[1] -= 9.81 * h;
        if (phi_of(&e, NULL) <= 15 * h) t.worst = fmax(t.worst, ellipse_contact(&e, gamma, h, r));
        for (i = 0; i < 3; i++) e.q[i] += h * e.v[i];
        depth = fmax(0, -phi_of(&e, NULL));
        v2 = e.v[0] * e.v[0] + e.v[1] * e.v[1] + e.inertia * e.v[2] * e.v[2];
        gain = depth - (1 - gamma) * before;
        if (gain > 0) t.C = fmax(t.C, gain / (h * h * v2));
        t.v2 = fmax(t.v2, v2);
        t.most = fmax(t.most, depth);
        t.touched += r[0] > 0;
        before = depth;
        if (line) {
            line->x[l] = h * (l + 1);
            line->y[l] = depth;
            line->count = l + 1;
        }
    }
    t.end = before;
    return t;
}

static void scheme_rows(double h, bool draw) {
    static const double gammas[] = {0, 0.2, 0.5, 1};
    plot_line lines[4];
    double *kept = (double *)malloc(8 * 300 * sizeof(double));
    int g;
    for (g = 0; g < 4; g++) {
        trial t;
        double bound;
        lines[g].x = kept + 600 * g;
        lines[g].y = lines[g].x + 300;
        snprintf(lines[g].name, sizeof lines[g].name, "gamma %g", gammas[g]);
        t = drop(gammas[g], h, draw ? lines + g : NULL);
        bound = gammas[g] > 0 ? t.C / gammas[g] * h * h * t.v2 : INFINITY;
        table_row("paper's LCP,%g,%g,%.4g,%.4g,%.3g,%.4g,%s,%.1e", gammas[g], h, 1e3 * t.most, 1e3 * t.end, t.C,
                  1e3 * bound, gammas[g] > 0 ? t.most <= bound ? "yes" : "no" : "no bound", t.worst);
    }
    if (draw) page_plot("lcp-ellipse", "Infeasibility of the ellipse at 50 ms", "t, s", "m", false, lines, 4);
    free(kept);
}

static void world_rows(void) {
    static const double gammas[] = {0, 0.2, 0.5, 1};
    static history a;
    int g, l;
    for (g = 0; g < 4; g++) {
        double most = 0;
        char why[SCENE_TEXT];
        if (!run("ellipse", gammas[g], 0.05, 15, CSIM_SOLVER_AUTO, &a, why, sizeof why)) {
            table_missing("ellipse", why);
            continue;
        }
        for (l = 0; l < a.count; l++) most = fmax(most, a.depth[l]);
        table_row("world,%g,0.05,%.4g,%.4g,-,-,-,%.1e", gammas[g], 1e3 * most, 1e3 * a.depth[a.count - 1],
                  a.certificate);
    }
}

static void ellipse_table(void) {
    if (!table_wanted("lcp-ellipse-table")) return;
    table_open(
        "lcp-ellipse-table", "LCP paper, Figure 2: infeasibility of the ellipse",
        "Axes 8 and 4, height 8, angular velocity 3, mu 0.3, 15 s. First the paper's scheme, one contact in the "
        "plane, Lemke's pivots: C is the least constant of the theorem I_l <= (1 - gamma) I_(l-1) + C h^2 |v_l|^2 "
        "over the run, and its bound is C h^2 V^2 / gamma. Then the library's world (scene ellipse).",
        "scheme,gamma,h s,most infeasibility mm,at the end mm,C s^2/m,bound mm,below the bound,certificate");
    scheme_rows(0.05, true);
    scheme_rows(0.025, false);
    scheme_rows(0.0125, false);
    world_rows();
    table_close(
        "Paper (figures only): gamma 0 grows steadily, gamma in (0; 1] falls after each event by (1 - gamma) a step, "
        "faster for larger gamma. The paper's initial angle is not given (here 0) nor its mass (the scheme does not "
        "depend on it). The theorem wants C to be the same for every h: compare the rows. A world of the library "
        "takes gap/h for positive gaps whatever gamma is, so that only curvature can make a gap negative.");
}

static void grasp_table(void) {
    static const double gammas[] = {0, 0.2, 1};
    static history a;
    int g, l;
    if (!table_wanted("lcp-grasp")) return;
    table_open("lcp-grasp", "LCP paper, Figures 3 and 4: a hand closes on a glass",
               "Scene grasp, h 2.5 ms. Paper: drift at gamma 0, exponential decay at 0.2, fastest at 1.",
               "gamma,most penetration mm,at the end mm,joints open m,uncertified steps,certificate");
    for (g = 0; g < 3; g++) {
        double most = 0;
        char why[SCENE_TEXT];
        if (!run("grasp", gammas[g], 0.0025, page_fast() ? 0.5 : 2.5, CSIM_SOLVER_AUTO, &a, why, sizeof why)) {
            table_missing("grasp", "this build has no scene of that name");
            break;
        }
        for (l = 0; l < a.count; l++) most = fmax(most, a.depth[l]);
        table_row("%g,%.3g,%.3g,%.3g,%d,%.1e", gammas[g], 1e3 * most, 1e3 * a.depth[a.count - 1], a.open, a.uncertified,
                  a.certificate);
    }
    table_close(
        "Paper (figures only): drift to the limit of 5 mm at gamma 0, exponential decay at 0.2, the fastest at 1. The "
        "order is the same here and the sizes are a hundredth: joints of the library are closed again at the end of "
        "every step whatever gamma is (docs/joints.md), and contacts stop ahead of the surface, so that gamma only "
        "has what the turning of bodies leaves.");
}

void tables_lcp(void) {
    ellipse_table();
    grasp_table();
}
