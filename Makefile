# condsim: the header needs no build; this builds what is around it. Only a C compiler, make and sh are needed.
#
#   make            the header, the examples and the scene program
#   make run        run the main scene: build/run/index.html (MESH=file puts another mesh into it)
#   make test       the tests in double and float, without the slow ones, and the short audits: four minutes on two cores,
#                   needs only this clone
#   make test-shared  the tests that want files of other people in ../shared, or packages: says what it lacks
#   make check      the slow tests and the long matrix: compilers, sanitizers, other machines; reports what it cannot find
#   make long       the long physics runs, and the long forms of the tests
#   make mutate     one line of the library changed at a time: which test notices; COUNT=20 SEED=1 for a sample; hours
#   make audit      steps judged from outside by a program of its own: docs/results/audit.md; AUDIT="--worlds 5 --seed 7"
#   make bench      the benchmarks
#   make bench-realtime  what real time costs, beside the other engine: docs/results/realtime.md, in ten minutes
#   make bench-queries  rays among 4000 bodies and into 1e5 triangles, beside Box3D where the optional shared folder has it
#   make peers      the same scenes in another engine and here, from the optional shared folder, into build/peers
#   make embedded   four programs on Cortex-M7 and M4 under qemu; WRITE=1 puts the table into docs/embedded.md
#   make sizes      linked bytes by feature: build/sizes.csv
#   make fc3d       every solver on the contact problems of shared/fc3d: tables, profiles and pictures in build/fc3d
#   make tables     the papers' experiments beside the papers' figures in build/tables; FAST=1: two minutes of them
#   make figures    what scenes and tests print, against the figures on the pages: tests/figures.txt; WRITE=1 puts it there
#   make golden     write tests/golden.txt: the hashes of this tree, after a change that moves bits on purpose
#   make header     write condsim.h from amalgamate/parts, and make docs
#   make readme     put examples/01_hello.c and its output into README.md
#   make lib        the parts as an ordinary static library
#   make docs       docs/reference, every public declaration from the comments of the header, linked with the manual
#   make live       docs/live/index.html: scenes to play with in a browser; make test-live tries it in Chromium
#   make film       docs/film.png, the moving picture of README.md; make gallery: docs/gallery.md, every scene, or ONLY="some"
#   make dist       build/dist: archives and packages; make test-packages uses each of them
#   make test-samples  examples/samples: a window, C++, a microcontroller, MPI, with the tools that are here
#   make install    PREFIX=/usr/local: the header and a pkg-config file
#   make clean      remove build/
#   make test-NAME  one test file, in both builds; build/tests/NAME-double PART runs the tests whose names hold PART

CC ?= cc
CXX ?= c++
AR ?= ar
CFLAGS ?= -O2
WARNINGS = -Wall -Wextra -Wno-unused-function
BUILD = build
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
ifeq ($(filter -j% --jobserver%,$(MAKEFLAGS)),)
MAKEFLAGS += -j$(JOBS)
endif
MAKEFLAGS += --no-print-directory

