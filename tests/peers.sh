#!/bin/sh
# peers.sh   builds build/peers/{box3d,condsim,condsim_float}: the same scenes in another engine and in this one, from the
# harness of the optional shared folder (SHARED, default ../shared). Run one with scene=P_1000 dt=0.0166667 mode=bounded.
set -eu
SHARED=${SHARED:-../shared}
OUT=build/peers
CC=${CC:-cc}
CXX=${CXX:-c++}
if [ ! -f "$SHARED/peers/engines/scenes.h" ]; then
    echo "peers: no $SHARED/peers/engines/scenes.h; nothing is built"
    exit 0
fi
mkdir -p $OUT/o
if [ -d "$SHARED/peers/box3d/src" ]; then
    for f in "$SHARED"/peers/box3d/src/*.c; do
        o=$OUT/o/$(basename "$f" .c).o
        [ "$o" -nt "$f" ] || $CC -std=c17 -O2 -DNDEBUG -I"$SHARED/peers/box3d/include" -I"$SHARED/peers/box3d/src" -c "$f" -o "$o"
    done
    rm -f $OUT/libbox3d.a
    ar rcs $OUT/libbox3d.a $OUT/o/*.o
    $CXX -O2 -w -I"$SHARED/peers/box3d/include" "$SHARED/peers/engines/eng_box3d.cpp" -o $OUT/box3d $OUT/libbox3d.a -lm -lpthread
else
    echo "peers: no $SHARED/peers/box3d; only condsim is built"
fi
printf '#define CONDSIM_IMPLEMENTATION\n#include "condsim.h"\n' >$OUT/condsim.c
$CC -std=c99 -O2 -I. -c examples/scenes/threads.c -o $OUT/threads.obj
for real in "" _float; do
    flag=${real:+-DCONDSIM_FLOAT}
    $CC -std=c99 -O2 $flag -I. -c $OUT/condsim.c -o $OUT/condsim$real.obj
    $CXX -O2 -w $flag -I. -Iexamples/scenes -I"$SHARED/peers/engines" tests/eng_condsim.cpp \
        -o $OUT/condsim$real $OUT/condsim$real.obj $OUT/threads.obj -lm -lpthread
done
echo "peers: $(ls -d $OUT/box3d $OUT/condsim $OUT/condsim_float 2>/dev/null | tr '\n' ' ')"
