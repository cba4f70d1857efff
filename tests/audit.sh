#!/bin/sh
# The contract of condsim.h, as far as it takes compilers and tools to check; audit.c reads the text.
#
#   audit.sh short        part of `make test`
#   audit.sh long         `make check`: compilers, languages, options, sanitizers, other machines
#   audit.sh full         the rest of that matrix: part of `make long`
#   audit.sh one NAME...  one audit, e.g. audit.sh one symbols double
#
# Each audit is a function audit_NAME that runs in its own directory $T, and counts what it examined. A missing tool
# is a skip, printed with its name, never a pass. The last line is "N passed, N failed".
set -u
export LC_ALL=C
ROOT=$(pwd)
CC=${CC:-cc}
CXX=${CXX:-c++}
LIBRARY=${LIBRARY:-$ROOT/build/double/libcondsim.a} # the rooms as the Makefile compiles them for tests
JOBS=${JOBS:-$(nproc 2>/dev/null || echo 2)}
[ -f condsim.h ] && [ -f amalgamate/parts.list ] || { echo "run this from the root of the project"; exit 2; }

W_BOTH="-Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow -Wundef -Wdouble-promotion -Wvla -Wswitch-enum -Werror"
W_C="-Wmissing-prototypes -Wstrict-prototypes"
W_CXX="-Wold-style-cast -Wzero-as-null-pointer-constant"
QUICK_W=-Wno-misleading-indentation # for one it is asked: looking for columns takes gcc five of six seconds in a file this long
MATH="-lm"

# ---- helpers

skip() { echo "$*"; exit 77; }
bad() { echo "$*"; exit 1; }
need() { command -v "$1" >/dev/null 2>&1 || skip "$1 is not installed"; }
# examined COUNT LEAST WHAT: an audit that looks at nothing must not pass
examined() {
    [ "$1" -ge "$2" ] || bad "examined only $1 $3, expected at least $2"
    echo "$1 $3"
}
real_flag() { case $1 in float) echo -DCONDSIM_FLOAT ;; esac; }
now_ms() { echo $(($(date +%s%N) / 1000000)); }

# The warning flags of the house for a family and a language.
warnings() {
    case $2 in *++*) echo "$W_BOTH $W_CXX" ;; *) echo "$W_BOTH $W_C" ;; esac
    # gcc would name every function that is declared but not written yet; audit_complete does that once
    [ "$1" = gcc ] && echo "-Wno-unused-function $QUICK_W"
}
# c or c++ compiler of a family: gcc -> g++ for c++11
compiler() {
    case $1:$2 in
    gcc:*++*) echo g++ ;;
    clang:*++*) echo clang++ ;;
    *) echo "$1" ;;
    esac
}
language() { case $1 in *++*) echo c++ ;; *) echo c ;; esac; }
# impl FILE [EXTRA LINES]: a source that holds the bodies
impl() { printf '#define CONDSIM_IMPLEMENTATION\n%s\n#include "%s/condsim.h"\n' "${2:-}" "$ROOT" >"$1"; }
# whole REAL OPT: condsim.h with every body as an object, with what gcc says of the stack and of functions; compiled by whichever audit asks
# first, for all
whole() {
    shared=$WORK/whole-$1-$2
    if mkdir "$shared" 2>/dev/null; then
        impl "$shared/bodies.c"
        # shellcheck disable=SC2046
        (cd "$shared" && $CC -std=c99 -Wunused-function -DCONDSIM_REFERENCE "-$2" $(real_flag "$1") $(can_say_stack) -c bodies.c -o bodies.o 2>said; echo $? >code.new; mv code.new code)
    fi
    while [ ! -f "$shared/code" ]; do sleep 0.2; done
    [ "$(cat "$shared/code")" = 0 ] || { head -5 "$shared/said"; bad "condsim.h does not compile"; }
    WHOLE=$shared/bodies.o
}
can_say_stack() { $CC --version 2>/dev/null | grep -q 'Free Software' && echo -fstack-usage; }
# rooms COMMAND...: the sources of tests/sources.sh, compiled by COMMAND, as $T/rooms.a
rooms() {
    mkdir -p "$T/rooms"
    for room in $(sh "$ROOT/tests/sources.sh"); do
        sh "$ROOT/tests/sources.sh" "$room" >"$T/rooms/$room.c"
        "$@" -I"$ROOT/amalgamate/parts" -c "$T/rooms/$room.c" -o "$T/rooms/$room.o" 2>"$T/err" || { head -20 "$T/err"; bad "$room does not build"; }
    done
    ar rcs "$T/rooms.a" "$T"/rooms/*.o || bad "no archive"
}
first_create() { # a renamed public function that exists already
    for f in csim_create_world csim_problem_solve csim_problem_certify; do
        grep -q "CSIM_API.* $f(" "$ROOT/condsim.h" && { echo $f; return; }
    done
}

# ---- the text

audit_text() {
    $CC -std=c99 -Wall -Wextra -O1 -I"$ROOT" "$ROOT/tests/audit.c" -o "$T/audit" || bad "audit.c does not compile"
    "$T/audit" -q >"$T/said"
    code=$?
    cat "$T/said"
    # pages: lines of at most 120 characters (bytes that do not go on with one)
    for f in README.md docs/*.md docs/*/*.md; do
        awk -v f="$f" '{ s = $0; gsub(/[\200-\277]/, "", s); if (length(s) > 120) print "FAIL " f ":" FNR " has " length(s) " characters" }' "$f"
    done >"$T/long"
    [ ! -s "$T/long" ] || { head -n 20 "$T/long"; bad "$(wc -l <"$T/long") lines of pages are longer than 120: tests/fit.awk wraps them"; }
    return $code
}

# who uses whom among the parts; and the same of copies that are wrong, which must be told so
audit_rooms() {
    $CC -std=c99 -Wall -Wextra -O1 "$ROOT/tests/rooms.c" -o "$T/rooms" || bad "rooms.c does not compile"
    "$T/rooms" "$ROOT" >"$T/said" || { cat "$T/said"; bad "$(tail -n 1 "$T/said")"; }
    mkdir -p "$T/copy"
    cp -R "$ROOT/amalgamate" "$T/copy/"
    parts=$T/copy/amalgamate/parts
    echo "static void up(csim_world *w) { (void)csim_world_step(w, 0); }" >>"$parts/collide/hull.c"
    "$T/rooms" "$T/copy" | grep -q "FAIL collide/hull.c uses csim_world_step" || bad "an arrow to a later room passed"
    cp "$ROOT/amalgamate/parts/collide/hull.c" "$parts/collide/hull.c"
    echo "static void back(void) { (void)csimi_detect(0, 0, 0); }" >>"$parts/step/found.c"
    "$T/rooms" "$T/copy" | grep -q "circle of files: step/found.c -> step/detect.c" || bad "a circle of files passed"
    cat "$T/said"
}

# the joiner: the same bytes twice and from elsewhere, and the header is what it writes now
audit_generated() {
    $CC -std=c99 -Wall -Wextra -O1 "$ROOT/amalgamate/amalgamate.c" -o "$T/amalgamate" || bad "amalgamate.c does not compile"
    "$T/amalgamate" --check || bad "condsim.h is not what the parts give: run \`make header\`"
    mkdir -p "$T/copy/amalgamate"
    cp -R "$ROOT/amalgamate/." "$T/copy/amalgamate/"
    cp "$ROOT/LICENSE" "$T/copy/"
    "$T/amalgamate" "$T/copy" || bad "cannot join a copy"
    cmp "$ROOT/condsim.h" "$T/copy/condsim.h" || bad "a copy elsewhere gives other bytes"
    echo "/* stray */" >"$T/copy/amalgamate/parts/base/stray.c"
    "$T/amalgamate" "$T/copy" 2>"$T/err" && bad "an unlisted file was not noticed"
    grep -q "base/stray.c" "$T/err" || bad "the message does not name the unlisted file"
    rm "$T/copy/amalgamate/parts/base/stray.c" "$T/copy/amalgamate/parts/base/memory.c"
    "$T/amalgamate" "$T/copy" 2>"$T/err" && bad "a missing file was not noticed"
    grep -q "base/memory.c" "$T/err" || bad "the message does not name the missing file"
    cp "$ROOT/amalgamate/parts/base/memory.c" "$T/copy/amalgamate/parts/base/memory.c"
    echo 'static int csimi_twice(void) { return 1; }' >>"$T/copy/amalgamate/parts/base/memory.c"
    "$T/amalgamate" "$T/copy" || bad "one function more is refused"
    echo 'static int csimi_twice(void) { return 2; }' >>"$T/copy/amalgamate/parts/base/status.c"
    cp "$T/copy/condsim.h" "$T/before.h"
    "$T/amalgamate" "$T/copy" 2>"$T/err" && bad "two parts with functions of one name were joined"
    grep -q "csimi_twice" "$T/err" || bad "the message does not name the function that is there twice"
    cmp -s "$T/before.h" "$T/copy/condsim.h" || bad "a failed join wrote condsim.h all the same"
    echo "7 runs of the joiner"
}

