/* Nanoseconds of one sliding contact, Table I of Hwangbo et al.: there bisection 580, golden section 1200, quartic
   1600, on a Xeon of 2012, down to an interval of 1e-6 N s. Prepared model, best of many passes over the same samples.
 */
#include "check.h"

enum { COUNT = 4096 };

static csim_contact contacts[COUNT];
static csimi_local locals[COUNT];
static csim_real speed[COUNT][3];

/* Sliding contacts only. */
static void fill(bool dominant) {
    int made = 0, i, j, k;
    while (made < COUNT) {
        double G[9];
        csim_real W[9], lambda[3], *c = speed[made];
        csim_contact *contact = contacts + made;
        for (k = 0; k < 9; k++) G[k] = check_random(-1, 1);
        for (i = 0; i < 3; i++)
            for (j = 0; j < 3; j++) {
                double sum = i == j ? 1e-2 : 0;
                for (k = 0; k < 3; k++) sum += G[3 * i + k] * G[3 * j + k];
                W[3 * i + j] = CSIM_R(!dominant ? sum : i == j ? 1 + G[i] / 2 : 0.1 * (G[3 * i + j] + G[3 * j + i]));
            }
        for (k = 0; k < 3; k++) c[k] = CSIM_R(check_random(-1, 1));
        if (c[0] > 0) c[0] = -c[0];
        memset(contact, 0, sizeof *contact);
        memset(locals + made, 0, sizeof *locals);
        contact->mu[0] = contact->mu[1] = CSIM_R(check_random(0.3, 1));
        csimi_local_set(locals + made, W);
        csimi_local_prepare(locals + made, contact, 0);
        csimi_local_solve(locals + made, c, lambda);
        if (locals[made].z > 0) made++;
    }
}

static double best(csim_contact_method method, csim_real width) {
    double least = 1e300;
    int pass, m;
    for (pass = 0; pass < 40; pass++) {
        const clock_t start = clock();
        double t;
        for (m = 0; m < COUNT; m++) {
            csim_real lambda[3];
            locals[m].z = 0; /* a cold start, as the others have */
            csimi_local_solve_by(locals + m, method, width, speed[m], lambda);
        }
        t = (double)(clock() - start) / CLOCKS_PER_SEC / COUNT;
        if (t < least) least = t;
    }
    return 1e9 * least;
}

TEST(nanoseconds_of_a_contact) {
    static const char *const name[4] = {"Newton, exact Coulomb", "bisection", "golden section", "quartic"};
    int dominant, m;
    for (dominant = 0; dominant < 2; dominant++) {
        fill(dominant != 0);
        printf("%s\n", dominant ? "diagonally dominant W" : "strongly coupled W");
        for (m = 0; m < CSIM_CONTACT_METHOD_COUNT_; m++)
            printf("  %-24s %6.0f ns to rounding, %6.0f ns to 1e-6\n", name[m],
                   best((csim_contact_method)m, 2 * CSIMI_EPS), best((csim_contact_method)m, CSIM_R(1e-6)));
        CHECK(locals[0].a > 0);
    }
}
