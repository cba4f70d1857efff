#!/bin/sh
# The samples of examples/samples, built and run as far as the tools are here; each missing one is named. The library's
# bodies come from build/double/libcondsim.a. The last line is "N passed, N failed".
set -u
out=${1:-build/samples}
mkdir -p "$out"
library=build/double/libcondsim.a
flags="-O1 -Wall -Wextra -Wno-unused-function -DCONDSIM_OWN_MATH -DCONDSIM_REFERENCE -DCONDSIM_LINKED"
passed=0 failed=0
ok() { passed=$((passed + 1)) && echo "ok   $1"; }
fail() { failed=$((failed + 1)) && echo "FAIL $1" && [ -f "${2:-}" ] && tail -n 15 "$2" | sed 's/^/    /'; }
skip() { echo "skip $1: $2 is not installed"; }
have() { command -v "$1" >/dev/null 2>&1; }
declared() { # a copy without the bodies, beside its file's place, so that its includes hold
    sed -e '/define CONDSIM_IMPLEMENTATION/d' -e "s,\"\.\./\.\./\.\./condsim.h\",\"$PWD/condsim.h\"," "$1" >"$2"
}

# ---- a window: the picture has ground, boxes and shadows in it; a drag moves what it should
window() {
    have cc || { skip window cc; return; }
    have xvfb-run || { skip window "xvfb (xvfb-run)"; return; }
    printf '#include <GLFW/glfw3.h>\nint main(void) { return glfwInit() ? 0 : 0; }\n' >"$out/try.c"
    cc "$out/try.c" -o "$out/try" -lglfw -lGL 2>/dev/null || { skip window "libglfw3-dev or libgl-dev"; return; }
    declared examples/samples/window/window.c "$out/window.c"
    # shellcheck disable=SC2086
    cc -std=c99 $flags "$out/window.c" "$library" -o "$out/window" -lglfw -lGL -lm >"$out/window.log" 2>&1 &&
        ! grep -q warning "$out/window.log" || { fail "window compiles without a warning" "$out/window.log"; return; }
    ok "window compiles without a warning"
    xvfb-run -a -s '-screen 0 1024x768x24' "$out/window" --shot "$out/still.ppm" --steps 60 --drag 0 0 0 0 >"$out/still.txt" 2>&1 &&
        xvfb-run -a -s '-screen 0 1024x768x24' "$out/window" --shot "$out/drag.ppm" --steps 60 --drag 436 215 700 215 >"$out/drag.txt" 2>&1
    code=$?
    [ $code = 3 ] && { skip window "an OpenGL for xvfb (libgl1-mesa-dri)"; return; }
    [ $code = 0 ] || { fail "window runs" "$out/drag.txt"; return; }
    still=$(awk '{ print $4 }' "$out/still.txt") drag=$(awk '{ print $4 }' "$out/drag.txt")
    if grep -q '^held 0' "$out/still.txt" && grep -q '^held 1' "$out/drag.txt" &&
        awk "BEGIN { exit !($still < 0.05 && $still > -0.05 && $drag > 0.3) }"; then
        ok "window: a drag of the mouse takes the top box along, from x = $still to $drag m"
    else
        fail "window: a drag moves what it should" "$out/drag.txt"
    fi
    cc -std=c99 -O1 tests/look.c -o "$out/look" && "$out/look" "$out/still.ppm" "$out/drag.ppm" >"$out/look.txt" 2>&1 &&
        ok "window: $(cat "$out/look.txt")" || fail "window: what is in the picture" "$out/look.txt"
}

# ---- C++11
tour() {
    have c++ || { skip C++ c++; return; }
    declared examples/samples/cpp/tour.cpp "$out/tour.cpp"
    # shellcheck disable=SC2086
    c++ -std=c++11 $flags "$out/tour.cpp" "$library" -o "$out/tour" -lm >"$out/tour.log" 2>&1 && ! grep -q warning "$out/tour.log" ||
        { fail "C++ compiles without a warning" "$out/tour.log"; return; }
    if "$out/tour" >"$out/tour.txt" && grep -q 'the same again: yes' "$out/tour.txt" && grep -q 'refused: .*half' "$out/tour.txt"; then
        ok "C++: a world that frees itself, snapshots, exceptions with the library's sentence"
    else
        fail "C++ runs" "$out/tour.txt"
    fi
}

