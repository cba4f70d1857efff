/* The measures of a pair (r, u = W r + q), in double, from their definitions:
     natural map   r - P_K(r - rho (u + mu |u_t| n)), K the friction cone |r_t| <= mu r_n; rho 1, or 3 / tr W_cc where
   it is called scaled; zero exactly where Signorini's and Coulomb's laws hold */
#include "fc3d.h"
#include <math.h>
#include <stdlib.h>

static double norm(const double *x, int count) {
    double sum = 0;
    int k;
    for (k = 0; k < count; ++k) sum += x[k] * x[k];
    return sqrt(sum);
}

static double larger(double a, double b) { return a > b ? a : b; }

/* |r - P_K(r - rho (u + mu |u_t| n))|^2 */
static double natural(const double *r, const double *u, double mu, double rho) {
    const double x[3] = {r[0] - rho * (u[0] + mu * hypot(u[1], u[2])), r[1] - rho * u[1], r[2] - rho * u[2]};
    const double t = sqrt(x[1] * x[1] + x[2] * x[2]);
    double n = x[0], s = 1;
    if (t > mu * x[0]) { /* outside: onto the boundary, or to the tip from the polar cone */
        n = mu * t <= -x[0] ? 0 : (x[0] + mu * t) / (1 + mu * mu);
        s = n > 0 ? mu * n / t : 0;
    }
    return (r[0] - n) * (r[0] - n) + (r[1] - s * x[1]) * (r[1] - s * x[1]) + (r[2] - s * x[2]) * (r[2] - s * x[2]);
}

static double over(double x, double by) { return by > 0 ? x / by : x; }

static void one(const double *r, const double *u, double mu, double largest, fc3d_measures *m) {
    const double rt = hypot(r[1], r[2]), ut = hypot(u[1], u[2]);
    m->min_un = u[0] < m->min_un ? u[0] : m->min_un;
    m->max_complementarity = larger(m->max_complementarity, fabs(u[0] * r[0]));
    m->max_cone_violation = larger(m->max_cone_violation, rt - mu * r[0]);
    m->max_negative_rn = larger(m->max_negative_rn, -r[0]);
    m->max_dissipation_violation =
        larger(m->max_dissipation_violation, fabs(mu * larger(r[0], 0) * ut + r[1] * u[1] + r[2] * u[2]));
    if (r[0] <= 1e-9 * largest)
        ++m->open;
    else if (rt < (1 - 1e-6) * mu * r[0])
        ++m->stick;
    else
        ++m->slip;
}

void fc3d_measure(const fc3d_problem *p, const double *r, fc3d_measures *m) {
    const int n = 3 * p->nc;
    static const fc3d_measures zero;
    double *u = (double *)malloc((size_t)n * sizeof *u), absolute = 0, scaled = 0, speed = 0, impulse = 0, most;
    int c;
    *m = zero;
    fc3d_velocity(p, r, u);
    for (c = 0; c < n; ++c) {
        speed = larger(speed, larger(fabs(u[c]), fabs(p->q[c])));
        impulse = larger(impulse, fabs(r[c]));
    }
    for (c = 0; c < p->nc; ++c) {
        const double *R = r + 3 * c, *U = u + 3 * c, mu = p->mu[c], rho = p->trace[c] > 0 ? 3 / p->trace[c] : 1;
        absolute += natural(R, U, mu, 1);
        scaled += natural(R, U, mu, rho);
        one(R, U, mu, impulse, m);
    }
    m->norm_q = norm(p->q, n);
    m->norm_r = norm(r, n);
    m->norm_u = norm(u, n);
    m->natural_map_abs = sqrt(absolute);
    m->natural_map_q = over(m->natural_map_abs, m->norm_q);
    most = larger(m->norm_q, larger(m->norm_r, m->norm_u));
    m->natural_map_siconos = most > 2.2e-16 ? m->natural_map_abs / most : m->natural_map_abs;
    m->natural_map_ur = over(m->natural_map_abs, larger(m->norm_u, m->norm_r));
    m->natural_map_scaled = over(sqrt(scaled), m->norm_r);
    m->rel_penetration = over(-m->min_un, m->norm_q);
    m->rel_complementarity = over(m->max_complementarity, speed * impulse);
    m->rel_dissipation = over(m->max_dissipation_violation, speed * impulse);
    free(u);
}
