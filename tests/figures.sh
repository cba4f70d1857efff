#!/bin/sh
# figures.sh PROGRAM [write]: figures on pages that scenes, tests and tables say, as tests/figures.txt lists them. Each runs
# once; every text with its figures filled in must stand on its page, or with "write" is put there. ONLY=page: the figures
# of that page alone. The last line is "N passed, N failed".
set -u
export LC_ALL=C
program=$1 write=${2:-}
T=$(mktemp -d)
trap 'rm -rf "$T"' EXIT
passed=0 failed=0 scene= ran=
run() { # what the scene, or parts of a test, say
    # shellcheck disable=SC2086
    case $scene in
    '@test '*) set -- ${scene#@test } && name=$1 && shift && CONDSIM_FIGURES=1 build/tests/test_"$name"-double "$@" ;;
    '@table '*) # a page and the first cells of a row: its cells by the names of the columns
        set -- ${scene#@table }
        awk -F' *[|] *' -v one="$2" -v two="$3" '/^\|/ && !head { head = split($0, name) } !/^\|/ { head = 0 }
            $2 == one && $3 == two { for (i = 2; i < NF; i++) print name[i] "=" $i }' "$1" ;;
    *) "$program" ${scene#@ } --summary ;;
    esac
}
while read -r line; do
    case $line in
    '' | '#'*) ;;
    '@ '* | '@test '* | '@table '*) scene=$line ran= ;;
    *)
        page=${line%%: *}
        [ "${ONLY:-$page}" = "$page" ] || continue
        [ "$ran" ] || { ran=1 && run >"$T/said" 2>"$T/err" || { ran=0; failed=$((failed + 1)); echo "FAIL ${scene#@ }: $(cat "$T/err" "$T/said" | grep -v = | tail -n 1)"; }; }
        [ $ran = 1 ] || continue
        if said=$(TEXT=${line#*: } WRITE=$write awk -f tests/figures.awk "$T/said" "$page"); then
            passed=$((passed + 1))
            [ "$write" != write ] || { TEXT=${line#*: } WRITE=page awk -f tests/figures.awk "$T/said" "$page" >"$T/page" && cp "$T/page" "$page"; }
        else
            failed=$((failed + 1))
            echo "FAIL $page: $said (${scene#@ }; make figures WRITE=1)"
        fi ;;
    esac
done <tests/figures.txt
echo "$passed passed, $failed failed"
[ $failed = 0 ]
