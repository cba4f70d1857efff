#!/bin/sh
# mutate.sh: `make mutate`. Each line of tests/mutations.txt changes one line of one part; its room is compiled, linked with the test
# programs one after another, and these run until a test fails: those of its subject, those of its room (the quick ones first),
# tests/golden.txt, which kills whatever moves a bit of its scenes, and at last all others. What none notices has survived.
#
#   COUNT=20 SEED=3   a sample of that many lines; without COUNT: all. Lines that have a result are not run again
#   ROOM=1            quick: those of the room and golden hashes alone
#   LIST=file         another list (build/mutate/mutate list SEED COUNT writes one)
#
# Results go to build/mutate/results.txt, one line a change as it ends: a run that was stopped goes on. The last line is
# "N passed, N failed": killed, survived. A survivor that is known is named with its reason in docs/results/mutations.md
# and does not count as a failure. The command fails when less than 95 % of the others are killed.
set -u
export LC_ALL=C
CC=${CC:-cc}
LIST=${LIST:-tests/mutations.txt}
OUT=build/mutate
KNOWN=docs/results/mutations.md
FLAGS="-std=c99 -w -O1 -DCONDSIM_OWN_MATH -DCONDSIM_REFERENCE -DCONDSIM_LINKED -I."
ulimit -v 6000000 2>/dev/null # a change that asks for all memory
LIBRARY="$OUT/double/libscenes.a $OUT/double/libcondsim.a"
ALL=$(ls tests/test_*.c | sed 's/.*test_//; s/\.c$//' | grep -v -x stb) # that one wants a package

