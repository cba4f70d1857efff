/* test_film: the pictures of the documentation. The files that examples/film/png.c writes are read back by a decoder in
   here, written from RFC 1951 and the PNG specification; and every scene has its picture. */
#define CHECK_NO_LIBRARY
#include "check.h"
#include "../examples/film/pack.c"
#include "../examples/film/png.c"
#include "../examples/scenes/scene.h"

/* ---- unpacking, one bit at a time: counts of codes by length, as the RFC describes the canonical code */

typedef struct unpacker {
    const unsigned char *in;
    size_t at, bytes; /* at: in bits */
    bool bad;
} unpacker;

static unsigned unpack_bits(unpacker *u, int count) {
    unsigned value = 0;
    int i;
    for (i = 0; i < count; i++, u->at++) {
        if (u->at / 8 >= u->bytes) return u->bad = true, 0;
        value |= (unsigned)(u->in[u->at / 8] >> (u->at % 8) & 1) << i;
    }
    return value;
}

typedef struct unpack_code {
    int of_length[16], symbol[320];
} unpack_code;

static void unpack_build(unpack_code *c, const unsigned char *length, int symbols) {
    int first[16] = {0}, i;
    memset(c, 0, sizeof *c);
    for (i = 0; i < symbols; i++) c->of_length[length[i]]++;
    c->of_length[0] = 0;
    for (i = 1; i < 15; i++) first[i + 1] = first[i] + c->of_length[i];
    for (i = 0; i < symbols; i++)
        if (length[i]) c->symbol[first[length[i]]++] = i;
}

static int unpack_symbol(unpacker *u, const unpack_code *c) {
    int code = 0, first = 0, index = 0, length;
    for (length = 1; length < 16; length++) {
        code |= (int)unpack_bits(u, 1);
        if (code - first < c->of_length[length]) return c->symbol[index + code - first];
        index += c->of_length[length];
        first = (first + c->of_length[length]) << 1;
        code <<= 1;
    }
    return u->bad = true, 256;
}

static void unpack_lengths(unpacker *u, unpack_code *literal, unpack_code *distance) {
    static const int order[19] = {16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15};
    unsigned char length[320] = {0}, small[19] = {0};
    const int literals = 257 + (int)unpack_bits(u, 5), distances = 1 + (int)unpack_bits(u, 5);
    const int count = 4 + (int)unpack_bits(u, 4);
    unpack_code code;
    int i;
    for (i = 0; i < count; i++) small[order[i]] = (unsigned char)unpack_bits(u, 3);
    unpack_build(&code, small, 19);
    for (i = 0; i < literals + distances && !u->bad;) {
        const int s = unpack_symbol(u, &code);
        if (s < 16) {
            length[i++] = (unsigned char)s;
        } else {
            int again = s == 18 ? 11 + (int)unpack_bits(u, 7) : 3 + (int)unpack_bits(u, s == 16 ? 2 : 3);
            for (; again > 0 && i < 320; again--, i++) length[i] = s == 16 ? length[i - 1] : 0;
        }
    }
    unpack_build(literal, length, literals);
    unpack_build(distance, length + literals, distances);
}

/* Bytes written to out, at most room. The header and the checksum of zlib are looked at too. */
static size_t unpack(const unsigned char *in, size_t bytes, unsigned char *out, size_t room, bool *ok) {
    static const int base[29] = {3,  4,  5,  6,  7,  8,  9,  10, 11,  13,  15,  17,  19,  23, 27,
                                 31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258};
    static const int more[29] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0};
    unpacker u;
    size_t n = 0, i;
    unsigned last = 0, a = 1, b = 0, sum = 0;
    u.in = in, u.at = 16, u.bytes = bytes, u.bad = bytes < 6 || (in[0] << 8 | in[1]) % 31 != 0 || (in[0] & 15) != 8;
    while (!last && !u.bad) {
        unpack_code literal, distance;
        int s;
        last = unpack_bits(&u, 1);
        if (unpack_bits(&u, 2) != 2) u.bad = true; /* the packer writes this kind alone */
        unpack_lengths(&u, &literal, &distance);
        while (!u.bad && (s = unpack_symbol(&u, &literal)) != 256) {
            if (s < 256) {
                if (n == room) return *ok = false, n;
                out[n++] = (unsigned char)s;
            } else {
                int length = base[s - 257] + (int)unpack_bits(&u, more[s - 257]), d = unpack_symbol(&u, &distance);
                size_t back = (size_t)d + 1;
                if (d >= 4) back = (size_t)((2 + (d & 1)) << (d / 2 - 1)) + 1 + unpack_bits(&u, d / 2 - 1);
                if (back > n || n + (size_t)length > room) return *ok = false, n;
                for (; length > 0; length--, n++) out[n] = out[n - back];
            }
        }
    }
    for (i = 0; i < n; i++) a = (a + out[i]) % 65521, b = (b + a) % 65521;
    for (i = (u.at + 7) / 8; i < (u.at + 7) / 8 + 4 && i < bytes; i++) sum = sum << 8 | in[i];
    *ok = !u.bad && sum == (b << 16 | a) && (u.at + 7) / 8 + 4 == bytes;
    return n;
}

