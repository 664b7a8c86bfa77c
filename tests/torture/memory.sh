#!/usr/bin/env bash
# Items 4 and 7 of docs/reliability.md: every allocation fails, every byte is flipped; and the random edits of every
# sample. The short versions are unit tests; this is all of it.
cd "$(dirname "$0")/../.." || exit 3
if [ "${TORTURE:-short}" != full ]; then
    echo "1..0 # skip the short versions are unit tests"
    exit 0
fi
n=0
for test in test_memory_{saves,session,cli} test_flips test_laws test_doc test_luanti_map test_{cosmic,godot}_saves; do
    n=$((n + 1))
    if "${BUILD:-build}/tests/$test"; then
        echo "ok $n - $test, in full"
    else
        echo "not ok $n - $test, in full"
    fi
done
echo "1..$n"
