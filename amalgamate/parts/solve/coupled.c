/* solve/coupled: A as one sparse factor, A = E' E with E = L' P (sparse/cholesky.c), and the rows of contacts on it,
   as bodies.c has them where A is a set of small bodies: in w = E v the matrix is the identity, and a row J of a
   contact is J E^-1. It is not zero on what the elimination tree reaches from the blocks of the contact: log n of them
   on a cable, a separator or the blocks that contacts touch on a sheet or a solid.

   What that costs is known before anything is computed, in block products, and L is bounded by
   csimi_coupled_most_blocks, the rows by what the caller has room for: what needs more is refused. */
#include "private.h"

/* Blocks that L may have: some six times those of A keep memory linear; a full L where that is less. */
CSIMI_FN size_t csimi_coupled_most_blocks(int n, int matrix_blocks) {
    const size_t all = (size_t)n * ((size_t)n + 1) / 2, some = 6 * (size_t)matrix_blocks + 64;
    return all < some ? all : some;
}

/* Pieces that all rows may have: memory is asked for before the elimination tree is known. */
CSIMI_FN int csimi_coupled_most_pieces(int n, int terms, int contacts) {
    const double most = 6.0 * terms + 12.0 * contacts, all = 2.0 * n * contacts;
    return (int)(all < most ? all : most < INT32_MAX / 64 ? most : INT32_MAX / 64);
}

CSIMI_FN void csimi_coupled_layout(csimi_coupled *c, csimi_arena *arena, int n, int matrix_blocks) {
    c->n = n;
    c->blocks = csimi_coupled_most_blocks(n, matrix_blocks);
    c->shelf = arena->shelf;
    c->known = NULL;
    c->late = CSIMI_PUSH(arena, unsigned char, n);
    c->first = CSIMI_PUSH(arena, int, n);
    c->size = CSIMI_PUSH(arena, int, n);
    csimi_factor_layout(&c->factor, arena, n);
}

CSIMI_FN csimi_piece *csimi_coupled_layout_rows(csimi_coupled *c, csimi_arena *arena, size_t blocks, int pieces) {
    csimi_factor_layout_blocks(&c->factor, arena, blocks);
    return CSIMI_PUSH(arena, csimi_piece, pieces);
}

/* ---- factors that are kept */

/* The factor that an earlier solve of the island left, if its contacts touched the same blocks: the order is theirs. */
static bool csimi_coupled_recall(csimi_coupled *c) {
    csimi_coupled *k = c->shelf ? c->shelf->list : NULL;
    int i = 0;
    while (k && k->island != c->shelf->island) k = k->next;
    while (k && i < c->n && k->late[i] == c->late[i]) ++i;
    c->known = k && i == c->n ? k : NULL;
    if (c->known) c->factor = k->factor;
    return c->known != NULL;
}

/* Leaves a copy to the next solve of the island, where there is room. */
static void csimi_coupled_leave(const csimi_coupled *c) {
    csimi_shelf *shelf = c->shelf;
    csimi_arena room = shelf->room;
    csimi_coupled *k = CSIMI_PUSH(&room, csimi_coupled, 1), copy;
    const size_t begin = room.used;
    size_t end;
    csimi_coupled_layout(&copy, &room, c->n, 0);
    end = room.used;
    (void)csimi_coupled_layout_rows(&copy, &room, c->factor.first[c->n], 0);
    if (room.overflow) return;
    CSIMI_MEMCPY(copy.late, c->late, end - begin); /* laid out alike: all arrays from the first on */
    CSIMI_MEMCPY(copy.factor.index, c->factor.index, room.used - end);
    copy.next = shelf->list;
    copy.island = shelf->island;
    *k = copy;
    shelf->list = k;
    shelf->room = room;
}

/* ---- what is to be done */

/* Places that the blocks of a contact reach in w, descendants first, into stack[returned .. n). */
static int csimi_coupled_reach(csimi_coupled *c, const csim_problem *p, const csim_contact *contact, int mark) {
    csimi_factor *f = &c->factor;
    int side, k, i, top = c->n, length;
    for (side = 0; side < 2; ++side) {
        const csim_side *s = side ? &contact->b : &contact->a;
        for (k = s->first; k < s->first + s->count; ++k) {
            for (length = 0, i = f->place[p->terms[k].block]; i >= 0 && f->mark[i] != mark; i = f->parent[i]) {
                f->stack[length++] = i;
                f->mark[i] = mark;
            }
            while (length > 0) f->stack[--top] = f->stack[--length]; /* before what it joins: descendants first */
        }
    }
    return top;
}

