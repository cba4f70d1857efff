/* Block matrices against dense ones. */
#include "check.h"

enum { MAX_N = 60, MAX_PAIRS = 400, MAX_BLOCKS = MAX_N + 2 * MAX_PAIRS };

static struct {
    int n, pairs[2 * MAX_PAIRS], row[MAX_N + 1], col[MAX_BLOCKS], diag[MAX_N];
    int scratch[2 * (MAX_N + MAX_PAIRS) + 1], needed;
    csim_real val[9 * MAX_BLOCKS];
    double dense[9 * MAX_N * MAX_N];
    csim_block_matrix A;
} m;

/* A random pattern with repeats, filled with a symmetric positive definite matrix (diagonally dominant). */
static void random_matrix(int n, int pair_count) {
    int i, j, k, r, c, blocks;
    m.n = n;
    for (k = 0; k < pair_count; k++) {
        i = (int)check_random(0, n);
        j = (int)check_random(0, n);
        m.pairs[2 * k] = i;
        m.pairs[2 * k + 1] = j;
    }
    blocks = csimi_pattern_build(n, pair_count, m.pairs, m.row, m.col, m.diag, MAX_BLOCKS, &m.needed, m.scratch);
    EQUAL(blocks, m.needed);
    memset(m.dense, 0, sizeof m.dense);
    for (k = 0; k < pair_count; k++)
        for (r = 0; r < 9; r++) {
            csim_real a = CSIM_R(check_random(-1, 1));
            i = 3 * m.pairs[2 * k] + r / 3;
            j = 3 * m.pairs[2 * k + 1] + r % 3;
            m.dense[3 * n * i + j] = m.dense[3 * n * j + i] = (double)a;
        }
    for (i = 0; i < 3 * n; i++) {
        double sum = 0;
        for (j = 0; j < 3 * n; j++) sum += j == i ? 0 : fabs(m.dense[3 * n * i + j]);
        m.dense[3 * n * i + i] = (double)CSIM_R(sum + 0.5);
    }
    m.A.n = n;
    m.A.row = m.row;
    m.A.col = m.col;
    m.A.diag = m.diag;
    m.A.val = m.val;
    for (i = 0; i < n; i++)
        for (k = m.row[i]; k < m.row[i + 1]; k++)
            for (r = 0; r < 3; r++)
                for (c = 0; c < 3; c++)
                    m.val[9 * k + 3 * r + c] = CSIM_R(m.dense[3 * n * (3 * i + r) + 3 * m.col[k] + c]);
}

TEST(pattern_holds_each_pair_once_and_sorted) {
    int trial, i, j, k, p;
    for (trial = 0; trial < 200; trial++) {
        int n = 1 + trial % MAX_N, pair_count = trial % 7 * 20;
        static bool wanted[MAX_N][MAX_N];
        int count = 0;
        CASE("n = %d, %d pairs", n, pair_count);
        random_matrix(n, pair_count);
        memset(wanted, 0, sizeof wanted);
        for (i = 0; i < n; i++) wanted[i][i] = true;
        for (p = 0; p < pair_count; p++)
            wanted[m.pairs[2 * p]][m.pairs[2 * p + 1]] = wanted[m.pairs[2 * p + 1]][m.pairs[2 * p]] = true;
        for (i = 0; i < n; i++) {
            for (j = 0; j < n; j++) {
                k = csimi_pattern_find(&m.A, i, j);
                count += wanted[i][j];
                CHECK((k >= 0) == wanted[i][j]);
                CHECK(k < 0 || (k >= m.row[i] && k < m.row[i + 1] && m.col[k] == j));
            }
            EQUAL(m.diag[i], csimi_pattern_find(&m.A, i, i));
            for (k = m.row[i] + 1; k < m.row[i + 1]; k++) CHECK(m.col[k] > m.col[k - 1]);
        }
        EQUAL(m.row[n], count);
        EQUAL(csimi_pattern_build(n, pair_count, m.pairs, m.row, m.col, m.diag, count - 1, &m.needed, m.scratch), -1);
        EQUAL(m.needed, count);
    }
    CHECK(sizeof m.scratch >= sizeof(int) * csimi_pattern_scratch(MAX_N, MAX_PAIRS));
}

