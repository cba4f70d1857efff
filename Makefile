# condsim: the header needs no build; this builds what is around it. Only a C compiler, make and sh are needed.
#
#   make            the header, the examples and the scene program
#   make run        run the main scene: build/run/index.html (MESH=file puts another mesh into it)
#   make test       every test in double and float, and the short audits: under a minute
#   make check      the long matrix: compilers, sanitizers, other machines; reports what it cannot find
#   make long       the long physics runs
#   make bench      the benchmarks
#   make fc3d       every solver on the contact problems of shared/fc3d: tables, profiles and pictures in build/fc3d
#   make tables     the papers' experiments beside the papers' figures in build/tables; FAST=1: two minutes of them
#   make golden     write tests/golden.txt: the hashes of this tree, after a change that moves bits on purpose
#   make header     write condsim.h from amalgamate/parts
#   make readme     put examples/01_hello.c and its output into README.md
#   make lib        the parts as an ordinary static library
#   make clean      remove build/
#   make test-NAME  one test file, in both builds; build/tests/NAME-double PART runs the tests whose names hold PART

CC ?= cc
CXX ?= c++
AR ?= ar
CFLAGS ?= -O2 -g
WARNINGS = -Wall -Wextra -Wno-unused-function
BUILD = build
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
ifeq ($(filter -j% --jobserver%,$(MAKEFLAGS)),)
MAKEFLAGS += -j$(JOBS)
endif
MAKEFLAGS += --no-print-directory