# a committed header must belong to the committed parts
audit_committed() {
    command -v git >/dev/null 2>&1 && git rev-parse --git-dir >/dev/null 2>&1 || skip "not a git checkout"
    git ls-files --error-unmatch condsim.h >/dev/null 2>&1 || skip "condsim.h is not tracked yet"
    git diff --quiet HEAD -- amalgamate LICENSE || { echo "parts are being edited: compared with the working tree"; return; }
    git diff --quiet HEAD -- condsim.h || bad "the committed condsim.h is stale: run \`make header\` and commit it"
    echo "1 header"
}

# ---- compiling

# warn FAMILY STD REAL OPT [options]: declarations twice and bodies, without a warning
audit_warn() {
    family=$1 std=$2 real=$3 opt=$4
    shift 4
    cc=$(compiler "$family" "$std")
    need "$cc"
    printf '#include "%s/condsim.h"\n#include "%s/condsim.h"\n' "$ROOT" "$ROOT" >"$T/head.x"
    impl "$T/body.x"
    printf '#include "%s/condsim.h"\n' "$ROOT" >>"$T/body.x"
    # shellcheck disable=SC2046
    set -- -x "$(language "$std")" -std="$std" $(warnings "$family" "$std") $(real_flag "$real") "-$opt" "$@"
    case " $* " in *CONDSIM_STATIC*) ;; *) "$cc" "$@" -fsyntax-only "$T/head.x" || bad "declarations" ;; esac
    case $opt in O0) "$cc" "$@" -fsyntax-only "$T/body.x" ;; *) "$cc" "$@" -c "$T/body.x" -o "$T/body.o" ;; esac || bad "bodies"
    echo "2 sources"
}

# other widths of size_t, enums of one byte, x87: no error and no warning, even where only declarations of libc are there
audit_target() { # m32 | arm
    impl "$T/body.c"
    impl "$T/float.c" '#define CONDSIM_FLOAT'
    flags="-std=c99 -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow -Wundef -Wno-unused-function -Werror -O1"
    case $1 in
    m32) cc="gcc -m32"
        printf '#include <stdint.h>\n#include <math.h>\n#include <stdlib.h>\n' >"$T/try.c"
        $cc -c "$T/try.c" -o "$T/try.o" 2>/dev/null || skip "gcc -m32: gcc-multilib is not installed" ;;
    arm) cc="arm-none-eabi-gcc -mcpu=cortex-m7 -mfloat-abi=hard -mfpu=fpv5-d16"
        need arm-none-eabi-gcc
        printf '#include <stdint.h>\n#include <math.h>\n#include <stdlib.h>\n' >"$T/try.c"
        $cc -c "$T/try.c" -o "$T/try.o" 2>/dev/null || skip "libnewlib-arm-none-eabi is not installed" ;;
    esac
    for f in body float; do $cc $flags -c "$T/$f.c" -o "$T/$f.o" || bad "$cc, $f"; done
    echo "2 sources"
}

# every option alone and all together (that exclude each other nowhere)
OPTIONS="CONDSIM_REFERENCE CONDSIM_NO_STDIO CONDSIM_NO_LOADERS CONDSIM_NO_URDF CONDSIM_NO_HEAP CONDSIM_STATIC CONDSIM_OPENMP CONDSIM_OWN_MATH CONDSIM_ALLOW_FAST_MATH"
option_flags() {
    for o in "$@"; do
        case $o in CONDSIM_OPENMP) printf ' -D%s -fopenmp' $o ;; *) printf ' -D%s' $o ;; esac
    done
}
audit_options() { # FAMILY STD REAL alone|pairs
    n=0 family=$1 std=$2 real=$3
    need "$(compiler "$family" "$std")"
    for a in $OPTIONS; do
        others=$a
        [ "$4" = pairs ] && others=$OPTIONS
        for b in $others; do
            case $a in "$b") [ "$4" = pairs ] && continue ;; esac
            [ "$4" = pairs ] && [ "$(printf '%s\n%s\n' "$a" "$b" | sort | head -1)" != "$a" ] && continue
            [ "$family" = clang ] && case "$a $b" in *OPENMP*)
                echo '#include <omp.h>' | clang -fopenmp -x c -fsyntax-only - 2>/dev/null || continue ;;
            esac
            # shellcheck disable=SC2046
            (audit_warn "$family" "$std" "$real" O0 $(option_flags "$a" "$b")) >"$T/out" 2>&1 ||
                { head -20 "$T/out"; bad "with $a $b"; }
            n=$((n + 1))
        done
    done
    all=$OPTIONS
    [ "$family" = clang ] && all=$(echo "$OPTIONS" | sed 's/CONDSIM_OPENMP//')
    # shellcheck disable=SC2046,SC2086
    (audit_warn "$family" "$std" "$real" O0 $(option_flags $all)) || bad "with all of $all"
    examined $((n + 1)) 7 "option sets"
}

# two files, one with the bodies; and one of them C++
audit_link() { # CC-BODIES CC-USER
    need "$1"
    need "$2"
    impl "$T/bodies.c"
    whole double O0
    cat >"$T/user.c" <<END
#include "$ROOT/condsim.h"
#include "$ROOT/condsim.h"
const char *other(void);
const char *other(void) { return csim_status_text(CSIM_LOCKED); }
END
    cat >"$T/main.c" <<END
#include "$ROOT/condsim.h"
const char *other(void);
int main(void) { return other() == csim_status_text(CSIM_LOCKED) ? 0 : 1; }
END
    lang() { case $1 in *++*) echo "-x c++ -std=c++11" ;; *) echo "-x c -std=c99" ;; esac; }
    # shellcheck disable=SC2046
    { case $1 in "$CC") cp "$WHOLE" "$T/bodies.o" ;; *) "$1" $(lang "$1") -w -c "$T/bodies.c" -o "$T/bodies.o" ;; esac && "$2" $(lang "$2") -c "$T/user.c" -o "$T/user.o" &&
        "$2" $(lang "$2") -c "$T/main.c" -o "$T/main.o"; } || bad "does not compile"
    "$2" "$T/bodies.o" "$T/user.o" "$T/main.o" $MATH -o "$T/program" || bad "does not link"
    "$T/program" || bad "two files see two libraries"
    echo "3 objects"
}

audit_float_mix() {
    f=$(first_create)
    [ -n "$f" ] || bad "no renamed function found"
    whole double O0
    cp "$WHOLE" "$T/bodies.o"
    cat >"$T/user.c" <<END
#include "$ROOT/condsim.h"
int main(void) {
    void (*volatile p)(void) = (void (*)(void))$f;
    return p == 0;
}
END
    $CC -std=c99 -w -c "$T/user.c" -o "$T/same.o" || bad "does not compile"
    $CC -std=c99 -w -DCONDSIM_FLOAT -c "$T/user.c" -o "$T/other.o" || bad "float user does not compile"
    $CC "$T/bodies.o" "$T/same.o" $MATH -o "$T/program" 2>"$T/err" || { tail -3 "$T/err"; bad "a double user does not link"; }
    $CC "$T/bodies.o" "$T/other.o" $MATH -o "$T/program" 2>"$T/err" && bad "a float user links with a double library"
    grep -q "${f}_float" "$T/err" || bad "the link error does not say ${f}_float"
    echo "2 links"
}

# ---- symbols

