#!/usr/bin/env bash
# scripts/run-tests itself: in a tree with suites that are made here.
. "$(dirname "$0")/lib.bash"

mkdir -p scripts tests/cli real
cp "$ROOT/scripts/run-tests" scripts/

# suite NAME: its text is read.
suite() {
    { echo '#!/bin/sh'; cat; } >"tests/cli/$1.sh"
    chmod +x "tests/cli/$1.sh"
}

# run_tests [VARIABLE=... [SUITE]]: all of cli or that one, in a build directory of its own, as somebody whose home is `real`.
run_tests() {
    env -u XDG_STATE_HOME BUILD="$PWD/build" HOME="$PWD/real" "${@:1:1}" scripts/run-tests "${2:-cli}" >out 2>err
}

# runs STATUS WHAT: all suites.
runs() {
    run_tests
    [ $? = "$1" ]
    ok "$2"
    rm tests/cli/*.sh
}

suite good <<<'echo 1..2; echo ok 1 - a; echo "ok 2 - b # skip no sample"'
runs 0 "suites that pass"
[ "$(tail -n 1 out)" = "1 passed, 0 failed, 1 skipped" ]
ok "what passed and what was skipped is counted"

suite one <<<'echo ok 1 - a; echo 1..1'
suite other <<<'echo not ok 1 - a; echo 1..1'
run_tests A=b cli/one
ok "one suite runs without the others of its kind"
rm tests/cli/*.sh

suite leaves <<<'mkdir -p "$HOME/.local/state/terrainfs/undo"; echo ok 1 - a; echo 1..1'
runs 1 "a suite that leaves files in the user's home fails"
says out "files are left in the user's home" "that is said"
says out '\.local/state/terrainfs/undo' "what they are, too"
[ -z "$(ls -A real)" ]
ok "they are not in the real home"

suite state <<<'[ -z "${XDG_STATE_HOME+set}" ] && [ "$HOME" != "$REAL" ] && echo ok 1 - a; echo 1..1'
REAL=$PWD/real run_tests XDG_STATE_HOME="$PWD/real"
ok "a suite sees neither the home nor the state directory of who runs it"
rm tests/cli/*.sh

suite empty <<<':'
runs 1 "a suite in which no test ran fails"
suite short <<<'echo 1..2; echo ok 1 - a'
runs 1 "a suite that ends before its plan fails"
says out 'ended early: 1 of 2 tests' "that is said"
suite dies <<<'echo 1..1; echo ok 1 - a; exit 5'
runs 1 "a suite whose status its results do not explain fails"
says out 'exit status 5' "that is said"
suite gone <<<'echo ok 1 - a; echo 1..1; rm -r "$BUILD/logs"'
runs 1 "a suite whose results are gone fails"
says out 'results are gone' "that is said"
suite skipped <<<'echo "1..0 # skip nothing here"'
runs 1 "a run in which every test is skipped fails"

done_testing
