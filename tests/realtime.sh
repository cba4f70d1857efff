#!/bin/sh
# realtime.sh   what real time costs, into docs/results/realtime.md: bounded frames and certified steps beside another
# engine on the same scenes (`make peers`), each pair run in turn REPEAT times (3), and the mixed scenes of the scene
# program. Ratios are of pairs, the median of them is written. Ten minutes on an idle machine. Nothing fails here.
set -u
export LC_ALL=C
SCENE=${SCENE:-build/bench/condsim-scene}
PEERS=build/peers
OUT=build/bench/realtime
PAGE=${PAGE:-docs/results/realtime.md}
REPEAT=${REPEAT:-3}
rm -rf $OUT
mkdir -p $OUT

field() { tr ', ' '\n\n' <"$2" | sed -n "s|^$1=||p" | head -n 1; }                # of the last line that a peer printed
value() { sed -n "s|^$1=||p" "$2" | tail -n 1; }                                   # of a summary
number() { awk -v x="$1" 'BEGIN { if (x == "") print "-"; else printf "%.3g\n", x }'; }
ratio() { awk -v a="$1" -v b="$2" 'BEGIN { if (a == "" || b == "" || b <= 0) print ""; else print a / b }'; }
median() { grep . | sort -g | awk '{ x[NR] = $1 } END { if (NR) print x[int((NR + 1) / 2)] }'; }

peer() { # ENGINE FILE OPTIONS...
    engine=$1 file=$2
    shift 2
    timeout 200 $PEERS/"$engine" "$@" 2>/dev/null | tail -n 1 >"$file"
}

# NAME BUILD OPTIONS: runs in turn; OWN: options of condsim alone
pairs() {
    name=$1 build=$2
    shift 2
    for i in $(seq "$REPEAT"); do
        [ -x $PEERS/box3d ] && peer box3d "$OUT/$name.box3d.$i" "$@"
        peer "$build" "$OUT/$name.condsim.$i" "$@" $OWN
    done
}
middle() { # NAME ENGINE KEY: median over the runs
    for i in $(seq "$REPEAT"); do field "$3" "$OUT/$1.$2.$i"; done | median
}
over() { # NAME KEY: median ratio of the pairs
    [ -f "$OUT/$1.box3d.1" ] || return 0
    for i in $(seq "$REPEAT"); do
        ratio "$(field "$2" "$OUT/$1.condsim.$i")" "$(field "$2" "$OUT/$1.box3d.$i")"
    done | median
}
beside() { echo "$(number "$(middle "$1" condsim "$2")") ($(number "$(middle "$1" box3d "$2")"))"; }

bounded_run() { # SCENE SECONDS
    OWN="mode=bounded tol=1e-3"
    pairs "$1" condsim_float scene="$1" dt=0.0166667 T="$2"
    echo "| $1 | $(beside "$1" ms_last3rd) | $(number "$(over "$1" ms_last3rd)") |" \
        "$(beside "$1" ms_busiest_second) | $(number "$(over "$1" ms_busiest_second)") |" \
        "$(number "$(middle "$1" condsim mem_mb)") |"
}

bounded_row() { # SCENE SECONDS ASKED: what it got right
    echo "| $1, $2 s | $(number "$(middle "$1" condsim rms3s)") | $(beside "$1" max) | $(beside "$1" penend_mm) |" \
        "$(middle "$1" condsim certified_from_s) | $3 |"
}

certified_row() { # SCENE SECONDS TOLERANCE ASKED
    file=$OUT/$1.certified.$3
    peer condsim "$file" scene="$1" dt=0.0166667 T="$2" mode=certified tol="$3"
    if [ -z "$(field uncertified "$file")" ]; then # the line of a run that has not ended
        echo "| $1, $3, $2 s, not ended after 200 s | $(number "$(field ms/step "$file")") | - |" \
            "$(number "$(field ms_max "$file")") | - | - | $4 |"
        return
    fi
    echo "| $1, $3, $2 s | $(number "$(field ms/step "$file")") | $(number "$(field ms_busiest_second "$file")") |" \
        "$(number "$(field ms_max "$file")") | $(number "$(field ms_last3rd "$file")") |" \
        "$(field uncertified "$file") | $4 |"
}

small_row() { # SCENE LABEL
    OWN="mode=certified tol=5e-5"
    pairs "$1" condsim scene="$1" T=4
    echo "| $2 | $(number "$(middle "$1" box3d ms/step)") | $(number "$(middle "$1" condsim ms/step)") |" \
        "$(number "$(over "$1" ms/step)") | 3 | $(beside "$1" driftmax_mm) |"
}