static void packs(const char *what, const unsigned char *bytes, size_t count, size_t most) {
    size_t packed = 0, n;
    bool ok = false;
    unsigned char *out = png_pack(bytes, count, &packed), *back = (unsigned char *)malloc(count + 1);
    CASE("%s, %d bytes", what, (int)count);
    CHECK(out != NULL && back != NULL);
    n = unpack(out, packed, back, count, &ok);
    CHECK(ok);
    CHECK(n == count && memcmp(back, bytes, count) == 0);
    CHECK(packed <= most);
    free(out);
    free(back);
}

TEST(what_is_packed_comes_back) {
    enum { N = 200000 };
    unsigned char *x = (unsigned char *)calloc(N, 1);
    int i;
    packs("nothing", x, 0, 200);
    packs("zeros", x, N, 600);
    packs("one zero", x, 1, 200);
    for (i = 0; i < N; i++) x[i] = (unsigned char)(i % 251);
    packs("a long period", x, N, 2200);
    for (i = 0; i < N; i++) x[i] = (unsigned char)check_random(0, 256);
    packs("noise", x, N, N + N / 50); /* codes of a block cost, and nothing is won */
    for (i = N / 2; i < N; i++) x[i] = x[i - 32767];
    packs("noise that comes again as far back as matches reach", x, N, N / 2 + N / 50);
    for (i = 0; i < N; i++) x[i] = (unsigned char)(check_random(0, 1) < 0.9 ? 7 : check_random(0, 256));
    packs("a rare mixture", x, N, N / 3);
    for (i = 0; i < N; i++) { /* counts as Fibonacci numbers want codes longer than 15 bits */
        int s = 0;
        while (s < 25 && check_random(0, 1) < 0.38) s++;
        x[i] = (unsigned char)s;
    }
    packs("codes that would be too long", x, N, N / 2);
    free(x);
}

/* ---- files */

typedef struct png_read {
    unsigned char *bytes, *index, palette[768];
    size_t size;
    int width, height, frames, shown;
    bool ok;
} png_read;

static unsigned number_at(const unsigned char *b) {
    return (unsigned)b[0] << 24 | (unsigned)b[1] << 16 | (unsigned)b[2] << 8 | b[3];
}

/* Draws one frame's bytes over what is shown: index 0 lets it be. */
static void read_frame(png_read *r, const unsigned char *data, size_t bytes, const int box[4], bool over) {
    const size_t room = (size_t)(box[2] + 1) * (size_t)box[3];
    unsigned char *rows = (unsigned char *)malloc(room + 1);
    bool ok = false;
    int x, y;
    if (unpack(data, bytes, rows, room, &ok) != room || !ok) r->ok = false;
    for (y = 0; r->ok && y < box[3]; y++) {
        const unsigned char *row = rows + (size_t)y * (size_t)(box[2] + 1);
        if (row[0] != 0 || box[1] + y >= r->height || box[0] + box[2] > r->width) r->ok = false;
        for (x = 0; r->ok && x < box[2]; x++)
            if (!over || row[x + 1]) r->index[(box[1] + y) * r->width + box[0] + x] = row[x + 1];
    }
    free(rows);
    r->shown++;
}

