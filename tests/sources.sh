#!/bin/sh
# sources.sh        the sources that the tests' library is compiled from, by name
# sources.sh NAME   one of them: the parts it includes
#
# One source a room, which takes a compiler half the time of one a part. A part that a test includes, to reach what is static
# in it, is a source of its own: the linker leaves it out of that test.
set -u
{
    sed -n 's,^#include "../amalgamate/parts/\(.*\.c\)"$,alone \1,p' tests/test_*.c
    cat amalgamate/parts.list
} | awk -v want="${1:-}" '
    /^alone/ { alone[$2] = 1 }
    /^body/ {
        name = $2
        if ($2 in alone) { sub(/\.c$/, "", name); sub(/\//, "-", name) } else sub(/\/.*/, "", name)
        if (want == name) print "#include \"" $2 "\""
        if (want == "" && !seen[name]++) print name
    }'