ALLOWED_LIBC="malloc free memcpy memset memmove strlen sqrt sin cos atan2 exp log sqrtf sinf cosf atan2f expf logf sincos sincosf" # gcc joins sin and cos, and makes strlen of loops
ALLOWED_STDIO="fopen fclose fread fwrite fseek ftell ferror fputs fputc"
undefined_of() { nm -u "$1" | sed 's/^ *[Uw] //' | sed 's/@.*//' | grep -v -e '^_GLOBAL_OFFSET_TABLE_$' -e '^__stack_chk' -e '^GOMP_' -e '^omp_'; }

audit_symbols() { # REAL OPT
    need nm
    whole "$1" "$2"
    cp "$WHOLE" "$T/bodies.o"
    nm "$T/bodies.o" | awk 'NF == 3 && $2 ~ /[A-Z]/ { print $2, $3 }' >"$T/global"
    grep -v '^T csim_[a-z]' "$T/global" >"$T/leaks" && { cat "$T/leaks"; bad "these names leak"; }
    size -A "$T/bodies.o" | awk '($1 ~ /^\.(data|bss|tdata|tbss)/ && $1 !~ /^\.data\.rel\.ro/ && $2 > 0) || $1 ~ /init_array|ctors/ { print; f = 1 } END { exit !f }' &&
        bad "writable data: the library has state"
    undefined_of "$T/bodies.o" >"$T/undefined"
    for s in $ALLOWED_LIBC $ALLOWED_STDIO; do sed -i.bak "/^$s\$/d" "$T/undefined"; done
    [ -s "$T/undefined" ] && { cat "$T/undefined"; bad "these functions of libc are not in the contract"; }
    examined "$(wc -l <"$T/global")" 15 "global symbols"
}

audit_static() { # LANGUAGE
    need nm
    cc=$CC
    [ "$1" = c++ ] && cc=$CXX
    need "$cc"
    impl "$T/a.c" '#define CONDSIM_STATIC'
    cp "$T/a.c" "$T/b.c"
    echo 'const char *fa(void); const char *fa(void) { return csim_status_text(CSIM_OK); }' >>"$T/a.c"
    echo 'const char *fa(void); int main(void) { return fa() == csim_status_text(CSIM_OK); }' >>"$T/b.c"
    for f in a b; do "$cc" -x "$1" -Wall -Wextra -Wno-unused-function $QUICK_W -Werror -O1 -c "$T/$f.c" -o "$T/$f.o" || bad "does not compile cleanly"; done
    "$cc" "$T/a.o" "$T/b.o" $MATH -o "$T/program" || bad "two static copies do not link"
    nm -g --defined-only "$T/a.o" "$T/b.o" | grep csim && bad "a static build exports these"
    "$T/program" || true
    echo "2 static copies in one program"
}

audit_noheap() {
    need nm
    impl "$T/bodies.c" '#define CONDSIM_NO_HEAP
#define CONDSIM_NO_STDIO'
    $CC -std=c99 -w -O0 -c "$T/bodies.c" -o "$T/bodies.o" || bad "does not compile"
    undefined_of "$T/bodies.o" | grep -e alloc -e free -e '^f[a-z]*[drel]$' -e printf && bad "heap or files in a build without them"
    examined "$(undefined_of "$T/bodies.o" | wc -l)" 1 "undefined symbols, none of the heap or of files"
}

# the library alone: no header of libc, no libm, nothing undefined
audit_freestanding() { # REAL OPT
    cat >"$T/bodies.c" <<END
#include <stddef.h>
typedef $1 real;
real my_sqrt(real x); real my_sin(real x); real my_cos(real x); real my_exp(real x); real my_log(real x);
real my_atan2(real y, real x);
void *memcpy(void *d, const void *s, size_t n); void *memset(void *d, int c, size_t n);
void *memmove(void *d, const void *s, size_t n); int memcmp(const void *a, const void *b, size_t n);
#define CONDSIM_SQRT(x) my_sqrt(x)
#define CONDSIM_SIN(x) my_sin(x)
#define CONDSIM_COS(x) my_cos(x)
#define CONDSIM_ATAN2(y, x) my_atan2(y, x)
#define CONDSIM_EXP(x) my_exp(x)
#define CONDSIM_LOG(x) my_log(x)
#define CONDSIM_MEMCPY(d, s, n) memcpy(d, s, n)
#define CONDSIM_MEMSET(d, c, n) memset(d, c, n)
#define CONDSIM_NO_HEAP
#define CONDSIM_NO_STDIO
#define CONDSIM_IMPLEMENTATION
#include "$ROOT/condsim.h"
real my_sqrt(real x) { return x; } real my_sin(real x) { return x; } real my_cos(real x) { return x; }
real my_exp(real x) { return x; } real my_log(real x) { return x; } real my_atan2(real y, real x) { return y + x; }
void *memcpy(void *d, const void *s, size_t n) { while (n--) ((volatile char *)d)[n] = ((const char *)s)[n]; return d; }
void *memmove(void *d, const void *s, size_t n) { return memcpy(d, s, n); }
void *memset(void *d, int c, size_t n) { while (n--) ((volatile char *)d)[n] = (char)c; return d; }
int memcmp(const void *a, const void *b, size_t n) { (void)a; (void)b; return (int)n; }
void _start(void); void _start(void) { for (;;) { } }
END
    inc=$($CC -print-file-name=include 2>/dev/null)
    [ -d "$inc" ] || skip "$CC does not tell where its own headers are"
    # shellcheck disable=SC2046
    $CC -std=c99 -w -ffreestanding -fno-stack-protector -fno-pie -nostdinc -isystem "$inc" "-$2" $(real_flag "$1") -c "$T/bodies.c" \
        -o "$T/bodies.o" || bad "does not compile without libc headers"
    $CC -nostdlib -static -no-pie "$T/bodies.o" -o "$T/program" || bad "symbols stay undefined"
    undefined_of "$T/program" | grep . && bad "symbols stay undefined"
    examined "$(nm "$T/program" | grep -c ' T csim_')" 15 "public functions linked without libc"
}

# ---- size

audit_stack() { # REAL OPT
    [ -n "$(can_say_stack)" ] || skip "$CC is not gcc, which says what a function takes of the stack"
    whole "$1" "$2"
    cp "${WHOLE%.o}.su" "$T/bodies.su"
    # the compiler says "file:line:column:function bytes kind"
    awk -F'\t' '$2 > 2048 || $3 !~ /^(static|dynamic,bounded)$/ { sub(/.*:/, "", $1); print $1 ": " $2 " bytes " $3; f = 1 } END { exit !f }' "$T"/*.su &&
        bad "frames above 2048 bytes"
    examined "$(cat "$T"/*.su | wc -l)" 40 "frames, largest $(awk -F'\t' '$2 > m { m = $2; n = $1 } END { sub(/.*:/, "", n); print m, "bytes in", n }' "$T"/*.su)"
}

audit_time() { # reported, not asserted: machines differ
    impl "$T/bodies.c"
    printf '#include "%s/condsim.h"\nint x;\n' "$ROOT" >"$T/head.c"
    a=$(now_ms); $CC -std=c99 -w -O2 -c "$T/bodies.c" -o "$T/o" || bad "does not compile"
    b=$(now_ms); $CC -std=c99 -w -O0 -c "$T/bodies.c" -o "$T/o" || bad "does not compile"
    c=$(now_ms); $CC -std=c99 -w -O0 -c "$T/head.c" -o "$T/o" || bad "does not compile"
    d=$(now_ms)
    echo "3 compilations: -O2 $((b - a)) ms (aim 4000), -O0 $((c - b)) ms (aim 1000), declarations $((d - c)) ms"
}

# declarations pull in only the three freestanding headers
audit_includes() {
    sed -n '1,/^#endif \/\* CONDSIM_H/p' condsim.h | sed -n 's/^ *# *include *<\(.*\)>.*/\1/p' | sort -u >"$T/found"
    grep -v -e '^stddef.h$' -e '^stdint.h$' -e '^stdbool.h$' "$T/found" && bad "declarations include these"
    examined "$(wc -l <"$T/found")" 3 "headers included by the declarations"
}