mass_row() { # SCENE LABEL: within a budget of 5000
    file=$OUT/$1.mass
    peer condsim "$file" scene="$1" dt=0.0166667 T=4 budget=5000 tol=1e-3
    echo "| $2 | $(number "$(field ms/step "$file")") | $(number "$(field ms_max "$file")") |" \
        "$(field uncertified "$file") | $(field penmax_mm "$file") | 1 ms, 0, .05 mm |"
}

# Every step is the same in every run, to the bit: its time is the least of the runs, and what the machine did besides
# falls out. The columns are found by name.
scene_row() { # LABEL ASKED NAME OPTIONS...
    label=$1 asked=$2 file=$OUT/scene.$3.$(echo "$*" | cksum | cut -d' ' -f1)
    shift 2
    for i in $(seq $((REPEAT > 3 ? REPEAT : 3))); do
        timeout 200 "$SCENE" "$@" --h 0.0166667 --tol 1e-3 --summary --csv "$file.$i" >"$file" 2>/dev/null
    done
    awk -F, 'FNR == 1 { for (k = 1; k <= NF; k++) if ($k == "step_ms") at = k; next }
        !($1 in least) || $at < least[$1] { least[$1] = $at }
        END { for (k in least) { n++; sum += least[k]; if (least[k] > worst) worst = least[k] }
              if (n) printf "mean=%.9g\nworst=%.9g\n", sum / n, worst }' "$file".[0-9]* >>"$file"
    echo "| $label | \`$*\` | $(number "$(value mean "$file")") | $(number "$(value worst "$file")") |" \
        "$(value uncertified_steps "$file") of $(value steps "$file") | $asked |"
}

# What a run says that its steps took, by the clock on the wall; what it makes before them and reports between them is
# in one thread and no part of a step.
steps_took() { # COMMAND...
    case $1 in
    */condsim-scene)
        timeout 200 "$@" --csv "$OUT/threads.csv" >/dev/null 2>&1
        awk -F, 'NR == 1 { for (k = 1; k <= NF; k++) if ($k == "step_ms") at = k; next } { sum += $at }
            END { print sum }' "$OUT/threads.csv"
        ;;
    */bench_worlds) timeout 200 "$@" 2>/dev/null | awk -F, 'END { print $3 }' ;;
    *)
        a=$(date +%s%N)
        timeout 200 "$@" >/dev/null 2>&1
        echo $((($(date +%s%N) - a) / 1000000))
        ;;
    esac
}

threads_row() { # [ASKED=X] LABEL COMMAND...: @ stands for the number of threads
    label=$1
    shift
    for i in $(seq "$REPEAT"); do
        for t in 1 2; do
            took=$(steps_took $(printf '%s ' "$@" | sed "s/@/$t/"))
            [ $t = 1 ] && one=$took || ratio "$one" "$took"
        done
    done | median | sed "s#^#| $label | \`$(basename "$1") $(shift; echo "$*")\` | #; s/\$/ | ${ASKED:-1.7} |/"
}

beside_row() { # LABEL COMMAND...: two runs that share nothing, side by side
    label=$1
    shift
    for i in $(seq "$REPEAT"); do
        a=$(date +%s%N)
        timeout 200 "$@" >/dev/null 2>&1
        b=$(date +%s%N)
        timeout 200 "$@" >/dev/null 2>&1 &
        timeout 200 "$@" >/dev/null 2>&1
        wait
        ratio $((2 * (b - a))) $(($(date +%s%N) - b))
    done | median | sed "s#^#| $label | \`$(basename "$1") $(shift; echo "$*")\` | #; s/\$/ | |/"
}