TEST(product_equals_dense_and_any_split) {
    int trial, i, j;
    for (trial = 0; trial < 60; trial++) {
        int n = 1 + trial;
        static csim_real x[3 * MAX_N], y[3 * MAX_N], z[3 * MAX_N];
        random_matrix(n, 6 * n);
        for (i = 0; i < 3 * n; i++) x[i] = CSIM_R(check_random(-1, 1));
        csimi_product(&m.A, x, y, NULL);
        for (i = 0; i < 3 * n; i++) {
            double sum = 0, size = 0;
            for (j = 0; j < 3 * n; j++) {
                sum += m.dense[3 * n * i + j] * (double)x[j];
                size += fabs(m.dense[3 * n * i + j]);
            }
            NEAR(y[i], sum, TOL(1e-15, 1e-6) * size); /* a few roundings of the largest partial sum */
        }
        for (i = 0; i < n; i += 1 + trial % 3) csimi_product_rows(&m.A, x, z, i, csimi_imin(n, i + 1 + trial % 3));
        CHECK(memcmp(y, z, sizeof(csim_real) * 3 * (size_t)n) == 0);
    }
}

#ifndef __FMA__ /* with it the compiler may fuse products and sums differently here and there */
/* The vector and the plain kernels add in the same order: three sums an entry, one a column of the blocks. */
TEST(product_has_the_bits_of_the_plain_loop) {
    int trial, i, k, r;
    for (trial = 0; trial < 40; trial++) {
        int n = 1 + trial;
        csim_real x[3 * MAX_N], y[3 * MAX_N];
        bool same = true;
        random_matrix(n, 8 * n);
        for (i = 0; i < 3 * n; i++) x[i] = CSIM_R(check_random(-1, 1));
        csimi_product(&m.A, x, y, NULL);
        for (i = 0; i < n; i++)
            for (r = 0; r < 3; r++) {
                csim_real s0 = 0, s1 = 0, s2 = 0;
                for (k = m.row[i]; k < m.row[i + 1]; k++) {
                    s0 += m.val[9 * k + 3 * r] * x[3 * m.col[k]];
                    s1 += m.val[9 * k + 3 * r + 1] * x[3 * m.col[k] + 1];
                    s2 += m.val[9 * k + 3 * r + 2] * x[3 * m.col[k] + 2];
                }
                same = same && y[3 * i + r] == s0 + s1 + s2;
            }
        CHECK(same);
    }
}
#endif

static double H[180 * 180], H0[180 * 180], solution[180];

TEST(cholesky_solves) {
    int size, i, j;
    for (size = 1; size <= 180; size += 1 + size / 9) {
        double worst = 0;
        random_matrix((size + 2) / 3, 4 * size < MAX_PAIRS ? 4 * size : MAX_PAIRS);
        for (i = 0; i < size; i++)
            for (j = 0; j < size; j++) H[size * i + j] = j <= i ? m.dense[3 * m.n * i + j] : -7e77; /* never read */
        for (i = 0; i < size; i++)
            for (j = 0; j < size; j++) H0[size * i + j] = m.dense[3 * m.n * i + j];
        CASE("m = %d", size);
        REQUIRE(csimi_cholesky(size, H, NULL, NULL));
        for (i = 0; i < size; i++) {
            solution[i] = 0;
            for (j = 0; j < size; j++) solution[i] += H0[size * i + j] * (1 + 0.5 * (j % 5));
        }
        csimi_cholesky_solve(size, H, NULL, solution);
        for (j = 0; j < size; j++) {
            double error = fabs(solution[j] - (1 + 0.5 * (j % 5)));
            worst = error > worst ? error : worst;
        }
        NEAR(worst, 0, 1e-11); /* eps times a condition number below 1e4; double in both builds */
    }
    H[0] = 1;
    H[2] = 2;
    H[3] = 4 - 1e-9;
    CHECK(!csimi_cholesky(2, H, NULL, NULL));
    H[0] = NAN;
    CHECK(!csimi_cholesky(2, H, NULL, NULL));
}

/* Ranges from the last to the first. */
static void from_behind(void *user, int count, int grain, csim_range_fn *fn, void *context) {
    int begin;
    (void)user;
    for (begin = (count - 1) / grain * grain; begin >= 0; begin -= grain)
        fn(context, begin, begin + grain < count ? begin + grain : count);
}

/* Of a band with holes the factor, in ranges of any order, has the bits of the whole, and a solve by what its rows reach
   looks at nothing beyond what the three rows or columns beside it reach. */
