/* One contact alone: the exact law against its natural map, the three methods of maximal dissipation against each other
   and against a search over the whole conic, and how far the two laws are apart. */
#include "check.h"
#include <math.h>

enum { RANDOM, DOMINANT, BODY, FAMILIES };
static const char *const family_name[FAMILIES] = {"random W", "diagonally dominant W", "a point of a rigid body"};

static int samples(void) { return getenv("CONDSIM_LONG") ? 1000000 : 100000; }

/* W of a family: G G' + small I, a diagonal with small couplings, or 1/m I + [r] I^-1 [r]'. */
static void random_W(int family, csim_real *W) {
    double G[9], r[3], X[9] = {0};
    int i, j, k;
    for (k = 0; k < 9; k++) G[k] = check_random(-1, 1);
    for (k = 0; k < 3; k++) r[k] = check_random(-1, 1);
    if (family == BODY) {
        X[1] = -r[2], X[2] = r[1], X[3] = r[2], X[5] = -r[0], X[6] = -r[1], X[7] = r[0];
        for (k = 0; k < 9; k++) G[k] = X[k] * sqrt(3); /* inertia of a solid of unit size: about 1/3 m */
    }
    for (i = 0; i < 3; i++)
        for (j = 0; j < 3; j++) {
            double sum = i == j ? (family == BODY ? 1 : 1e-3) : 0;
            for (k = 0; k < 3; k++) sum += G[3 * i + k] * G[3 * j + k];
            if (family == DOMINANT) sum = i == j ? 1 + 0.5 * fabs(G[4 * i]) : 0.1 * (G[3 * i + j] + G[3 * j + i]);
            W[3 * i + j] = CSIM_R(sum);
        }
}

static void random_c(csim_real *c) {
    int k;
    for (k = 0; k < 3; k++) c[k] = CSIM_R(check_random(-1, 1));
    if (c[0] > 0) c[0] = -c[0]; /* closing: the others are known */
}

static double norm3(const double *x) { return sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2]); }

/* u = W lambda + c, in double. */
static void velocity(const csim_real *W, const csim_real *c, const csim_real *lambda, double *u) {
    int i, k;
    for (i = 0; i < 3; i++)
        for (u[i] = (double)c[i], k = 0; k < 3; k++) u[i] += (double)W[3 * i + k] * (double)lambda[k];
}

static double difference(const csim_real *x, const csim_real *y, double *size) {
    double d[3], s[3];
    int k;
    for (k = 0; k < 3; k++) {
        d[k] = (double)x[k] - (double)y[k];
        s[k] = (double)y[k];
    }
    *size = norm3(s);
    return norm3(d);
}

/* lambda - Project(lambda - rho u), relative to lambda and the impulse that stops unit speed. */
static double natural_map(const csim_real *W, const csim_real *c, double mu, const csim_real *lambda) {
    const double rho = 3 / (double)(W[0] + W[4] + W[8]);
    double u[3], x[3], y[3], length;
    int k;
    velocity(W, c, lambda, u);
    for (k = 0; k < 3; k++) x[k] = (double)lambda[k] - rho * u[k];
    length = sqrt(x[1] * x[1] + x[2] * x[2]);
    y[0] = x[0] > 0 ? x[0] : 0;
    for (k = 1; k < 3; k++) y[k] = length > mu * (double)lambda[0] ? x[k] * mu * (double)lambda[0] / length : x[k];
    for (k = 0; k < 3; k++) {
        y[k] -= (double)lambda[k];
        x[k] = (double)lambda[k];
    }
    return norm3(y) / (norm3(x) + rho);
}

TEST(newton_obeys_coulomb) {
    const int count = samples();
    double worst = 0;
    int trial;
    for (trial = 0; trial < count; trial++) {
        const double mu = trial % 50 ? check_random(0, 2) : 0;
        csim_real W[9], c[3], lambda[3];
        double map;
        random_W(trial % FAMILIES, W);
        random_c(c);
        if (csim_solve_contact(W, c, CSIM_R(mu), CSIM_CONTACT_NEWTON, lambda) != CSIM_OK) CHECK(false);
        map = natural_map(W, c, (double)CSIM_R(mu), lambda);
        if (!(map <= worst)) worst = map;
    }
    printf("    %d contacts: worst natural map %.2g\n", count, worst);
    NEAR(worst, 0,
         TOL(1e-12, 1e-3)); /* float: the Schur complement of a W of condition 1e4 loses four of seven digits */
}

