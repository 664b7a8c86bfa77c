#!/usr/bin/env bash
# The Makefile itself: in a tree of three sources that are made here.
. "$(dirname "$0")/lib.bash"

mkdir -p tree/src/base tree/src/commands
ln -s tree link
cp "$ROOT/Makefile" "$ROOT/VERSION" tree/
echo 'typedef int tfs_nothing;' >tree/src/commands/table.c
printf '#include "base/value.h"\nconst int tfs_value = VALUE;\n' >tree/src/base/value.c
printf '#include "base/value.h"\n#include <stdio.h>\nint main(void)\n{\n%s\n}\n' \
    '    return printf("%d %d\n", VALUE, tfs_value) < 0;' >tree/src/main.c

makes() {
    env -u BUILD -u MAKEFLAGS make --no-print-directory -C "$1" CC=cc LDFLAGS= CFLAGS=-O0 "${@:2}" all >out 2>err
}

# builds VALUE DIRECTORY [VARIABLE=...]: after a change of the header.
builds() {
    printf '#define VALUE %s\nextern const int tfs_value;\n' "$1" >tree/src/base/value.h
    makes "${@:2}" && [ "$(tree/build/terrainfs)" = "$1 $1" ]
}

builds 1 tree
ok "make"
builds 2 tree BUILD="$PWD/tree/build"
ok "the same directory by its absolute path: what changed is made again"
makes tree && ! grep -q ' -c ' out
ok "and nothing that did not change, by its name"
builds 3 tree BUILD="$PWD/link/build"
ok "through a link: what changed is made again"
builds 4 link
ok "and by its name, through a link to the tree"

makes tree CPPFLAGS=-DOTHER && [ "$(grep -c ' -c ' out)" = 3 ]
ok "other flags make everything again"

env -u BUILD -u MAKEFLAGS make --no-print-directory -n -C "$ROOT" BUILD="$PWD/new" man >out 2>err
grep -q -- '-lfuse3' out
ok "make man, which builds the program first, knows its libraries"

env -u BUILD -u MAKEFLAGS make --no-print-directory -n -C "$ROOT" BUILD="$PWD/new" LDFLAGS=-L/given "$PWD/new/tests/test_memory_cli" >out 2>err
says out '-L/given .*--wrap=pthread_create' "LDFLAGS that are given leave a program its own"

done_testing
