#!/bin/sh
# run.sh one NAME COMMAND...   runs a test program; a crash or a missing closing line becomes a failure
# run.sh total LOG...          shows what failed or was skipped in the logs, and adds up their closing lines
set -u

closing='^[0-9][0-9]* passed, [0-9][0-9]* failed$'

one() {
    name=$1
    shift
    echo "== $name"
    status=0
    text=$("$@" 2>&1) || status=$?
    printf '%s\n' "$text"
    last=$(printf '%s\n' "$text" | tail -n 1)
    if ! printf '%s\n' "$last" | grep -q "$closing"; then
        echo "FAIL $name ended with status $status and no closing line"
        echo "0 passed, 1 failed"
    elif [ "$status" -ne 0 ] && printf '%s\n' "$last" | grep -q ' 0 failed$'; then
        echo "FAIL $name passed every test but ended with status $status"
        echo "0 passed, 1 failed"
    fi
}

total() {
    passed=0 failed=0
    for log in "$@"; do
        grep -v -e '^ok ' "$log" | grep -v -e "$closing" | sed '1{/^== /d;}' > "$log.said"
        last=$(tail -n 1 "$log")
        printf '%-28s %s\n' "$(basename "$log" .log)" "$last"
        sed 's/^/    /' "$log.said"
        rm -f "$log.said"
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
one) one "$@" ;;
total) total "$@" ;;
*) echo "run.sh: one or total"; exit 2 ;;
esac
