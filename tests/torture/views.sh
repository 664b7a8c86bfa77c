#!/usr/bin/env bash
# Trees of -o views=voxels of every real save, put back by git, tar and rsync. The smaller saves are in
# tests/mount/samples_views.sh; this is all of them.
if [ "${TORTURE:-short}" != full ]; then
    echo "1..0 # skip the short version is mount/samples_views"
    exit 0
fi
TFS_TEST_LIMIT=7200 exec "$(dirname "$0")/../mount/samples_views.sh"