# macros that the implementation leaves behind
audit_macros() {
    impl "$T/bodies.c"
    printf '#include <stddef.h>\n#include <stdint.h>\n#include <stdbool.h>\n#include <math.h>\n#include <string.h>\n#include <stdlib.h>\n#include <stdio.h>\n' >"$T/libc.c"
    sed -n '1,/^#endif \/\* CONDSIM_H/p' condsim.h >"$T/head.c"
    for f in bodies libc head; do $CC -std=c99 -dM -E "$T/$f.c" 2>/dev/null | sed 's/^#define \([A-Za-z0-9_]*\).*/\1/' | sort -u >"$T/$f.names"; done
    [ -s "$T/bodies.names" ] || skip "$CC cannot list macros (-dM)"
    comm -23 "$T/bodies.names" "$T/libc.names" >"$T/ours"
    grep -v -e '^CSIM_' -e '^CONDSIM_' -e '^CSIMI_' "$T/ours" && bad "macros left defined without our prefix"
    grep '^CSIMI_' "$T/ours" >"$T/privates"
    comm -23 "$T/privates" "$T/head.names" | grep . && bad "private macros left defined after the implementation"
    examined "$(wc -l <"$T/ours")" 15 "macros left defined"
}

# ---- other forms of the same library

# every part compiles alone, every header stands alone, and the library they make has the symbols of condsim.h
audit_parts() {
    need nm
    n=0
    awk '/^[a-z]/ { print $2 }' amalgamate/parts.list >"$T/parts"
    while read -r p; do
        o=$T/$(echo "$p" | tr / _).o
        case $p in
        *.c) $CC -std=c99 -Wall -Wextra -Wmissing-prototypes -Werror -O0 -DCONDSIM_REFERENCE -c "amalgamate/parts/$p" -o "$o" || bad "$p" ;;
        *) $CC -std=c99 -Wall -Wextra -Wno-unused-function -Werror -x c -fsyntax-only "amalgamate/parts/$p" || bad "$p does not stand alone" ;;
        esac
        n=$((n + 1))
    done <"$T/parts"
    for p in $(grep '\.c$' "$T/parts"); do # in one file, a macro left by one part is the next part's riddle
        for m in $(sed -n 's/^ *# *define \([A-Za-z0-9_]*\).*/\1/p' "amalgamate/parts/$p" | sort -u); do
            grep -q "^ *# *undef $m\$" "amalgamate/parts/$p" || bad "$p: $m is defined and never undefined"
        done
    done
    whole double O0
    nm -g --defined-only "$T"/*.o | awk 'NF == 3 { print $3 }' | grep -v '^csimi_' | sort >"$T/lib.names"
    nm -g --defined-only "$WHOLE" | awk 'NF == 3 { print $3 }' | sort >"$T/whole.names"
    diff "$T/lib.names" "$T/whole.names" || bad "the library of the parts (<) and condsim.h (>) differ"
    nm -u "$T"/*.o | sed -n 's/^ *U \(csimi\{0,1\}_.*\)/\1/p' | sort -u >"$T/wanted"
    nm -g --defined-only "$T"/*.o | awk 'NF == 3 { print $3 }' | sort -u >"$T/given"
    comm -23 "$T/wanted" "$T/given" | grep . && bad "used by a part, defined by none"
    examined $n 40 "parts, $(wc -l <"$T/whole.names") public functions in both forms"
}

# the programs that no test builds still know the interface
audit_programs() {
    n=0
    for f in tests/tables/*.c tests/bench_*.c tests/demo_replay.c examples/fc3d/*.c examples/modes/main.c; do
        # without the bodies: audit_warn takes those
        $CC -std=c99 -Wall -Wextra -Wno-unused-function -Werror -DCONDSIM_REFERENCE -DCONDSIM_LINKED -I. -Iexamples/scenes -fsyntax-only "$f" ||
            bad "$f"
        n=$((n + 1))
    done
    examined $n 20 "sources"
}

# what is declared is defined
audit_complete() {
    need nm
    whole double O0
    sed -n '1,/^#endif \/\* CONDSIM_H/p' condsim.h | sed -n 's/^CSIM_API .*[ *]\(csim_[a-z0-9_]*\)(.*/\1/p' | sort -u >"$T/declared"
    nm -g --defined-only "$WHOLE" | awk 'NF == 3 { print $3 }' | sort >"$T/defined"
    comm -23 "$T/declared" "$T/defined" | grep . && bad "declared but not defined"
    comm -13 "$T/declared" "$T/defined" | grep . && bad "defined but not declared with CSIM_API at the start of a line"
    grep -e 'never defined' -e 'used but never' "${WHOLE%bodies.o}said" | sed 's/.*warning: //' | sort -u | grep . &&
        bad "private functions declared but not defined"
    examined "$(wc -l <"$T/declared")" 30 "public functions"
}

# fences FILE: ```c blocks of a document to $T/N.c, and the ```text block after one, which is what it prints, to $T/N.want
fences() {
    rm -f "$T"/*.c "$T"/*.want
    awk -v t="$T" '
        /^```/ && on { on = 0; next }
        /^```c$/ { ++n; out = t "/" n ".c"; fresh = on = 1; next }
        /^```text$/ && fresh { out = t "/" n ".want"; printf "" > out; fresh = 0; on = 1; next }
        /^```/ { out = ""; fresh = 0; on = 1; next }
        on && out { print > out }' "$1"
}

# every ```c block of FILE compiles without a warning; one with a main also runs, and says what stands under it
document() {
    fences "$1"
    for c in "$T"/*.c; do
        [ -f "$c" ] || continue
        name="block $(basename "$c" .c) of $1"
        grep -q '"condsim.h"' "$c" || { printf '#include "condsim.h"\n' | cat - "$c" >"$c.full" && mv "$c.full" "$c"; }
        flags="-std=c99 -Wall -Wextra -Wno-unused-function $QUICK_W -Werror -O0 -I$ROOT -I$ROOT/examples"
        n=$((n + 1))
        if ! grep -q 'int main' "$c"; then
            $CC $flags -fsyntax-only "$c" || bad "$name does not compile"
            continue
        fi
        # with the tests' library, which has its own sine; README.md as its reader has it, the whole header
        if [ "$1" != README.md ] && ! grep 'define CONDSIM_' "$c" | grep -q -v -e CONDSIM_IMPLEMENTATION -e CONDSIM_OWN_MATH; then
            [ -f "$LIBRARY" ] || bad "no $LIBRARY: make $LIBRARY"
            grep -v 'define CONDSIM_IMPLEMENTATION' "$c" >"$c.user.c"
            $CC $flags -DCONDSIM_OWN_MATH=1 -DCONDSIM_LINKED -DCONDSIM_REFERENCE "$c.user.c" "$LIBRARY" -o "$c.out" $MATH || bad "$name does not compile"
            rm "$c.user.c"
        else
            $CC $flags -fsyntax-only "$c" && $CC -std=c99 -w -O0 -I"$ROOT" "$c" -o "$c.out" $MATH || bad "$name does not compile"
        fi
        (cd "$T" && timeout 180 "$c.out" >"$c.said") || { cat "$c.said"; bad "$name fails"; }
        want=${c%.c}.want
        [ -f "$want" ] || continue
        diff "$want" "$c.said" || bad "$name prints something else than the text under it (README.md: make readme)"
        told=$((told + 1))
    done
}

audit_readme() {
    [ -f README.md ] || skip "README.md is not there yet"
    n=0 told=0
    document README.md
    sed 's,"\.\./condsim.h","condsim.h",' examples/01_hello.c | diff - "$T/1.c" || bad "the first program of README.md is not examples/01_hello.c: make readme"
    [ $told -ge 1 ] || bad "README.md does not show what its program prints"
    examined $n 1 "code blocks compiled and run"
}

audit_docs() {
    n=0 told=0
    for f in docs/*.md; do document "$f"; done
    examined $n 7 "code blocks compiled, $told print what the page says"
}

# docs/errors.md has every status, and no other
audit_errors() {
    sed -n 's/^    X(\([A-Z_]*\), -*[0-9]*, .*/CSIM_\1/p' amalgamate/parts/base/status.h | sort >"$T/statuses"
    sed -n 's/^## \(CSIM_[A-Z_]*\)$/\1/p' docs/errors.md | sort >"$T/headings"
    diff "$T/statuses" "$T/headings" || bad "docs/errors.md needs one '## CSIM_...' heading for every status (< missing, > unknown)"
    examined "$(wc -l <"$T/statuses")" 15 "statuses"
}

