/* base/memory: an arena that counts and lays out by the same code, and the heap behind the user's hooks. */
#include "private.h"

CSIMI_FN csimi_arena csimi_arena_counting(void) {
    csimi_arena arena;
    arena.base = NULL;
    arena.size = SIZE_MAX;
    arena.used = arena.high = 0;
    arena.overflow = false;
    arena.shelf = NULL;
    return arena;
}

CSIMI_FN csimi_arena csimi_arena_in(void *base, size_t size) {
    csimi_arena arena = csimi_arena_counting();
    size_t skip = (size_t)(0u - (uintptr_t)base) % CSIMI_ALIGN;
    if (skip > size) skip = size; /* too small to hold anything: stays empty */
    arena.base = base ? (unsigned char *)base + skip : NULL;
    arena.size = base ? size - skip : 0;
    return arena;
}

/* After an overflow nothing is handed out any more, but used and high go on counting what would have been needed. */
CSIMI_FN void *csimi_push(csimi_arena *arena, size_t count, size_t stride) {
    const size_t most = SIZE_MAX - (CSIMI_ALIGN - 1), start = arena->used;
    size_t end = start + (count * stride + CSIMI_ALIGN - 1) / CSIMI_ALIGN * CSIMI_ALIGN;
    /* a product of two halves of a word is below `most`: no division for what is not huge */
    if (end < start || ((count | stride) >> (4 * sizeof(size_t)) != 0 && stride && count > most / stride))
        end = SIZE_MAX;
    arena->used = end;
    if (end > arena->high) arena->high = end;
    if (end > arena->size || end == SIZE_MAX) arena->overflow = true;
    return arena->overflow || !arena->base ? NULL : arena->base + start;
}

CSIMI_FN uint64_t csimi_mix64(uint64_t h, uint64_t x) {
    h ^= x + 0x9e3779b97f4a7c15ull + (h << 6) + (h >> 2); /* 2^64 over the golden ratio */
    h ^= h >> 30; /* from here on as in splitmix64, the first of its two rounds */
    h *= 0xbf58476d1ce4e5b9ull;
    h ^= h >> 27;
    return h;
}

CSIMI_FN uint64_t csimi_fnv(uint64_t h, const void *data, size_t bytes) {
    const unsigned char *p = (const unsigned char *)data;
    size_t i;
    for (i = 0; i < bytes; i++) h = (h ^ p[i]) * 0x100000001b3ull;
    return h;
}

CSIMI_FN uint64_t csimi_sum(uint64_t h, const void *data, size_t bytes) {
    const unsigned char *p = (const unsigned char *)data;
    uint64_t lane[8], word[8];
    int k;
    for (k = 0; k < 8; k++) lane[k] = h + (uint64_t)k;
    for (; bytes >= sizeof word; bytes -= sizeof word, p += sizeof word) { /* lanes that wait for none of the others */
        CSIMI_MEMCPY(word, p, sizeof word);
        for (k = 0; k < 8; k++) lane[k] = (lane[k] ^ word[k]) * 0x9e3779b97f4a7c15ull;
    }
    return csimi_fnv(csimi_fnv(h, lane, sizeof lane), p, bytes);
}

CSIMI_FN void csimi_pop(csimi_arena *arena, size_t mark) { arena->used = mark; }

/* ---- the heap */

#if defined(CONDSIM_MALLOC) && defined(CONDSIM_FREE)
#define CSIMI_MALLOC(size) CONDSIM_MALLOC(size)
#define CSIMI_FREE(block) CONDSIM_FREE(block)
#elif defined(CONDSIM_MALLOC) || defined(CONDSIM_FREE)
#error "condsim: define both CONDSIM_MALLOC and CONDSIM_FREE, or neither"
#elif !defined(CONDSIM_NO_HEAP)
#include <stdlib.h>
#define CSIMI_MALLOC(size) malloc(size)
#define CSIMI_FREE(block) free(block)
#endif

#if defined(CONDSIM_NO_HEAP)
static void *csimi_default_alloc(size_t size) {
    (void)size;
    return NULL;
}
static void csimi_default_free(void *block) { (void)block; }
#else
/* malloc promises 16 bytes at most: the block starts further in, with malloc's pointer just before it. */
static void *csimi_default_alloc(size_t size) {
    const size_t extra = CSIMI_ALIGN + sizeof(void *);
    unsigned char *raw = size > SIZE_MAX - extra ? NULL : (unsigned char *)CSIMI_MALLOC(size + extra);
    unsigned char *block;
    if (!raw) return NULL;
    block = raw + sizeof(void *);
    block += (size_t)(0u - (uintptr_t)block) % CSIMI_ALIGN;
    CSIMI_MEMCPY(block - sizeof(void *), &raw, sizeof raw);
    return block;
}

static void csimi_default_free(void *block) {
    unsigned char *raw;
    CSIMI_MEMCPY(&raw, (unsigned char *)block - sizeof(void *), sizeof raw);
    CSIMI_FREE(raw);
}
#endif

static void csimi_heap_release(csimi_heap *heap, void *block, size_t size) {
    if (!heap->hooks.alloc)
        csimi_default_free(block);
    else if (heap->hooks.free)
        heap->hooks.free(heap->hooks.user, block, size);
}

CSIMI_FN void *csimi_heap_alloc(csimi_heap *heap, size_t size) {
    const csim_allocator *hooks = &heap->hooks;
    void *block;
    if (size == 0) size = 1; /* null always means refused */
    if (size > SIZE_MAX - heap->held) return NULL;
    if (hooks->byte_limit && heap->held + size > hooks->byte_limit) return NULL;
    if (hooks->allocation_limit && heap->calls >= hooks->allocation_limit) return NULL;
    ++heap->calls;
    block = hooks->alloc ? hooks->alloc(hooks->user, size, CSIMI_ALIGN) : csimi_default_alloc(size);
    if (!block) return NULL;
    if ((uintptr_t)block % CSIMI_ALIGN) { /* the hook broke its promise: as good as no memory */
        csimi_heap_release(heap, block, size);
        return NULL;
    }
    heap->held += size;
    return block;
}

CSIMI_FN void csimi_heap_free(csimi_heap *heap, void *block, size_t size) {
    if (!block) return;
    if (size == 0) size = 1;
    heap->held -= size;
    csimi_heap_release(heap, block, size);
}

#undef CSIMI_MALLOC
#undef CSIMI_FREE
