#!/usr/bin/env bash
# The suites of which `make check` runs a part, as a whole: more random edits, all real saves, saves of any size.
# (tests/torture/memory.sh is that of unit tests.)
if [ "${TORTURE:-short}" != full ]; then
    echo "1..0 # skip the short versions are suites of cli and mount"
    exit 0
fi
status=0
for suite in cli/{array_readers,diff,merge_laws,wide_map} mount/{beamng,godot,godot_stream,roblox,samples,samples_views,worlds}; do
    TFS_TEST_LIMIT=7200 bash "$(dirname "$0")/../$suite.sh" || status=1
done
exit $status
