# terrainfs. `make help` says what there is. Sources are found by glob: adding a format or a test edits
# no list here. One build directory a configuration: BUILD=build (default), build-asan, build-tsan,
# build-fuzz; all intermediate files lie in it.
ifeq ($(origin CC),default)
CC := gcc
endif
BUILD ?= build
# One spelling of a directory, for the names in dependency files are those of targets. Another one, as
# through a link, makes everything again (.flags).
override BUILD := $(patsubst $(CURDIR)/%,%,$(BUILD))
CFLAGS ?= -O2 -g
PREFIX ?= /usr/local
BINDIR ?= $(PREFIX)/bin
MANDIR ?= $(PREFIX)/share/man
BASHDIR ?= $(PREFIX)/share/bash-completion/completions
ZSHDIR ?= $(PREFIX)/share/zsh/site-functions
FISHDIR ?= $(PREFIX)/share/fish/vendor_completions.d
MIMEDIR ?= $(PREFIX)/share/mime/packages
APPDIR ?= $(PREFIX)/share/applications
PYTHONDIR ?= $(PREFIX)/lib/python3/dist-packages
# Where mount(8) looks for the helpers of types, whatever PREFIX is; not for a PREFIX of one's own.
MOUNTDIR ?= $(if $(filter /usr /usr/local,$(PREFIX)),/sbin,$(PREFIX)/sbin)
VERSION := $(shell cat VERSION)
WERROR ?= 0
FUZZ_SECONDS ?= 30
SAMPLE ?= sample

WARN := -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes
ifneq ($(filter 1 yes,$(WERROR)),)
WARN += -Werror
endif
PKGS := fuse3 zlib libpng liblz4 libzstd libxxhash sqlite3 jansson
ASAN := -O1 -g -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all
TSAN := -O1 -g -fno-omit-frame-pointer -fsanitize=thread
# What runs under the sanitizers: not what spends its time in Python and git, and of mounts those with threads
# at work or hostile input.
ASAN_SUITES := $(addprefix mount/,stress hostile refused writers scratch outside races arrays journal) \
	$(addprefix cli/,arrays aside export foreign godot import levels luanti mend merge merge_hidden names \
	partial recursive sets show text umount usage views zones) unit fuzz
THREADS := $(patsubst tests/unit/%.c,%,$(wildcard tests/unit/test_session*.c tests/unit/test_store*.c)) \
	test_godot_folder test_cosmic_zone test_zone_later test_kept
TSAN_SUITES := $(addprefix mount/,worlds arrays_sparse stress races readers load commit journal outside tiles) \
	$(THREADS:%=unit/%)

# ---- the libraries: asked once, and only by goals that compile -----------------------------------
GOALS_WITHOUT_LIBS := help clean lint format check torture mutate demo sample asan tsan fuzz dist uninstall
ifneq ($(filter-out $(GOALS_WITHOUT_LIBS),$(or $(MAKECMDGOALS),all)),)
MISSING := $(shell for p in $(PKGS); do pkg-config --exists $$p 2>/dev/null || echo $$p; done)
ifneq ($(MISSING),)
$(error terrainfs needs the development files of $(MISSING) and pkg-config: run scripts/install-deps)
endif
LIB_CFLAGS := $(patsubst -I%,-isystem %,$(filter-out -pthread,$(shell pkg-config --cflags $(PKGS))))
# All of libxxhash that we use is in its header.
LIBS := $(filter-out -lxxhash,$(shell pkg-config --libs $(PKGS))) -lm
CHECK_LIBS = $(shell pkg-config --libs check)
endif

quoted = '$(subst ','\'',$(1))'
COMPILE = $(CC) -std=c11 -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -DFUSE_USE_VERSION=314 \
	-DTFS_VERSION='"$(VERSION)"' $(WARN) -Isrc \
	$(LIB_CFLAGS) $(CPPFLAGS) $(CFLAGS) -pthread -MMD -MP
# All names of libraries are found at the start, and their table cannot be written to then.
LINK = $(CC) $(CFLAGS) -Wl,-z,relro,-z,now $(LDFLAGS) -pthread

