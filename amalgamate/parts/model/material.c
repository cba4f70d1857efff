/* model/material: isotropic laws in principal stretches, with the eigensystem of their tangent.

   For Psi(s) the tangent of P = U diag(dPsi/ds) V' has d2Psi/ds2 on the three scalings U e_i e_i' V', and per axis k
   (i, j the others) the eigenvalues (g_i - g_j) / (s_i - s_j) on the flip U (e_i e_j' + e_j e_i') V' and
   (g_i + g_j) / (s_i + s_j) on the twist U (e_i e_j' - e_j e_i') V'. Every law writes these quotients out, so that
   equal stretches divide nothing by nothing. */
#include "private.h"

static csim_real csimi_corotational_stretches(const csim_real *s, csim_real mu, csim_real lambda, csimi_stretches *d) {
    csim_real trace = s[0] + s[1] + s[2] - 3, energy = lambda * trace * trace / 2;
    int k;
    for (k = 0; k < 3; k++) {
        csim_real sum = s[(k + 1) % 3] + s[(k + 2) % 3];
        energy += mu * (s[k] - 1) * (s[k] - 1);
        d->g[k] = 2 * mu * (s[k] - 1) + lambda * trace;
        d->flip[k] = 2 * mu;
        d->twist[k] = csimi_abs(sum) > CSIM_R(1e-3) ? 2 * mu + (2 * lambda * trace - 4 * mu) / sum : 0;
    }
    for (k = 0; k < 9; k++) d->H[k] = lambda + (k % 4 == 0 ? 2 * mu : 0);
    return energy;
}

/* Smith et al. 2018, eq. 14: mu/2 (I_C - 3) + lambda/2 (J - alpha)^2 - mu/2 log(I_C + 1), in their Lame constants; zero
   at rest. */
static csim_real csimi_neo_hookean_stretches(const csim_real *s, csim_real mu_lame, csim_real lambda_lame,
                                             csimi_stretches *d) {
    csim_real mu = mu_lame * 4 / 3, lambda = lambda_lame + mu_lame * 5 / 6, alpha = 1 + CSIM_R(0.75) * mu / lambda;
    csim_real square = s[0] * s[0] + s[1] * s[1] + s[2] * s[2], one = 1 / (square + 1);
    csim_real shear = mu * (1 - one), volume = lambda * (s[0] * s[1] * s[2] - alpha);
    int i, j, k;
    for (k = 0; k < 3; k++) {
        csim_real area;
        i = (k + 1) % 3;
        j = (k + 2) % 3;
        area = s[i] * s[j];
        d->g[k] = shear * s[k] + volume * area;
        d->flip[k] = shear - s[k] * volume;
        d->twist[k] = shear + s[k] * volume;
        d->H[4 * k] = shear + 2 * mu * one * one * s[k] * s[k] + lambda * area * area;
        d->H[3 * i + j] = d->H[3 * j + i] = 2 * mu * one * one * area + lambda * area * s[k] * s[k] + volume * s[k];
    }
    return mu / 2 * (square - 3) - mu / 2 * CSIMI_LOG((square + 1) / 4) +
           lambda / 2 * ((s[0] * s[1] * s[2] - 1) * (s[0] * s[1] * s[2] + 1 - 2 * alpha));
}

static csim_real csimi_green_stretches(const csim_real *s, csim_real mu, csim_real lambda, csimi_stretches *d) {
    csim_real e[3], trace = 0, energy = 0;
    int i, j, k;
    for (k = 0; k < 3; k++) {
        e[k] = (s[k] - 1) * (s[k] + 1) / 2;
        trace += e[k];
        energy += mu * e[k] * e[k];
    }
    for (k = 0; k < 3; k++) {
        csim_real squares;
        i = (k + 1) % 3;
        j = (k + 2) % 3;
        squares = 2 * mu * (e[i] + e[j]) + mu + lambda * trace; /* mu (s_i^2 + s_j^2 - 1) + lambda tr E */
        d->g[k] = s[k] * (2 * mu * e[k] + lambda * trace);
        d->flip[k] = squares + mu * s[i] * s[j];
        d->twist[k] = squares - mu * s[i] * s[j];
        d->H[4 * k] = 2 * mu * e[k] + lambda * trace + (2 * mu + lambda) * s[k] * s[k];
        d->H[3 * i + j] = d->H[3 * j + i] = lambda * s[i] * s[j];
    }
    return energy + lambda / 2 * trace * trace;
}

