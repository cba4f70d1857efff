/* Deflate: matches found by chains of equal three bytes, blocks with Huffman codes of their own. */
#include "png.h"
#include <stdlib.h>
#include <string.h>

enum {
    PACK_WINDOW = 32768,
    PACK_HASHES = 1 << 15,
    PACK_LONGEST = 258,
    PACK_TRIES = 96,    /* earlier places looked at */
    PACK_BLOCK = 30000, /* symbols of a block */
    PACK_LITERALS = 286,
    PACK_DISTANCES = 30
};

typedef struct packer {
    const unsigned char *in;
    size_t count;
    int *head, *chain;              /* last place of a hash; the place before each place */
    unsigned short *symbol, *reach; /* of a block: literal or 257 - 3 + length; distance, 0: a literal */
    int symbols;
    unsigned char *out;
    size_t used, room;
    unsigned bits; /* not yet a byte */
    int bit_count;
    bool failed;
} packer;

static void pack_byte(packer *p, unsigned value) {
    if (p->used == p->room) {
        unsigned char *more = (unsigned char *)realloc(p->out, p->room *= 2);
        if (!more) {
            p->failed = true;
            p->used = 0;
            return;
        }
        p->out = more;
    }
    p->out[p->used++] = (unsigned char)value;
}

static void pack_bits(packer *p, unsigned value, int count) {
    p->bits |= value << p->bit_count;
    for (p->bit_count += count; p->bit_count >= 8; p->bit_count -= 8, p->bits >>= 8) pack_byte(p, p->bits & 255);
}

/* ---- codes */

/* Lengths of a Huffman code, by joining the two rarest until one is left; halved counts where a code is too long. */
static void pack_lengths(const unsigned *count, int symbols, int longest, unsigned char *length) {
    unsigned weight[2 * PACK_LITERALS], scaled[PACK_LITERALS];
    int parent[2 * PACK_LITERALS], i, k, nodes, deepest;
    for (i = 0; i < symbols; i++) scaled[i] = count[i];
    do {
        int left = 0;
        for (i = 0; i < symbols; i++) weight[i] = scaled[i], parent[i] = -1, left += scaled[i] > 0;
        for (nodes = symbols; left > 1; left--, nodes++) {
            int low[2] = {-1, -1};
            for (i = 0; i < nodes; i++) {
                if (parent[i] >= 0 || !weight[i]) continue;
                if (low[0] < 0 || weight[i] < weight[low[0]]) {
                    low[1] = low[0], low[0] = i;
                } else if (low[1] < 0 || weight[i] < weight[low[1]]) {
                    low[1] = i;
                }
            }
            weight[nodes] = weight[low[0]] + weight[low[1]];
            parent[nodes] = -1;
            parent[low[0]] = parent[low[1]] = nodes;
        }
        for (i = deepest = 0; i < symbols; i++) {
            for (k = i, length[i] = 0; parent[k] >= 0; k = parent[k]) length[i]++;
            if (scaled[i] && !length[i]) length[i] = 1; /* the only symbol */
            if (length[i] > deepest) deepest = length[i];
            if (scaled[i]) scaled[i] = scaled[i] / 2 + 1;
        }
    } while (deepest > longest);
}

/* Codes of given lengths, their first bit lowest, as the format wants them. */
static void pack_codes(const unsigned char *length, int symbols, unsigned short *code) {
    unsigned next = 0, bits, i;
    int s;
    for (bits = 1; bits <= 15; bits++, next <<= 1)
        for (s = 0; s < symbols; s++) {
            unsigned turned = 0;
            if (length[s] != bits) continue;
            for (i = 0; i < bits; i++) turned |= (next >> i & 1) << (bits - 1 - i);
            code[s] = (unsigned short)turned;
            next++;
        }
}

/* Symbol, extra bits and first value of a length or a distance: value = base + extra. */
static int pack_class(int value, bool distance, int *extra, int *base) {
    int s = 0, from = distance ? 1 : 3, bits = 0;
    if (!distance && value == PACK_LONGEST) return *extra = 0, *base = value, 28;
    for (;; s++) {
        bits = distance ? (s < 4 ? 0 : s / 2 - 1) : (s < 8 ? 0 : s / 4 - 1);
        if (value < from + (1 << bits)) break;
        from += 1 << bits;
    }
    return *extra = bits, *base = from, s;
}

static void pack_count(const packer *p, unsigned *literals, unsigned *distances) {
    int i, extra, base;
    memset(literals, 0, sizeof *literals * PACK_LITERALS);
    memset(distances, 0, sizeof *distances * PACK_DISTANCES);
    literals[256] = 1;
    for (i = 0; i < p->symbols; i++)
        if (p->reach[i]) {
            literals[257 + pack_class(p->symbol[i], false, &extra, &base)]++;
            distances[pack_class(p->reach[i], true, &extra, &base)]++;
        } else {
            literals[p->symbol[i]]++;
        }
}

/* The lengths of both codes, themselves coded; runs are not used. */
static void pack_table(packer *p, const unsigned char *literals, const unsigned char *distances) {
    static const unsigned char order[19] = {16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15};
    unsigned count[19] = {0};
    unsigned char length[19] = {0};
    unsigned short code[19] = {0};
    int i;
    for (i = 0; i < PACK_LITERALS; i++) count[literals[i]]++;
    for (i = 0; i < PACK_DISTANCES; i++) count[distances[i]]++;
    pack_lengths(count, 19, 7, length);
    pack_codes(length, 19, code);
    pack_bits(p, PACK_LITERALS - 257, 5);
    pack_bits(p, PACK_DISTANCES - 1, 5);
    pack_bits(p, 19 - 4, 4);
    for (i = 0; i < 19; i++) pack_bits(p, length[order[i]], 3);
    for (i = 0; i < PACK_LITERALS; i++) pack_bits(p, code[literals[i]], length[literals[i]]);
    for (i = 0; i < PACK_DISTANCES; i++) pack_bits(p, code[distances[i]], length[distances[i]]);
}