TEST(the_methods_of_maximal_dissipation_agree) {
    static const csim_contact_method method[3] = {CSIM_CONTACT_BISECTION, CSIM_CONTACT_GOLDEN, CSIM_CONTACT_QUARTIC};
    const int count = samples();
    double worst[3] = {0, 0, 0};
    int trial, k, m, far = 0;
    for (trial = 0; trial < count; trial++) {
        const csim_real mu = CSIM_R(trial % 50 ? check_random(0, 2) : 0);
        csim_real W[9], c[3], lambda[3][3];
        random_W(trial % FAMILIES, W);
        random_c(c);
        for (m = 0; m < 3; m++)
            if (csim_solve_contact(W, c, mu, method[m], lambda[m]) != CSIM_OK) CHECK(false);
        for (m = 0; m < 3; m++) {
            double size, d;
            k = (m + 1) % 3;
            d = difference(lambda[m], lambda[k], &size) / size;
            far += d > 1e-3;
            if (!(d <= worst[m])) worst[m] = d;
        }
    }
    printf("    %d contacts: bisection-golden %.2g, golden-quartic %.2g, quartic-bisection %.2g\n", count, worst[0],
           worst[1], worst[2]);
#ifdef CONDSIM_FLOAT
    CHECK(far <= count / 1000);
#else
    EQUAL(far, 0);
    for (m = 0; m < 3; m++) NEAR(worst[m], 0, 1e-10);
#endif
}

/* 1/2 u' W^-1 u less its constant: 1/2 lambda' W lambda + c' lambda. */
static double energy(const csim_real *W, const csim_real *c, const csim_real *lambda) {
    double u[3], sum = 0;
    int k;
    velocity(W, c, lambda, u);
    for (k = 0; k < 3; k++) sum += (u[k] + (double)c[k]) / 2 * (double)lambda[k];
    return sum;
}

/* No point of the conic, looked at all around, has less energy; and u_n = 0 on the cone. */
TEST(bisection_finds_the_least_energy) {
    const int trials = 3000, around = 720;
    int trial, k, slides = 0;
    double worst = 0;
    for (trial = 0; trial < trials; trial++) {
        const double mu = check_random(0.05, 2);
        csim_real W[9], c[3], lambda[3], y[3];
        double least = 1e300, found, scale, u[3];
        random_W(trial % FAMILIES, W);
        random_c(c);
        STATUS(csim_solve_contact(W, c, CSIM_R(mu), CSIM_CONTACT_BISECTION, lambda), CSIM_OK);
        velocity(W, c, lambda, u);
        if (hypot((double)lambda[1], (double)lambda[2]) < mu * (double)lambda[0] * (1 - 1e-5)) continue; /* sticks */
        slides++;
        NEAR(u[0], 0, TOL(1e-13, 1e-5) * (1 + (double)lambda[0] * (double)(W[0] + W[4] + W[8])));
        for (k = 0; k < around; k++) {
            const double angle = 6.283185307179586 * k / around, x = cos(angle), z = sin(angle);
            const double lever = (double)W[0] / mu + (double)W[1] * x + (double)W[2] * z;
            double e;
            if (lever <= 1e-9) continue;
            y[0] = CSIM_R(-(double)c[0] / lever / mu);
            y[1] = CSIM_R(-(double)c[0] / lever * x);
            y[2] = CSIM_R(-(double)c[0] / lever * z);
            e = energy(W, c, y);
            if (e < least) least = e;
        }
        found = energy(W, c, lambda);
        scale = fabs(found) + fabs((double)c[0] * (double)lambda[0]);
        CASE("trial %d, mu %g", trial, mu);
        CHECK(found <= least + TOL(1e-12, 1e-4) * scale);
        worst = fmax(worst, (found - least) / scale);
    }
    CHECK(slides > trials / 3);
    printf("    %d sliding contacts: at most %.2g above the least of %d points\n", slides, worst, around);
}

/* Without coupling between normal and tangent, and without friction, the two laws are one. */
TEST(without_coupling_both_laws_agree) {
    int trial, m;
    double worst = 0;
    for (trial = 0; trial < 20000; trial++) {
        const csim_real mu = CSIM_R(trial % 2 ? check_random(0, 2) : 0);
        csim_real W[9], c[3], exact[3], other[3];
        random_W(trial % FAMILIES, W);
        random_c(c);
        if (trial % 2) W[1] = W[2] = W[3] = W[6] = 0;
        csim_solve_contact(W, c, mu, CSIM_CONTACT_NEWTON, exact);
        for (m = CSIM_CONTACT_BISECTION; m < CSIM_CONTACT_METHOD_COUNT_; m++) {
            double size, d;
            csim_solve_contact(W, c, mu, (csim_contact_method)m, other);
            d = difference(other, exact, &size) / size;
            if (!(d <= worst)) worst = d;
        }
    }
    printf("    worst difference %.2g\n", worst);
    NEAR(worst, 0, TOL(1e-10, 2e-2));
}

