/* Runs a program and says "hash H block B stack S mean I most I": bytes, and instructions of a step. The stack and the
   instructions are the machine's (board.c); on the host they are 0. */
#include "board.h"
#include "program.h"

static void say_number(uint64_t x) {
    char digits[21];
    int at = 20;
    digits[20] = 0;
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

int main(void) {
    uint64_t sum = 0, most = 0;
    int i;
    if (program_begin()) return board_say("begin failed\n"), 1;
    for (i = 0; i < PROGRAM_STEPS; ++i) {
        const uint32_t start = board_ticks();
        uint64_t spent;
        if (program_step()) return board_say("a step failed\n"), 1;
        spent = board_instructions(start, board_ticks());
        sum += spent;
        if (spent > most) most = spent;
    }
    board_say("hash "), say_hash(program_hash());
    board_say(" block "), say_number(program_block());
    board_say(" stack "), say_number(board_stack());
    board_say(" mean "), say_number(sum / PROGRAM_STEPS);
    board_say(" most "), say_number(most);
    board_say("\n");
    return 0;
}