# links of the pages lead to files of the project
audit_links() {
    n=0
    for f in ./README.md docs/*.md docs/results/*.md; do
        for l in $(sed 's/](/\n](/g' "$f" | sed -n 's/^](\([^)#:]*\)[)#].*/\1/p'); do
            [ -e "${f%/*}/$l" ] || bad "$f leads to $l, which is not there"
            n=$((n + 1))
        done
    done
    for f in docs/*.md docs/results/*.md; do # every page can be reached from the index of the manual
        [ "$f" = docs/README.md ] || grep -qF "(${f#docs/})" docs/README.md || bad "docs/README.md does not lead to $f"
    done
    for l in $(grep -oE '[a-z/-]+\.md' condsim.h | sort -u); do
        [ -e "$l" ] || bad "condsim.h names $l, which is not there"
        n=$((n + 1))
    done
    examined $n 20 "links"
}

# docs/reference and the lists at the end of the manual's pages are what the header gives now: every public declaration
audit_reference() {
    $CC -std=c99 -Wall -Wextra -O1 -D_DEFAULT_SOURCE "$ROOT/amalgamate/reference.c" -o "$T/reference" || bad "reference.c does not compile"
    "$T/reference" --check "$ROOT" >"$T/said" 2>&1 || { tail -5 "$T/said"; bad "docs/reference is stale: run \`make docs\`"; }
    sed -n '1,/^#endif \/\* CONDSIM_H/p' condsim.h | sed -n 's/^CSIM_API .*[ *]\(csim_[a-z0-9_]*\)(.*/\1/p' | sort -u >"$T/public"
    grep -rhoE '"?csim_[a-z0-9_]+["(]' docs/reference | tr -d '"(' | sort -u | comm -23 "$T/public" - | grep . &&
        bad "these functions are not in docs/reference: run \`make docs\`"
    examined "$(wc -l <"$T/public")" 200 "public functions in the reference"
}

# ---- the long matrix: test programs built in other ways. tests NAME COMPILER FLAGS...; RUN before the program
# as in the Makefile: the rooms as a library, scenes and modes as another; OWN holds -DCONDSIM_OWN_MATH where tests/golden.txt and
# the tests of those functions are asked
run_tests() { # LABEL-PREFIX PATTERN COMMAND-TO-RUN -- COMPILER FLAGS
    pattern=$1 runner=$2 broken=
    shift 2
    n=0
    [ -n "$QUICK" ] || export CONDSIM_SLOW=1
    set -- "$@" -w $OWN -DCONDSIM_REFERENCE -DCONDSIM_LINKED -I"$ROOT"
    rooms "$@" -include assert.h -DCONDSIM_ASSERT=assert
    for p in $(cd examples; ls scenes/*.c modes/modes.c); do
        case $p in */runner.c | */condsim.c) continue ;; esac
        "$@" -c "$ROOT/examples/$p" -o "$T/$(echo "$p" | tr / _).o" 2>"$T/err" || { head -20 "$T/err"; bad "$p does not build"; }
    done
    ar rcs "$T/scenes.a" "$T"/scenes_*.o "$T"/modes_*.o || bad "no archive"
    for t in "$ROOT"/tests/test_$pattern.c; do
        [ -f "$t" ] || continue
        name=$(basename "$t" .c)
        [ -z "$QUICK" ] || case " $QUICK " in *" ${name#test_} "*) ;; *) continue ;; esac
        case $OWN:$name in :test_golden | :test_elementary | *:test_stb) continue ;; esac
        "$@" "$t" "$T/scenes.a" "$T/rooms.a" -o "$T/$name" $MATH 2>"$T/err" || { head -20 "$T/err"; broken="$broken, $name does not build"; continue; }
        # shellcheck disable=SC2086
        timeout "${LIMIT:-420}" $runner "$T/$name" -q >"$T/said" 2>&1
        code=$?
        [ $code -eq 124 ] && broken="$broken, $name: no end after ${LIMIT:-420} s"
        if [ $code -ne 0 ] || ! tail -1 "$T/said" | grep -q ' passed, 0 failed$'; then
            tail -30 "$T/said"
            broken="$broken, $name fails (status $code)"
        fi
        tail -1 "$T/said" | grep -q ' passed, ' && n=$((n + $(tail -1 "$T/said" | sed 's/ passed.*//')))
    done
    [ -z "$broken" ] || bad "${broken#, }"
    examined $n 10 "tests passed"
}
can_link() { echo 'int main(void) { return 0; }' >"$T/try.c" && "$@" "$T/try.c" -o "$T/try" >/dev/null 2>&1; }

can_link32() { # qemu: what runs it where the kernel has no programs of 32 bits
    can_link $CC -m32 || skip "-m32: 32-bit libraries are not installed"
    qemu=
    "$T/try" 2>/dev/null || { need qemu-i386-static; qemu=qemu-i386-static; }
}

cross() { # TRIPLE QEMU: by clang and the libraries of that machine, or by its gcc
    need "$2"
    if command -v "$1-gcc" >/dev/null; then set -- "$2" "$1-gcc"
    elif command -v clang >/dev/null && [ -d "/usr/$1/include" ]; then set -- "$2" clang "--target=$1" -isystem "/usr/$1/include"
    else skip "neither $1-gcc nor clang with the libraries of $1 is installed"; fi
    qemu=$1
    shift
    run_tests '[bim]*' "$qemu" "$@" -static -std=c99 -O2 -ffp-contract=off $r
}

# what reaches every room in seconds, for builds that are slow
QUICK_TESTS="base math sparse model contact world single reference tree joint urdf touch"
QUICK=
OWN=
audit_tests() { # NAME REAL [quick]
    r=$(real_flag "$2")
    case $1 in O0 | msan | valgrind | m32 | arm64 | s390x) OWN=-DCONDSIM_OWN_MATH ;; esac
    [ "${3:-}" != quick ] || QUICK=$QUICK_TESTS
    case $1 in
    O0) run_tests '*' '' $CC -std=c99 -O0 $r ;;
    O3) run_tests '*' '' $CC -std=c99 -O3 $r ;;
    lanes) build $CC -std=c99 -O2 -D__ARM_ARCH_7EM__ # as where there are no vectors: every sum one by one
        golden_run "$T/golden" ;;
    native) can_link $CC -march=native || skip "-march=native"
        run_tests '*' '' $CC -std=c99 -O3 -march=native -ffp-contract=off $r ;;
    clang) need clang; run_tests '*' '' clang -std=c99 -O2 $r ;;
    # address alone: with undefined, and with -g, gcc compiles four times as long; clang does that part
    asan) can_link $CC -fsanitize=address || skip "AddressSanitizer is not installed"
        run_tests '*' '' $CC -std=c99 -O1 -fsanitize=address -fno-sanitize-recover=all -fno-omit-frame-pointer $r ;;
    ubsan) need clang
        can_link clang -fsanitize=undefined || skip "clang's sanitizers are not installed"
        run_tests '*' '' clang -std=c99 -O1 -g1 -fsanitize=undefined,implicit-conversion -fno-sanitize-recover=all $r ;;
    msan) need clang
        can_link clang -fsanitize=memory || skip "MemorySanitizer is not installed"
        run_tests '*' '' clang -std=c99 -O1 -g1 -fsanitize=memory -fno-sanitize-recover=all $r ;;
    tsan) can_link $CC -fsanitize=thread || skip "ThreadSanitizer is not installed" # what takes tasks
        run_tests '[bcgw]*' '' $CC -std=c99 -O1 -fsanitize=thread $r ;;
    openmp) can_link $CC -fopenmp || skip "OpenMP is not installed"
        OMP_NUM_THREADS=3 run_tests '[bcgw]*' '' $CC -std=c99 -O2 -fopenmp -DCONDSIM_OPENMP $r ;;
    m32) can_link32
        [ -z "$qemu" ] || QUICK=${QUICK% touch} # four minutes there
        run_tests '*' "$qemu" $CC -std=c99 -m32 -msse2 -mfpmath=sse -O2 $r ;;
    valgrind) need valgrind
        run_tests '[bmi]*' 'valgrind -q --error-exitcode=9 --leak-check=full' $CC -std=c99 -O1 -g $r ;;
    arm64) cross aarch64-linux-gnu qemu-aarch64-static ;;
    arm32) cross arm-linux-gnueabihf qemu-arm-static ;;
    s390x) cross s390x-linux-gnu qemu-s390x-static ;; # big-endian
    *) bad "no such build: $1" ;;
    esac
}

