#!/bin/sh
# fc3d.sh PROGRAM DIRECTORY: every solver on every problem of shared/fc3d at 1e-4 and 1e-8; tables, profiles, pictures.
# LIMIT (20): most seconds a run; SOLVERS: names, default all of the impulse level. Runs that do not end are in the table.
set -u
program=$1 out=$2
limit=${LIMIT:-20}
folder=
for f in ../shared/fc3d ../../shared/fc3d shared/fc3d; do [ -f "$f/problems.csv" ] && { folder=$f; break; }; done
[ -n "$folder" ] || { echo "fc3d: there is no folder shared/fc3d beside the project: nothing to solve"; exit 1; }
mkdir -p "$out"
solvers=${SOLVERS:-$($program --list | awk '$3 == "W" { print $1 }')}
for tol in 1e-4 1e-8; do
    table=$out/runs-$tol.csv
    $program --header > "$table"
    for file in "$folder"/*.txt; do
        for solver in $solvers; do
            timeout "$limit" $program "$file" --solver "$solver" --tol $tol --seconds 0.01 >> "$table" 2> "$out/said.txt"
            [ $? -le 2 ] || echo "$(basename "$file" .txt),,,,$solver,$tol,no-end,0,0,$limit,0,,,,,,,,1,,,,,,,,,,,," >> "$table"
        done
    done
done
$program --report "$out" "$out"/runs-1e-4.csv "$out"/runs-1e-8.csv && echo "look at $out/profile-0.0001.svg and $out/table-1e-08.md"
