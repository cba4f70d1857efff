/* The host: only what the program says. */
#include "board.h"
#include <stdio.h>

void board_say(const char *text) { fputs(text, stdout); }
uint32_t board_ticks(void) { return 0; }
uint64_t board_instructions(uint32_t from, uint32_t to) { return to - from; }
size_t board_stack(void) { return 0; }
