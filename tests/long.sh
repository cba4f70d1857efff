#!/bin/sh
# The physics that takes minutes, as a table: what was measured, what it must be, whether it is.
#
#   long.sh check     standing scenes for 60 simulated seconds: part of `make check`
#   long.sh long      every figure below in full, with 10 minutes of fuzzing: `make long`
#   long.sh GROUP...  e.g. long.sh creep grip
#
# Needs build/bin/condsim-scene (PROGRAM=... for another). Real meshes are looked for in the folder MESHES. Rows go to
# build/long/figures.csv too, one file of the steps a run beside it. A row without a bound only shows a number.
# The last line is "N passed, N failed".
set -u
export LC_ALL=C
PROGRAM=${PROGRAM:-build/bin/condsim-scene}
MESHES=${MESHES:-../shared/real/meshes}
OUT=${OUT:-build/long}
JOBS=${JOBS:-$(nproc 2>/dev/null || echo 2)}
SECONDS_LONG=${SECONDS_LONG:-600} # of the standing scenes
FUZZ=${FUZZ:-600}                 # seconds of fuzzing
BYTES=${BYTES:-3600}              # the same of each kind of bytes

# ---- rows

run() { # LABEL SCENE ARGUMENTS...: simulates; the figures below are of this run
    label=$1
    shift
    summary=$OUT/$label.summary
    from=$(date +%s)
    timeout "${LIMIT:-1800}" "$PROGRAM" "$@" --summary --csv "$OUT/$label.steps.csv" >"$summary" 2>&1
    status=$?
    took=$(($(date +%s) - from))
    [ $status -eq 0 ] && [ -s "$summary" ] || row "$label" "exit status" $status = 0
}

row() { # LABEL FIGURE VALUE [RELATION BOUND]
    verdict=ok
    if [ $# -gt 3 ]; then
        printf '%s\n' "$3" | grep -q -E '^-?[0-9]+(\.[0-9]*)?([eE][-+]?[0-9]+)?$' &&
            awk -v v="$3" -v r="$4" -v b="$5" 'BEGIN { exit !(r == "<=" ? v + 0 <= b + 0 : r == "<" ? v + 0 < b + 0 : r == ">=" ? v + 0 >= b + 0 : v + 0 == b + 0) }' ||
            verdict=FAIL
    else
        verdict=shown
    fi
    printf '%-5s %-26s %-22s %14s  %s\n' "$verdict" "$1" "$2" "$3" "${4:-} ${5:-}"
    echo "$1,$2,$3,${4:-},${5:-},$verdict" >>"$OUT/$group.csv"
}

figure() { # NAME [RELATION BOUND]
    name=$1
    shift
    value=$(sed -n "s/^$name=//p" "$summary" | tail -n 1)
    row "$label" "$name" "${value:-none}" "$@"
}

every_step_certified() {
    figure uncertified_steps = 0
    figure capped_steps = 0
    figure mean_iterations
    row "$label" "took, s" "$took"
}

# ---- what stands: SECONDS simulated

stands() { # LABEL SECONDS DRIFT-MM SCENE ARGUMENTS...
    stands_label=$1 seconds=$2 drift=$3
    shift 3
    run "$stands_label" "$@" --seconds "$seconds"
    figure stands = 1
    figure drift_mm ${drift:+'<' "$drift"}
    every_step_certified
}

group_stack() { stands stack "$1" 0.1 stack; }
group_house() { stands card-house "$1" 0.025 card-house; }
group_arch() { stands arch-thick "$1" 0.1 arch; }
group_thin_arch() { stands arch-thin "$1" 0.1 arch --set thickness=0.115; }
group_heavy() {
    for variant in g v; do
        stands heavy-stack-$variant "$1" '' heavy-stack --set variant=$variant
        figure max_penetration '<' 0.05e-3
    done
}
group_cond() { # COND alone on what stands and slides, at small and large gains of its virtual nodes
    for scene in sliding-box stack heavy-stack arch card-house ball mat; do
        for gain in 30 1e3 1e4; do
            run "cond-$scene-$gain" $scene --solver cond --set gain=$gain --tol 5e-5
            case $scene in *stack | arch | card-house) figure stands = 1 && figure drift_mm ;; esac
            every_step_certified
        done
    done
}

# ---- the others: they have their own length

creep() { # LABEL ARGUMENTS...: 100 s after 5 s in which the block settles
    creep_label=$1
    shift
    run "$creep_label" incline --seconds 105 "$@"
    figure creep_m '<' 1e-9
    every_step_certified
}
group_creep() {
    creep creep-rigid-mu05 # half a degree below the friction angle
    creep creep-rigid-mu03 --set mu=0.3 --set angle=10
}
group_soft_creep() {
    creep creep-soft-mu05 --set body=soft
    creep creep-soft-mu03 --set body=soft --set mu=0.3 --set angle=10
}

