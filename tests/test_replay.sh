#!/bin/sh
# test_replay.sh [--allow-missing] [--shots FOLDER] [PAGE...]   builds a made-up replay and opens it in headless Chromium,
# then every other PAGE. Run from the root of the project. --allow-missing: no node or no chromium is a skip, not a
# failure. The last line is "N passed, N failed".
set -u

build=build/replay
passed=0 failed=0
missing= shots=
while [ $# -gt 0 ]; do
    case $1 in
    --allow-missing) missing=--allow-missing ;;
    --shots) shots=$2; shift ;;
    *) break ;;
    esac
    shift
done

count() { # count STATUS TEXT
    if [ "$1" -eq 0 ]; then passed=$((passed + 1)); echo "ok   $2"; else failed=$((failed + 1)); echo "FAIL $2"; fi
}

page() { # page FILE ARGUMENTS...
    text=$(node tests/check_replay.js "$@" $missing)
    last=$(printf '%s\n' "$text" | tail -n 1)
    printf '%s\n' "$text" | sed '$d'
    case $last in
    *" passed, "*" failed")
        passed=$((passed + ${last%% passed*}))
        last=${last##*, }
        failed=$((failed + ${last%% failed*})) ;;
    *) count 1 "check_replay.js $1 came to its end" ;;
    esac
}

mkdir -p $build
compile="${CC:-cc} -std=c99 -O2 -Wall -Wextra"
$compile examples/scenes/embed/embed.c -o $build/embed &&
    $build/embed examples/scenes/viewer.html examples/scenes/viewer_page.h viewer_page --check
count $? "viewer_page.h is viewer.html (else: make examples/scenes/viewer_page.h)"
$compile tests/demo_replay.c examples/scenes/replay.c examples/scenes/replay_mesh.c -o $build/demo -lm &&
    $build/demo $build/demo.html $build/expect.json
count $? "the demo is written"

if ! command -v node > /dev/null; then
    if [ -n "$missing" ]; then echo "skip replay in a browser: node was not found"; else count 1 "node was found"; fi
else
    page $build/demo.html --expect $build/expect.json ${shots:+--shots "$shots/demo"}
    for file in "$@"; do page "$file" --brief ${shots:+--shots "$shots/$(basename "$file" .html)"}; done
fi
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
