#!/bin/sh
# packages.sh DIST: uses each package of `make dist` as its user would, as far as the tools are here; a tool that is
# missing is named. Last line: "N passed, N failed".
set -u
dist=$(cd "$1" && pwd)
name=$(basename "$(ls -d "$dist"/condsim-*/ | head -n 1)")
root=$dist/$name
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0 failed=0
wanted='it stands, certified' # the last line of the first example, in part

check() { # NAME LOG: the exit status before, and what the program printed
    status=$?
    if [ $status = 0 ] && grep -q "$wanted" "$2"; then
        passed=$((passed + 1)) && echo "ok   $1"
    else
        failed=$((failed + 1)) && echo "FAIL $1" && tail -n 15 "$2" | sed 's/^/    /'
    fi
}
missing() { echo "skip $1: no $2"; }
user() { # a folder with the first example as a program of its own, the bodies taken from the package or not
    mkdir -p "$work/$1"
    sed 's,"\.\./condsim\.h",<condsim.h>,' "$root/examples/01_hello.c" >"$work/$1/main.c"
    [ "$2" = bodies ] || sed -i '/define CONDSIM_IMPLEMENTATION/d' "$work/$1/main.c"
    cd "$work/$1" || exit 1
}

if command -v cmake >/dev/null; then
    user subdirectory header
    printf 'cmake_minimum_required(VERSION 3.13)\nproject(u C)\nadd_subdirectory("%s" condsim)\nadd_executable(u main.c)\n' "$root" >CMakeLists.txt
    echo 'target_link_libraries(u condsim::condsim)' >>CMakeLists.txt
    (cmake -S . -B b -DCMAKE_BUILD_TYPE=Debug && cmake --build b && b/u) >log 2>&1
    check "cmake add_subdirectory, condsim::condsim" log
    user installed header
    (cmake -S "$root" -B c -DCMAKE_INSTALL_PREFIX="$work/prefix" -DCMAKE_BUILD_TYPE=Debug && cmake --build c --target install) >log 2>&1
    printf 'cmake_minimum_required(VERSION 3.13)\nproject(u C)\nfind_package(condsim REQUIRED)\nadd_executable(u main.c)\n' >CMakeLists.txt
    echo 'target_link_libraries(u condsim::condsim)' >>CMakeLists.txt
    (cmake -S . -B b -DCMAKE_PREFIX_PATH="$work/prefix" -DCMAKE_BUILD_TYPE=Debug && cmake --build b && b/u) >>log 2>&1
    check "cmake find_package" log
    user fetched bodies
    printf 'cmake_minimum_required(VERSION 3.13)\nproject(u C)\ninclude(FetchContent)\nFetchContent_Declare(condsim URL "%s.tar.gz")\n' "$root" >CMakeLists.txt
    printf 'FetchContent_MakeAvailable(condsim)\nadd_executable(u main.c)\ntarget_link_libraries(u condsim::header)\n' >>CMakeLists.txt
    sed -i 's/3.13/3.14/' CMakeLists.txt
    (cmake -S . -B b -DCMAKE_BUILD_TYPE=Debug && cmake --build b --target u && b/u) >log 2>&1
    check "cmake FetchContent of the archive, condsim::header" log
else
    missing "cmake packages" cmake
fi
if command -v pkg-config >/dev/null; then
    user pkgconfig bodies
    sed "s,^prefix=.*,prefix=$work/pc," "$root/condsim.pc" >condsim.pc
    mkdir -p "$work/pc/include" && cp "$root/include/condsim.h" "$work/pc/include/"
    # shellcheck disable=SC2046
    (PKG_CONFIG_PATH=. && export PKG_CONFIG_PATH && cc main.c $(pkg-config --cflags --libs condsim) -o u && ./u) >log 2>&1
    check "pkg-config" log
else
    missing "pkg-config package" pkg-config
fi
if command -v meson >/dev/null; then
    user meson header
    mkdir -p subprojects/packagefiles subprojects/packagecache
    cp "$dist/condsim.wrap" subprojects/
    cp "$root.tar.gz" subprojects/packagecache/
    sed -i 's,^source_filename,source_url = file:///not-needed\nsource_filename,' subprojects/condsim.wrap
    printf "project('u', 'c')\nexecutable('u', 'main.c', dependencies : dependency('condsim'))\n" >meson.build
    (meson setup b && meson compile -C b && b/u) >log 2>&1
    check "meson wrap" log
else
    missing "meson wrap" meson
fi
if command -v node >/dev/null && [ -f "$root/npm/condsim.wasm" ]; then
    mkdir -p "$work/npm/node_modules" && cd "$work/npm" || exit 1
    if command -v npm >/dev/null; then
        (echo '{"private": true}' >package.json && npm pack --silent "$root/npm" && npm install --silent --offline ./condsim-*.tgz) >log 2>&1
    else
        cp -R "$root/npm" node_modules/condsim
    fi
    cat >use.mjs <<'END'