/* A file of png.c up to a frame; ok: whole, its checksums right, its frames as many as it says. */
static png_read read_png(const char *path, int until) {
    png_read r;
    size_t at = 8;
    int box[4] = {0, 0, 0, 0};
    bool over = false, end = false;
    FILE *f = fopen(path, "rb");
    memset(&r, 0, sizeof r);
    if (!f) return r;
    fseek(f, 0, SEEK_END), r.size = (size_t)ftell(f), rewind(f);
    r.bytes = (unsigned char *)malloc(r.size + 1);
    r.ok = fread(r.bytes, 1, r.size, f) == r.size && r.size > 8 && memcmp(r.bytes, "\211PNG\r\n\032\n", 8) == 0;
    fclose(f);
    for (r.frames = 1; r.ok && at + 12 <= r.size && !end;) {
        const unsigned char *b = r.bytes + at + 8, *name = r.bytes + at + 4;
        const size_t n = number_at(r.bytes + at);
        if (n > r.size - at - 12 || ~png_crc(0xffffffffu, name, n + 4) != number_at(b + n)) r.ok = false;
        if (!r.ok) break;
        if (memcmp(name, "IHDR", 4) == 0) {
            box[2] = r.width = (int)number_at(b), box[3] = r.height = (int)number_at(b + 4);
            r.index = (unsigned char *)calloc((size_t)r.width * (size_t)r.height + 1, 1);
        }
        if (memcmp(name, "PLTE", 4) == 0 && n == 768) memcpy(r.palette, b, 768);
        if (memcmp(name, "acTL", 4) == 0) r.frames = (int)number_at(b);
        if (memcmp(name, "fcTL", 4) == 0) {
            box[2] = (int)number_at(b + 4), box[3] = (int)number_at(b + 8);
            box[0] = (int)number_at(b + 12), box[1] = (int)number_at(b + 16);
            over = b[25] == 1;
        }
        if (r.shown < until && memcmp(name, "IDAT", 4) == 0) read_frame(&r, b, n, box, over);
        if (r.shown < until && memcmp(name, "fdAT", 4) == 0) read_frame(&r, b + 4, n - 4, box, over);
        end = memcmp(name, "IEND", 4) == 0;
        at += n + 12;
    }
    if (!end || at != r.size) r.ok = false;
    return r;
}

static void read_free(png_read *r) {
    free(r->bytes);
    free(r->index);
}

enum { WIDE = 83, HIGH = 47, FRAMES = 5 };

static void draw_test(unsigned char *rgb, int frame) { /* a blot that wanders over an even ground */
    int x, y;
    for (y = 0; y < HIGH; y++)
        for (x = 0; x < WIDE; x++) {
            unsigned char *to = rgb + 3 * (y * WIDE + x);
            const int d = (x - 10 * frame - 12) * (x - 10 * frame - 12) + (y - 20) * (y - 20);
            to[0] = (unsigned char)(d < 90 ? 250 - 2 * d : 235);
            to[1] = (unsigned char)(d < 90 ? 40 : 236), to[2] = (unsigned char)(d < 90 ? d : 240);
        }
}

TEST(a_film_is_read_back_frame_by_frame) {
    const char *path = "build/tests/film.png";
    unsigned char *rgb = (unsigned char *)malloc(3 * WIDE * HIGH), *index = (unsigned char *)malloc(2 * WIDE * HIGH);
    png_colours c;
    png_film *f;
    int i, k, far = 0;
    CHECK(png_colours_open(&c));
    for (i = 0; i < FRAMES; i++) draw_test(rgb, i), png_colours_take(&c, rgb, WIDE * HIGH);
    png_colours_choose(&c);
    f = png_open(path, WIDE, HIGH, FRAMES, 20, &c);
    REQUIRE(f != NULL);
    for (i = 0; i < FRAMES; i++) {
        draw_test(rgb, i);
        png_index(&c, rgb, WIDE * HIGH, i ? index + (i + 1) % 2 * WIDE * HIGH : NULL, 6, index + i % 2 * WIDE * HIGH);
        CHECK(png_frame(f, index + i % 2 * WIDE * HIGH));
    }
    CHECK(png_close(f));
    for (i = 0; i < FRAMES; i++) {
        png_read r = read_png(path, i + 1);
        CASE("frame %d", i);
        CHECK(r.ok && r.frames == FRAMES && r.width == WIDE && r.height == HIGH && r.shown == i + 1);
        draw_test(rgb, i);
        for (k = 0; r.ok && k < 3 * WIDE * HIGH; k++) {
            const int d = abs(rgb[k] - r.palette[3 * r.index[k / 3] + k % 3]);
            if (d > far) far = d;
        }
        CHECK(far <= 8); /* few colours: half a cell of 4 levels, and the hold of 6 */
        read_free(&r);
    }
    png_colours_close(&c);
    free(rgb);
    free(index);
}

