#!/bin/sh
# dist.sh FOLDER: writes FOLDER/condsim-VERSION and its archives. From the root of the project; `make dist`.
set -eu
out=$1
config=amalgamate/parts/base/config.h
number() { sed -n "s/^#define CSIM_VERSION_$1 //p" $config; }
version=$(number MAJOR).$(number MINOR).$(number PATCH)
package=amalgamate/package
name=condsim-$version
to=$out/$name
rm -rf "$to"
mkdir -p "$to/include" "$to/src" "$to/vcpkg/condsim" "$to/idf" "$to/npm" "$to/examples"
fill() { sed -e "s,@VERSION@,$version,g" -e "s,@PREFIX@,/usr/local,g" "$1" >"$2"; }
cp condsim.h "$to/include/"
cp $package/condsim.c "$to/src/"
cp LICENSE README.md "$to/"
cp -R docs "$to/docs"
cp examples/[01]*.c examples/*.h "$to/examples/"
fill $package/cmake/CMakeLists.txt "$to/CMakeLists.txt"
fill $package/meson/meson.build "$to/meson.build"
fill $package/condsim.pc "$to/condsim.pc"
fill $package/conan/conanfile.py "$to/conanfile.py"
fill $package/library.json "$to/library.json"
fill $package/library.properties "$to/library.properties"
for f in vcpkg.json portfile.cmake; do fill $package/vcpkg/$f "$to/vcpkg/condsim/$f"; done
for f in CMakeLists.txt idf_component.yml; do fill $package/idf/$f "$to/idf/$f"; done
for f in index.mjs index.d.ts shim.c; do cp $package/npm/$f "$to/npm/"; done
fill $package/npm/package.json "$to/npm/package.json"
cp LICENSE "$to/npm/"
wasm=$(ls -d /usr/include/wasm32-wasi 2>/dev/null || true)
if command -v clang >/dev/null && [ -n "$wasm" ]; then
    clang --target=wasm32-wasi -mexec-model=reactor -std=gnu99 -O2 -ffp-contract=off -DCONDSIM_NO_STDIO -I. \
        $package/npm/shim.c -Wl,--strip-all -Wl,-z,stack-size=1048576 -o "$to/npm/condsim.wasm"
else
    echo "dist: the npm package has no condsim.wasm: needs clang, lld and wasi-libc"
fi
# the same bytes whoever packs, whenever
pack() { tar -C "$out" --sort=name --owner=0 --group=0 --numeric-owner --mtime='2000-01-01 00:00Z' -cf - "$name" | gzip -9n; }
pack >"$out/$name.tar.gz"
if command -v zip >/dev/null; then
    rm -f "$out/$name.zip"
    (cd "$out" && find "$name" -type f | LC_ALL=C sort | zip -q -X "$name.zip" -@)
else
    echo "dist: no zip: only $name.tar.gz"
fi
sum=$(sha256sum "$out/$name.tar.gz" | cut -d' ' -f1)
sed -e "s,@VERSION@,$version,g" -e "s,@SHA256@,$sum,g" $package/meson/condsim.wrap >"$out/condsim.wrap"
echo "$out/$name: $(find "$to" -type f | wc -l) files, $(wc -c <"$out/$name.tar.gz") bytes packed"
