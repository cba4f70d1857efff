#!/bin/sh
# bench.sh PROGRAM...   runs the benchmarks that `make bench` built; tables on the screen, CSV in build/bench.
# Times are processor time of one thread, the best or the median of many; ratios are of runs in turn. Nothing fails here.
set -u
export LC_ALL=C
OUT=build/bench
mkdir -p $OUT
{
    echo "date,$(date -u +%Y-%m-%d)"
    echo "processor,$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo 2>/dev/null | head -n 1)"
    echo "processors,$(nproc 2>/dev/null)"
    echo "compiler,$(${CC:-cc} --version | head -n 1)"
    echo "load at the start,$(cut -d' ' -f1-3 /proc/loadavg 2>/dev/null)"
} | tee $OUT/machine.csv

for program in "$@"; do
    name=$(basename "$program")
    echo
    echo "== $name"
    case $name in
    bench_scenes) "$program" $OUT ;;
    bench_cond)
        "$program" >$OUT/cond.csv
        tr , '\t' <$OUT/cond.csv
        echo "aims: plain_ratio 1.40 (better 1.25), coarse_ratio 2.1 up to 6500 nodes" ;;
    bench_kernels)
        "$program" | tee $OUT/kernels.txt
        { echo "nodes,blocks_a_row,product_us,gflops,gbytes_s,percent_of_triad,assembly_ns_a_tet"
            grep 'nodes.*product' $OUT/kernels.txt | sed -e 's/[^0-9.]\{1,\}/,/g' -e 's/^,//' -e 's/,$//'; } >$OUT/kernels.csv ;;
    bench_impact) "$program" | tee $OUT/impact.csv ;;
    *) "$program" | tee "$OUT/$name.txt" ;;
    esac
done
echo
echo "CSV: $(ls $OUT/*.csv | tr '\n' ' ')"