tests_of() { # a part: the tests of its own subject first, then those of its room
    case $1 in
    */queries.c | */ray*.c | */look.c | collide/distance.c) echo queries ;;
    */character.c) echo character ;;
    */draw.c) echo draw ;;
    */record.c) echo record ;;
    */link.c | */remove.c | */reshape.c | store/change.c) echo alter ;;
    */axes_*) echo axes ;;
    */sleep.c | */kept.c | */still.c | store/bed.c) echo sleep ;;
    */tell.c | */sense.c | */touching.c) echo events ;;
    */path.c | */unseen.c | */shorten.c) echo shots ;;
    */intact.c | */snapshot.c) echo bytes sleep ;;
    */bounds_tree.c) echo bounds_tree ;;
    */bounded.c) echo bounded ;;
    */restrain.c) echo restrain ;;
    */reduced*) echo reduced ;;
    esac
    case $1 in
    contact/*) by_time settings contact fc3d impulse sweep baselines cond world world_solvers ;;
    solve/*) by_time single baselines newton sweep fc3d impulse reference cond bounded world_solvers agreement ;;
    collide/*) by_time collide manifold field touch queries levels triangles world ;;
    model/*) by_time settings model material cloth cable tree joint reduced ;;
    io/*) by_time io urdf field bytes ;;
    *) by_time settings world joint axes tree cable cloth touch alter events sleep reduced variational bounded urdf world_solvers ;;
    esac
    echo golden
    [ "${ROOM:-}" ] || by_time $ALL
}
by_time() {
    for name in "$@"; do echo "$(cat "$OUT/tests/$name.seconds" 2>/dev/null) $name"; done | sort -n | cut -d' ' -f2
}
holds() { # a test that includes the source of a part: made anew from a copy of the tree, where that part is changed
    grep -q "include \"../amalgamate/parts/$2\"" "tests/test_$1.c"
}

mkdir -p "$OUT/tests" "$OUT/scratch" build/tests
$CC -std=c99 -O1 tests/mutate.c -o "$OUT/mutate" || { echo "0 passed, 1 failed"; exit 1; }
make -s BUILD="$OUT" CFLAGS=-O1 $LIBRARY || { echo "the library does not build"; echo "0 passed, 1 failed"; exit 1; }
rm -rf "$OUT/tree" && mkdir -p "$OUT/tree/amalgamate" && cp -R amalgamate/parts "$OUT/tree/amalgamate/"
cp -R tests examples condsim.h "$OUT/tree/"
for t in $ALL; do
    o=$OUT/tests/$t.o
    [ "$o" -nt "tests/test_$t.c" ] && [ "$o" -nt "$OUT/double/libcondsim.a" ] && continue
    # what must hold without a change, and how long it takes
    $CC $FLAGS -c "tests/test_$t.c" -o "$o" && $CC "$o" $LIBRARY -o "$OUT/scratch/plain" -lm || { rm -f "$o"; continue; }
    from=$(date +%s)
    GOLDEN=short timeout 900 "$OUT/scratch/plain" -q >"$OUT/tests/$t.said" 2>&1 || { echo "test_$t fails without a change: it is left out"; rm -f "$o"; continue; }
    echo $(($(date +%s) - from)) >"$OUT/tests/$t.seconds"
done

touch "$OUT/results.txt"
total=$(grep -c . "$LIST")
if [ -n "${COUNT:-}" ]; then
    numbers=$(awk -v n="$total" -v c="$COUNT" -v s="${SEED:-1}" 'BEGIN { srand(s); for (i = 1; i <= n; i++) print rand(), i }' | sort |
        head -n "$COUNT" | cut -d' ' -f2 | sort -n)
else
    numbers=$(seq 1 "$total")
fi
for n in $numbers; do
    what=$(sed -n "${n}p" "$LIST" | cut -f1,3,4 | tr '\t' '|')
    grep -q -F "|$what" "$OUT/results.txt" && continue
    path=$("$OUT/mutate" apply "$LIST" "$n" amalgamate/parts "$OUT/tree/amalgamate/parts")
    case $? in
    0) ;;
    3) printf '%s\n' "stale||$what" >>"$OUT/results.txt"
        [ -z "$path" ] || cp "amalgamate/parts/$path" "$OUT/tree/amalgamate/parts/$path"
        continue ;;
    *) echo "cannot apply line $n of $LIST"; exit 2 ;;
    esac
    verdict=survived by=
    for room in $(sh tests/sources.sh); do sh tests/sources.sh "$room" >"$OUT/scratch/room.c" && grep -q -F "\"$path\"" "$OUT/scratch/room.c" && break; done
    if ! $CC $FLAGS -I"$OUT/tree/amalgamate/parts" -include assert.h '-DCONDSIM_ASSERT(x)=assert(x)' -c "$OUT/scratch/room.c" -o "$OUT/scratch/room.o" 2>/dev/null; then
        verdict=uncompiled
    else
        asked=" "
        for t in $(tests_of "$path"); do
            case $asked in *" $t "*) continue ;; esac
            asked="$asked$t "
            [ -f "$OUT/tests/$t.o" ] || continue
            with="$OUT/tests/$t.o $OUT/scratch/room.o"
            if holds "$t" "$path"; then
                with=$OUT/scratch/held.o
                $CC $FLAGS -c "$OUT/tree/tests/test_$t.c" -o "$with" || continue
            fi
            $CC $with $LIBRARY -o "$OUT/scratch/mutant" -lm 2>"$OUT/scratch/err" || { cat "$OUT/scratch/err"; continue; }
            most=$((10 + 4 * $(cat "$OUT/tests/$t.seconds"))) # seconds of processor, for what never ends
            (ulimit -t $most && GOLDEN=short timeout $((5 * most)) "$OUT/scratch/mutant" -q --first) >"$OUT/scratch/said" 2>&1 || { verdict=killed by=$t; break; }
        done
    fi
    cp "amalgamate/parts/$path" "$OUT/tree/amalgamate/parts/$path"
    printf '%s\n' "$verdict|$by|$what" >>"$OUT/results.txt"
    printf '%-10s %-14s %s\n' "$verdict" "$by" "$what"
done

killed=$(grep -c '^killed|' "$OUT/results.txt")
golden=$(grep -c '^killed|golden|' "$OUT/results.txt")
stale=$(grep -c '^stale|' "$OUT/results.txt")
survived=0 known=0
while IFS='	' read -r path before old new; do
    grep -q -F -x "survived||$path|$old|$new" "$OUT/results.txt" || continue
    survived=$((survived + 1))
    if P="--- $path" O="-$old" N="+$new" awk '$0 == ENVIRON["P"] { p = NR } $0 == ENVIRON["O"] && p == NR - 1 { o = NR }
        $0 == ENVIRON["N"] && o == NR - 1 { found = 1 } END { exit !found }' "$KNOWN"; then
        known=$((known + 1))
    else
        printf 'survived: %s\n-%s\n+%s\n' "$path" "$old" "$new"
    fi
done <"$LIST"
echo "$killed killed ($golden by golden hashes alone), $survived survived, $known of them known; $stale lines of the list are stale"
[ $((killed + survived)) -gt 0 ] && echo "kill rate $((1000 * killed / (killed + survived - known))) per mille without these"
echo "$killed passed, $((survived - known)) failed"
[ "$killed" -gt 0 ] && [ $((100 * killed)) -ge $((95 * (killed + survived - known))) ]
