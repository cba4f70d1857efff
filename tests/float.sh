#!/bin/sh
# float.sh   every scene of the scene program in double and in float at 1e-3, into docs/results/float.md: processor time,
# iterations, steps missed. Long scenes are cut. Short runs are the least of three. Five minutes; nothing fails here.
set -u
export LC_ALL=C
DOUBLE=build/bench/condsim-scene FLOAT=build/bench/condsim-scene-float
OUT=build/bench/float
PAGE=${PAGE:-docs/results/float.md}
rm -rf $OUT
mkdir -p $OUT

steps() { # of a scene whose own length takes more than ten seconds
    case $1 in
    pile | mat-fold | cloth | everything | rollback) echo 60 ;;
    woven) echo 10 ;;
    shots) echo 28 ;;
    cargo-net) echo 150 ;;
    pneunet | soft-gripper | floor-of-triangles | sleepers | jamming) echo 200 ;;
    net | car | soft-ball | cable-winding) echo 1000 ;;
    esac
}
value() { sed -n "s|^$1=||p" "$2" | tail -n 1; }

run() { # PROGRAM SCENE FILE: its summary, and user=SECONDS
    n=$(steps "$2")
    for i in 1 2 3; do
        # shellcheck disable=SC2086
        /usr/bin/env bash -c 'TIMEFORMAT=%U; time timeout 200 "$@" >"$0" 2>/dev/null' "$3" \
            $1 "$2" --tol 1e-3 --summary ${n:+--steps $n} 2>>"$3.times"
        if awk '$1 > 0.5 { exit 1 }' "$3.times"; then continue; else break; fi
    done
    echo "user=$(sort -g "$3.times" | head -n 1)" >>"$3"
}

{
    echo "# Float and double, measured"
    echo
    echo "Written by \`make bench-float\`: every scene of the scene program at \`--tol 1e-3\`, built with gcc -O3, processor time"
    echo "of one thread; steps missed are those without a certificate. Float is the fast build: a ratio above 1 says where it"
    echo "is not. Runs below half a second are the least of three, and of a few milliseconds the ratio is noise."
    echo
    echo "| scene | steps | double, s | float, s | ratio | iterations a step, double | float | missed, double | float |"
    echo "|---|---|---|---|---|---|---|---|---|"
} >$OUT/page
for scene in $($DOUBLE --list | sed -n 's/^\([a-z-]*\):.*/\1/p'); do
    run $DOUBLE "$scene" $OUT/"$scene".double
    run $FLOAT "$scene" $OUT/"$scene".float
    d=$OUT/$scene.double f=$OUT/$scene.float
    awk -v scene="$scene" -v steps="$(value max_step "$d")" -v a="$(value user "$d")" -v b="$(value user "$f")" \
        -v i="$(value mean_iterations "$d")" -v j="$(value mean_iterations "$f")" \
        -v m="$(value uncertified_steps "$d")" -v n="$(value uncertified_steps "$f")" 'BEGIN {
        printf "| %s | %s | %.3g | %.3g | %s | %.3g | %.3g | %s | %s |\n", scene, steps, a, b,
            (a > 0 && b > 0 ? sprintf("%.2f", b / a) : "-"), i, j, m, n }' | tee -a $OUT/page
done
cp $OUT/page "$PAGE"
