#!/bin/sh
# embedded.sh OUT: the programs of tests/embedded on Cortex-M7 and M4 under qemu, against the same programs of
# the host: hashes of their states must agree. OUT gets a line a program and machine; WRITE=1 puts the table into
# docs/embedded.md, otherwise the table there must say the same sizes. The last line is "N passed, N failed".
set -u
export LC_ALL=C
ROOT=$(pwd) OUT=$1 HERE=$(pwd)/tests/embedded PAGE=docs/embedded.md
T=$ROOT/build/embedded
mkdir -p "$T" "$(dirname "$OUT")"
for tool in arm-none-eabi-gcc qemu-system-arm; do
    command -v $tool >/dev/null 2>&1 || { echo "skipped: $tool is not installed"; echo "0 passed, 0 failed"; exit 0; }
done
FLAGS="-std=c99 -w -Os -ffp-contract=off -fno-math-errno -ffunction-sections -fdata-sections -I$ROOT -I$HERE"
ARM="-mthumb -mfloat-abi=hard -nostartfiles -nostdlib -Wl,--gc-sections -T $HERE/arm.ld"
passed=0 failed=0
echo "program,target,flash,block,stack,instructions,most,hash" >"$OUT"
for program in box seldom single problem problem_single particles quadruped; do
    # shellcheck disable=SC2086
    ${CC:-cc} $FLAGS -O1 "$HERE/host.c" "$HERE/run.c" "$HERE/$program.c" -o "$T/$program.host" -lm || exit 1
    want=$("$T/$program.host" | awk '{ print $2 }')
    for target in "M7 mps2-an500 -mcpu=cortex-m7 -mfpu=fpv5-d16" "M4 mps2-an386 -mcpu=cortex-m4 -mfpu=fpv4-sp-d16"; do
        set -- $target
        arm-none-eabi-gcc $FLAGS "$3" "$4" $ARM "$HERE/arm.c" "$HERE/run.c" "$HERE/$program.c" -lgcc -o "$T/$program.$1" || exit 1
        flash=$(arm-none-eabi-size "$T/$program.$1" | awk 'NR == 2 { print $1 + $2 }')
        said=$(timeout 300 qemu-system-arm -M "$2" -icount shift=10 -nographic -monitor none -serial none \
            -semihosting-config enable=on,target=native -kernel "$T/$program.$1" 2>&1)
        echo "$said" | awk -v p="$program" -v t="$1" -v f="$flash" '{ printf "%s,%s,%s,%s,%s,%s,%s,%s\n", p, t, f, $4, $6, $8, $10, $2 }' >>"$OUT"
        if [ "$(echo "$said" | awk '{ print $2 }')" = "$want" ]; then
            passed=$((passed + 1))
        else
            echo "FAIL $program on $1 says $said, the host $want"
            failed=$((failed + 1))
        fi
    done
done
cat "$OUT"
{
    echo "| program | target | flash | block | stack | instructions a step | most |"
    echo "|---|---|---|---|---|---|---|"
    awk -F, 'NR > 1 { printf "| %s | Cortex-%s | %d | %d | %d | %d | %d |\n", $1, $2, $3, $4, $5, $6, $7 }' "$OUT"
} >"$T/table"
if [ "${WRITE:-}" = 1 ]; then
    awk -v table="$T/table" '/^<!-- embedded -->/ { print; while ((getline line < table) > 0) print line; skip = 1; next }
        /^<!-- end -->/ { skip = 0 } !skip' "$PAGE" >"$T/page" && cp "$T/page" "$PAGE"
fi
# sizes and instructions belong to a compiler: within 3 % of the page, or the page is stale
sed -n '/^<!-- embedded -->/,/^<!-- end -->/p' "$PAGE" | awk -F' *[|] *' '/Cortex/ { print $2, $3, $4, $5, $6, $7 }' >"$T/was"
awk -F' *[|] *' '/Cortex/ { print $2, $3, $4, $5, $6, $7 }' "$T/table" >"$T/is"
if paste -d' ' "$T/was" "$T/is" | awk '{ if (NF != 12 || $1 $2 != $7 $8) bad = 1; for (i = 3; i <= 6; i++) if ($i > 1.03 * $(i + 6) || $i < 0.97 * $(i + 6)) bad = 1 } END { exit bad || !NR }'; then
    passed=$((passed + 1))
else
    echo "FAIL the table of $PAGE is stale: make embedded WRITE=1"
    failed=$((failed + 1))
fi
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
