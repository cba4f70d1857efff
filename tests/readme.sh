#!/bin/sh
# Puts examples/01_hello.c and what it prints into README.md: `make readme`, from the root of the project.
set -eu
sed 's,"\.\./condsim.h","condsim.h",' examples/01_hello.c >build/readme.c
build/bin/01_hello >build/readme.text
awk 'function put(file, line) { while ((getline line < file) > 0) print line; close(file) }
    skip && /^```/ { skip = 0 }
    !skip { print }
    /^```c$/ && !c { c = skip = 1; put("build/readme.c") }
    /^```text$/ && !t { t = skip = 1; put("build/readme.text") }' README.md >build/README.md
cat build/README.md >README.md