TEST(a_factor_in_ranges_is_the_whole_and_reads_its_envelope) {
    static int reach[360], first[180];
    static double whole[180];
    const csim_tasks tasks = {from_behind, NULL};
    int size, i, j, k, beyond = 0;
    for (size = 3; size <= 180; size += 1 + size / 7) {
        CASE("m = %d", size);
        for (i = 0; i < size; i++) {
            first[i] = (int)check_random(i > 70 ? i - 70 : 0, i + 1);
            for (j = 0; j <= i; j++)
                H0[size * i + j] = j < first[i] ? 0 : j < i ? check_random(-1, 1) : 90 + check_random(0, 9);
            solution[i] = whole[i] = check_random(-1, 1);
        }
        memcpy(H, H0, sizeof H);
        REQUIRE(csimi_cholesky(size, H, NULL, NULL));
        csimi_cholesky_solve(size, H, NULL, whole);
        memcpy(H, H0, sizeof H);
        REQUIRE(csimi_cholesky(size, H, reach, &tasks));
        for (i = 0; i < size; i++) {
            EQUAL(reach[i], first[i]);
            for (k = j = i; k < size; k++)
                if (first[k] <= i) j = k;
            EQUAL(reach[size + i], j);
        }
        for (i = 0; i < size; i++) { /* L in row i, L' in column i of the rows above */
            int from = first[i];
            for (k = i - 3; k <= i + 3; k++)
                if (k >= 0 && k < size && first[k] < from) from = first[k];
            for (j = 0; j < from; j++) H[size * i + j] = NAN;
            for (j = 0; j < i; j++)
                if (i > reach[size + (j + 3 < size ? j + 3 : size - 1)]) H[size * j + i] = NAN, beyond++;
        }
        csimi_cholesky_solve(size, H, reach, solution);
        for (i = 0; i < size; i++) CHECK(memcmp(solution + i, whole + i, sizeof *whole) == 0);
    }
    CHECK(beyond > 1000);
}

TEST(pcg_solves_what_cholesky_solves) {
    int trial, i;
    static csim_real x[3 * MAX_N], rhs[3 * MAX_N], work[21 * MAX_N];
    for (trial = 1; trial < 60; trial++) {
        int n = trial, iterations;
        random_matrix(n, 4 * n);
        for (i = 0; i < 3 * n; i++) {
            rhs[i] = CSIM_R(check_random(-1, 1));
            x[i] = CSIM_R(check_random(-1, 1));
            solution[i] = (double)rhs[i];
        }
        memcpy(H, m.dense, sizeof(double) * 9 * (size_t)n * (size_t)n);
        REQUIRE(csimi_cholesky(3 * n, H, NULL, NULL));
        csimi_cholesky_solve(3 * n, H, NULL, solution);
        iterations = csimi_pcg(&m.A, rhs, x, TOL(CSIM_R(1e-13), CSIM_R(1e-6)), 400, work, NULL);
        CASE("n = %d, %d iterations", n, iterations);
        CHECK(iterations >= 0 && iterations < 400);
        for (i = 0; i < 3 * n; i++) NEAR(x[i], solution[i], TOL(1e-11, 1e-4)); /* tolerance times condition */
    }
    memset(x, 0, sizeof x);
    memset(rhs, 0, sizeof rhs);
    EQUAL(csimi_pcg(&m.A, rhs, x, CSIM_R(1e-6), 100, work, NULL), 0);
    m.val[9 * m.diag[3]] = -1;
    EQUAL(csimi_pcg(&m.A, rhs, x, CSIM_R(1e-6), 100, work, NULL), -1);
}

enum { SIDE = 12, GRID = SIDE * SIDE * SIDE };

/* A lattice of SIDE^3 points with edges between neighbours, cut into pieces at x = cut. */
static int lattice(csim_real *x, int *pairs, int cut) {
    int i, axis, count = 0;
    for (i = 0; i < GRID; i++) {
        int c[3], step[3] = {1, SIDE, SIDE * SIDE};
        c[0] = i % SIDE;
        c[1] = i / SIDE % SIDE;
        c[2] = i / SIDE / SIDE;
        for (axis = 0; axis < 3; axis++) {
            x[3 * i + axis] = CSIM_R(c[axis]);
            if (c[axis] + 1 == SIDE || (axis == 0 && c[0] + 1 == cut)) continue;
            pairs[2 * count] = i;
            pairs[2 * count + 1] = i + step[axis];
            count++;
        }
    }
    return count;
}