# the same state after a thousand steps, whatever compiled the library: tests/test_golden.c
golden_run() { # COMMAND... : says what failed
    timeout "${LIMIT:-420}" "$@" -q >"$T/said" 2>&1 || { tail -12 "$T/said"; bad "$*: other bits"; }
    tail -1 "$T/said" | grep -q ' passed, 0 failed$' || bad "no closing line"
    n=$((n + $(tail -1 "$T/said" | sed 's/ passed.*//')))
}
golden_cross() { # TRIPLE QEMU: the short form
    need "$2"
    need clang
    [ -d "/usr/$1/include" ] || skip "the libraries of $1 are not installed"
    clang "--target=$1" -isystem "/usr/$1/include" -static -std=c99 -O1 -ffp-contract=off $r $G -o "$T/golden" $MATH || bad "it does not build"
    export GOLDEN=short
    golden_run "$2" "$T/golden"
}
audit_golden() { # BUILD REAL
    [ -f tests/golden.txt ] || skip "tests/golden.txt is not there: make golden"
    r=$(real_flag "$2") n=0 least=3
    export GOLDEN=long
    G="-w -I$ROOT $ROOT/tests/test_golden.c $ROOT/examples/modes/modes.c"
    build() { "$@" $r $G -o "$T/golden" $MATH 2>"$T/err" || { head -8 "$T/err"; bad "it does not build"; }; }
    # shellcheck disable=SC2086
    case $1 in
    O[0123]) build $CC -std=c99 "-$1"
        [ "$1" != O0 ] || export GOLDEN=short
        golden_run "$T/golden" ;;
    clang-O[0123]) need clang; build clang -std=c99 "-${1#clang-}"; golden_run "$T/golden" ;;
    g++ | clang++) need "$1"; build "$1" -x c++ -std=c++11 -O2; golden_run "$T/golden" ;;
    native) can_link $CC -march=native || skip "-march=native"
        build $CC -std=c99 -O3 -march=native -ffp-contract=off -fno-tree-slp-vectorize; golden_run "$T/golden" ;;
    m32) can_link32
        [ -z "$qemu" ] || export GOLDEN=short
        build $CC -std=c99 -m32 -msse2 -mfpmath=sse -O2; golden_run $qemu "$T/golden" ;;
    openmp) can_link $CC -fopenmp || skip "OpenMP is not installed"
        least=9
        build $CC -std=c99 -O2 -fopenmp -DCONDSIM_OPENMP
        for threads in 1 2 4; do OMP_NUM_THREADS=$threads golden_run "$T/golden"; done ;;
    parts)
        rooms $CC -std=c99 -w -O2 $r -DCONDSIM_OWN_MATH -DCONDSIM_REFERENCE
        $CC -std=c99 -O2 $r -DCONDSIM_LINKED -DCONDSIM_REFERENCE $G "$T/rooms.a" -o "$T/golden" $MATH || bad "it does not link"
        golden_run "$T/golden" ;;
    valgrind) need valgrind
        build $CC -std=c99 -O1 -g
        export GOLDEN=short
        golden_run valgrind -q --error-exitcode=9 --leak-check=full "$T/golden" ;;
    arm64) golden_cross aarch64-linux-gnu qemu-aarch64-static ;;
    arm32) golden_cross arm-linux-gnueabihf qemu-arm-static ;;
    *) bad "no such build: $1" ;;
    esac
    examined $n $least "tests, $GOLDEN form"
}

# random sequences of calls under a watcher, for so many seconds; by clang at O0, since gcc compiles both sanitizers for minutes
audit_fuzz() { # WATCHER REAL SECONDS
    r=$(real_flag "$2")
    runner=
    # shellcheck disable=SC2086
    case $1 in
    asan) can_link clang -fsanitize=address,undefined || skip "clang's sanitizers are not installed"
        set -- "$2" "$3" clang -O0 -g1 -fsanitize=address,undefined -fno-sanitize-recover=all ;;
    msan) can_link clang -fsanitize=memory || skip "MemorySanitizer is not installed"
        set -- "$2" "$3" clang -O0 -g1 -fsanitize=memory -fno-sanitize-recover=all ;;
    valgrind) need valgrind
        runner="valgrind -q --error-exitcode=9 --leak-check=full"
        set -- "$2" "$3" $CC -O1 -g ;;
    *) bad "no such watcher: $1" ;;
    esac
    seconds=$2
    shift 2
    # shellcheck disable=SC2086
    "$@" -std=c99 -w $r "-I$ROOT" "$ROOT/tests/fuzz_api.c" -o "$T/fuzz" $MATH 2>"$T/err" || { head -8 "$T/err"; bad "it does not build"; }
    # shellcheck disable=SC2086
    timeout $((seconds + 240)) $runner "$T/fuzz" "$seconds" >"$T/said" 2>&1 || { head -40 "$T/said"; tail -5 "$T/said"; bad "it fails"; }
    calls=$(sed -n 's/.* sessions, \([0-9]*\) calls.*/\1/p' "$T/said")
    examined "${calls:-0}" 100 "calls in $(sed -n 's/ sessions,.*//p' "$T/said") sessions, $seconds s"
}

# damaged files, snapshots, models and problems under a watcher, for so many seconds in all
audit_bytes() { # REAL SECONDS
    can_link clang -fsanitize=address,undefined || skip "clang's sanitizers are not installed"
    # shellcheck disable=SC2046
    clang -std=c99 -w -O0 -g1 -fsanitize=address,undefined -fno-sanitize-recover=all $(real_flag "$1") "-I$ROOT" \
        "$ROOT/tests/fuzz_bytes.c" -o "$T/fuzz" $MATH 2>"$T/err" || { head -8 "$T/err"; bad "it does not build"; }
    timeout $(($2 + 240)) "$T/fuzz" all "$2" 1 "$ROOT"/tests/corpus/*/* >"$T/said" 2>&1 || { head -40 "$T/said"; tail -5 "$T/said"; bad "it fails"; }
    examined "$(awk '/ inputs, / { n += $2 } END { print n + 0 }' "$T/said")" 1000 "inputs in $2 s"
}

# what stands, stands for a minute of simulated time
audit_standing() {
    [ -x build/bin/condsim-scene ] || skip "build/bin/condsim-scene is not built: make"
    OUT=$T/long JOBS=1 sh tests/long.sh check >"$T/said" 2>&1 || { grep -v -e '^ok' -e '^shown' "$T/said"; bad "something moves"; }
    sed -n 's/^\(ok\|shown\) *\(.*drift_mm\)/note: \2/p' "$T/said"
    examined "$(grep -c '^ok ' "$T/said")" 24 "figures over 60 simulated seconds"
}

# figures of the pages are what scenes and tests print; and a figure that is not is noticed
audit_figures() {
    [ -x build/bin/condsim-scene ] || skip "build/bin/condsim-scene is not built: make"
    sh tests/figures.sh build/bin/condsim-scene >"$T/said" 2>&1 || { grep FAIL "$T/said"; bad "pages have figures that nothing prints now: make figures WRITE=1"; }
    echo "figure=2.5e-06" >"$T/scene"
    echo "| it is 3e-6 mm | here |" >"$T/page.md"
    TEXT="is {figure %.1e} mm" WRITE= awk -f tests/figures.awk "$T/scene" "$T/page.md" >"$T/err" && bad "a stale figure passed"
    TEXT="was {figure %.1e} mm" WRITE= awk -f tests/figures.awk "$T/scene" "$T/page.md" >"$T/err" && bad "a figure that is on no page passed"
    TEXT="is {other %.1e} mm" WRITE=write awk -f tests/figures.awk "$T/scene" "$T/page.md" >"$T/err" && bad "a figure that nothing says passed"
    TEXT="is {figure <} mm" WRITE= awk -f tests/figures.awk "$T/scene" "$T/page.md" >"$T/err" && bad "a power of ten that is another passed"
    TEXT="is {figure <} mm" WRITE=page awk -f tests/figures.awk "$T/scene" "$T/page.md" | grep -q "it is 1e-5 mm" || bad "the power of ten above"
    examined "$(tail -n 1 "$T/said" | sed 's/ passed.*//')" 150 "figures"
}