SRC := $(filter-out src/main.c,$(shell find src -name '*.c' 2>/dev/null | sort))
OBJ := $(SRC:%.c=$(BUILD)/obj/%.o)
UNIT := $(patsubst tests/unit/%.c,$(BUILD)/tests/%,$(wildcard tests/unit/test_*.c))
TOOLS := $(patsubst tests/tools/%.c,$(BUILD)/tools/%,$(wildcard tests/tools/*.c))
FUZZ := $(patsubst tests/fuzz/%.c,$(BUILD)/fuzz/%,$(wildcard tests/fuzz/fuzz_*.c))
PRELOADS := $(patsubst tests/torture/%.c,$(BUILD)/torture/%.so,$(wildcard tests/torture/*.c))
BENCH := $(patsubst tests/bench/%.c,$(BUILD)/bench/%,$(wildcard tests/bench/*.c))
LIB := $(BUILD)/libterrainfs.a
# What several test programs share.
TEST_LIB := $(BUILD)/libtests.a
TEST_OBJ := $(patsubst %.c,$(BUILD)/obj/%.o,$(wildcard tests/lib/*.c))
PROGRAM := $(BUILD)/terrainfs
# The main() of a fuzz target: replays files. libFuzzer brings its own (goal fuzz).
FUZZ_MAIN ?= $(BUILD)/obj/tests/fuzz/replay.o
SUB := $(MAKE) --no-print-directory

.PHONY: all tests check torture mutate run-tests asan tsan thread-tests lint format tidy fuzz bench demo sample install uninstall dist man completions clean help FORCE
.SECONDARY:

all: $(PROGRAM) $(LIB) ## the program build/terrainfs and its library

tests: all $(UNIT) $(TOOLS) $(FUZZ) $(PRELOADS)

$(PROGRAM): $(BUILD)/obj/src/main.o $(LIB)
	$(LINK) -o $@ $^ $(LIBS)

$(LIB): $(OBJ) $(BUILD)/.objects
	rm -f $@
	$(AR) rcs $@ $(OBJ)

$(TEST_LIB): $(TEST_OBJ) $(BUILD)/.objects
	rm -f $@
	$(AR) rcs $@ $(TEST_OBJ)

$(BUILD)/obj/%.o: %.c $(BUILD)/.flags
	@mkdir -p $(@D)
	$(COMPILE) -c -o $@ $<

$(UNIT): $(BUILD)/tests/%: $(BUILD)/obj/tests/unit/%.o $(TEST_LIB) $(LIB)
	@mkdir -p $(@D)
	$(LINK) -o $@ $^ $(CHECK_LIBS) $(LIBS)

# Test programs whose allocator fails on demand.
MEMORY := $(filter $(BUILD)/tests/test_memory%,$(UNIT))
$(MEMORY): $(patsubst %.c,$(BUILD)/obj/%.o,$(wildcard tests/memory/*.c))
$(MEMORY): LINK += -Wl,--wrap=pthread_create

$(TOOLS): $(BUILD)/tools/%: $(BUILD)/obj/tests/tools/%.o $(TEST_LIB) $(LIB)
	@mkdir -p $(@D)
	$(LINK) -o $@ $^ $(LIBS)

$(BENCH): $(BUILD)/bench/%: $(BUILD)/obj/tests/bench/%.o $(TEST_LIB) $(LIB)
	@mkdir -p $(@D)
	$(LINK) -o $@ $^ $(LIBS)

$(FUZZ): $(BUILD)/fuzz/%: $(BUILD)/obj/tests/fuzz/%.o $(FUZZ_MAIN) $(TEST_LIB) $(LIB)
	@mkdir -p $(@D)
	$(LINK) -o $@ $^ $(LIBS)

# Libraries to be preloaded stand between the program and the C library: they see files as those two do,
# and no sanitizer looks into them.
$(PRELOADS): $(BUILD)/torture/%.so: tests/torture/%.c
	@mkdir -p $(@D)
	$(CC) -std=c11 -D_GNU_SOURCE $(WARN) -O2 -g -fPIC -shared -o $@ $<

# Other flags, another compiler or another set of sources make the files that depend on them again.
$(BUILD)/.flags: FORCE
	@mkdir -p $(@D)
	@echo $(call quoted,$(BUILD) $(COMPILE)) | cmp -s - $@ || echo $(call quoted,$(BUILD) $(COMPILE)) >$@
$(BUILD)/.objects: FORCE
	@mkdir -p $(@D)
	@echo '$(OBJ) $(TEST_OBJ)' | cmp -s - $@ || echo '$(OBJ) $(TEST_OBJ)' >$@
FORCE:

-include $(shell find $(BUILD)/obj -name '*.d' 2>/dev/null)

check: ## all tests and lint; ends with one line of numbers
	@scripts/install-deps
	+@$(SUB) tests
	@BUILD=$(BUILD) scripts/run-tests lint readme torture mount cli unit fuzz

torture: ## power cuts, failing system calls and the rest of docs/reliability.md, in full
	@scripts/install-deps
	+@$(SUB) tests
	@BUILD=$(BUILD) TORTURE=full scripts/run-tests torture

mutate: ## small faults made in a copy, one at a time: the tests must find each (about 15 minutes)
	@scripts/install-deps
	@scripts/mutate

run-tests: tests
	@BUILD=$(BUILD) scripts/run-tests $(SUITES)

# With clang: gcc's UBSan does not write its reports to a file, and a daemon has no stderr.
asan: ## the tests under AddressSanitizer and UBSan, in build-asan (needs clang)
	@scripts/install-deps --dev
	+@$(SUB) BUILD=build-asan CC=clang CFLAGS='$(ASAN)' SUITES='$(ASAN_SUITES)' run-tests

tsan: ## the session and the mounts under ThreadSanitizer, in build-tsan
	@scripts/install-deps --dev
	+@$(SUB) BUILD=build-tsan CFLAGS='$(TSAN)' thread-tests
	@BUILD=build-tsan scripts/run-tests $(TSAN_SUITES)

thread-tests: all $(TOOLS) $(PRELOADS) $(THREADS:%=$(BUILD)/tests/%)

lint: ## layer rules, lengths, guards, shell scripts
	@scripts/lint

format: ## clang-format over src and tests
	@scripts/format

tidy: ## clang-tidy over src
	clang-tidy --quiet $(SRC) src/main.c -- $(filter-out -MMD -MP,$(wordlist 2,99,$(COMPILE)))

fuzz: ## libFuzzer, FUZZ_SECONDS=30 a target, in build-fuzz (needs clang)
	@scripts/install-deps --dev
	+@$(SUB) BUILD=build-fuzz CC=clang CFLAGS='$(ASAN) -fsanitize=fuzzer-no-link' \
		LDFLAGS=-fsanitize=fuzzer FUZZ_MAIN= fuzz-programs
	@BUILD=build-fuzz scripts/run-fuzz $(FUZZ_SECONDS)

fuzz-programs: $(FUZZ)

bench: all $(TOOLS) $(BENCH) ## ratios to the floor and to other filesystems; writes build/bench.tsv
	@BUILD=$(BUILD) tests/bench/run

demo: ## mounts a small save, edits it with sed and echo, shows what changed
	@scripts/install-deps
	+@$(SUB) -s all $(BUILD)/tools/make_region
	@BUILD=$(BUILD) scripts/demo

sample: ## small saves of every game in SAMPLE (sample), for the commands of the guides
	@scripts/install-deps
	+@$(SUB) -s all $(patsubst %,$(BUILD)/tools/make_%,region world place ter level voxel luanti)
	@BUILD=$(BUILD) scripts/sample '$(SAMPLE)'

# ---- installing ----------------------------------------------------------------------------------
COMMANDS := $(shell sed -n '/tfs_commands\[\]/,/^};/s/^    {"\([a-z]*\)".*/\1/p' src/commands/table.c)
# That of the version.
MAN_DATE = $(shell LC_ALL=C date -u -d "$$(sed -n 's/^ -- .*>  //p' debian/changelog | head -n 1)" +%F)
MAN_COMMANDS := $(COMMANDS:%=$(BUILD)/man/terrainfs-%.1)
MAN := $(BUILD)/man/terrainfs.1 $(MAN_COMMANDS) $(BUILD)/man/terrainfs-open.1
MAN8 := $(BUILD)/man/mount.terrainfs.8
COMPLETIONS := $(patsubst %,$(BUILD)/completions/%,bash zsh fish)
# What install puts there: file, mode and place.
INSTALLED := $(BINDIR)/terrainfs $(BINDIR)/terrainfs-open \
	$(patsubst $(BUILD)/man/%,$(MANDIR)/man1/%,$(MAN)) \
	$(MANDIR)/man8/mount.terrainfs.8 $(MANDIR)/man8/mount.fuse.terrainfs.8 \
	$(BASHDIR)/terrainfs $(ZSHDIR)/_terrainfs $(FISHDIR)/terrainfs.fish $(MIMEDIR)/terrainfs.xml \
	$(APPDIR)/terrainfs.desktop $(PYTHONDIR)/terrainfs.py $(MOUNTDIR)/mount.terrainfs $(MOUNTDIR)/mount.fuse.terrainfs

man: $(MAN) $(MAN8) ## the manual and a page for each command

completions: $(COMPLETIONS)

$(BUILD)/man/terrainfs.1 $(MAN_COMMANDS): $(BUILD)/man/terrainfs%.1: terrainfs.1 scripts/man-page $(PROGRAM) debian/changelog
	@mkdir -p $(@D)
	scripts/man-page $(PROGRAM) $(MAN_DATE) $(patsubst -%,%,$*) <terrainfs.1 >$@

vpath terrainfs-open.1 share
vpath mount.terrainfs.8 share
$(BUILD)/man/terrainfs-open.1 $(MAN8): $(BUILD)/man/%: % VERSION debian/changelog
	@mkdir -p $(@D)
	sed 's/@VERSION@/$(VERSION)/; s/@DATE@/$(MAN_DATE)/' $< >$@

$(BUILD)/completions/bash: share/completions/words.sh share/completions/bash
	@mkdir -p $(@D)
	cat $^ >$@
$(BUILD)/completions/zsh: share/completions/words.sh share/completions/zsh
	@mkdir -p $(@D)
	{ echo '#compdef terrainfs'; cat $^; } >$@
$(BUILD)/completions/fish: share/completions/fish
	@mkdir -p $(@D)
	cat $^ >$@

install: all $(MAN) $(MAN8) $(COMPLETIONS) ## to DESTDIR and PREFIX (/usr/local)
	install -d $(foreach file,$(INSTALLED),'$(DESTDIR)$(dir $(file))')
	install -m 755 $(PROGRAM) '$(DESTDIR)$(BINDIR)/terrainfs'
	install -m 755 share/terrainfs-open '$(DESTDIR)$(BINDIR)/terrainfs-open'
	install -m 644 $(MAN) '$(DESTDIR)$(MANDIR)/man1/'
	install -m 644 $(MAN8) '$(DESTDIR)$(MANDIR)/man8/'
	ln -sf mount.terrainfs.8 '$(DESTDIR)$(MANDIR)/man8/mount.fuse.terrainfs.8'
	install -m 644 $(BUILD)/completions/bash '$(DESTDIR)$(BASHDIR)/terrainfs'
	install -m 644 $(BUILD)/completions/zsh '$(DESTDIR)$(ZSHDIR)/_terrainfs'
	install -m 644 $(BUILD)/completions/fish '$(DESTDIR)$(FISHDIR)/terrainfs.fish'
	install -m 644 share/terrainfs.xml '$(DESTDIR)$(MIMEDIR)/terrainfs.xml'
	install -m 644 share/terrainfs.desktop '$(DESTDIR)$(APPDIR)/terrainfs.desktop'
	install -m 644 share/terrainfs.py '$(DESTDIR)$(PYTHONDIR)/terrainfs.py'
	ln -sf '$(BINDIR)/terrainfs' '$(DESTDIR)$(MOUNTDIR)/mount.terrainfs'
	ln -sf '$(BINDIR)/terrainfs' '$(DESTDIR)$(MOUNTDIR)/mount.fuse.terrainfs'

uninstall: ## what install put there
	rm -f $(foreach file,$(INSTALLED),'$(DESTDIR)$(file)')

dist: ## build/terrainfs-VERSION.tar.gz: what git has, which builds by itself
	@mkdir -p $(BUILD)
	git archive --format=tar.gz --prefix=terrainfs-$(VERSION)/ -o $(BUILD)/terrainfs-$(VERSION).tar.gz HEAD

clean: ## removes the build directories
	rm -rf build build-asan build-tsan build-fuzz build-mutate

help: ## this
	@sed -n 's/^\([a-z]*\):[^#]*## */  make \1\t/p' Makefile | expand -t 20
