#!/bin/sh
# switches.sh [pairs]: every switch of base/config.h alone, every pair of neighbours (pairs: all pairs) and the presets,
# built and run (tests/switches.c). What a build still has must say what the whole library says, to the bit. Small
# compilers do for this; the presets are built with $CC too.
set -u
export LC_ALL=C
CC=${CC:-cc}
T=$(mktemp -d "${TMPDIR:-/tmp}/condsim-switches.XXXXXX")
trap 'rm -rf "$T"' EXIT
SMALL=$CC
command -v tcc >/dev/null 2>&1 && SMALL=tcc
ALONE="DRAW RECORD QUERIES CHARACTER PARTICLES RIGID SOFT CLOTH CABLE REDUCED TREE JOINTS SPRINGS LAWS ROUND BOXES STACKS CYLINDERS HULLS FIELDS COND SNAPSHOTS LARGE SWEEP BOUNDED BROAD RESTRAINT IMPULSE
       PGS APGD PERCONTACT
       STAGGERED CCS NEWTON XPBD PENALTY COMPARISON SLEEP LOADERS URDF EVENTS PATHS STATISTICS ERROR_TEXT"
for s in $(sed -n 's/.*# *define CONDSIM_NO_\([A-Z_]*\).*/\1/p' amalgamate/parts/base/config.h | sort -u); do
    case " $(echo $ALONE) " in *" $s "*) ;; *) echo "FAIL $s is a switch that nothing here tries"; exit 1 ;; esac
done
{
    before=
    for s in $ALONE; do
        echo "-DCONDSIM_NO_$s"
        [ -z "$before" ] || echo "-DCONDSIM_NO_$before -DCONDSIM_NO_$s"
        [ "${1:-}" != pairs ] || for o in $ALONE; do [ "$o" \< "$s" ] && echo "-DCONDSIM_NO_$o -DCONDSIM_NO_$s"; done
        before=$s
    done
    echo "-DCONDSIM_GAME"
    echo "-DCONDSIM_TINY"
    for w in COND TREE SOFT CABLE CLOTH JOINTS SPRINGS LAWS QUERIES CHARACTER DRAW HULLS FIELDS PATHS; do echo "-DCONDSIM_TINY -DCONDSIM_WITH_$w"; done
    echo "-DCONDSIM_TINY -DCONDSIM_WITH_COND -DCONDSIM_NO_SWEEP"
    echo "-DCONDSIM_TINY -DCONDSIM_NO_PARTICLES"
} | grep -v 'NO_COND -DCONDSIM_NO_SWEEP' >"$T/list"
whole() { # CC FLAGS: what the whole library says
    $1 -std=c99 -w -I. tests/switches.c -o "$T/whole" -lm && "$T/whole" >"$T/$2" || { cat "$T/$2"; echo "FAIL the whole library with $1"; exit 1; }
}
whole "$SMALL" small
[ "$SMALL" = "$CC" ] && cp "$T/small" "$T/large" || whole "$CC" large
failed=0 count=0
try() { # CC EXPECTED FLAGS
    $1 -std=c99 -w $3 -I. tests/switches.c -o "$T/part" -lm 2>"$T/said" && "$T/part" >"$T/said" 2>&1
    if [ $? != 0 ]; then echo "FAIL $1 $3"; head -8 "$T/said"; failed=$((failed + 1))
    elif grep -v ' refused$' "$T/said" | grep -v -x -F -f "$T/$2" | grep .; then
        echo "FAIL $1 $3: says something else than the whole library"
        failed=$((failed + 1))
    elif cmp -s "$T/said" "$T/$2" && ! echo " $3" | grep -q -e LOADERS -e URDF -e ERROR_TEXT -e BROAD -e LARGE; then
        echo "FAIL $1 $3 leaves nothing out"
        failed=$((failed + 1))
    fi
    count=$((count + 1))
}
if $CC -std=c99 -w -I. tests/single.c -o "$T/single" -lm && "$T/single" >"$T/said" 2>&1; then count=$((count + 1))
else echo "FAIL CONDSIM_SINGLE"; head -8 "$T/said"; failed=$((failed + 1))
fi
if $CC -std=c99 -w -O1 -I. -DJUDGE -c tests/single_judge.c -o "$T/judge.o" &&
    $CC -std=c99 -w -O1 -I. tests/single_judge.c "$T/judge.o" -o "$T/judge" -lm && "$T/judge" >"$T/said" 2>&1; then count=$((count + 1))
else echo "FAIL CONDSIM_SINGLE is judged otherwise in double"; head -8 "$T/said"; failed=$((failed + 1))
fi
while read -r flags; do
    try "$SMALL" small "$flags"
    case $flags in -DCONDSIM_GAME | -DCONDSIM_TINY) [ "$SMALL" = "$CC" ] || try "$CC" large "$flags" ;; esac
done <"$T/list"
echo "$count builds, $failed failed"
[ $failed = 0 ] && [ $count -gt 60 ]