# the papers' tables in short: each has rows, a certificate column, and a number or the word missing in it
audit_tables() {
    make -s build/bin/condsim-tables-double build/bin/condsim-tables-float >"$T/said" 2>&1 || { tail -5 "$T/said"; bad "condsim-tables does not build"; }
    sh tests/tables.sh build/bin/condsim-tables "$T/tables" fast >"$T/said" 2>&1 || { tail -5 "$T/said"; bad "a table is missing or lacks its certificate"; }
    for f in "$T"/tables/*.csv; do
        awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "certificate") at = i; next }
            $2 != "missing" && $at !~ /^[0-9.]+e[-+][0-9]+$/ { print FILENAME ": " $0; wrong = 1 }
            END { exit wrong || !at || NR < 2 }' "$f" || bad "$(basename "$f") lacks rows or certificates"
    done
    grep -h ',missing,' "$T"/tables/*.csv | sed 's/,.*/ is missing/; s/^/note: /' | sort -u
    examined "$(ls "$T"/tables/*.csv | wc -l)" 20 "tables"
}

# the replay of the main scene, opened in a browser
audit_replay() {
    need node
    for b in ${CHROMIUM:-chromium chromium-browser google-chrome chrome}; do command -v "$b" >/dev/null 2>&1 && break; done
    command -v "$b" >/dev/null 2>&1 || skip "chromium is not installed"
    [ -x build/bin/condsim-scene ] || skip "build/bin/condsim-scene is not built: make"
    make -s run >"$T/ran" 2>&1 || { tail -5 "$T/ran"; bad "make run fails"; }
    timeout 400 sh tests/test_replay.sh build/run/index.html >"$T/said" 2>&1 || { grep -v '^ok' "$T/said" | head -20; bad "the replay"; }
    examined "$(grep -c '^ok ' "$T/said")" 6 "checks of build/run/index.html and of a made-up replay"
}

# examples say the same, to the last digit, whatever compiled the library and in whatever form; each also in one file with
# the bodies, as who copies it has it: by clang, which compiles that file in half the time
audit_same_output() {
    ls examples/*.c >/dev/null 2>&1 || skip "no examples yet"
    impl "$T/bodies.c"
    own=-DCONDSIM_OWN_MATH # as one of them asks for; a library has one set of sines
    rooms $CC -std=c99 -w -O2 $own
    mv "$T/rooms.a" "$T/rooms.o"
    for opt in O2 O3; do $CC -std=c99 -w -$opt $own -c "$T/bodies.c" -o "$T/$opt.o" || bad "bodies, $opt"; done
    forms="O2 O3 rooms" copy=$CC
    command -v clang >/dev/null && {
        forms="$forms clang" copy="clang -ffp-contract=off"
        clang -std=c99 -w -O2 $own -ffp-contract=off -c "$T/bodies.c" -o "$T/clang.o" || bad "bodies, clang"
    }
    n=0
    for e in examples/*.c; do
        name=$(basename "$e" .c)
        grep -q 'int main' "$e" || continue
        $copy -std=c99 -w -O0 $own -I. -Iexamples "$e" -o "$T/$name.copy" $MATH || bad "$e"
        grep -v '#define CONDSIM_IMPLEMENTATION' "$e" >"$T/$name.c"
        $CC -std=c99 -w -O2 $own -I. -Iexamples -c "$T/$name.c" -o "$T/$name.user.o" || bad "$e without the bodies"
        for k in $forms; do $CC "$T/$name.user.o" "$T/$k.o" -o "$T/$name.$k" $MATH || bad "$e with the library of $k"; done
        for k in copy $forms; do
            mkdir -p "$T/run-$k"
            (cd "$T/run-$k" && timeout 120 "$T/$name.$k" >"$T/$name.said-$k" 2>&1) || bad "$name fails in form $k"
            cmp "$T/$name.said-copy" "$T/$name.said-$k" || bad "$name says something else in form $k than in one file at O0"
            n=$((n + 1))
        done
    done
    examined $n 60 "runs compared"
}

# every scene begins and goes on with the same bits whatever compiled it: a scene that draws two random numbers in the
# arguments of one call does not, and the page's hash is then another than this machine's
audit_alike() {
    a="-std=gnu99 -w -O1 -ffp-contract=off -include examples/live/own_math.h -DCONDSIM_OWN_MATH -I. -Iexamples/scenes"
    a="$a tests/alike.c examples/modes/modes.c"
    run() { # NAME COMMAND...
        name=$1
        shift
        timeout 400 "$@" >"$T/said-$name" 2>"$T/err" || { cat "$T/err"; bad "$name: $(grep fails "$T/said-$name" | head -1)"; }
        [ "$name" = cc ] || cmp "$T/said-cc" "$T/said-$name" ||
            bad "$name: $(diff "$T/said-cc" "$T/said-$name" | sed -n 's/^> \([^ ]*\).*/\1/p' | tr '\n' ' ')with other bits"
        builds="$builds $name"
    }
    builds=
    need clang
    $CC $a -o "$T/cc" $MATH || bad "it does not build"
    run cc "$T/cc"
    clang $a -o "$T/clang" $MATH || bad "it does not build by clang"
    run clang "$T/clang"
    $CC -w examples/scenes/embed/embed.c -o "$T/embed" && "$T/embed" examples/scenes/mascot.msh "$T/mascot.h" mascot
    a="$a -I$T examples/live/files.c -Wl,--wrap=fopen -Wl,-z,stack-size=1048576"
    if command -v node >/dev/null && clang --target=wasm32-wasi $a -o "$T/wasm" 2>"$T/err"; then
        run wasm node tests/wasi.js "$T/wasm"
    else
        echo "note: no WebAssembly here: node, lld and wasi-libc"
    fi
    examined "$(wc -l <"$T/said-cc")" 50 "scenes of$builds"
}

# what takes many seconds and is no part of make test
audit_slow() { # REAL
    n=0
    for t in $(grep -l '^SLOW_' tests/test_*.c); do
        name=$(basename "$t" .c)-$1
        [ -x "build/tests/$name" ] || skip "build/tests/$name is not built: make check"
        "build/tests/$name" -q --slow >"$T/said" 2>&1 || { tail -12 "$T/said"; bad "$name"; }
        n=$((n + $(tail -1 "$T/said" | sed 's/ passed.*//')))
    done
    examined $n 3 "tests"
}

audit_cxx_tests() { # the bodies run the same when C++ compiles them
    need "$CXX"
    n=0
    for t in tests/test_base.c; do
        $CXX -x c++ -std=c++11 -w -O1 -I. "$t" -o "$T/t" $MATH || bad "$t"
        "$T/t" -q >"$T/said" || { cat "$T/said"; bad "$t"; }
        n=$((n + $(tail -1 "$T/said" | sed 's/ passed.*//')))
    done
    examined $n 5 "tests"
}

audit_tcc() {
    need tcc
    impl "$T/bodies.c"
    tcc -std=c99 -c "$T/bodies.c" -o "$T/bodies.o" 2>"$T/err" || { head -5 "$T/err"; bad "tcc"; }
    echo 'int main(void) { return csim_status_text(CSIM_OK) == 0; }' >>"$T/bodies.c"
    tcc -std=c99 "$T/bodies.c" -o "$T/program" $MATH 2>"$T/err" || { head -5 "$T/err"; bad "tcc cannot link it"; }
    "$T/program" || bad "tcc's program fails"
    echo "1 program"
}

audit_cppcheck() {
    need cppcheck
    impl "$T/bodies.c"
    # uninitvar takes an array handed out to be filled for a read; MemorySanitizer and valgrind judge that
    cppcheck --std=c99 --enable=warning,portability --inline-suppr --error-exitcode=3 --quiet -j1 \
        --suppress=missingIncludeSystem --suppress=uninitvar --suppress=unmatchedSuppression --max-configs=1 -D__GNUC__=12 "$T/bodies.c" 2>&1 | head -40 >"$T/said"
    grep -e ': error' -e ': warning' -e ': portability' "$T/said" && bad "cppcheck complains"
    echo "1 source"
}

audit_analyzer() {
    need clang
    impl "$T/bodies.c"
    clang --analyze -std=c99 -Xclang -analyzer-disable-checker=deadcode.DeadStores -Xclang -analyzer-disable-checker=security.insecureAPI \
        -Xanalyzer -analyzer-output=text "$T/bodies.c" -o "$T/o" 2>"$T/said" || bad "the analyzer stops"
    grep 'warning:' "$T/said" && { head -60 "$T/said"; bad "the analyzer complains"; }
    echo "1 source"
}

