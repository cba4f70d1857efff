#!/bin/sh
# run.sh build PROGRAM COMMAND...  compiles a test program; when that fails, PROGRAM becomes a script that says so and fails
# run.sh one LOG COMMAND...        runs a test program into LOG and shows one line of it; a crash or a missing closing line is
#                                  a failure; what failed, and what a richer machine would have run, is shown under the line
# run.sh total LOG...              adds up the closing lines
set -u

closing='^[0-9][0-9]* passed, [0-9][0-9]* failed$'

build() {
    program=$1
    shift
    rm -f "$program"
    "$@" >"$program.said" 2>&1 && rm -f "$program.said" && return
    { echo '#!/bin/sh'; echo "cat '$program.said'; echo 'FAIL it does not build'; echo '0 passed, 1 failed'; exit 1"; } >"$program"
    chmod +x "$program"
    touch -t 197001010000 "$program" # built again the next time
}

one() {
    log=$1 name=$(basename "$1" .log)
    shift
    status=0
    "$@" >"$log" 2>&1 || status=$?
    last=$(tail -n 1 "$log")
    if ! printf '%s\n' "$last" | grep -q "$closing"; then
        printf 'FAIL %s ended with status %s and no closing line\n0 passed, 1 failed\n' "$name" "$status" >>"$log"
    elif [ "$status" -ne 0 ] && printf '%s\n' "$last" | grep -q ' 0 failed$'; then
        printf 'FAIL %s passed every test but ended with status %s\n0 passed, 1 failed\n' "$name" "$status" >>"$log"
    fi
    # the children of this shell: their seconds of processor, whatever else the machine does
    times >"$log.times"
    seconds=$(tail -n 1 "$log.times" | sed 's/[ms]/ /g' | awk '{ printf "%.1f", 60 * ($1 + $3) + $2 + $4 }')
    rm -f "$log.times"
    last=$(tail -n 1 "$log")
    shown=$(printf '%-32s %s, %s s' "$name" "$last" "$seconds")
    case $last in
    *' 0 failed') rest=$(grep -e '^lacks ' -e '^skipped: ' "$log" | sed 's/^/    /') ;;
    *) rest=$(grep -v -e '^ok ' -e "$closing" "$log" | sed 's/^/    /') ;;
    esac
    [ -z "$rest" ] || shown=$(printf '%s\n%s' "$shown" "$rest")
    printf '%s\n' "$shown" # in one piece: others run beside it
}

total() {
    passed=0 failed=0
    for log in "$@"; do
        last=$(tail -n 1 "$log")
        passed=$((passed + ${last%% passed*}))
        last=${last##*, }
        failed=$((failed + ${last%% failed*}))
    done
    echo "$passed passed, $failed failed"
    [ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
}

command=$1
shift
case $command in
build) build "$@" ;;
one) one "$@" ;;
total) total "$@" ;;
*) echo "run.sh: build, one or total"; exit 2 ;;
esac
