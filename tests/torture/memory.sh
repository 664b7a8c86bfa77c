#!/usr/bin/env bash
# Items 4 and 7 of docs/reliability.md: every allocation fails, every byte is flipped. The short versions are
# unit tests; this is all of it.
cd "$(dirname "$0")/../.." || exit 3
if [ "${TORTURE:-short}" != full ]; then
    echo "1..0 # skip the short versions are unit/test_memory_* and unit/test_flips"
    exit 0
fi
echo 1..4
n=0
for test in test_memory_saves test_memory_session test_memory_cli test_flips; do
    n=$((n + 1))
    if TFS_SWEEP=full "${BUILD:-build}/tests/$test"; then
        echo "ok $n - $test, in full"
    else
        echo "not ok $n - $test, in full"
    fi
done