COMPILE = $(CC) -std=c99 $(WARNINGS) $(CFLAGS)
PARTS := $(shell awk '/^[a-z]/ { print "amalgamate/parts/" $$2 }' amalgamate/parts.list)
BODIES := $(filter %.c,$(PARTS))
TESTS := $(filter-out test_stb,$(patsubst tests/%.c,%,$(wildcard tests/test_*.c))) # that one wants a package: test-shared
EXAMPLES := $(patsubst examples/%.c,$(BUILD)/bin/%,$(wildcard examples/*.c))
SCENES := $(filter-out %/condsim.c %/runner.c,$(wildcard examples/scenes/*.c))
SCENE_HEADERS := $(wildcard examples/scenes/*.h) $(wildcard examples/*.h) examples/modes/modes.h
FC3D := $(wildcard examples/fc3d/*.c)

all: condsim.h $(EXAMPLES) $(BUILD)/bin/condsim-scene $(BUILD)/bin/condsim-fc3d $(BUILD)/bin/condsim-modes
	@echo "examples and programs are in $(BUILD)/bin; make run shows a scene, make help says what else there is"

help:
	@sed -n '3,/^$$/s/^#//p' Makefile

# ---- the header

# always made: after a merge the times of files say nothing
header: $(BUILD)/amalgamate
	@$(BUILD)/amalgamate
	@$(MAKE) -s docs

$(BUILD)/amalgamate: amalgamate/amalgamate.c amalgamate/text.h
	@mkdir -p $(@D)
	@$(COMPILE) $< -o $@

condsim.h: $(BUILD)/amalgamate amalgamate/parts.list amalgamate/manual.txt LICENSE $(PARTS)
	@$(BUILD)/amalgamate

# ---- one library a real type, with the invariants checked, for every program and test here: compiled once, a room at a
# time. It has the library's own sine, so that a scene prints the same figures with any C library, and what is for
# comparisons only.

LIBRARY_FLAGS = -DCONDSIM_OWN_MATH -DCONDSIM_REFERENCE -DCONDSIM_LINKED
ASSERTS = -include assert.h '-DCONDSIM_ASSERT(x)=assert(x)'
SCENE_FLAGS = -O1
REAL_double =
REAL_float = -DCONDSIM_FLOAT
ROOMS := $(shell sh tests/sources.sh)
$(ROOMS:%=$(BUILD)/rooms/%.c): $(BUILD)/rooms/%.c: FORCE
	@mkdir -p $(@D)
	@sh tests/sources.sh $* >$@.new; if cmp -s $@.new $@; then rm $@.new; else mv $@.new $@; fi

define REAL_RULES
$(ROOMS:%=$(BUILD)/$1/rooms/%.o): $(BUILD)/$1/rooms/%.o: $(BUILD)/rooms/%.c
	@mkdir -p $$(@D)
	@$$(COMPILE) $(LIBRARY_FLAGS) $(ASSERTS) $(REAL_$1) -Iamalgamate/parts -MMD -MP -c $$< -o $$@

$(BUILD)/$1/scenes/%.o: examples/scenes/%.c $(SCENE_HEADERS) condsim.h
	@mkdir -p $$(@D)
	@$$(COMPILE) $(SCENE_FLAGS) $(LIBRARY_FLAGS) $(REAL_$1) -I. -c $$< -o $$@

$(BUILD)/$1/scenes/modes.o: examples/modes/modes.c examples/modes/modes.h condsim.h
	@mkdir -p $$(@D)
	@$$(COMPILE) -O2 $(LIBRARY_FLAGS) $(REAL_$1) -I. -c $$< -o $$@

$(BUILD)/$1/libcondsim.a: $(ROOMS:%=$(BUILD)/$1/rooms/%.o)
	@rm -f $$@
	@$(AR) rcs $$@ $$^

$(BUILD)/$1/libscenes.a: $(SCENES:examples/scenes/%.c=$(BUILD)/$1/scenes/%.o) $(BUILD)/$1/scenes/modes.o
	@rm -f $$@
	@$(AR) rcs $$@ $$^
endef
$(foreach r,double float,$(eval $(call REAL_RULES,$r)))
-include $(wildcard $(BUILD)/*/rooms/*.d)
LIBRARY := $(BUILD)/double/libcondsim.a
SCENE_LIBRARY := $(BUILD)/double/libscenes.a

# ---- examples and scenes

# each is one file with the bodies in it, for who copies it; here the bodies are those of the library
$(BUILD)/bin/%: examples/%.c $(LIBRARY) condsim.h
	@mkdir -p $(@D)
	@grep -v 'define CONDSIM_IMPLEMENTATION' $< | $(COMPILE) $(LIBRARY_FLAGS) -Iexamples -x c - -x none $(LIBRARY) -o $@ -lm

examples/scenes/viewer_page.h: examples/scenes/viewer.html examples/scenes/embed/embed.c
	@mkdir -p $(BUILD)
	@$(COMPILE) examples/scenes/embed/embed.c -o $(BUILD)/embed
	@$(BUILD)/embed $< $@ viewer_page

$(BUILD)/bin/condsim-scene: $(BUILD)/double/scenes/runner.o $(SCENE_LIBRARY) $(LIBRARY)
	@mkdir -p $(@D)
	@$(COMPILE) $^ -o $@ -lm

$(BUILD)/bin/condsim-fc3d: $(FC3D) $(wildcard examples/fc3d/*.h) $(LIBRARY) condsim.h
	@mkdir -p $(@D)
	@$(COMPILE) $(LIBRARY_FLAGS) -I. $(FC3D) $(LIBRARY) -o $@ -lm

$(BUILD)/bin/condsim-modes: examples/modes/main.c $(SCENE_LIBRARY) $(LIBRARY)
	@mkdir -p $(@D)
	@$(COMPILE) $(LIBRARY_FLAGS) -I. $^ -o $@ -lm

# ---- the papers' experiments: FAST=1 is a short version

TABLE_SOURCES := $(wildcard tests/tables/*.c)
define TABLE_RULES
$(BUILD)/bin/condsim-tables-$1: $(TABLE_SOURCES) tests/tables/tables.h $(BUILD)/$1/libscenes.a $(BUILD)/$1/libcondsim.a
	@mkdir -p $$(@D)
	@$$(COMPILE) $(LIBRARY_FLAGS) $(REAL_$1) -I. -Iexamples/scenes $$(filter %.c %.a,$$^) -o $$@ -lm
endef
$(foreach r,double float,$(eval $(call TABLE_RULES,$r)))

tables: $(BUILD)/bin/condsim-tables-double $(BUILD)/bin/condsim-tables-float
	@sh tests/tables.sh $(BUILD)/bin/condsim-tables $(BUILD)/tables $(if $(FAST),fast)

FIGURE_TESTS := $(shell sed -n 's,^@test \([a-z_]*\).*,$(BUILD)/tests/test_\1-double,p' tests/figures.txt | sort -u)
figures: $(BUILD)/bin/condsim-scene $(FIGURE_TESTS)
	@sh tests/figures.sh $< $(if $(WRITE),write)

fc3d: $(BUILD)/bin/condsim-fc3d
	@sh tests/fc3d.sh $(BUILD)/bin/condsim-fc3d $(BUILD)/fc3d

# the scene program with the file of one scene: the others take as long to compile as this one to run, and their tables
# are empty here
RUN_SCENES := runner scene mixed soft mesh sat columns picture replay replay_mesh threads modes
$(BUILD)/others.c: examples/scenes/scene.h
	@mkdir -p $(@D)
	@{ echo '#include "scene.h"'; grep -o 'scene_[a-z]*_kinds' $< | grep -v -e _mixed_ -e _soft_ | \
	    sed 's/.*/const scene_kind &[1];/'; } >$@

# the bodies once, in two halves for two cores, at -O1: half the time of -O2 for a compiler, and the scene takes a tenth
# more; the same bits
$(BUILD)/run/upper.o $(BUILD)/run/lower.o: $(BUILD)/run/%.o: amalgamate/parts.list $(PARTS)
	@mkdir -p $(@D)
	@awk -v half=$* '/^body/ { if (($$2 ~ "^(store|step|world|io)/") == (half == "upper")) print "#include \"" $$2 "\"" }' \
	    $< >$(BUILD)/run/$*.c
	@$(COMPILE) -O1 $(LIBRARY_FLAGS) -Iamalgamate/parts -c $(BUILD)/run/$*.c -o $@

$(BUILD)/bin/condsim-run: $(BUILD)/run/upper.o $(BUILD)/run/lower.o $(BUILD)/others.c $(RUN_SCENES:%=$(BUILD)/double/scenes/%.o)
	@mkdir -p $(@D)
	@$(COMPILE) $(SCENE_FLAGS) $(LIBRARY_FLAGS) -I. -Iexamples/scenes $^ -o $@ -lm

run: $(BUILD)/bin/condsim-run
	@mkdir -p $(BUILD)/run
	@$(BUILD)/bin/condsim-run drop-mesh $(if $(MESH),--set mesh=$(MESH)) --out $(BUILD)/run
	@echo "open $(BUILD)/run/index.html in a browser. make builds the other scenes: $(BUILD)/bin/condsim-scene --list names them,"
	@echo "docs/scenes.md shows their figures; a program of your own begins with examples/01_hello.c and docs/guide.md"

# the program of README.md, as it is now and with what it prints now
readme: $(BUILD)/bin/01_hello
	@sh tests/readme.sh

# ---- pictures: the film of README.md and the gallery, drawn by the processor

FILM := $(wildcard examples/film/*.c) examples/live/cast.c
$(BUILD)/bin/condsim-film: $(FILM) $(wildcard examples/film/*.h) examples/live/cast.h $(SCENE_LIBRARY) $(LIBRARY)
	@mkdir -p $(@D)
	@$(COMPILE) $(LIBRARY_FLAGS) -I. -Iexamples/scenes -Iexamples/live $(FILM) $(SCENE_LIBRARY) $(LIBRARY) -o $@ -lm

film: $(BUILD)/bin/condsim-film
	@$(BUILD)/bin/condsim-film film docs/film.png

gallery: $(BUILD)/bin/condsim-film
	@mkdir -p docs/gallery
	@$(BUILD)/bin/condsim-film gallery docs/gallery docs/gallery.md "$(ONLY)"

# ---- tests: one program a file and real type; a run leaves a log whose last line is "N passed, N failed"

TEST_HEADERS := $(wildcard tests/*.h) $(wildcard examples/film/*.c)
# -O0 is half the time of -O1 for a compiler; these do most of their work themselves
WORKING := test_manifold test_triangles test_collide test_reduced test_restrain
# what takes longest begins first; the audit, which runs on every core, comes last
FIRST := $(filter test_agreement test_scenes test_scenes_more test_variational test_touch test_cond,$(TESTS))
TEST_RUNS := $(foreach t,$(FIRST) $(filter-out $(FIRST),$(TESTS)),$t-double $t-float)

define TEST_RULES
$(BUILD)/tests/%-$1: tests/%.c $(BUILD)/$1/libscenes.a $(BUILD)/$1/libcondsim.a $(TEST_HEADERS) $(SCENE_HEADERS) $(FC3D) condsim.h
	@mkdir -p $$(@D)
	@sh tests/run.sh build $$@ $$(COMPILE) $$(if $$(filter $(WORKING),$$*),-O1,-O0) $(LIBRARY_FLAGS) $(REAL_$1) -I. $$< $(BUILD)/$1/libscenes.a \
	    $(BUILD)/$1/libcondsim.a -o $$@ -lm
endef
$(foreach r,double float,$(eval $(call TEST_RULES,$r)))

$(BUILD)/tests/test_film-double: $(BUILD)/bin/condsim-film # it draws pictures again

# a program that does not build is one failure in the total, not the end of the others
$(BUILD)/logs/%.log: $(BUILD)/tests/% FORCE
	@mkdir -p $(@D)
	@sh tests/run.sh one $@ $< -q

$(BUILD)/logs/audit.log: condsim.h $(LIBRARY) FORCE
	@mkdir -p $(@D)
	@CC="$(CC)" CXX="$(CXX)" LIBRARY="$(CURDIR)/$(LIBRARY)" sh tests/run.sh one $@ sh tests/audit.sh short

# physics_audit sees condsim.h without its bodies, and is linked with them
PHYSICS_AUDIT := $(wildcard tests/physics_audit/*.c)
$(BUILD)/tests/physics_audit-double: $(PHYSICS_AUDIT) tests/physics_audit/audit.h $(LIBRARY) condsim.h
	@mkdir -p $(@D)
	@sh tests/run.sh build $@ $(COMPILE) -I. $(PHYSICS_AUDIT) $(LIBRARY) -o $@ -lm

$(BUILD)/logs/physics_audit.log: $(BUILD)/tests/physics_audit-double FORCE
	@mkdir -p $(@D)
	@sh tests/run.sh one $@ $< short

audit: $(BUILD)/tests/physics_audit-double
	@mkdir -p $(BUILD)/audit
	$(BUILD)/tests/physics_audit-double $(AUDIT) | tee $(BUILD)/audit/table.md

test: $(TEST_RUNS:%=$(BUILD)/logs/%.log) $(BUILD)/logs/audit.log $(BUILD)/logs/physics_audit.log
	@sh tests/run.sh total $^

test-physics_audit: $(BUILD)/logs/physics_audit.log
	@sh tests/run.sh total $^

# tests of what a clone does not bring: the meshes, robots and problems of other people in the folder shared beside the
# project, packages; they say by name what they lack
ASKING := $(patsubst tests/%.c,%,$(shell grep -l '^NEEDS' tests/test_*.c))
SHARED_RUNS := $(foreach t,test_fc3d $(filter-out test_fc3d,$(ASKING)),$t-double $t-float) # the longest first
$(BUILD)/logs/shared-%.log: $(BUILD)/tests/% FORCE
	@mkdir -p $(@D)
	@sh tests/run.sh one $@ $< -q --shared

test-shared: $(SHARED_RUNS:%=$(BUILD)/logs/shared-%.log)
	@sh tests/run.sh total $^

test-%: $(BUILD)/logs/test_%-double.log $(BUILD)/logs/test_%-float.log
	@sh tests/run.sh total $^

golden: $(BUILD)/tests/test_golden-double $(BUILD)/tests/test_golden-float
	@for t in $^; do GOLDEN=print $$t | grep -E '^[a-z-]+ [0-9]+ (double|float) [0-9a-f]{16}$$'; done > tests/golden.new
	@mv tests/golden.new tests/golden.txt && cat tests/golden.txt

# the tests that are too slow for make test
SLOW_TESTS := $(patsubst tests/%.c,$(BUILD)/tests/%,$(shell grep -l '^SLOW_' tests/test_*.c))
check: condsim.h $(BUILD)/bin/condsim-scene $(BUILD)/bin/condsim-film $(FIGURE_TESTS) $(SLOW_TESTS:%=%-double) $(SLOW_TESTS:%=%-float)
	@CC="$(CC)" CXX="$(CXX)" sh tests/audit.sh long

embedded: condsim.h
	@CC="$(CC)" WRITE="$(WRITE)" sh tests/embedded.sh $(BUILD)/embedded.csv

sizes: condsim.h
	@CC="$(CC)" sh tests/sizes.sh $(BUILD)/sizes.csv $(FEATURES)

FUZZ_FLAGS = -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all
$(BUILD)/long/fuzz: tests/fuzz_api.c condsim.h
	@mkdir -p $(@D)
	$(CC) -std=c99 -w $(FUZZ_FLAGS) -I. $< -o $@ -lm || $(CC) -std=c99 -w -O1 -g -I. $< -o $@ -lm

$(BUILD)/long/fuzz_bytes: tests/fuzz_bytes.c tests/hostile_world.h condsim.h
	@mkdir -p $(@D)
	$(CC) -std=c99 -w $(FUZZ_FLAGS) -I. $< -o $@ -lm || $(CC) -std=c99 -w -O1 -g -I. $< -o $@ -lm

$(BUILD)/logs/long-%.log: $(BUILD)/tests/% FORCE
	@mkdir -p $(@D)
	@CONDSIM_LONG=1 sh tests/run.sh one $@ $< -q

mutate:
	@CC="$(CC)" sh tests/mutate.sh

long: condsim.h $(BUILD)/bin/condsim-scene $(BUILD)/long/fuzz $(BUILD)/long/fuzz_bytes $(TEST_RUNS:%=$(BUILD)/logs/long-%.log)
	@sh tests/run.sh total $(filter %.log,$^)
	@sh tests/long.sh long
	@CC="$(CC)" CXX="$(CXX)" sh tests/audit.sh full

BENCH_FLAGS = -O3 -march=native -ffp-contract=off
BENCHES := $(patsubst tests/%.c,$(BUILD)/bench/%,$(wildcard tests/bench_*.c))
$(BUILD)/bench/%: tests/%.c $(TEST_HEADERS) condsim.h
	@mkdir -p $(@D)
	$(CC) -std=c99 -w $(BENCH_FLAGS) -I. $< $(if $(filter %scenes.c,$<),examples/modes/modes.c) -o $@ -lm

# rays, and the same by Box3D where the optional shared folder has it, built alike
SHARED ?= ../shared
BOX3D := $(SHARED)/peers/box3d
BOX3D_OBJECTS := $(patsubst $(BOX3D)/src/%.c,$(BUILD)/bench/box3d/%.o,$(wildcard $(BOX3D)/src/*.c))
$(BUILD)/bench/box3d/%.o: $(BOX3D)/src/%.c
	@mkdir -p $(@D)
	$(CC) -std=c17 -w $(BENCH_FLAGS) -DNDEBUG -I$(BOX3D)/include -I$(BOX3D)/src -c $< -o $@

$(BUILD)/bench/bench_queries: tests/bench_queries.c condsim.h $(BOX3D_OBJECTS)
	@mkdir -p $(@D)
	$(CC) -std=c99 -w $(BENCH_FLAGS) -I. $(if $(BOX3D_OBJECTS),-DBENCH_BOX3D -I$(BOX3D)/include) $< $(BOX3D_OBJECTS) -o $@ -lm -lpthread

bench-queries: $(BUILD)/bench/bench_queries
	@$<

$(BUILD)/bench/bench_worlds: tests/bench_worlds.c examples/scenes/threads.c examples/scenes/threads.h condsim.h
	@mkdir -p $(@D)
	$(CC) -std=c99 -w $(BENCH_FLAGS) -I. tests/bench_worlds.c examples/scenes/threads.c -o $@ -lm -lpthread

$(BUILD)/bench/condsim-scene-float: REAL = -DCONDSIM_FLOAT
$(BUILD)/bench/condsim-scene $(BUILD)/bench/condsim-scene-float: $(wildcard examples/scenes/*.c) examples/modes/modes.c $(SCENE_HEADERS) condsim.h
	@mkdir -p $(@D)
	$(CC) -std=c99 -w $(BENCH_FLAGS) $(REAL) -I. $(filter %.c,$^) -o $@ -lm

peers: condsim.h
	@CC="$(CC)" CXX="$(CXX)" sh tests/peers.sh

# writes docs/results/realtime.md; ten minutes
bench-realtime: $(BUILD)/bench/condsim-scene $(BUILD)/bench/bench_worlds peers
	@SCENE=$(BUILD)/bench/condsim-scene sh tests/realtime.sh

# writes docs/results/float.md; five minutes
bench-float: $(BUILD)/bench/condsim-scene $(BUILD)/bench/condsim-scene-float
	@sh tests/float.sh

bench: $(BENCHES) bench-realtime bench-float
	@sh tests/bench.sh $(BENCHES)

# ---- the parts as an ordinary library

lib: $(BUILD)/lib/libcondsim.a

$(BUILD)/lib/libcondsim.a: $(BODIES:amalgamate/parts/%.c=$(BUILD)/lib/%.o)
	@rm -f $@
	$(AR) rcs $@ $^

$(BUILD)/lib/%.o: amalgamate/parts/%.c $(filter %.h,$(PARTS))
	@mkdir -p $(@D)
	@$(COMPILE) -c $< -o $@

# ---- the reference, packages, the live page

$(BUILD)/reference: amalgamate/reference.c amalgamate/text.h
	@mkdir -p $(@D)
	@$(COMPILE) -D_DEFAULT_SOURCE $< -o $@

docs: $(BUILD)/reference
	@mkdir -p docs/reference
	@$(BUILD)/reference

dist: condsim.h
	@mkdir -p $(BUILD)/dist
	@sh amalgamate/package/dist.sh $(BUILD)/dist

test-packages: dist
	@sh tests/packages.sh $(BUILD)/dist

# a window, C++, a microcontroller, a cluster: tests/samples.sh says which tool is missing
test-samples: $(LIBRARY) condsim.h
	@sh tests/samples.sh $(BUILD)/samples

PREFIX ?= /usr/local
install: condsim.h
	install -d $(DESTDIR)$(PREFIX)/include $(DESTDIR)$(PREFIX)/lib/pkgconfig
	install -m 644 condsim.h $(DESTDIR)$(PREFIX)/include/condsim.h
	sh amalgamate/package/pc.sh $(PREFIX) > $(DESTDIR)$(PREFIX)/lib/pkgconfig/condsim.pc

LIVE_SCENES := $(filter-out %/replay.c %/threads.c %/columns.c,$(SCENES)) examples/modes/modes.c
LIVE := $(filter-out %/pack.c %/files.c,$(wildcard examples/live/*.c)) $(LIVE_SCENES)
LIVE_FLAGS = -O2 -ffp-contract=off -include examples/live/own_math.h -DCONDSIM_OWN_MATH -I. -Iexamples/scenes
LIVE_NEEDS := $(LIVE) $(SCENE_HEADERS) $(wildcard examples/live/*.h) condsim.h

$(BUILD)/live/mascot.h: examples/scenes/mascot.msh examples/scenes/embed/embed.c
	@mkdir -p $(@D)
	$(COMPILE) examples/scenes/embed/embed.c -o $(BUILD)/embed-mascot
	$(BUILD)/embed-mascot $< $@ mascot

# a program for the page: clang, lld and wasi-libc
$(BUILD)/live/live.wasm: $(LIVE_NEEDS) examples/live/files.c $(BUILD)/live/mascot.h
	clang --target=wasm32-wasi -mexec-model=reactor -std=gnu99 $(LIVE_FLAGS) -I$(BUILD)/live $(LIVE) examples/live/files.c \
	    -Wl,--wrap=fopen -Wl,--strip-all -Wl,-z,stack-size=1048576 -o $@

$(BUILD)/live/pack: examples/live/pack.c
	@mkdir -p $(@D)
	$(COMPILE) $< -o $@

$(BUILD)/live/index.html: examples/live/live.html $(BUILD)/live/live.wasm $(BUILD)/live/pack
	$(BUILD)/live/pack examples/live/live.html $(BUILD)/live/live.wasm $@

$(BUILD)/bin/condsim-live: $(LIVE_NEEDS)
	@mkdir -p $(@D)
	$(CC) -std=c99 -w $(LIVE_FLAGS) $(LIVE) -o $@ -lm

live: $(BUILD)/live/index.html
	@mkdir -p docs/live
	cp $< docs/live/index.html
	@echo "open docs/live/index.html"

test-live: $(BUILD)/live/index.html $(BUILD)/bin/condsim-live
	@node tests/check_live.js $(BUILD)/live/index.html $(BUILD)/bin/condsim-live

live-shots: $(BUILD)/live/index.html $(BUILD)/bin/condsim-live
	@node tests/check_live.js $(BUILD)/live/index.html $(BUILD)/bin/condsim-live --shots $(BUILD)/live/shots

clean:
	rm -rf $(BUILD)

FORCE:
.PHONY: all help header run tables figures fc3d readme test test-shared test-physics_audit audit golden mutate check long bench bench-queries lib clean FORCE peers bench-realtime bench-float embedded sizes
.PHONY: film gallery test-samples docs dist test-packages install live test-live live-shots
.SECONDARY:
.DELETE_ON_ERROR:
