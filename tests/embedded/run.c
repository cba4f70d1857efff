/* Runs a program and says "hash H block B stack S mean I most I": bytes, and instructions of a step. The stack and the
   instructions are the machine's (board.c); on the host they are 0. */
#include "board.h"
#include "program.h"

static void say_number(uint32_t x) {
    char digits[11];
    int at = 10;
    digits[10] = 0;
    do digits[--at] = (char)('0' + (int)(x % 10));
    while ((x /= 10) > 0);
    board_say(digits + at);
}

static void say_hash(uint64_t x) {
    char digits[17];
    int i;
    for (i = 0; i < 16; ++i) digits[i] = "0123456789abcdef"[x >> (60 - 4 * i) & 15];
    digits[16] = 0;
    board_say(digits);
}

uint64_t program_fold(uint64_t hash, const void *data, size_t bytes) {
    const unsigned char *p = (const unsigned char *)data;
    while (bytes--) hash = (hash ^ *p++) * 1099511628211u;
    return hash;
}

int main(void) {
    uint32_t sum = 0, most = 0; /* of 20 million a step at most: a division of 64 bits would be in every program */
    int i;
    if (program_begin()) return board_say("begin failed\n"), 1;
    for (i = 0; i < PROGRAM_STEPS; ++i) {
        const uint32_t start = board_ticks();
        uint32_t spent;
        if (program_step()) return board_say("a step failed\n"), 1;
        spent = (uint32_t)board_instructions(start, board_ticks());
        sum += spent;
        if (spent > most) most = spent;
    }
    board_say("hash "), say_hash(program_hash());
    board_say(" block "), say_number((uint32_t)program_block());
    board_say(" stack "), say_number((uint32_t)board_stack());
    board_say(" mean "), say_number(sum / PROGRAM_STEPS);
    board_say(" most "), say_number(most);
    board_say("\n");
    return 0;
}