/* first and size of every place: of the piece of A that it belongs to. */
static void csimi_coupled_pieces_of(csimi_coupled *c) {
    const csimi_factor *f = &c->factor;
    int k, start = c->n;
    for (k = c->n - 1; k >= 0; --k) { /* pieces follow each other, and each ends with its root */
        c->first[k] = 0;
        if (f->parent[k] < 0) start = k + 1;
        c->size[k] = start; /* where its piece ends, until the sizes are known */
    }
    for (k = 0; k < c->n; ++k) c->first[k] = k > 0 && c->size[k] == c->size[k - 1] ? c->first[k - 1] : k;
    for (k = 0; k < c->n; ++k) c->size[k] -= c->first[k];
}

CSIMI_FN bool csimi_coupled_plan(csimi_coupled *c, const csim_problem *p, int most) {
    csimi_factor *f = &c->factor;
    const csim_side *side;
    const int limit = most > 0 ? most : csimi_coupled_most_pieces(c->n, csimi_pieces_count(p), p->contact_count);
    int k, m;
    CSIMI_MEMSET(c->late, 0, (size_t)c->n);
    /* blocks that contacts touch are eliminated last, so that few places lie above them in the tree */
    for (m = 0; m < p->contact_count; ++m)
        for (side = &p->contacts[m].a; side; side = side == &p->contacts[m].a ? &p->contacts[m].b : NULL)
            for (k = side->first; k < side->first + side->count; ++k) c->late[p->terms[k].block] = 1;
    if (!csimi_coupled_recall(c)) csimi_factor_plan(f, &p->A, c->late);
    c->pieces = 0;
    c->products = 0;
    if (f->first[c->n] > c->blocks) return false; /* L would be too large */
    csimi_coupled_pieces_of(c);
    for (k = 0; k < c->n; ++k) {
        const double length = (double)(f->first[k + 1] - f->first[k]);
        if (c->size[k] > CSIMI_BODY_BLOCKS) c->products += length * (length + 3) / 2; /* of column k */
        f->mark[k] = -1; /* a contact marks with its number */
    }
    for (m = 0; m < p->contact_count; ++m) {
        const int top = csimi_coupled_reach(c, p, p->contacts + m, m);
        for (k = top; k < c->n; ++k)
            if (c->size[f->stack[k]] > CSIMI_BODY_BLOCKS)
                c->products += (double)(f->first[f->stack[k] + 1] - f->first[f->stack[k]] + 1);
        c->pieces += c->n - top;
        if (c->pieces > limit) return false;
    }
    return true;
}

CSIMI_FN bool csimi_coupled_open(csimi_coupled *c, const csim_problem *p) {
    int k;
    if (c->known)
        c->factor = c->known->factor; /* not in the room that was laid out for one */
    else if (!csimi_factor_compute(&c->factor, &p->A))
        return false;
    else if (c->shelf)
        csimi_coupled_leave(c);
    for (k = 0; k < c->n; ++k) c->factor.mark[k] = -1; /* csimi_coupled_rows marks from 0 on again */
    return true;
}

/* ---- rows */

/* Adds R J of a term to the row being made, at the place of its block; side b with a minus. */
static void csimi_coupled_term(const csimi_coupled *c, const csim_contact *contact, const csim_term *t, bool b) {
    double *X = c->factor.row + 9 * (size_t)c->factor.place[t->block];
    csim_real J[9];
    int r;
    csimi_matmul(contact->R, t->J, J);
    for (r = 0; r < 9; ++r) X[r] += b ? -(double)J[r] : (double)J[r];
}

CSIMI_FN int csimi_coupled_rows(csimi_coupled *c, const csim_problem *p, int m, csimi_piece *piece) {
    const csim_contact *contact = p->contacts + m;
    csimi_factor *f = &c->factor;
    int top = csimi_coupled_reach(c, p, contact, m), k, r, count = 0;
    for (k = contact->a.first; k < contact->a.first + contact->a.count; ++k)
        csimi_coupled_term(c, contact, p->terms + k, false);
    for (k = contact->b.first; k < contact->b.first + contact->b.count; ++k)
        csimi_coupled_term(c, contact, p->terms + k, true);
    for (; top < c->n; ++top, ++count) {
        const int i = f->stack[top];
        double *X = f->row + 9 * (size_t)i;
        csimi_factor_side(f, i, X); /* X E^-1 by substitution, descendants first */
        csimi_factor_spread(f, i, f->first[i + 1]);
        piece[count].block = i;
        for (r = 0; r < 9; ++r) {
            piece[count].J[r] = (csim_real)X[r];
            X[r] = 0; /* the next contact finds zeros */
        }
    }
    return count;
}
