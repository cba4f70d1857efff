#!/bin/sh
# figures.sh PROGRAM [write]: figures on the pages that scenes print, as tests/figures.txt lists them. Each scene runs once;
# every text with its figures filled in must stand on its page, or with "write" is put there. The last line is
# "N passed, N failed".
set -u
export LC_ALL=C
program=$1 write=${2:-}
T=$(mktemp -d)
trap 'rm -rf "$T"' EXIT
passed=0 failed=0 scene= ran=1
while read -r line; do
    case $line in
    '' | '#'*) ;;
    '@ '*)
        scene=${line#@ } ran=1
        # shellcheck disable=SC2086
        "$program" $scene --summary >"$T/said" 2>"$T/err" || { ran=0; failed=$((failed + 1)); echo "FAIL $scene: $(tail -n 1 "$T/err")"; }
        ;;
    *)
        [ $ran = 1 ] || continue
        page=${line%%: *}
        if said=$(TEXT=${line#*: } WRITE=$write awk -f tests/figures.awk "$T/said" "$page"); then
            passed=$((passed + 1))
            [ "$write" != write ] || { TEXT=${line#*: } WRITE=page awk -f tests/figures.awk "$T/said" "$page" >"$T/page" && cp "$T/page" "$page"; }
        else
            failed=$((failed + 1))
            echo "FAIL $page: $said (condsim-scene $scene; make figures WRITE=1)"
        fi ;;
    esac
done <tests/figures.txt
echo "$passed passed, $failed failed"
[ $failed = 0 ]
