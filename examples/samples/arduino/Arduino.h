/* Arduino.h: as much of Arduino as stack.ino uses, so that a test can compile and run it without a board. */
#ifndef ARDUINO_STAND_IN_H
#define ARDUINO_STAND_IN_H

#ifdef ARDUINO_STAND_IN_RUNS
#include <stdio.h>
struct stand_in_serial {
    void begin(unsigned long) {}
    void print(const char *text) { fputs(text, stdout); }
    void print(double value, int digits) { printf("%.*f", digits, value); }
    void println(const char *text) { puts(text); }
};
#else
struct stand_in_serial {
    void begin(unsigned long baud);
    void print(const char *text);
    void print(double value, int digits);
    void println(const char *text);
};
#endif
extern stand_in_serial Serial;
void delay(unsigned long milliseconds);
void setup();
void loop();

#endif