/* Fig. 6 of the paper, for W of our own: there it is one robot, 99.6 % of the samples below 1 %. */
TEST(histogram_of_coulomb_against_maximal_dissipation) {
    static const double edge[6] = {1e-4, 1e-3, 1e-2, 1e-1, 1, 1e300};
    const int count = samples() / 5;
    int family, trial, k;
    for (family = 0; family < FAMILIES; family++) {
        long bin[6] = {0}, slides = 0;
        double more = 0;
        for (trial = 0; trial < count; trial++) {
            const csim_real mu = CSIM_R(check_random(0.3, 1));
            csim_real W[9], c[3], exact[3], least[3];
            double size, d;
            random_W(family, W);
            random_c(c);
            csim_solve_contact(W, c, mu, CSIM_CONTACT_NEWTON, exact);
            csim_solve_contact(W, c, mu, CSIM_CONTACT_BISECTION, least);
            d = difference(least, exact, &size) / size;
            slides += hypot((double)exact[1], (double)exact[2]) > 0.999 * (double)mu * (double)exact[0];
            for (k = 0; d >= edge[k]; k++) continue;
            bin[k]++;
            d = energy(W, c, least) - energy(W, c, exact);
            more = fmax(more, d / (fabs((double)(c[0] * exact[0])) + fabs(energy(W, c, exact))));
        }
        printf("    %-24s slides %4.1f %%; difference <1e-4 %4.1f, <1e-3 %4.1f, <1e-2 %4.1f, <.1 %4.1f, <1 %4.1f, "
               "more %4.1f %%\n",
               family_name[family], 100.0 * (double)slides / count, 100.0 * (double)bin[0] / count,
               100.0 * (double)bin[1] / count, 100.0 * (double)bin[2] / count, 100.0 * (double)bin[3] / count,
               100.0 * (double)bin[4] / count, 100.0 * (double)bin[5] / count);
        NEAR(more, 0, TOL(1e-10, 1e-2)); /* maximal dissipation leaves no more energy than Coulomb */
        if (family == DOMINANT) CHECK(bin[0] + bin[1] + bin[2] + bin[3] > count * 9 / 10);
        CHECK(bin[5] < count); /* and the histogram is one */
    }
}

/* Data at the edge: nothing but finite impulses inside the cone comes out. */
TEST(extreme_contacts_stay_finite) {
    int trial, k, m, bad = 0;
    for (trial = 0; trial < 40000; trial++) {
        const double mu = trial % 7 == 0 ? 0 : pow(10, check_random(-8, 4)), stretch = pow(10, check_random(-6, 6));
        csim_real W[9], c[3], lambda[3];
        random_W(trial % FAMILIES, W);
        random_c(c);
        for (k = 0; k < 9; k++) W[k] *= CSIM_R((k % 3 == 2 ? stretch : 1) * (k / 3 == 2 ? stretch : 1));
        if (trial % 11 == 0) W[1] = W[2] = W[3] = W[6] = CSIM_R(0.999999) * CSIM_R(sqrt((double)(W[0] * W[4])));
        if (trial % 13 == 0) c[1] = 0;
        if (trial % 17 == 0) c[1] = c[2] = 0;
        for (m = 0; m < CSIM_CONTACT_METHOD_COUNT_; m++) {
            double t;
            STATUS(csim_solve_contact(W, c, CSIM_R(mu), (csim_contact_method)m, lambda), CSIM_OK);
            t = hypot((double)lambda[1], (double)lambda[2]);
            for (k = 0; k < 3; k++) bad += !csimi_finite(lambda[k]);
            if (!(lambda[0] >= 0 && t <= (double)CSIM_R(mu) * (double)lambda[0] * (1 + TOL(1e-9, 1e-3)))) {
                CASE("trial %d, method %d, mu %g, stretch %g: %g %g", trial, m, mu, stretch, (double)lambda[0], t);
                CHECK(false);
            }
        }
    }
    EQUAL(bad, 0);
}

TEST(single_contact_tells_bad_numbers) {
    csim_real W[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, c[3] = {-1, 0, 0}, lambda[3];
    const csim_real none = c[1] / c[2]; /* NaN */
    STATUS(csim_solve_contact(W, c, CSIM_R(0.5), CSIM_CONTACT_NEWTON, NULL), CSIM_NULL_ARGUMENT);
    STATUS(csim_solve_contact(NULL, c, CSIM_R(0.5), CSIM_CONTACT_NEWTON, lambda), CSIM_NULL_ARGUMENT);
    STATUS(csim_solve_contact(W, NULL, CSIM_R(0.5), CSIM_CONTACT_NEWTON, lambda), CSIM_NULL_ARGUMENT);
    STATUS(csim_solve_contact(W, c, CSIM_R(-0.5), CSIM_CONTACT_NEWTON, lambda), CSIM_OUT_OF_RANGE);
    STATUS(csim_solve_contact(W, c, CSIM_R(0.5), CSIM_CONTACT_METHOD_COUNT_, lambda), CSIM_OUT_OF_RANGE);
    STATUS(csim_solve_contact(W, c, none, CSIM_CONTACT_NEWTON, lambda), CSIM_NOT_FINITE);
    W[4] = 0;
    STATUS(csim_solve_contact(W, c, CSIM_R(0.5), CSIM_CONTACT_NEWTON, lambda), CSIM_OUT_OF_RANGE);
    W[4] = none;
    lambda[0] = 7;
    STATUS(csim_solve_contact(W, c, CSIM_R(0.5), CSIM_CONTACT_NEWTON, lambda), CSIM_NOT_FINITE);
    NEAR(lambda[0], 0, 0);
    W[4] = 1;
    STATUS(csim_solve_contact(W, c, CSIM_R(0.5), CSIM_CONTACT_QUARTIC, lambda), CSIM_OK);
    NEAR(lambda[0], 1, 0);
}
