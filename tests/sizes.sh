#!/bin/sh
# sizes.sh OUT [FEATURE...]: what each feature costs: bytes of a program that uses everything (tests/switches.c), linked
# with -Os, float and --gc-sections, and what it saves to leave one out. Presets last. RV32 and wasm32 where clang has
# them: the whole library as an object.
set -u
export LC_ALL=C
OUT=$1
shift
CC=${CC:-cc}
T=$(mktemp -d "${TMPDIR:-/tmp}/condsim-sizes.XXXXXX")
trap 'rm -rf "$T"' EXIT
mkdir -p "$(dirname "$OUT")"
linked() { # FLAGS: bytes of text and data
    # shellcheck disable=SC2086
    $CC -std=c99 -w -Os -DCONDSIM_FLOAT -DCONDSIM_NO_STDIO -ffunction-sections -fdata-sections -Wl,--gc-sections $1 -I. \
        tests/switches.c -o "$T/program" -lm && size "$T/program" | awk 'NR == 2 { print $1 + $2 }'
}
all=$(linked "") || exit 1
echo "feature,linked without it,saved" >"$OUT"
echo "(everything),$all,0" >>"$OUT"
for f in ${*:-DRAW RECORD QUERIES CHARACTER PARTICLES RIGID SOFT CLOTH CABLE TREE REDUCED JOINTS SPRINGS LAWS ROUND BOXES STACKS CYLINDERS HULLS FIELDS COND LARGE SWEEP BOUNDED BROAD RESTRAINT IMPULSE PGS APGD PERCONTACT STAGGERED CCS NEWTON XPBD PENALTY COMPARISON SNAPSHOTS EVENTS PATHS STATISTICS ERROR_TEXT}; do
    bytes=$(linked "-DCONDSIM_NO_$f") || exit 1
    echo "$f,$bytes,$((all - bytes))" >>"$OUT"
done
for f in GAME TINY; do
    bytes=$(linked "-DCONDSIM_$f") || exit 1
    echo "CONDSIM_$f,$bytes,$((all - bytes))" >>"$OUT"
done
if command -v clang >/dev/null 2>&1 && command -v llvm-size >/dev/null 2>&1; then
    printf '%s\n' '#define CONDSIM_SQRT(x) __builtin_sqrtf(x)' '#define CONDSIM_MEMCPY(d, s, n) __builtin_memcpy(d, s, n)' \
        '#define CONDSIM_MEMSET(d, c, n) __builtin_memset(d, c, n)' '#define CONDSIM_IMPLEMENTATION' '#include "condsim.h"' >"$T/object.c"
    for target in "riscv32-unknown-elf -march=rv32imafc -mabi=ilp32f" "wasm32"; do
        for preset in WHOLE GAME TINY; do
            # shellcheck disable=SC2086
            clang --target=$target -std=c99 -w -Os -ffreestanding -ffp-contract=off -DCONDSIM_FLOAT -DCONDSIM_NO_HEAP -DCONDSIM_NO_STDIO \
                -DCONDSIM_OWN_MATH -DCONDSIM_$preset -I. -c "$T/object.c" -o "$T/object.o" 2>/dev/null || continue
            echo "${target%% *} $preset,$(llvm-size "$T/object.o" | awk 'NR == 2 { print $1 + $2 }')," >>"$OUT"
        done
    done
fi
cat "$OUT"