# ---- Arduino: for the processor of a Raspberry Pi Pico, and run here behind a stand-in for the board
sketch() {
    printf '#include "Arduino.h"\n#include "%s"\n' "$PWD/examples/samples/arduino/stack/stack.ino" >"$out/sketch.cpp"
    include="-I. -Iexamples/samples/arduino"
    if have arm-none-eabi-g++; then
        # shellcheck disable=SC2086
        arm-none-eabi-g++ -std=gnu++11 -mcpu=cortex-m0plus -mthumb -Os -ffunction-sections -fno-exceptions -fno-rtti -w \
            $include -c "$out/sketch.cpp" -o "$out/sketch.o" >"$out/sketch.log" 2>&1 &&
            ok "Arduino: compiles for a Cortex-M0+ ($(arm-none-eabi-size "$out/sketch.o" | awk 'NR == 2 { print $1 " bytes of code before linking, " $3 " of memory" }'))" ||
            fail "Arduino: compiles for a Cortex-M0+" "$out/sketch.log"
    else
        skip Arduino "arm-none-eabi-g++ (gcc-arm-none-eabi)"
    fi
    printf '%s\n' 'stand_in_serial Serial;' 'void delay(unsigned long) {}' \
        'int main() { setup(); for (int i = 0; i < 200; ++i) loop(); return 0; }' >>"$out/sketch.cpp"
    # shellcheck disable=SC2086
    c++ -std=gnu++11 -O0 -w -DARDUINO_STAND_IN_RUNS $include "$out/sketch.cpp" -o "$out/sketch" >"$out/sketch.log" 2>&1 &&
        "$out/sketch" >"$out/sketch.txt" && tail -n 1 "$out/sketch.txt" | grep -q '^upper box at 0.1[45].* m, certified$' &&
        ok "Arduino: here, behind a stand-in for the board: $(tail -n 1 "$out/sketch.txt")" ||
        fail "Arduino: runs here" "$out/sketch.log"
}

# ---- MPI: ten thousand worlds, the same hashes on 1, 2 and 4 ranks and with a rank that falls silent
search() {
    have mpicc && have mpirun || { skip MPI "mpicc or mpirun (openmpi-bin, libopenmpi-dev)"; return; }
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
    export OMPI_MCA_mpi_yield_when_idle=1 # more ranks than cores here
    declared examples/samples/mpi/search.c "$out/search.c"
    # shellcheck disable=SC2086
    mpicc -std=c99 $flags "$out/search.c" "$library" -lm -o "$out/search" >"$out/search.log" 2>&1 && ! grep -q warning "$out/search.log" ||
        { fail "MPI compiles without a warning" "$out/search.log"; return; }
    : >"$out/search.txt"
    for how in "1 --worlds ${WORLDS:-10000}" "2 --worlds ${WORLDS:-10000}" "4 --worlds ${WORLDS:-10000} --lose 2"; do
        # shellcheck disable=SC2086
        timeout 200 mpirun -n ${how%% *} --oversubscribe "$out/search" ${how#* } >>"$out/search.txt" 2>&1 || { fail "MPI on $how" "$out/search.txt"; return; }
    done
    if [ "$(grep -c "^${WORLDS:-10000} worlds, hash" "$out/search.txt")" = 3 ] && [ "$(grep 'worlds, hash' "$out/search.txt" | sort -u | wc -l)" = 1 ] &&
        [ "$(grep -c 'its bytes have its hash$' "$out/search.txt")" = 3 ] && grep -q 'on 4 ranks, [1-9][0-9]* worlds done again' "$out/search.txt"; then
        ok "MPI: $(grep -m1 'worlds, hash' "$out/search.txt") on 1, 2 and 4 ranks; $(grep -o '[0-9]* worlds done again' "$out/search.txt" | tail -n 1) of a lost rank"
    else
        fail "MPI: hashes, snapshots, a lost rank" "$out/search.txt"
    fi
}

window
tour
sketch
search
echo "$passed passed, $failed failed"
[ $failed = 0 ]
