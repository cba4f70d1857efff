#!/bin/sh
# pc.sh PREFIX: the pkg-config file of an installed condsim. From the root of the project.
number() { sed -n "s/^#define CSIM_VERSION_$1 //p" amalgamate/parts/base/config.h; }
sed -e "s,@PREFIX@,$1,g" -e "s,@VERSION@,$(number MAJOR).$(number MINOR).$(number PATCH),g" amalgamate/package/condsim.pc