drop() { # LABEL FILE
    [ -f "$2" ] || { echo "skipped: $1: $2 is not there (MESHES=folder)"; return; }
    run "$1" drop-mesh --set mesh="$2" --seconds 4
    figure rest_time_s '>=' 0
    figure rest_time_s '<=' 3
    figure inverted = 0
    figure max_penetration
    every_step_certified
}
group_mascot() { drop drop-mascot examples/scenes/mascot.msh; }
group_raptor() { drop drop-raptor "$MESHES/raptorTetra_8418.vtu"; }
group_liver() { drop drop-liver "$MESHES/liver.msh"; }

group_soft() {
    for scene in ball squeeze mat; do
        run $scene $scene
        figure inverted = 0
        every_step_certified
        figure realtime_factor
    done
}
group_fold() {
    run soft-mat-fold soft-mat --tol 5e-5
    figure products_mean '<=' 90
    figure max_penetration '<=' 1e-9
    figure inverted = 0
    every_step_certified
}
growth() { # LABEL BOUND SMALL LARGE SCENE ARGUMENTS...: iterations of two sizes, eight times the nodes apart
    growth_label=$1 bound=$2 small=$3 large=$4
    shift 4
    run "$growth_label-$small" "$@" --size "$small"
    every_step_certified
    growth_small=$(sed -n 's/^mean_iterations=//p' "$summary")
    run "$growth_label-$large" "$@" --size "$large"
    every_step_certified
    row "$growth_label" "iterations, growth" \
        "$(awk -v s="$growth_small" -v l="$(sed -n 's/^mean_iterations=//p' "$summary")" 'BEGIN { print l / s }')" \
        '<=' "$bound"
}
group_growth() {
    growth growth-solid 1.4 8 16 ball-grip --tol 5e-5
    growth growth-mat 1.2 13 37 soft-mat --tol 5e-5
}
group_grip() {
    for E in 1e5 1e6 1e7; do
        for tol in 5e-5 1e-6; do
            run "ball-grip-$E-$tol" ball-grip --set E=$E --tol $tol
            case $tol in 5e-5) figure products_mean '<=' 45 ;; *) figure products_mean '<=' 80 ;; esac
            figure slip_mm
            every_step_certified
        done
    done
}
group_pile() {
    run pile-1000 pile --tol 1e-3 --seconds 5
    figure sat_end_mm '<' 0.1
    figure rest_time_s '>=' 0
    figure mean_solve_ms
    every_step_certified
}
group_sliding() {
    for kv in 1e3:0.1226:0.6131 1e4:0.0122:0.0612 1e5:0.0012:0.0061; do
        kv_y=${kv#*:}
        run "sliding-box-${kv%%:*}" sliding-box --set stabilization=0 --set shift=0 --set kv="${kv%%:*}"
        figure error_y_mm '<=' "$(awk -v y="${kv_y%:*}" 'BEGIN { print y + 2e-4 }')"
        figure error_y_mm '>=' "$(awk -v y="${kv_y%:*}" 'BEGIN { print y - 2e-4 }')"
        figure error_z_mm '<=' "$(awk -v z="${kv_y#*:}" 'BEGIN { print z + 2e-4 }')"
        figure error_z_mm '>=' "$(awk -v z="${kv_y#*:}" 'BEGIN { print z - 2e-4 }')"
    done
    for integrator in midpoint euler; do
        run "sliding-box-$integrator" sliding-box --integrator $integrator
        figure error_y_mm '<' 1e-6
        figure error_z_mm '<' 1e-6
        every_step_certified
    done
}
closes() { # KIND: an hour of closed loops and of a loaded chain; validation 34
    LIMIT=7200 run "linkage-$1" linkage --set kind="$1" --seconds "$hour"
    figure closure_m '<' 1e-9
    figure turns
    every_step_certified
}
group_linkage() {
    hour=${HOUR:-3600}
    closes four-bar
    closes crank
}
group_chain() {
    hour=${HOUR:-3600}
    closes chain
}
group_winding() {
    for edges in 160 320; do
        run winding-$edges cable-winding --size $edges
        figure end_force_n '>=' 10.07
        figure end_force_n '<=' 10.28
        figure penetration_mm '<=' 1e-6
        figure iterations_mean '<=' 5
        every_step_certified
        run winding-$edges-at-once cable-winding --size $edges --h 0.02 --set E=1e9 --set speed=10
        figure speed_max '<' 3
        figure uncertified_steps '<=' 2
    done
}
group_pinch() {
    for payload in rigid soft cable; do
        for force in 12 60; do
            run pinch-$payload-$force pinch --set payload=$payload --set N=$force
            figure slip_um_per_s '<=' 1e-3
            every_step_certified
        done
    done
}
group_rollback() { # and tests/test_play.c
    run rollback rollback --seconds 60 --mode bounded --budget 50000
    figure differ = 0
    figure again '>=' 25000
    figure us_both
    figure us_keep
    figure us_take_back
}
group_papers() {
    run beam beam
    figure joint_open_m '<' 1e-6
    figure inserted_mm '>=' 99
    run net net
    figure links_whole = 80
    run grasp grasp
    figure held = 1
    run woven woven
    for piece in 22 32 23 33; do figure holds_$piece = 1; done
    for piece in 11 21 31 12 13; do figure holds_$piece = 0; done
}
group_fuzz() {
    [ -x build/long/fuzz ] || { echo "skipped: fuzz: build/long/fuzz is not there (make long builds it)"; return; }
    build/long/fuzz "$1" 7 >"$OUT/fuzz.said" 2>&1
    row fuzz "exit status" $? = 0
    row fuzz "calls" "$(sed -n 's/.* sessions, \([0-9]*\) calls.*/\1/p' "$OUT/fuzz.said")" '>=' 1000
    tail -n 1 "$OUT/fuzz.said" | grep -q ' 0 failed$' || tail -n 12 "$OUT/fuzz.said"
}

# damaged files, snapshots and problems, an hour of each kind
bytes() { # FORMAT SECONDS
    [ -x build/long/fuzz_bytes ] || { echo "skipped: bytes: build/long/fuzz_bytes is not there (make long builds it)"; return; }
    build/long/fuzz_bytes "$1" "$2" 11 $(ls tests/corpus/"$1"/* 2>/dev/null) >"$OUT/bytes_$1.said" 2>&1
    row "bytes-$1" "exit status" $? = 0
    row "bytes-$1" "inputs" "$(sed -n 's/^[a-z0-9]* *\([0-9]*\) inputs.*/\1/p' "$OUT/bytes_$1.said")" '>=' 100
    tail -n 1 "$OUT/bytes_$1.said" | grep -q ' 0 failed$' || tail -n 12 "$OUT/bytes_$1.said"
}
group_bytes_snapshot() { bytes snapshot "$1"; }
group_bytes_gmsh() { bytes gmsh "$1"; }
group_bytes_vtk() { bytes vtk "$1"; }
group_bytes_vtu() { bytes vtu "$1"; }
group_bytes_tetgen() { bytes tetgen "$1"; }
group_bytes_obj() { bytes obj "$1"; }
group_bytes_urdf() { bytes urdf "$1"; }
group_bytes_modes() { bytes modes "$1"; }
group_bytes_field() { bytes field "$1"; }
group_bytes_problem() { bytes problem "$1"; }
group_bytes_fc3d() { bytes fc3d "$1"; }

# ---- running

all() { # GROUP:ARGUMENT...: side by side, shown in order
    rm -f "$OUT"/*.csv "$OUT"/*.summary "$OUT"/*.said
    printf '%s\n' "$@" | xargs -P "$JOBS" -I '{}' sh tests/long.sh in '{}'
    passed=0 failed=0
    echo "run,figure,value,relation,bound,verdict" >"$OUT/figures.csv"
    for g in "$@"; do
        name=${g%%:*}
        cat "$OUT/$name.log"
        grep -q -e '^skipped: ' "$OUT/$name.log" && [ ! -s "$OUT/$name.csv" ] && continue
        [ -s "$OUT/$name.csv" ] || { echo "FAIL $name left no figure"; failed=$((failed + 1)); continue; }
        cat "$OUT/$name.csv" >>"$OUT/figures.csv"
    done
    passed=$((passed + $(grep -c ',ok$' "$OUT/figures.csv")))
    failed=$((failed + $(grep -c ',FAIL$' "$OUT/figures.csv")))
    echo "$passed passed, $failed failed"
    [ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
}

mkdir -p "$OUT"
[ -x "$PROGRAM" ] || { echo "$PROGRAM is not built"; echo "0 passed, 1 failed"; exit 1; }
standing="house stack arch thin_arch heavy"
at() { for g in $standing; do printf '%s:%s ' "$g" "$1"; done; }
# shellcheck disable=SC2046
case ${1:-long} in
check) all $(at 60) ;;
long) all "fuzz:$FUZZ" $(for f in snapshot gmsh vtk vtu tetgen obj urdf modes field problem fc3d; do echo "bytes_$f:$BYTES"; done) $(at "$SECONDS_LONG") pile creep soft_creep cond raptor liver mascot soft fold growth grip sliding linkage chain winding pinch \
    rollback papers ;;
in)
    group=${2%%:*}
    case $2 in *:*) "group_$group" "${2#*:}" ;; *) "group_$group" 60 ;; esac >"$OUT/$group.log" 2>&1 ;;
*) all "$@" ;;
esac
