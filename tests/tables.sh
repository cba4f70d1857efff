#!/bin/sh
# tables.sh PROGRAM DIRECTORY [fast]: the experiments of the papers; PROGRAM-double and PROGRAM-float write the tables,
# this joins them into index.md. Fails when a table has no rows or no certificate.
set -u
export LC_ALL=C
program=$1 out=$2 fast=${3:-}
mkdir -p "$out"
rm -f "$out"/*.csv "$out"/*.md "$out"/*.svg
failed=0
start=$(date +%s)
"$program-double" "$out" $fast || failed=1
"$program-float" "$out" $fast || failed=1
{
    echo "# The experiments of the five papers"
    echo
    echo "Written by \`make tables${fast:+ FAST=1}\`. Certificate: the largest of its four figures (docs/solvers.md), the worst of a row;"
    echo "below it everything else is a matter of taste. Times are processor time of one thread."
    echo
    for name in cond-1-sliding cond-2-mat cond-3-ball cond-4-stiffness cond-5-cable cond-6-gripper cond-7-ccs cond-8-pbd cond-8-pbd-bodies \
        cond-9-acceleration cond-invertible cond-anisotropic percontact-1-single percontact-6-histogram percontact-2-tasks lcp-ellipse-table \
        lcp-grasp newton-convergence newton-geometric newton-floor staggered-painleve staggered-warm staggered-house scaling steps; do
        if [ -s "$out/$name.md" ]; then
            cat "$out/$name.md"
            rm "$out/$name.md"
        elif [ "$fast" != fast ] || [ $name != cond-6-gripper ]; then
            echo "## $name is missing"
            echo "tables: $name is missing" >&2
            failed=1
        fi
    done
} > "$out/index.new"
awk -f tests/fit.awk "$out/index.new" > "$out/index.md"
rm "$out/index.new"
grep -L certificate "$out"/*.csv | grep . && { echo "tables: no certificate column there"; failed=1; }
echo "$(ls "$out"/*.csv | wc -l) tables in $(($(date +%s) - start)) s: $out/index.md"
exit $failed