static void pack_block(packer *p, bool last) {
    unsigned literals[PACK_LITERALS], distances[PACK_DISTANCES];
    unsigned char literal_length[PACK_LITERALS], distance_length[PACK_DISTANCES];
    unsigned short literal_code[PACK_LITERALS] = {0}, distance_code[PACK_DISTANCES] = {0};
    int i, extra = 0, base = 0, s;
    pack_count(p, literals, distances);
    pack_lengths(literals, PACK_LITERALS, 15, literal_length);
    pack_lengths(distances, PACK_DISTANCES, 15, distance_length);
    pack_codes(literal_length, PACK_LITERALS, literal_code);
    pack_codes(distance_length, PACK_DISTANCES, distance_code);
    pack_bits(p, last, 1);
    pack_bits(p, 2, 2);
    pack_table(p, literal_length, distance_length);
    for (i = 0; i < p->symbols; i++) {
        s = p->reach[i] ? 257 + pack_class(p->symbol[i], false, &extra, &base) : p->symbol[i];
        pack_bits(p, literal_code[s], literal_length[s]);
        if (!p->reach[i]) continue;
        pack_bits(p, (unsigned)(p->symbol[i] - base), extra);
        s = pack_class(p->reach[i], true, &extra, &base);
        pack_bits(p, distance_code[s], distance_length[s]);
        pack_bits(p, (unsigned)(p->reach[i] - base), extra);
    }
    pack_bits(p, literal_code[256], literal_length[256]);
    p->symbols = 0;
}

/* ---- matches */

static int pack_hash(const unsigned char *at) { return (at[0] << 10 ^ at[1] << 5 ^ at[2]) & (PACK_HASHES - 1); }

static void pack_enter(packer *p, size_t at) {
    if (at + 3 > p->count) return;
    p->chain[at % PACK_WINDOW] = p->head[pack_hash(p->in + at)];
    p->head[pack_hash(p->in + at)] = (int)at;
}

/* The longest match of what starts at a place; its length, or 0. */
static int pack_match(const packer *p, size_t at, int *distance) {
    int best = 2, tries, from;
    const int most = p->count - at < PACK_LONGEST ? (int)(p->count - at) : PACK_LONGEST;
    if (most < 3) return 0;
    from = p->head[pack_hash(p->in + at)];
    for (tries = 0; from >= 0 && (size_t)from + PACK_WINDOW > at && tries < PACK_TRIES; tries++) {
        int n = 0;
        while (n < most && p->in[(size_t)from + (size_t)n] == p->in[at + (size_t)n]) n++;
        if (n > best) best = n, *distance = (int)(at - (size_t)from);
        if (n == most) break;
        from = p->chain[from % PACK_WINDOW];
    }
    return best > 2 ? best : 0;
}

static void pack_all(packer *p) {
    size_t at = 0;
    while (at < p->count) {
        int distance = 0, later = 0, i, n = pack_match(p, at, &distance);
        pack_enter(p, at);
        if (n && n < 32 && pack_match(p, at + 1, &later) > n) n = 0; /* the match one byte on is longer */
        p->symbol[p->symbols] = n ? (unsigned short)n : p->in[at];
        p->reach[p->symbols++] = (unsigned short)(n ? distance : 0);
        for (i = 1; i < n; i++) pack_enter(p, at + (size_t)i);
        at += n ? (size_t)n : 1;
        if (p->symbols == PACK_BLOCK) pack_block(p, false);
    }
    pack_block(p, true);
    if (p->bit_count) pack_bits(p, 0, 8 - p->bit_count);
}

unsigned char *png_pack(const unsigned char *bytes, size_t count, size_t *packed) {
    packer p;
    size_t i, a = 1, b = 0;
    memset(&p, 0, sizeof p);
    p.in = bytes, p.count = count, p.room = 1024;
    p.out = (unsigned char *)malloc(p.room);
    p.head = (int *)malloc(sizeof *p.head * PACK_HASHES);
    p.chain = (int *)malloc(sizeof *p.chain * PACK_WINDOW);
    p.symbol = (unsigned short *)malloc(sizeof *p.symbol * PACK_BLOCK);
    p.reach = (unsigned short *)malloc(sizeof *p.reach * PACK_BLOCK);
    p.failed = !p.out || !p.head || !p.chain || !p.symbol || !p.reach;
    for (i = 0; !p.failed && i < PACK_HASHES; i++) p.head[i] = -1;
    if (!p.failed) {
        pack_byte(&p, 0x78);
        pack_byte(&p, 0xda);
        pack_all(&p);
        for (i = 0; i < count; i++) a = (a + bytes[i]) % 65521, b = (b + a) % 65521;
        for (i = 0; i < 4; i++) pack_byte(&p, (unsigned)((b << 16 | a) >> (24 - 8 * i)) & 255);
    }
    free(p.head), free(p.chain), free(p.symbol), free(p.reach);
    if (p.failed) free(p.out), p.out = NULL;
    *packed = p.used;
    return p.out;
}
