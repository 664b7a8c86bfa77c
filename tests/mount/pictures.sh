#!/usr/bin/env bash
# heightmap.png sculpted with ImageMagick on real mounts of voxel saves: what was painted is in the save, read
# again after another mount, and map.png follows.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/pictures.bash"

sculpt 'Cosmic Reach'
# shellcheck disable=SC2034
SAVE_NAME=terrain.rbxm PRISTINE=$T/pristine/terrain.rbxm
"$TFS_TOOLS/make_place" --kind binary --log2 4 --chunks 18 "$PRISTINE"
sculpt Roblox
finish