{
    echo "# Real time, measured"
    echo
    echo "Written by \`make bench-realtime\`, which \`make bench\` begins with. Processor time of one thread, medians of"
    echo "$REPEAT runs; of two engines in turn, ratios of neighbours. In brackets the other engine's figure (Box3D"
    echo "30c67b5, 4 substeps, gcc -O2 as here). What the modes mean: [real time](../realtime.md)."
    echo
    echo "$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo 2>/dev/null | head -n 1), $(nproc) processors," \
        "$(${CC:-cc} --version | head -n 1), load at the start $(cut -d' ' -f1 /proc/loadavg 2>/dev/null)." |
        fold -s -w 118 | sed 's/ *$//'
    if [ -x $PEERS/condsim_float ]; then
        echo
        echo "## Bounded frames, h 1/60, 8 substeps, float"
        echo "Asked: over Box3D at most 1.25 at rest (the last third) and 1.5 in the busiest second; ways in the last"
        echo "second and penetration at the end below Box3D's. A world in which nothing moves any more knows its steps and"
        echo "computes none ([at rest](../solvers.md#auto)): where the last third is far below 1, that is why."
        echo
        echo "| scene | rest, ms a step | over | busiest second, ms a step | over | memory, MB |"
        echo "|---|---|---|---|---|---|"
        bounded_run P_100 6
        bounded_run P_1000 6
        bounded_run S9_20 5
        bounded_run S9_40 5
        bounded_run S4 4
        all=$REPEAT REPEAT=1
        bounded_run P_3000 8
        bounded_run S9_100 4
        echo
        echo "| scene | rms at 3 s, m/s | way in the last second, mm | deepest at the end, mm | certified from, s | asked |"
        echo "|---|---|---|---|---|---|"
        bounded_row P_3000 8 6
        bounded_row S9_100 4 10
        REPEAT=$all
        bounded_row P_100 6 -
        bounded_row P_1000 6 2.5
        bounded_row S9_20 5 -
        bounded_row S9_40 5 -
        bounded_row S4 4 -
        echo
        echo "## Certified steps, h 1/60, double"
        echo "| scene, tolerance, time | mean, ms | busiest second, ms | worst, ms | last third, ms | missed | asked |"
        echo "|---|---|---|---|---|---|---|"
        certified_row P_1000 4 1e-3 "busiest 20, worst 80, rest 3"
        certified_row P_3000 2 1e-3 "busiest 120, worst 480"
        certified_row S9_20 5 1e-3 "mean 1.5"
        certified_row S9_40 5 1e-3 "mean 12"
        echo
        echo "| scene, certified at 5e-5, h 10 ms | Box3D, ms | condsim, ms | over | asked | drift, mm |"
        echo "|---|---|---|---|---|---|"
        small_row S3e "stack of ten"
        small_row S4 "card house"
        small_row S5 "arch"
        echo
        echo "| masses a thousandfold apart, budget 5000, double | mean, ms | worst, ms | missed | deepest, mm | asked |"
        echo "|---|---|---|---|---|---|"
        mass_row S3v "1000 kg on 1 kg"
        mass_row S3g "ten boxes, 1 to 1000 kg, the heaviest on top"
    fi
    echo
    echo "## Mixed scenes, \`condsim-scene ... --h 0.0166667 --tol 1e-3\`, each step from the fastest of three runs"
    echo "| scene | command | mean, ms | worst, ms | missed | asked |"
    echo "|---|---|---|---|---|---|"
    scene_row "50 boxes, soft ball, certified" "2.5, 12" mixed-heap
    scene_row "the same within a budget" "worst 4" mixed-heap --budget 50000
    scene_row "200 crates, hills, blade, lift" "worst 2" crates --mode bounded
    scene_row "the same within a budget" "" crates --budget 50000
    scene_row "ragdoll, cable, cape, certified" "4, 20" ragdoll-cape
    scene_row "the same within a budget" "worst 3" ragdoll-cape --budget 50000
    scene_row "20 ragdolls on stairs" "worst 6" ragdoll --size 20 --mode bounded
    scene_row "net of 400 edges, 30 boxes" "worst 6" cargo-net --budget 50000
    scene_row "sheet of 50 x 50 on a sphere" "worst 8" cloth --budget 50000 --seconds 4
    echo
    echo "## Two threads over one"
    echo "| scene | command | ratio | asked |"
    echo "|---|---|---|---|"
    beside_row "two runs side by side" build/peers/condsim_float scene=P_1000 \
        dt=0.0166667 T=5 mode=bounded threads=1
    beside_row "two runs side by side" build/bench/bench_worlds 1
    beside_row "two runs side by side" "$SCENE" ball --size 17 --steps 20
    threads_row "pile of 1000, certified" "$SCENE" pile --size 1000 --seconds 2 --threads @
    ASKED=1.8 threads_row "1000 worlds of ten boxes" build/bench/bench_worlds @
    threads_row "soft ball" "$SCENE" ball --size 17 --steps 20 --threads @
    threads_row "1000 boxes in a pen, certified" build/peers/condsim scene=P_1000 dt=0.0166667 T=2 tol=1e-3 threads=@
    for scene in P_1000 P_3000; do
        threads_row "$scene, bounded" build/peers/condsim_float scene=$scene dt=0.0166667 T=5 mode=bounded threads=@
    done
} >$OUT/page.md
cp $OUT/page.md "$PAGE"
cat "$PAGE"
