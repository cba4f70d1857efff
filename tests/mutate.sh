#!/bin/sh
# mutate.sh: `make mutate`. Each line of tests/mutations.txt changes one line of one part; the part is compiled, linked with the test
# programs that fit its room, and these run until one fails. A change that no test notices has survived.
#
#   COUNT=20 SEED=3   a sample of that many lines; without COUNT: all. Lines that have a result are not run again
#   LIST=file         another list (build/mutate/mutate list SEED COUNT writes one)
#
# Results go to build/mutate/results.txt, one line a change as it ends: a run that was stopped goes on. tests/golden.txt kills
# whatever moves a bit of its scenes, and is asked last. The last line is "N passed, N failed": killed, survived. A survivor
# that is known is named with its reason in docs/results/mutations.md and does not count as a failure.
set -u
export LC_ALL=C
CC=${CC:-cc}
LIST=${LIST:-tests/mutations.txt}
OUT=build/mutate
KNOWN=docs/results/mutations.md
FLAGS="-std=c99 -w -O1 -DCONDSIM_OWN_MATH -DCONDSIM_REFERENCE -DCONDSIM_LINKED -I."
ulimit -v 6000000 2>/dev/null # a change that asks for all memory
LIBRARY="$OUT/double/libscenes.a $OUT/double/libcondsim.a"

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
    contact/*) echo settings contact fc3d impulse sweep baselines cond world world_solvers golden ;;
    solve/*) echo single baselines newton sweep fc3d impulse reference cond bounded world_solvers agreement golden ;;
    collide/*) echo collide manifold field touch queries levels world golden ;;
    model/*) echo model material cloth cable tree joint reduced golden ;;
    io/*) echo io urdf field bytes ;;
    *) echo settings world joint axes tree cable cloth touch alter events sleep reduced variational bounded urdf \
        world_solvers golden ;;
    esac
}
holds() { # a test that includes the source of a part cannot be linked with another copy of it
    grep -q "include \"../amalgamate/parts/$2\"" "tests/test_$1.c"
}

mkdir -p "$OUT/tests" "$OUT/scratch"
$CC -std=c99 -O1 tests/mutate.c -o "$OUT/mutate" || { echo "0 passed, 1 failed"; exit 1; }
make -s BUILD="$OUT" CFLAGS=-O1 $LIBRARY || { echo "the library does not build"; echo "0 passed, 1 failed"; exit 1; }
rm -rf "$OUT/tree" && mkdir -p "$OUT/tree/amalgamate" && cp -R amalgamate/parts "$OUT/tree/amalgamate/"
for t in settings contact fc3d impulse sweep baselines cond world world_solvers golden single newton reference agreement collide \
    manifold field touch model material cloth cable tree joint reduced variational io urdf queries character draw record alter \
    axes sleep events shots bytes bounds_tree bounded restrain levels; do
    o=$OUT/tests/$t.o
    [ "$o" -nt "tests/test_$t.c" ] && [ "$o" -nt "$OUT/double/libcondsim.a" ] && continue
    # what must hold without a change, and how long it takes
    from=$(date +%s)
    $CC $FLAGS -c "tests/test_$t.c" -o "$o" && $CC "$o" $LIBRARY -o "$OUT/scratch/plain" -lm && GOLDEN=short timeout 900 "$OUT/scratch/plain" -q \
        >"$OUT/tests/$t.said" 2>&1 || { echo "test_$t fails without a change: it is left out"; rm -f "$o"; continue; }
    echo $((10 * ($(date +%s) - from) + 20)) >"$OUT/tests/$t.limit"
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
    3) echo "stale||$what" >>"$OUT/results.txt"
        [ -z "$path" ] || cp "amalgamate/parts/$path" "$OUT/tree/amalgamate/parts/$path"
        continue ;;
    *) echo "cannot apply line $n of $LIST"; exit 2 ;;
    esac
    verdict=survived by=
    if ! $CC $FLAGS -include assert.h '-DCONDSIM_ASSERT(x)=assert(x)' -c "$OUT/tree/amalgamate/parts/$path" -o "$OUT/scratch/part.o" 2>/dev/null; then
        verdict=uncompiled
    else
        for t in $(tests_of "$path"); do
            [ -f "$OUT/tests/$t.o" ] || continue
            holds "$t" "$path" && continue
            $CC "$OUT/tests/$t.o" "$OUT/scratch/part.o" $LIBRARY -o "$OUT/scratch/mutant" -lm 2>"$OUT/scratch/err" || { cat "$OUT/scratch/err"; continue; }
            GOLDEN=short timeout "$(cat "$OUT/tests/$t.limit")" "$OUT/scratch/mutant" -q >"$OUT/scratch/said" 2>&1 || { verdict=killed by=$t; break; }
        done
    fi
    cp "amalgamate/parts/$path" "$OUT/tree/amalgamate/parts/$path"
    echo "$verdict|$by|$what" >>"$OUT/results.txt"
    printf '%-10s %-14s %s\n' "$verdict" "$by" "$what"
done

killed=$(grep -c '^killed|' "$OUT/results.txt")
golden=$(grep -c '^killed|golden|' "$OUT/results.txt")
stale=$(grep -c '^stale|' "$OUT/results.txt")
survived=0 known=0
grep '^survived|' "$OUT/results.txt" >"$OUT/survivors.txt"
while IFS= read -r line; do
    survived=$((survived + 1))
    if grep -q -F "$(printf '%s' "$line" | cut -d'|' -f4 | sed 's/^ *//')" "$KNOWN" 2>/dev/null; then known=$((known + 1)); else echo "survived: ${line#survived||}"; fi
done <"$OUT/survivors.txt"
echo "$killed killed ($golden by golden hashes alone), $survived survived, $known of them known; $stale lines of the list are stale"
[ $((killed + survived)) -gt 0 ] && echo "kill rate $((1000 * killed / (killed + survived))) per mille"
echo "$killed passed, $((survived - known)) failed"
[ "$survived" -eq "$known" ] && [ "$killed" -gt 0 ]