audit_wasm() { # REAL
    need clang
    mkdir -p "$T/include"
    cat >"$T/bodies.c" <<END
typedef $1 real;
real m1(real x); real m2(real y, real x); void *my_copy(void *d, const void *s, unsigned long n); void *my_set(void *d, int c, unsigned long n);
#define CONDSIM_SQRT(x) m1(x)
#define CONDSIM_SIN(x) m1(x)
#define CONDSIM_COS(x) m1(x)
#define CONDSIM_ATAN2(y, x) m2(y, x)
#define CONDSIM_EXP(x) m1(x)
#define CONDSIM_LOG(x) m1(x)
#define CONDSIM_MEMCPY(d, s, n) my_copy(d, s, n)
#define CONDSIM_MEMSET(d, c, n) my_set(d, c, n)
#define CONDSIM_NO_HEAP
#define CONDSIM_NO_STDIO
#define CONDSIM_IMPLEMENTATION
#include "$ROOT/condsim.h"
END
    # shellcheck disable=SC2046
    clang --target=wasm32 -std=c99 -ffreestanding -O2 $(real_flag "$1") -c "$T/bodies.c" -o "$T/bodies.o" 2>"$T/err" || {
        grep -q -i 'target' "$T/err" && skip "this clang has no wasm32 target"
        head -10 "$T/err"
        bad "wasm32"
    }
    echo "1 object of $(wc -c <"$T/bodies.o") bytes"
}

# every feature left out: what stays says the same
audit_switches() {
    sh tests/switches.sh >"$T/said" 2>&1 || { tail -12 "$T/said"; bad "switches"; }
    examined "$(tail -1 "$T/said" | sed 's/ builds.*//')" 60 "builds"
}

# ---- the lists

short_list() {
    echo text
    echo generated
    echo rooms
    echo committed
    echo includes
    echo macros
    echo complete
    for family in gcc clang; do
        for std in c99 c++11 c++20; do
            for real in double float; do echo "warn $family $std $real O0"; done
        done
    done
    echo link "$CC" "$CC"
    echo link "$CC" "$CXX"
    echo float_mix
    echo static c
    echo readme
    echo docs
    echo errors
    echo links
    echo reference
}

# the longest first, so that none is left alone at the end; half an hour on two cores
long_list() {
    echo same_output # the longest first: nothing else runs beside the last one
    echo alike
    for build in ubsan asan; do echo tests $build double quick; done
    echo bytes double 330 # half a minute a format; make long gives each an hour
    echo fuzz asan double 60
    echo fuzz msan double 30
    echo options gcc c99 double alone
    echo tables
    echo tests m32 float quick
    for build in O0 openmp m32 arm64; do echo golden $build double; done
    for real in double float; do echo slow $real; done
    echo warn gcc c99 double O2
    for build in tsan openmp; do echo tests $build double quick; done
    echo rooms
    echo parts
    echo programs
    echo standing
    echo figures
    echo replay
    echo time
    echo freestanding float O1
    for opt in O0 O1; do echo freestanding double $opt; done
    echo warn gcc c99 double O0 -Wmisleading-indentation
    echo symbols double O2
    for std in c11 c17; do
        for family in gcc clang; do
            for real in double float; do echo "warn $family $std $real O0"; done
        done
    done
    echo noheap
    echo target m32
    echo target arm
    echo warn clang c++11 float O3
    echo options clang c++11 float alone
    for opt in O0 O2 O3; do echo stack double $opt; done
    echo wasm double
    echo switches
    echo cxx_tests
    echo tcc
    echo link gcc clang++
    echo link "$CXX" "$CC"
    echo static c++
    echo symbols float O0
    echo stack float O0
}

# what takes longer: part of `make long`
full_list() {
    # one real type a build: that builds agree to the last bit is what the golden states show
    for build in asan msan ubsan tsan valgrind O3 openmp arm64 arm32 s390x; do echo tests $build double; done
    for build in asan clang m32; do echo tests $build float; done
    for watcher in asan msan; do echo fuzz $watcher float 30; done
    echo fuzz valgrind double 10
    for build in O2 O3 g++ clang-O2 clang-O3 clang++ native lanes parts; do echo golden $build double; done
    for build in O0 O3 clang-O2 clang++ openmp m32 arm64; do echo golden $build float; done
    echo golden arm32 double
    echo golden valgrind double
    for real in double float; do
        for family in gcc clang; do
            for std in c99 c++11 c++20; do echo "warn $family $std $real O3"; done
        done
        for opt in O0 O2 O3; do echo "stack $real $opt"; done
    done
    for real in double float; do echo "options gcc c99 $real pairs"; done
    echo options gcc c++11 float alone
    echo options clang c++11 double alone
    echo wasm float
    echo cppcheck
    echo analyzer
}

# ---- running

one() {
    WORK=$1
    shift
    label=$(echo "$*" | tr ' /' '__')
    T=$WORK/$label.dir
    mkdir -p "$T"
    name=$1
    shift
    start=$(now_ms)
    ("audit_$name" "$@") >"$WORK/$label.said" 2>&1
    code=$?
    # seconds of processor, beside those of the clock: machines are shared
    times >"$WORK/$label.times"
    cpu=$(tail -n 1 "$WORK/$label.times" | sed 's/[ms]/ /g' | awk '{ printf "%.0f", 60 * ($1 + $3) + $2 + $4 }')
    echo "$code $(($(now_ms) - start)) $cpu" >"$WORK/$label.code"
    [ -z "${PROGRESS:-}" ] || echo "ended with $code after $(($(now_ms) - start)) ms: $label"
    rm -rf "$T"
}

all() {
    WORK=$(mktemp -d "${TMPDIR:-/tmp}/condsim-audit.XXXXXX")
    trap 'rm -rf "$WORK"' EXIT
    trap 'exit 130' INT TERM
    "$1_list" >"$WORK/list"
    [ "$1" = short ] || PROGRESS=1
    PROGRESS=${PROGRESS:-} xargs -P "$JOBS" -L 1 sh tests/audit.sh in "$WORK" <"$WORK/list"
    passed=0 failed=0 skipped=0 total_cpu=0
    while read -r line; do
        label=$(echo "$line" | tr ' /' '__')
        read -r code ms cpu <"$WORK/$label.code" || code=99 ms=0 cpu=0
        total_cpu=$((total_cpu + cpu))
        case $code in
        0)
            passed=$((passed + 1))
            printf 'ok   %8d ms %4d s CPU  %s: %s\n' "$ms" "$cpu" "$line" "$(tail -n 1 "$WORK/$label.said")"
            grep '^note: ' "$WORK/$label.said" ;;
        77)
            skipped=$((skipped + 1))
            echo "skipped: $line: $(tail -n 1 "$WORK/$label.said")" ;;
        *)
            failed=$((failed + 1))
            echo "FAIL $line: $(tail -n 1 "$WORK/$label.said")"
            { grep -e error -e '^FAIL' -e '^[^ ].*: [a-z_]*:' "$WORK/$label.said" || sed '$d' "$WORK/$label.said"; } |
                head -n 8 | cut -c 1-160 | sed -e "s|$ROOT/||" -e 's/^/    /' >"$WORK/shown"
            sum=$(cksum <"$WORK/shown")
            if grep -q -s "^$sum " "$WORK/sums"; then echo "    as for: $(grep "^$sum " "$WORK/sums" | cut -d' ' -f3-)"
            else
                cat "$WORK/shown"
                echo "$sum $line" >>"$WORK/sums"
            fi ;;
        esac
    done <"$WORK/list"
    echo "$skipped skipped, $total_cpu s of processor"
    echo "$passed passed, $failed failed"
    [ "$failed" -eq 0 ]
}

command=${1:-short}
shift
case $command in
short) all short ;;
long) all long ;;
full) all full ;;
in) one "$@" ;;
one)
    WORK=$(mktemp -d "${TMPDIR:-/tmp}/condsim-audit.XXXXXX")
    one "$WORK" "$@"
    cat "$WORK"/*.said "$WORK"/*.code
    code=$(cut -d' ' -f1 "$WORK"/*.code)
    rm -rf "$WORK"
    exit "$code" ;;
*) echo "audit.sh short | long | full | one NAME ARGUMENTS"; exit 2 ;;
esac
