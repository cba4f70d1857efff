/* Macklin et al.: non-smooth Newton. */
#include "tables.h"
#include <stdio.h>

enum { HISTORY = 8000, VARIANTS = 8 };

typedef struct variant {
    const char *name;
    csim_ncp ncp;
    csim_linear linear;
    int scaling; /* 0: W_ii, 1: r = 1 of the paper, 2: r = h^2 */
} variant;

static const variant variants[VARIANTS] = {
    {"FB PCR W_ii", CSIM_NCP_FISCHER, CSIM_LINEAR_PCR, 0},
    {"FB PCR r=1", CSIM_NCP_FISCHER, CSIM_LINEAR_PCR, 1},
    {"FB PCR r=h^2", CSIM_NCP_FISCHER, CSIM_LINEAR_PCR, 2},
    {"min-map PCR W_ii", CSIM_NCP_MIN_MAP, CSIM_LINEAR_PCR, 0},
    {"FB PCG W_ii", CSIM_NCP_FISCHER, CSIM_LINEAR_PCG, 0},
    {"FB Jacobi W_ii", CSIM_NCP_FISCHER, CSIM_LINEAR_JACOBI, 0},
    {"FB Gauss-Seidel W_ii", CSIM_NCP_FISCHER, CSIM_LINEAR_GAUSS_SEIDEL, 0},
    {"min-map PCR r=h^2", CSIM_NCP_MIN_MAP, CSIM_LINEAR_PCR, 2},
};

static csim_solver_params params_of(const variant *v, double h) {
    csim_solver_params p = csim_default_solver_params();
    p.solver = CSIM_SOLVER_NEWTON;
    p.newton.ncp = v->ncp;
    p.newton.linear = v->linear;
    p.newton.scaling = v->scaling == 0 ? 0 : v->scaling == 1 ? (csim_real)(1 / (h * h)) : 1;
    p.tolerance = CSIM_R(1e-10);
    p.max_iterations = page_fast() ? 800 : 4000;
    return p;
}

/* The first entry at or below the level, counted from 1; text "-" when there is none. */
static void first_below(const double *history, int n, double level, char *text, size_t size) {
    int i;
    snprintf(text, size, "-");
    for (i = 0; i < n; i++)
        if (history[i] <= level) {
            snprintf(text, size, "%d", i + 1);
            return;
        }
}

static void scene_rows(const char *name, const char *settings, int size, int step) {
    static double history[HISTORY], count[HISTORY];
    plot_line lines[VARIANTS];
    capture *c[1];
    char why[SCENE_TEXT], file[64];
    capture_run run = {name, settings, size, 0, -1, &step, 1};
    int v, i, n = capture_scene(&run, c, why, sizeof why);
    memset(lines, 0, sizeof lines);
    if (n == 0) {
        table_missing(name, strstr(why, "no scene") ? "this build has no scene of that name" : why);
        return;
    }
    for (v = 0; v < VARIANTS; v++) {
        csim_solver_params p = params_of(variants + v, capture_h(c[0]));
        char loose[16], tight[16];
        double lowest = INFINITY;
        answer a;
        int entries;
        for (i = 0; i < HISTORY; i++) history[i] = NAN;
        p.history = history;
        p.history_capacity = HISTORY;
        a = capture_solve(c[0], &p, false, true);
        if (a.status != CSIM_OK) {
            char what[96];
            snprintf(what, sizeof what, "%s: %s", name, variants[v].name);
            table_missing(what, "it visits rows of W, which a chain of bodies of this size does not have");
            answer_free(&a);
            continue;
        }
        entries = a.iterations < HISTORY ? a.iterations : HISTORY;
        for (i = 0; i < entries; i++) lowest = fmin(lowest, history[i]);
        first_below(history, entries, 1e-4, loose, sizeof loose);
        first_below(history, entries, 1e-8, tight, sizeof tight);
        table_row("%s,%s,%d,%d,%s,%s,%.1e,%d,%.1e", name, variants[v].name, a.outcome.outer, a.iterations, loose, tight,
                  lowest, capture_contacts(c[0]), answer_certificate(&a));
        for (i = 0; i < entries; i++) count[i] = i + 1;
        snprintf(lines[v].name, sizeof lines[v].name, "%s", variants[v].name);
        lines[v].x = (double *)malloc(sizeof(double) * (size_t)(entries + 1));
        lines[v].y = (double *)malloc(sizeof(double) * (size_t)(entries + 1));
        memcpy(lines[v].x, count, sizeof(double) * (size_t)entries);
        memcpy(lines[v].y, history, sizeof(double) * (size_t)entries);
        lines[v].count = entries;
        answer_free(&a);
    }
    snprintf(file, sizeof file, "newton-%s", name);
    page_plot(file, name, "linear iterations", "measure", true, lines, VARIANTS);
    for (v = 0; v < VARIANTS; v++) {
        free(lines[v].x);
        free(lines[v].y);
    }
    capture_free(c[0]);
}

