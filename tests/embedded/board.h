/* What run.c needs of a machine: host.c or arm.c. */
#ifndef BOARD_H
#define BOARD_H
#include <stddef.h>
#include <stdint.h>

void board_say(const char *text);
uint32_t board_ticks(void);
uint64_t board_instructions(uint32_t from, uint32_t to); /* between two readings of the ticks */
size_t board_stack(void);                                /* most bytes of stack used so far */
#endif