import { load, World } from "condsim";
await load();
const world = new World(), other = new World();
world.ground();
const box = world.rigid({ half: [0.1, 0.1, 0.1], position: [0, 0, 0.5] });
let hit = 0, saved = null;
for (let i = 1; i <= 60; i++) {
  if (i === 30) saved = world.save();
  if (!world.step().certified) throw new Error("a step is not certified");
  hit += world.contacts().filter((c) => c.began && c.touches).length;
}
const end = world.hash, z = box.position[2];
world.restore(saved);
for (let i = 30; i <= 60; i++) world.step();
if (world.hash !== end) throw new Error("it does not go on as before from a snapshot");
if (Math.abs(z - 0.1) > 1e-4 || hit < 4) throw new Error(`box at ${z}, ${hit} contacts began`);
const yard = new World({ sleep: true });
const floor = yard.ground(), crate = yard.rigid({ half: [0.1, 0.1, 0.1], position: [0, 0, 1] });
const seen = { begins: 0, hits: 0, sleeps: 0, ends: 0 };
for (let i = 0; i < 240; i++) {
  yard.step();
  const now = yard.events();
  for (const kind of Object.keys(seen)) seen[kind] += now[kind].length;
  if (now.hits.length && !(Math.abs(now.hits[0].speed - Math.sqrt(2 * 9.81 * 0.9)) < 0.3)) throw new Error("hit at " + now.hits[0].speed + " m/s");
}
if (seen.begins < 1 || seen.hits < 1 || seen.sleeps !== 1) throw new Error("events " + JSON.stringify(seen));
const met = yard.castRay([0, 0, 3], [0, 0, -5]), missed = yard.castRay([2, 0, 3], [0, 0, 5]);
if (!met || met.body.number !== crate.number || Math.abs(met.distance - 2.8) > 1e-3 || missed !== null) throw new Error("rays");
const near = yard.closestPoint([1, 0, 0.1], 5);
if (!near || near.body.number !== floor.number || Math.abs(near.distance - 0.1) > 1e-6) throw new Error("closest point");
const inside = yard.overlapBox([-1, -1, 0.05], [1, 1, 1]).map((b) => b.number);
if (inside.length !== 1 || inside[0] !== crate.number) throw new Error("overlap " + inside);
crate.setVelocity([0, 0, 3]);
for (let i = 0; i < 10; i++) yard.step(), seen.ends += yard.events().ends.length;
if (seen.ends < 1) throw new Error("it left, and no event says so");
yard.destroy();
let said = "";
try { world.rigid({ shape: "box", half: [-1, 1, 1] }); } catch (e) { said = e.message; }
if (!/half/.test(said)) throw new Error("a wrong box is not named: " + said);
world.destroy(), other.destroy();
console.log("it stands, certified, with the library from npm");
END
    node use.mjs >>log 2>&1
    check "npm package in node" log
    # the programs of docs/web.md say what stands under them
    awk -v t="$work/npm/page" '/^```/ && on { on = 0; next } /^```js$/ { out = t (++n) ".mjs"; on = 1; next }
        /^```text$/ { out = t ".want" (++m); on = 1; next } /^```/ { on = 1; out = "/dev/null"; next } on { print > out }' \
        "$root/docs/web.md"
    (node page2.mjs | diff - page.want2 && echo "$wanted") >log 2>&1
    check "docs/web.md: the package" log
    if command -v clang >/dev/null && [ -d /usr/include/wasm32-wasi ]; then
        sed 's,"\.\./condsim,"condsim,' "$root/examples/16_web.c" >16_web.c
        sed -n '/^clang /,/^```/p' "$root/docs/web.md" | sed '/^```/d;s,16_web.c,-I'"$root/include"' 16_web.c,' >build.sh
        (sh build.sh && node page1.mjs | diff - page.want1 && echo "$wanted") >log 2>&1
        check "docs/web.md: a program of one's own" log
        # its size, and that of the tiny preset, to three hundredths: the page says them for one release of clang
        sed 's/-O2/-O2 -DCONDSIM_TINY/;s/-o web.wasm/-o tiny.wasm/' build.sh >tiny.sh && sh tiny.sh >log 2>&1
        for f in "web.wasm:the line above" 'tiny.wasm:`-DCONDSIM_TINY`'; do
            awk -v row="${f#*:}" -v plain="$(wc -c <"${f%%:*}")" -v packed="$(gzip -9c "${f%%:*}" | wc -c)" -F' *[|] *' '
                function far(kb, bytes) { return kb * 1000 > 1.03 * bytes || kb * 1000 < 0.97 * bytes }
                $2 == row { found = 1; if (far($3 + 0, plain) || far($4 + 0, packed)) print row " has " plain " and " packed " bytes" }
                END { if (!found) print "no row " row }' "$root/docs/web.md"
        done >>log
        [ -s log ] || echo "$wanted" >log
        check "docs/web.md: sizes" log
    else
        missing "docs/web.md" "clang or wasi-libc"
    fi