/* ---- diagonal geometric stiffness: light links under a load, let go from level */

enum { CHAIN_LINKS = 20 };

static csim_world *chain_world(bool geometric, double load, csim_body_id *body) {
    csim_world_def def = csim_default_world_def();
    csim_world *w = NULL;
    int i;
    def.gravity = csim_v3(0, 0, CSIM_R(-9.81));
    def.solver.solver = CSIM_SOLVER_NEWTON_PROXIMAL;
    def.solver.tolerance = CSIM_R(1e-8);
    def.solver.max_iterations = 20000;
    def.geometric = geometric;
    if (csim_create_world(&def, &w, NULL)) return NULL;
    for (i = 0; i <= CHAIN_LINKS; i++) {
        const double half = i < CHAIN_LINKS ? 0.05 : 0.25;
        csim_shape box = csim_box(csim_v3((csim_real)half, CSIM_R(0.01), CSIM_R(0.01)));
        csim_rigid_def d = csim_default_rigid_def();
        csim_joint_def joint = csim_default_joint_def();
        csim_link_id id;
        d.shapes = &box;
        d.shape_count = 1;
        d.mass = (csim_real)(i < CHAIN_LINKS ? 1 : load);
        d.pose.position.x = (csim_real)(0.1 * i + half);
        d.surface.mask = 0;
        if (csim_create_rigid(w, &d, body + i)) break;
        joint.kind = CSIM_JOINT_BALL;
        joint.a.body = body[i];
        if (i > 0) joint.b.body = body[i - 1];
        joint.a.point = joint.b.point = csim_v3((csim_real)(0.1 * i), 0, 0);
        if (csim_create_joint(w, &joint, &id)) break;
    }
    return w;
}

static void chain_row(bool geometric, double load, double h) {
    csim_body_id body[CHAIN_LINKS + 1];
    csim_world *w = chain_world(geometric, load, body);
    const int steps = (int)((page_fast() ? 1 : 3) / h + 0.5);
    double spin = 0, certificate = 0;
    mean iterations;
    int k, i;
    memset(&iterations, 0, sizeof iterations);
    for (k = 0; w && k < steps && csim_world_step(w, (csim_real)h) == CSIM_OK; k++) {
        const csim_step_stats t = csim_world_stats(w);
        mean_add(&iterations, (double)t.total_iterations);
        certificate = fmax(certificate, csim_certificate_worst(&t.certificate));
        for (i = 0; i < CHAIN_LINKS; i++) {
            csim_vec3 v, turn = csim_v3(0, 0, 0);
            if (csim_body_get_velocity(w, body[i], &v, &turn) == CSIM_OK) spin = fmax(spin, (double)csim_length(turn));
        }
    }
    if (!w || k < steps)
        table_missing(geometric ? "with" : "without", w ? csim_last_error(w) : "no world");
    else
        table_row("%s,%g,%g,%.3g,%.1f,%.0f,%.1e", geometric ? "with" : "without", load, h, spin, mean_of(&iterations),
                  iterations.max, certificate);
    csim_destroy_world(w);
}

