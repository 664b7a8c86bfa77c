#!/usr/bin/env bash
# mount(8) with the helpers that make install brings, and what stands in fstab.
. "$(dirname "$0")/lib.sh"

# In a namespace of its own the helpers are where mount(8) looks for them, and $D/fstab is the table.
inside() {
    local helpers=$D/helpers
    mkdir -p "$helpers" "$M"
    ln -sf "$TFS_BIN" "$helpers/mount.terrainfs"
    ln -sf "$TFS_BIN" "$helpers/mount.fuse.terrainfs"
    [ -e "$D/fstab" ] || : >"$D/fstab"
    unshare -m --propagation private bash -c '
        mount -t overlay -o "lowerdir=$1:$(realpath /sbin)" none "$(realpath /sbin)" || exit 77
        mount --bind "$2" /etc/fstab || exit 77
        cd "$3" && eval "$4"' inside "$helpers" "$D/fstab" "$D" "$1" 9>&-
    case $? in
    0) return 0 ;;
    77) skip 'needs root and an overlay' ;;
    *) return 1 ;;
    esac
}

edit="echo '$V,base:one' >>mnt/chunks/$C/voxels.csv && umount mnt"

by_type() {
    want inside "mount -t $1 $SAVE_NAME mnt && $edit"
    [ -n "$skipped" ] || { want soon unlocked; block_is "$V" base:one; }
}

# umount(8) returns before the process that served has ended.
unlocked() {
    flock -n "$S" true
}

with_options() {
    want inside "mount -t terrainfs -o ro,noatime,defaults,_netdev,x-test=1,commit=close $SAVE_NAME mnt &&
        ! touch mnt/x && grep -q ' $D/mnt fuse.terrainfs ro,.*noatime' /proc/self/mounts && umount mnt"
    want cmp "$PRISTINE" "$S"
}

wrong_option() {
    wants_not inside "mount -t terrainfs -o nonsense=1 $SAVE_NAME mnt"
    [ -n "$skipped" ] || want grep -q 'nonsense' "$D.log"
}

by_table() {
    echo "$S $M terrainfs noauto,user,nofail,commit=close 0 0" >"$D/fstab"
    want inside "mount mnt && $edit"
    [ -n "$skipped" ] || { want soon unlocked; block_is "$V" base:one; }
}

# The lines that docs/boot.md shows, with this save and mount point.
of_the_guide() {
    local options count=0
    while read -r options; do
        count=$((count + 1))
        echo "$S $M terrainfs $options 0 0" >"$D/fstab"
        want inside "mount mnt && grep -q '^format: ' mnt/info.txt && umount mnt"
        [ -z "$skipped" ] || return
        want soon unlocked
    done < <(sed -n 's/.*`\/.* terrainfs \(.*\) 0 0`.*/\1/p' "$ROOT/docs/boot.md")
    want [ "$count" = 4 ]
}

unit_of_the_guide() {
    command -v systemd-analyze >/dev/null || { skip 'there is no systemd-analyze'; return; }
    sed -n '/^\[Mount\]/,/^Type=/p' "$ROOT/docs/boot.md" >"$D/home-me-mnt.mount"
    want systemd-analyze verify "$D/home-me-mnt.mount"
}

fake() {
    want inside "mount -f -t terrainfs $SAVE_NAME mnt && ! mountpoint -q mnt"
}

if [ "$(id -u)" != 0 ]; then
    bail 'needs root'
fi
try 'mount -t terrainfs' by_type terrainfs
try 'mount -t fuse.terrainfs' by_type fuse.terrainfs
try 'options of mount(8), and those for others' with_options
try 'an option that there is not is refused by name' wrong_option
try 'a line of fstab with noauto,user' by_table
try 'the lines of the guide' of_the_guide
try 'the systemd unit of the guide' unit_of_the_guide
try 'mount -f mounts nothing' fake
finish