else
    missing "npm package" "node or condsim.wasm"
fi
# manifests of tools that are not here: well-formed, with the fields their schemas ask for
for f in "$root/library.json:name version description build" "$root/vcpkg/condsim/vcpkg.json:name version dependencies" \
    "$root/npm/package.json:name version main types files"; do
    if command -v node >/dev/null; then
        node -e 'const [f, k] = process.argv[1].split(":"), o = JSON.parse(require("fs").readFileSync(f)); for (const n of k.split(" ")) if (!o[n]) { console.log(f, "lacks", n); process.exit(1); }
if (!/^\d+\.\d+\.\d+$/.test(o.version)) { console.log(f, "version", o.version); process.exit(1); } console.log("it stands, certified")' "$f" >"$work/log" 2>&1
        check "manifest $(basename "${f%%:*}")" "$work/log"
    fi
done
for k in name version author maintainer sentence paragraph category architectures; do
    grep -q "^$k=..*" "$root/library.properties" || echo "library.properties lacks $k"
done >"$work/log"
[ -s "$work/log" ] || echo "$wanted" >"$work/log"
check "manifest library.properties" "$work/log"
# ESP-IDF: what its registry asks of idf_component.yml, and what CMakeLists.txt names is there
(for k in version description license; do grep -q "^$k: *[^ ]" "$root/idf/idf_component.yml" || echo "idf_component.yml lacks $k"; done
    grep -Eq '^version: "[0-9]+\.[0-9]+\.[0-9]+"$' "$root/idf/idf_component.yml" || echo "idf_component.yml: version"
    grep -q '^idf_component_register(' "$root/idf/CMakeLists.txt" || echo "idf/CMakeLists.txt registers nothing"
    for f in $(grep -o '"\.\./[a-z./]*"' "$root/idf/CMakeLists.txt" | tr -d '"'); do [ -e "$root/idf/$f" ] || echo "idf: no $f"; done) >"$work/log"
[ -s "$work/log" ] || echo "$wanted" >"$work/log"
check "manifest idf_component.yml" "$work/log"
# vcpkg: its commands are cmake's; made known as empty ones here, the port runs and finds its files
if command -v cmake >/dev/null; then
    {
        echo 'foreach(f vcpkg_cmake_configure vcpkg_cmake_install vcpkg_cmake_config_fixup vcpkg_install_copyright)'
        echo '  cmake_language(EVAL CODE "function(${f})\n foreach(a \${ARGN})\n if(IS_ABSOLUTE \"\${a}\" AND NOT EXISTS \"\${a}\")\n message(FATAL_ERROR \"no \${a}\")\n endif()\n endforeach()\n endfunction()")'
        echo 'endforeach()'
        echo "set(CURRENT_PACKAGES_DIR \"$work/vcpkg\")"
        echo "include(\"$root/vcpkg/condsim/portfile.cmake\")"
    } >"$work/port.cmake"
    (cmake -P "$work/port.cmake" && echo "$wanted") >"$work/log" 2>&1
    check "port vcpkg/condsim" "$work/log"
fi
if command -v python3 >/dev/null; then
    # Conan: its classes are made known as ones that remember; the recipe runs, and what it exports is there
    cat >"$work/recipe.py" <<'END'
import glob, os, sys, types
class Some:
    def __init__(self, *given): self.variables, self.called, made[:] = {}, [], made + [self]
    def __getattr__(self, name): return lambda *given, **named: self.called.append(name)
made = []
for name in "conan", "conan.tools", "conan.tools.cmake": sys.modules[name] = types.ModuleType(name)
sys.modules["conan"].ConanFile = type("ConanFile", (), {})
for name in "CMake", "CMakeToolchain": setattr(sys.modules["conan.tools.cmake"], name, Some)
sys.modules["conan.tools.cmake"].cmake_layout = lambda recipe: None
space = {}
exec(open(sys.argv[1] + "/conanfile.py").read(), space)
recipe = space["Condsim"]()
for name in "name version license description settings options default_options exports_sources".split(): assert getattr(recipe, name), name
assert set(recipe.options) == set(recipe.default_options)
for sources in recipe.exports_sources: assert glob.glob(os.path.join(sys.argv[1], sources)), sources
recipe.options, recipe.settings = types.SimpleNamespace(float=True), types.SimpleNamespace(os="Linux")
recipe.cpp_info = Some()
for step in "layout generate build package package_info".split(): getattr(recipe, step)()
assert recipe.cpp_info.libs == ["condsim"] and "CONDSIM_FLOAT" in recipe.cpp_info.defines
called = [name for some in made for name in some.called]
for name in "generate", "configure", "build", "install": assert name in called, name
END
    (python3 "$work/recipe.py" "$root" && echo "$wanted") >"$work/log" 2>&1
    check "recipe conanfile.py" "$work/log"
else
    missing "conanfile.py" python3
fi
echo "$passed passed, $failed failed"
[ $failed = 0 ]