CSIMI_FN csim_real csimi_material(int material, const csim_real *s, csim_real mu, csim_real lambda, csim_real pressure,
                                  csimi_stretches *d) {
    csim_real energy = material == CSIM_NEO_HOOKEAN           ? csimi_neo_hookean_stretches(s, mu, lambda, d)
                       : material == CSIM_ST_VENANT_KIRCHHOFF ? csimi_green_stretches(s, mu, lambda, d)
                                                              : csimi_corotational_stretches(s, mu, lambda, d);
    int i, j, k;
    for (k = 0; k < 3; k++) { /* -p (J - 1) */
        i = (k + 1) % 3;
        j = (k + 2) % 3;
        d->g[k] -= pressure * s[i] * s[j];
        d->flip[k] += pressure * s[k];
        d->twist[k] -= pressure * s[k];
        d->H[3 * i + j] -= pressure * s[k];
        d->H[3 * j + i] -= pressure * s[k];
    }
    return energy - pressure * (s[0] * s[1] * s[2] - 1);
}

CSIMI_FN void csimi_project_stretches(csimi_stretches *d) {
    csim_real eigenvalue[3], V[9];
    int i, j, k, sure = 0;
    for (k = 0; k < 3; k++) {
        const csim_real beside = csimi_abs(d->H[3 * k + (k + 1) % 3]) + csimi_abs(d->H[3 * k + (k + 2) % 3]);
        d->flip[k] = csimi_max(0, d->flip[k]);
        d->twist[k] = csimi_max(0, d->twist[k]);
        sure += beside <= CSIM_R(0.99) * d->H[4 * k]; /* a diagonal above what is beside it (Gershgorin) */
    }
    if (sure == 3) return; /* positive, far from rounding */
    csimi_eigen_sym3(d->H, eigenvalue, V);
    if (eigenvalue[0] >= 0) return;
    for (i = 0; i < 3; i++)
        for (j = i; j < 3; j++) {
            csim_real sum = 0;
            for (k = 0; k < 3; k++) sum += csimi_max(0, eigenvalue[k]) * V[3 * i + k] * V[3 * j + k];
            d->H[3 * i + j] = d->H[3 * j + i] = sum;
        }
}

CSIMI_FN void csimi_stretch_block(const csimi_stretches *d, const csim_real *U, const csim_real *a, const csim_real *b,
                                  csim_real *K) {
    csim_real M[9], T[9];
    int i, k;
    for (i = 0; i < 3; i++) {
        M[4 * i] = d->H[4 * i] * (a[i] * b[i]);
        for (k = 0; k < 3; k++) {
            csim_real flip, twist;
            if (k == i) continue;
            flip = d->flip[3 - i - k];
            twist = d->twist[3 - i - k];
            M[4 * i] += (flip + twist) / 2 * (a[k] * b[k]);
            M[3 * i + k] = d->H[3 * i + k] * (a[i] * b[k]) + (flip - twist) / 2 * (a[k] * b[i]);
        }
    }
    csimi_matmulT(M, U, T);
    csimi_matmul(U, T, K);
}

/* Plane stress: the third axis is the normal, along which nothing is strained; turning a stretched membrane out of its
   plane costs its tension, g_i / s_i. */
CSIMI_FN csim_real csimi_membrane_material(int material, const csim_real *s, csim_real mu, csim_real lambda,
                                           csimi_stretches *d) {
    csim_real trace, sum = s[0] + s[1], energy = 0;
    int k;
    CSIMI_MEMSET(d, 0, sizeof *d);
    if (material == CSIM_ST_VENANT_KIRCHHOFF) {
        csim_real e[2];
        for (k = 0; k < 2; k++) e[k] = (s[k] - 1) * (s[k] + 1) / 2;
        trace = e[0] + e[1];
        for (k = 0; k < 2; k++) {
            energy += mu * e[k] * e[k];
            d->g[k] = s[k] * (2 * mu * e[k] + lambda * trace);
            d->H[4 * k] = 2 * mu * e[k] + lambda * trace + (2 * mu + lambda) * s[k] * s[k];
        }
        d->H[1] = d->H[3] = lambda * s[0] * s[1];
        d->flip[2] = mu * (s[0] * s[0] + s[0] * s[1] + s[1] * s[1] - 1) + lambda * trace;
        d->twist[2] = mu * (s[0] * s[0] - s[0] * s[1] + s[1] * s[1] - 1) + lambda * trace;
    } else {
        trace = sum - 2;
        for (k = 0; k < 2; k++) {
            energy += mu * (s[k] - 1) * (s[k] - 1);
            d->g[k] = 2 * mu * (s[k] - 1) + lambda * trace;
            d->H[4 * k] = 2 * mu + lambda;
        }
        d->H[1] = d->H[3] = lambda;
        d->flip[2] = 2 * mu;
        d->twist[2] = (d->g[0] + d->g[1]) / csimi_max(sum, CSIM_R(1e-3));
    }
    for (k = 0; k < 2; k++) d->flip[1 - k] = d->twist[1 - k] = d->g[k] / csimi_max(s[k], CSIM_R(1e-3));
    return energy + lambda / 2 * trace * trace;
}