TEST(aggregates_are_balanced_connected_and_repeatable) {
    static csim_real x[3 * GRID];
    static int pairs[6 * GRID], row[GRID + 1], col[7 * GRID], diag[GRID], scratch[8 * GRID + 1];
    static int aggregate[GRID], again[GRID], size[GRID];
    int cut, count, needed, i, k, a;
    for (cut = 0; cut <= 5; cut += 5)
        for (count = 1; count <= 64; count *= 2) {
            int pair_count = lattice(x, pairs, cut), made, smallest = GRID, largest = 0, wanted = count;
            csimi_pattern_build(GRID, pair_count, pairs, row, col, diag, 7 * GRID, &needed, scratch);
            made = csimi_aggregate(GRID, row, col, x, count, aggregate, scratch);
            CASE("%d aggregates, cut at %d", count, cut);
            EQUAL(made, wanted);
            EQUAL(made, csimi_aggregate(GRID, row, col, x, count, again, scratch));
            CHECK(memcmp(aggregate, again, sizeof again) == 0);
            memset(size, 0, sizeof size);
            for (i = 0; i < GRID; i++) {
                CHECK(aggregate[i] >= 0 && aggregate[i] < made);
                size[aggregate[i]]++;
            }
            for (a = 0; a < made; a++) {
                smallest = size[a] < smallest ? size[a] : smallest;
                largest = size[a] > largest ? size[a] : largest;
            }
            CHECK(8 * smallest * made >= GRID && largest * made <= 3 * GRID);
            for (i = 0; i < GRID && made > 1 && size[aggregate[i]] > 1; i++) { /* no node without a friend */
                int friends = 0;
                for (k = row[i]; k < row[i + 1]; k++) friends += col[k] != i && aggregate[col[k]] == aggregate[i];
                CHECK(friends > 0);
            }
            if (cut && made > 1)
                for (i = 0; i < GRID; i++)
                    if (i % SIDE < cut) CHECK(aggregate[i] != aggregate[i - i % SIDE + SIDE - 1]);
        }
}

/* Neighbours in the graph have like numbers: the factor of a matrix of the aggregates reads short rows. */
TEST(aggregates_are_numbered_from_end_to_end) {
    static csim_real x[3 * GRID];
    static int pairs[6 * GRID], row[GRID + 1], col[7 * GRID], diag[GRID], scratch[8 * GRID + 1], aggregate[GRID];
    int needed, made, i, k, sum = 0, first[64];
    csimi_pattern_build(GRID, lattice(x, pairs, 0), pairs, row, col, diag, 7 * GRID, &needed, scratch);
    made = csimi_aggregate(GRID, row, col, x, 64, aggregate, scratch);
    EQUAL(made, 64);
    for (i = 0; i < made; i++) first[i] = i;
    for (i = 0; i < GRID; i++)
        for (k = row[i]; k < row[i + 1]; k++)
            first[aggregate[i]] = aggregate[col[k]] < first[aggregate[i]] ? aggregate[col[k]] : first[aggregate[i]];
    for (i = 0; i < made; i++) sum += i - first[i];
    CHECK(sum < 20 * made); /* a layer of 16; in the order of their making it is more */
}

TEST(aggregates_of_degenerate_graphs) {
    int row[6] = {0, 0, 0, 0, 0, 0}, aggregate[5], scratch[21];
    csim_real x[15] = {0, 0, 0, 5, 0, 0, 1, 0, 0, 6, 0, 0, 2, 0, 0};
    EQUAL(csimi_aggregate(5, row, NULL, x, 2, aggregate, scratch), 2);
    CHECK(aggregate[0] == aggregate[2] && aggregate[2] == aggregate[4] && aggregate[1] == aggregate[3]);
    CHECK(aggregate[0] != aggregate[1]);
    EQUAL(csimi_aggregate(5, row, NULL, x, 99, aggregate, scratch), 5);
    EQUAL(csimi_aggregate(1, row, NULL, x, 3, aggregate, scratch), 1);
    EQUAL(aggregate[0], 0);
}

/* What a block of a row takes from the blocks after it, by vectors where there are any: the bits of plain sums, and
   nothing before or behind. */
TEST(vectors_of_a_factor_give_the_bits_of_plain_sums) {
    static size_t first[1] = {1};
    static int index[3] = {0, 2, 3};
    static double value[27], row[36], want[36];
    csimi_factor f;
    int i, k, c;
    memset(&f, 0, sizeof f);
    f.first = first, f.index = index, f.value = value, f.row = row;
    for (i = 0; i < 27; i++) value[i] = check_random(-1, 1);
    for (i = 0; i < 36; i++) want[i] = row[i] = check_random(-1, 1);
    for (i = 1; i < 3; i++) /* columns of the transpose */
        for (k = 0; k < 9; k++) {
            const double *x = row + k / 3 * 3, *T = value + 9 * i + k % 3;
            want[9 * index[i] + k] -= x[0] * T[0] + x[1] * T[3] + x[2] * T[6];
        }
    csimi_factor_spread(&f, 0, 3);
    for (c = 0; c < 36; c++) CHECK(memcmp(row + c, want + c, sizeof *row) == 0);
}