TEST(a_film_that_cannot_be_written_says_so) {
    png_colours c;
    CHECK(png_colours_open(&c));
    CHECK(png_open("build/no/such/folder/film.png", 4, 4, 1, 1, &c) == NULL);
    png_colours_close(&c);
}

/* ---- what is in docs */

static char *text_of(const char *path) {
    FILE *f = fopen(path, "rb");
    char *text = (char *)calloc(1 << 18, 1);
    if (f && text) text[fread(text, 1, (1 << 18) - 1, f)] = 0;
    if (f) fclose(f);
    return text;
}

TEST(every_scene_has_its_picture) {
    char *page = text_of("docs/gallery.md"), want[200];
    size_t all = 0;
    int i;
    REQUIRE(page != NULL);
    CHECK(scene_count() > 30);
    for (i = 0; i < scene_count(); i++) {
        const char *name = scene_kind_at(i)->name;
        png_read r;
        int k, colours = 0;
        bool used[256] = {false};
        CASE("%s: no picture, or one that is not whole: make gallery", name);
        snprintf(want, sizeof want, "docs/gallery/%s.png", name);
        r = read_png(want, 1);
        CHECK(r.ok && r.shown == 1);
        for (k = 0; r.ok && k < r.width * r.height; k++) colours += !used[r.index[k]], used[r.index[k]] = true;
        CHECK(colours >= 24); /* something is in it */
        CASE("%s is not in docs/gallery.md: make gallery", name);
        snprintf(want, sizeof want, "(gallery/%s.png)", name);
        CHECK(strstr(page, want) != NULL);
        all += r.size;
        read_free(&r);
    }
    CASE("%.2f MB of pictures", 1e-6 * (double)all);
    CHECK(all <= 4000000);
    free(page);
}

/* Drawn again by the program of `make gallery`, which is built before this one: mean difference of a channel, of 255.
   Another libm moves a pixel here and there; a scene, a shape or a colour that changed moves thousands. */
static double difference(const png_read *a, const png_read *b) {
    double sum = 0;
    int i, k;
    if (!a->ok || !b->ok || a->width != b->width || a->height != b->height) return 255;
    for (i = 0; i < a->width * a->height; i++)
        for (k = 0; k < 3; k++) sum += abs(a->palette[3 * a->index[i] + k] - b->palette[3 * b->index[i] + k]);
    return sum / (3.0 * a->width * a->height);
}

DOUBLE_TEST(pictures_are_of_this_version) {
    static const char *const name[] = {"arch", "capstan", "car", "card-house", "stack"};
    char *kept = text_of("docs/gallery.md"), *page, path[200];
    int i;
    REQUIRE(system("mkdir -p build/gallery && build/bin/condsim-film gallery build/gallery build/gallery/page.md "
                   "'arch capstan car card-house stack' > build/gallery/log") == 0);
    page = text_of("build/gallery/page.md");
    CASE("docs/gallery.md is stale: make gallery");
    CHECK(page && kept && strcmp(page, kept) == 0);
    for (i = 0; i < (int)(sizeof name / sizeof *name); i++) {
        png_read was, now;
        snprintf(path, sizeof path, "docs/gallery/%s.png", name[i]);
        was = read_png(path, 1);
        snprintf(path, sizeof path, "build/gallery/%s.png", name[i]);
        now = read_png(path, 1);
        CASE("docs/gallery/%s.png is stale by %.2f: make gallery", name[i], difference(&was, &now));
        CHECK(difference(&was, &now) < 0.5);
        read_free(&was), read_free(&now);
    }
    free(page), free(kept);
}

TEST(the_film_of_the_readme_is_whole_and_small) {
    png_read r = read_png("docs/film.png", 100000);
    CHECK(r.ok && r.frames > 20 && r.shown == r.frames);
    CHECK(r.size <= 3000000);
    read_free(&r);
}
