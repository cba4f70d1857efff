#!/bin/sh
# fc3d.sh PROGRAM DIRECTORY: every solver on every problem of shared/fc3d at 1e-4 and 1e-8; tables, profiles, pictures.
# LIMIT (20): most seconds a run; SOLVERS: names, default all of the impulse level. Runs that do not end are in the table.
# Last AUTO beside the quickest run of Siconos (peers.csv of that folder) that meets the tolerance in both natural maps:
# faster from 20 contacts on, within 10 us below. Only an idle machine can tell; SOLVERS=auto make fc3d is the quick way.
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
for tol in 1e-4 1e-8; do
    awk -F, -v tol=$tol '
        function worse(a, b) { return a + 0 > b + 0 ? a + 0 : b + 0 }
        FNR == NR {
            if ($7 == "ok" && $6 + 0 == tol + 0 && $13 != "" && worse($13, $15) <= tol && (!($1 in best) || $9 + 0 < best[$1])) {
                best[$1] = $9 + 0
                name[$1] = $5
            }
            next
        }
        $5 == "auto" {
            if (!shown++) print "| problem | contacts | AUTO at " tol ", ms | Siconos, ms | ratio | |\n|---|---|---|---|---|---|"
            verdict = $7 != "ok" || worse($17, $19) > tol ? "not solved" : !($1 in best) ? "nobody else" : $10 < best[$1] ? "" : \
                $4 < 20 && $10 < best[$1] + 1e-5 ? "within 10 us" : "slower"
            bad += verdict == "slower"
            printf "| %s | %d | %.4g | %s | %s | %s |\n", $1, $4, 1e3 * $10, ($1 in best) ? sprintf("%.4g (%s)", 1e3 * best[$1], name[$1]) : "none", \
                ($1 in best) ? sprintf("%.3g", $10 / best[$1]) : "", verdict
        }
        END { print "\n" bad + 0 " slower" }' "$folder/peers.csv" "$out/runs-$tol.csv" | tee "$out/siconos-$tol.md"
done
$program --report "$out" "$out"/runs-1e-4.csv "$out"/runs-1e-8.csv && echo "look at $out/profile-0.0001.svg and $out/table-1e-08.md"