static void geometric_table(void) {
    static const double load[2] = {100, 5000}, h[2] = {0.01, 0.03};
    int j, k;
    if (!table_wanted("newton-geometric")) return;
    table_open("newton-geometric", "Newton paper, section 8.3: diagonal geometric stiffness",
               "Twenty links of 1 kg and 0.1 m on ball joints that carry a load, let go from level, 3 s, "
               "NEWTON_PROXIMAL at 1e-8; def.geometric on and off.",
               "geometric stiffness,load kg,h s,fastest link rad/s,linear iterations a step,most,certificate");
    for (j = 0; j < 2; j++)
        for (k = 0; k < 2; k++) {
            chain_row(true, load[j], h[k]);
            chain_row(false, load[j], h[k]);
        }
    table_close(
        "Paper (figure 12 and video): without it iterates swing about the solution and stretched bodies are unstable; "
        "it "
        "uses it for particles only, since joints of robots jitter by it. Its D comes from the last two Newton "
        "iterates; the rows of our joints stay those of the step's start and are closed by corrections, so ours is h^2 "
        "times the positive part of the force's turn with the body, where explicit forces are unstable, and nothing "
        "elsewhere. A pendulum of this length turns at 3 rad/s: without the term every step is certified, and wrong.");
}

void tables_newton(void) {
    geometric_table();
    if (!table_wanted("newton-convergence")) return;
    table_open(
        "newton-convergence", "Newton paper, Figures 16 and 18: preconditioner, NCP function, linear solver",
        "One step of each scene from v = 0 and lambda = 0, 40 linear iterations a Newton step; the measure is the "
        "library's natural map. W_ii is the complementarity preconditioner, r = 1 and r = h^2 the paper's two "
        "constant scalings.",
        "scene,variant,Newton steps,linear iterations,to 1e-4,to 1e-8,lowest measure,contacts,certificate");
    scene_rows("heavy-stack", "", 0, 2);
    scene_rows("arch", "", 0, 2);
    scene_rows("beam", "", 0, page_fast() ? 833 : 1144);
    table_close(
        "Paper (figures only): identity scaling fails at large masses, r = h^2 is better and still suffers from mass "
        "ratios, the preconditioner is the most reliable; PCR is often an order below the others, Jacobi and "
        "Gauss-Seidel are very slow on the heavy stack; both NCP functions reach high accuracy. Ours counts "
        "impulses where the paper counts forces, and its linear systems are at the level of impulses.");
}

static void floor_row(const char *name, const char *settings, int size, int step) {
    capture *c[1];
    char why[SCENE_TEXT];
    capture_run run = {name, settings, size, 0, -1, &step, 1};
    csim_solver_params p = params_of(variants, 1);
    csim_impulse_problem w;
    answer a;
    double size2 = 0, error2 = 0;
    int i, j, rows;
    if (capture_scene(&run, c, why, sizeof why) == 0) {
        table_missing(name, strstr(why, "no scene") ? "this build has no scene of that name" : why);
        return;
    }
    p.tolerance = CSIM_R(1e-12);
    a = capture_solve(c[0], &p, false, true);
    w = capture_impulse(c[0]);
    rows = 3 * w.contact_count;
    for (i = 0; i < rows; i++) {
        const csim_real *row = w.dense + (size_t)i * (size_t)rows;
        int d = i / 3 * 3;
        double sum = fabs((double)w.q[i]), trace = 0;
        for (j = 0; j < rows; j++) sum += fabs((double)(row[j] * a.lambda[j]));
        for (j = 0; j < 3; j++) trace += (double)w.dense[(size_t)(d + j) * (size_t)rows + (size_t)(d + j)];
        error2 += 9 * sum * sum / (trace * trace);
        size2 += (double)(a.lambda[i] * a.lambda[i]);
    }
    table_row("%s,%.1e,%.1e,%d,%d,%.1e", name, 1.1920929e-7 / 2 * sqrt(error2 / size2),
              a.certificate.natural_map_scaled, a.iterations, w.contact_count, answer_certificate(&a));
    answer_free(&a);
    capture_free(c[0]);
}

void tables_newton_floor(void) {
    if (!table_wanted("newton-floor")) return;
    table_open("newton-floor", "Newton paper, section 10.5: error floor in float",
               "Fischer-Burmeister and conjugate residuals in the float build until nothing improves, against "
               "Tisseur's limiting "
               "residual psi = u (|W| |lambda| + |q|) in the same measure.",
               "scene,predicted floor,reached,linear iterations,contacts,certificate");
    floor_row("heavy-stack", "", 0, 2);
    floor_row("arch", "", 0, 2);
    floor_row("stack", "", 0, 2);
    floor_row("beam", "", 0, page_fast() ? 833 : 1144);
    table_close("The paper finds its formula a good prediction but for the beam, where it is too low. Ours is the "
                "residual bound alone: "
                "W itself, in float, is known to u cond(A), which it leaves out.");
}