COMPILE = $(CC) -std=c99 $(WARNINGS) $(CFLAGS)
PARTS := $(shell sed -n 's,^[a-z]\{1\,\} *\(.*\.[ch]\)$$,amalgamate/parts/\1,p' amalgamate/parts.list)
BODIES := $(filter %.c,$(PARTS))
TESTS := $(patsubst tests/%.c,%,$(wildcard tests/test_*.c))
TEST_RUNS := $(TESTS:%=%-double) $(TESTS:%=%-float)
EXAMPLES := $(patsubst examples/%.c,$(BUILD)/bin/%,$(wildcard examples/*.c))
MODES := examples/modes/modes.c
SCENES := $(wildcard examples/scenes/*.c) $(MODES)
SCENE_HEADERS := $(wildcard examples/scenes/*.h) examples/modes/modes.h
SCENE_PROGRAM := $(if $(SCENES),$(BUILD)/bin/condsim-scene)

FC3D := $(wildcard examples/fc3d/*.c)
FC3D_PROGRAM := $(if $(FC3D),$(BUILD)/bin/condsim-fc3d)

all: condsim.h $(EXAMPLES) $(SCENE_PROGRAM) $(FC3D_PROGRAM) $(BUILD)/bin/condsim-modes

help:
	@sed -n '3,/^$$/s/^#//p' Makefile

# ---- the header

header: condsim.h

$(BUILD)/amalgamate: amalgamate/amalgamate.c
	@mkdir -p $(@D)
	$(COMPILE) $< -o $@

condsim.h: $(BUILD)/amalgamate amalgamate/parts.list amalgamate/manual.txt LICENSE $(PARTS)
	$(BUILD)/amalgamate

# ---- examples and scenes

$(BUILD)/bin/%: examples/%.c condsim.h
	@mkdir -p $(@D)
	$(COMPILE) -I. $< -o $@ -lm

examples/scenes/viewer_page.h: examples/scenes/viewer.html examples/scenes/embed/embed.c
	@mkdir -p $(BUILD)
	$(COMPILE) examples/scenes/embed/embed.c -o $(BUILD)/embed
	$(BUILD)/embed $< $@ viewer_page

$(BUILD)/bin/condsim-scene: $(SCENES) $(SCENE_HEADERS) condsim.h
	@mkdir -p $(@D)
	$(COMPILE) -I. $(SCENES) -o $@ -lm

$(BUILD)/bin/condsim-fc3d: $(FC3D) $(wildcard examples/fc3d/*.h) condsim.h
	@mkdir -p $(@D)
	$(COMPILE) -I. $(FC3D) -o $@ -lm

$(BUILD)/bin/condsim-modes: $(wildcard examples/modes/*.[ch]) condsim.h
	@mkdir -p $(@D)
	$(COMPILE) -I. $(filter %.c,$^) -o $@ -lm

# ---- the papers' experiments: FAST=1 is a short version

TABLE_SOURCES := $(wildcard tests/tables/*.c) $(filter-out examples/scenes/runner.c examples/scenes/condsim.c,$(SCENES))
$(BUILD)/bin/condsim-tables-%: $(TABLE_SOURCES) tests/tables/tables.h $(SCENE_HEADERS) condsim.h
	@mkdir -p $(@D)
	$(COMPILE) -DCONDSIM_REFERENCE $(if $(filter float,$*),-DCONDSIM_FLOAT) -I. -Iexamples/scenes $(TABLE_SOURCES) -o $@ -lm

tables: $(BUILD)/bin/condsim-tables-double $(BUILD)/bin/condsim-tables-float
	@sh tests/tables.sh $(BUILD)/bin/condsim-tables $(BUILD)/tables $(if $(FAST),fast)

fc3d: $(BUILD)/bin/condsim-fc3d
	@sh tests/fc3d.sh $(BUILD)/bin/condsim-fc3d $(BUILD)/fc3d

run: $(SCENE_PROGRAM)
	@test -n "$(SCENES)" || { echo "examples/scenes is empty: nothing to run"; exit 1; }
	@mkdir -p $(BUILD)/run
	$(BUILD)/bin/condsim-scene drop-mesh $(if $(MESH),--set mesh=$(MESH)) --out $(BUILD)/run
	@echo "open $(BUILD)/run/index.html"

# the program of README.md, as it is now and with what it prints now
readme: $(BUILD)/bin/01_hello
	@sh tests/readme.sh

# ---- tests: one program a file and real type; a run leaves a log whose last line is "N passed, N failed"

TEST_HEADERS := tests/check.h $(wildcard tests/*.h) $(SCENE_HEADERS)

$(BUILD)/tests/test_replay-double $(BUILD)/tests/test_replay-float: examples/scenes/replay.c examples/scenes/replay_mesh.c examples/scenes/viewer_page.h
$(BUILD)/tests/test_golden-double $(BUILD)/tests/test_golden-float: $(SCENES)
$(BUILD)/tests/test_reduced-double $(BUILD)/tests/test_reduced-float: $(MODES) examples/modes/modes.h

# the bodies of condsim.h are compiled once for all of them
$(BUILD)/tests/library-%.o: tests/library.c condsim.h
	@mkdir -p $(@D)
	$(COMPILE) $(if $(filter float,$*),-DCONDSIM_FLOAT) -I. -c $< -o $@

$(BUILD)/tests/test_impulse-double $(BUILD)/tests/test_impulse-float $(BUILD)/tests/test_fc3d-double $(BUILD)/tests/test_fc3d-float: $(wildcard examples/fc3d/*.[ch])

# and so is what scenes make modes with
$(BUILD)/tests/modes-%.o: $(MODES) examples/modes/modes.h condsim.h
	@mkdir -p $(@D)
	$(COMPILE) $(if $(filter float,$*),-DCONDSIM_FLOAT) -I. -c $< -o $@

$(BUILD)/tests/%-double: tests/%.c $(BUILD)/tests/library-double.o $(BUILD)/tests/modes-double.o $(TEST_HEADERS)
	@mkdir -p $(@D)
	$(COMPILE) -DCHECK_SHARED -I. $(filter %.o,$^) $< -o $@ -lm

$(BUILD)/tests/%-float: tests/%.c $(BUILD)/tests/library-float.o $(BUILD)/tests/modes-float.o $(TEST_HEADERS)
	@mkdir -p $(@D)
	$(COMPILE) -DCONDSIM_FLOAT -DCHECK_SHARED -I. $(filter %.o,$^) $< -o $@ -lm

# what all of them share is built first: their makes run beside each other, and would build it once each
shared:
	@$(MAKE) $(foreach r,double float,$(BUILD)/tests/library-$r.o $(BUILD)/tests/modes-$r.o) || true

# a program that does not build is one failure in the total, not the end of the others
$(BUILD)/logs/%.log: condsim.h FORCE | shared
	@mkdir -p $(@D)
	@if $(MAKE) $(BUILD)/tests/$*; then sh tests/run.sh one $* $(BUILD)/tests/$* -q > $@; \
	else printf 'FAIL it does not build\n0 passed, 1 failed\n' > $@; fi

$(BUILD)/logs/audit.log: condsim.h FORCE | shared
	@mkdir -p $(@D)
	@CC="$(CC)" CXX="$(CXX)" sh tests/run.sh one audit sh tests/audit.sh short > $@ || true

test: $(TEST_RUNS:%=$(BUILD)/logs/%.log) $(BUILD)/logs/audit.log
	@sh tests/run.sh total $^

test-%: $(BUILD)/logs/test_%-double.log $(BUILD)/logs/test_%-float.log
	@sh tests/run.sh total $^

golden: $(BUILD)/tests/test_golden-double $(BUILD)/tests/test_golden-float
	@for t in $^; do GOLDEN=print $$t | grep -E '^[a-z-]+ [0-9]+ (double|float) [0-9a-f]{16}$$'; done > tests/golden.new
	@mv tests/golden.new tests/golden.txt && cat tests/golden.txt

check: condsim.h $(SCENE_PROGRAM)
	@CC="$(CC)" CXX="$(CXX)" sh tests/audit.sh long

FUZZ_FLAGS = -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all
$(BUILD)/long/fuzz: tests/fuzz_api.c condsim.h
	@mkdir -p $(@D)
	$(CC) -std=c99 -w $(FUZZ_FLAGS) -I. $< -o $@ -lm || $(CC) -std=c99 -w -O1 -g -I. $< -o $@ -lm

long: condsim.h $(SCENE_PROGRAM) $(BUILD)/long/fuzz
	@sh tests/long.sh long
	@CC="$(CC)" CXX="$(CXX)" sh tests/audit.sh full

BENCH_FLAGS = -O3 -march=native -ffp-contract=off
BENCHES := $(patsubst tests/%.c,$(BUILD)/bench/%,$(wildcard tests/bench_*.c))
$(BUILD)/bench/%: tests/%.c $(TEST_HEADERS) condsim.h
	@mkdir -p $(@D)
	$(CC) -std=c99 -w $(BENCH_FLAGS) -I. $< $(if $(filter %scenes.c,$<),$(MODES)) -o $@ -lm

$(BUILD)/bench/condsim-scene: $(SCENES) $(SCENE_HEADERS) condsim.h
	@mkdir -p $(@D)
	$(CC) -std=c99 -w $(BENCH_FLAGS) -I. $(SCENES) -o $@ -lm

bench: $(BENCHES) $(BUILD)/bench/condsim-scene
	@sh tests/bench.sh $(BENCHES)

# ---- the parts as an ordinary library

lib: $(BUILD)/lib/libcondsim.a

$(BUILD)/lib/libcondsim.a: $(BODIES:amalgamate/parts/%.c=$(BUILD)/lib/%.o)
	@rm -f $@
	$(AR) rcs $@ $^

$(BUILD)/lib/%.o: amalgamate/parts/%.c $(filter %.h,$(PARTS))
	@mkdir -p $(@D)
	@$(COMPILE) -c $< -o $@

clean:
	rm -rf $(BUILD)

FORCE:
.PHONY: all help header shared run tables fc3d readme test golden check long bench lib clean FORCE
.SECONDARY:
.DELETE_ON_ERROR:
