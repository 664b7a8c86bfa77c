#!/usr/bin/env bash
# How a mount begins and ends: the status that the mount command gives is true, with little memory and few
# descriptors too; dead mounts, mounts over mounts, and processes that die before anything is mounted.
. "$(dirname "$0")/lib.sh"

SKY=chunks/$C/lights/sky.txt

# mounts_at POINT: how many lie there, one over the other.
mounts_at() {
    awk -v point="$1" '$2 == point' /proc/self/mounts | wc -l
}

# refused STATUS PATTERN [OPTION...]: the mount fails, says why, and leaves nothing behind.
refused() {
    local status=$1 pattern=$2
    shift 2
    mount_at "$S" "$M" "$@"
    same 'status of mount' $? "$status"
    want grep -Eq -- "$pattern" "$D/mount.err"
    same 'mounts' "$(mounts_at "$M")" 0
}

# A lock that the caller has is free when the mount command has ended.
lock_of_the_caller() {
    exec {lock}>"$D/lock"
    flock "$lock"
    up
    exec {lock}>&-
    want flock -n "$D/lock" true
    down
}

# ---- descriptors, memory, options ----------------------------------------------------------------------

# Edits the mount and unmounts it: whatever the edit was told, it is in the save or beside it. Between its
# write and its close, Python CODE is run: it takes the memory, so that an edit that was refused may be nowhere.
edit_and_end() {
    local edit=taken end
    py '
fd = os.open(a[0], os.O_WRONLY | os.O_TRUNC)
os.write(fd, b"fill 9\n")
exec(a[1])
os.close(fd)' "$M/$SKY" "${2:-}" || edit=refused
    echo "$1: the edit is $edit"
    timeout 60 "$TFS_BIN" umount "$M" 2>"$D/umount.err"
    end=$?
    cat "$D/umount.err"
    same 'mounts' "$(mounts_at "$M")" 0
    want soon flock -n "$S" true
    "$TFS_BIN" cat "$S" "$SKY" >"$D/saved"
    [ $edit = refused ] || same "the edit that was taken, $1" "$(cat "$D/saved")" 'fill 9'
    [ $end = 0 ] || grep -q "no memory to answer\|not kept" "$D/umount.err" || note "end with $1: $end"
    [ ! -d "$(echo "$D/$SAVE_NAME".unsaved-*)" ] || "$TFS_BIN" import "$D/$SAVE_NAME".unsaved-* "$S"
    "$TFS_BIN" cat "$S" "$SKY" >"$D/saved"
    [ -n "${2:-}" ] || want grep -rqx 'fill 9' "$D/saved" "$D/$SAVE_NAME".rejected-*
    want "$TFS_BIN" check "$S"
    rm -rf "$D/$SAVE_NAME".unsaved-* "$D/$SAVE_NAME".rejected-* "$D/.$SAVE_NAME.terrainfs-journal"
    cp -p "$PRISTINE" "$S"
}

# mount_under LETTER NUMBER: with that `ulimit`. Refused with a sentence and without a mount, or it works.
mount_under() {
    local status
    mkdir -p "$M"
    (
        exec 9>&-
        ulimit "-$1" "$2" 2>/dev/null && exec timeout 30 "$TFS_BIN" "$S" "$M" 2>"$D/mount.err"
    )
    status=$?
    if [ $status = 0 ]; then
        served=$((served + 1))
        edit_and_end "ulimit -$1 $2"
    else
        refusals=$((refusals + 1))
        same "mounts with ulimit -$1 $2" "$(mounts_at "$M")" 0
        same "status of mount with ulimit -$1 $2" $status 3
        want grep -q '^terrainfs: ' "$D/mount.err"
    fi
}

few_descriptors() {
    local served=0 refusals=0 n
    for n in {5..40} {44..88..4}; do
        mount_under n "$n"
    done
    want [ "$served" -gt 0 ]
    want [ "$refusals" -gt 30 ]
    mkdir "$D/none"
    (ulimit -n 40 && "$TFS_BIN" "$S" "$D/none" 2>"$D/said" 9>&-)
    want grep -q 'ulimit -n' "$D/said"
    # A soft limit can be raised.
    (ulimit -Sn 12 && exec "$TFS_BIN" "$S" "$M" 9>&-)
    same 'status with a low soft limit' $? 0
    down
}

sanitized() {
    if nm -D "$TFS_BIN" 2>/dev/null | grep -Eq '__(asan|tsan)_init'; then
        skip 'a sanitizer takes all addresses there are'
    else
        return 1
    fi
}

little_memory() {
    local served=0 refusals=0 v
    sanitized && return
    for v in {12000..40000..4000} {41000..80000..1500} 100000 200000; do
        mount_under v "$v"
    done
    want [ "$served" -gt 0 ]
    want [ "$refusals" -gt 3 ]
}

# From the middle of an edit on there is no memory and no descriptor any more.
runs_dry() {
    local pid
    command -v prlimit >/dev/null || { skip 'prlimit is not installed'; return; }
    sanitized && return
    up -o "$1"
    pid=$(daemon)
    py 'put(a[0], b"fill 8\n")' "$M/$SKY"
    prlimit --pid "$pid" --nofile="$(($(ls "/proc/$pid/fd" | sort -n | tail -n 1) + 1))" \
        --as="$(($(awk '/^VmSize/ { print $2 }' "/proc/$pid/status") * 1024))"
    edit_and_end "nothing left, $1" '
top = a[0].split("/chunks/")[0]
for size in 1 << 20, 1 << 14, 1 << 8, 1:
    for i in range(20000):
        heard = err(put, f"{top}/{size}-{i}", bytes(size))
        if heard != "ok":
            break
    print(f"{i} files of {size} bytes: {heard}", flush=True)'
    want grep -q 'ENOMEM' "$D.log"
}

# max_read: FUSE hands out reads of at most so many bytes.
max_read() {
    local kept
    up -o max_read=4096
    want cmp <("$TFS_BIN" cat "$S" "chunks/$C/blocks.txt") "$M/chunks/$C/blocks.txt"
    kept=$(cat "$M/$SKY")
    want grep -q "$(dirname "$M")" /proc/mounts
    want grep -q ' max_read=4096\|,max_read=4096' /proc/mounts
    down
    [ -n "$kept" ] || note 'nothing read'
}

options_that_cannot_work() {
    local option
    for option in blkdev blksize=512 subtype=sshfs nonsense fd=3 nonempty max_read=100 uid=0 gid=0 umask=0 \
        kernel_cache attr_timeout=1 entry_timeout=1 clone_fd drop_privileges strictatime remount unsaved=/none; do
        refused 2 "${option%%=*}" -o "$option"
    done
    refused 3 'Invalid argument' -o fsname=
}

options_of_fstab() {
    up -o relatime,noauto,user,nofail,_netdev,x-gvfs-show
    down
}

# By mount(8), which looks for its helpers in /sbin: in a place of our own there.
by_mount() {
    [ "$(id -u)" = 0 ] || { skip 'needs root'; return; }
    unshare -m true 2>/dev/null || { skip 'no mount namespaces here'; return; }
    mkdir "$M"
    echo "$S $M terrainfs noauto,user,relatime,commit=close 0 0" >"$D/fstab"
    cat >"$D/script" <<'END'
set -e
mount -t tmpfs none "$(realpath /sbin)"
ln -s "$1" /sbin/mount.terrainfs
ln -s "$1" /sbin/mount.fuse.terrainfs
mount -t terrainfs -o commit=auto,nofail "$2" "$3"
[ "$(findmnt -n -o FSTYPE --mountpoint "$3")" = fuse.terrainfs ]
mount -i -o remount,ro "$3"
findmnt -n -o OPTIONS --mountpoint "$3" | grep -q '^ro,'
! mount -o remount,rw "$3"
umount "$3"
mount -T "$4" "$3"
[ -f "$3/info.txt" ]
umount "$3"
! mount -t terrainfs -o uid=5 "$2" "$3"
! mount -t terrainfs -o nonsense "$2" "$3"
END
    want timeout 60 unshare -m bash "$D/script" "$TFS_BIN" "$S" "$M" "$D/fstab"
    want cmp "$PRISTINE" "$S"
}

# ---- the mount point -----------------------------------------------------------------------------------

mount_points() {
    touch "$D/file"
    mount_at "$S" "$D/mnt/none" -o ro 2>/dev/null
    timeout 30 "$TFS_BIN" umount "$D/mnt/none"
    for point in "$D/file" "$D/nosuch" "$D/file/below"; do
        timeout 30 "$TFS_BIN" "$S" "$point" 2>"$D/said" 9>&-
        same "status of a mount on $point" $? 3
        want grep -q "^terrainfs: $point: .*irectory" "$D/said"
    done
    timeout 30 "$TFS_BIN" "$S" "$D/nosuch" 2>"$D/said" 9>&-
    want grep -q "mkdir makes the mount point" "$D/said"
}

# A mount over files hides them; in a save that is a folder it would be a part of it.
mount_points_in_use() {
    mkdir -p "$D/used" "$D/zone/regions/here"
    touch "$D/used/file"
    mount_at "$S" "$D/used"
    same 'status of a mount over files' $? 0
    timeout 30 "$TFS_BIN" umount "$D/used"
    want test -e "$D/used/file"
    cp "$S" "$D/zone/regions/region_0_0_0.cosmicreach"
    mount_at "$D/zone" "$D/zone/regions/here"
    same 'status of a mount in its own save' $? 1
    want grep -q "the mount point lies in the save" "$D/mount.err"
    "$TFS_TOOLS/make_world" --regions 1 --chunks 1 "$D/world"
    mv "$D/world/zones" "$D/linked"
    ln -s ../linked "$D/world/zones"
    mkdir "$D/linked/base/earth/regions/here"
    mount_at "$D/world" "$D/linked/base/earth/regions/here"
    same 'status of a mount in a zone of its world' $? 1
    want grep -q "the mount point lies in the save $D/linked/base/earth" "$D/mount.err"
}

no_device() {
    [ "$(id -u)" = 0 ] || { skip 'needs root'; return; }
    unshare -m true 2>/dev/null || { skip 'no mount namespaces here'; return; }
    mkdir -p "$M"
    unshare -m bash -c 'mount -t tmpfs none /dev && mknod /dev/null c 1 3 && "$1" "$2" "$3" 2>"$4"' - \
        "$TFS_BIN" "$S" "$M" "$D/mount.err" 9>&-
    same 'status of a mount without /dev/fuse' $? 3
    want grep -q "^terrainfs: $M: .*/dev/fuse cannot be used: .*export" "$D/mount.err"
    want flock -n "$S" true
}

mounted_already() {
    up
    mount_at "$S" "$D/other"
    same 'status of a second mount of the save' $? 3
    want grep -q "is mounted on $M already" "$D/mount.err"
    "$TFS_BIN" cat "$S" palette.txt | "$TFS_BIN" put "$S" palette.txt 2>"$D/said"
    same 'status of put' "${PIPESTATUS[1]}" 3
    want grep -q "is mounted on $M already" "$D/said"
    cp "$PRISTINE" "$D/other.cosmicreach"
    mount_at "$D/other.cosmicreach" "$M"
    same 'status of a mount over the mount' $? 3
    want grep -q "$S is mounted here already" "$D/mount.err"
    same 'mounts' "$(mounts_at "$M")" 1
    # Read-only as often as one likes.
    mount_at "$S" "$D/other" -o ro
    same 'status of a read-only mount of the save' $? 0
    unmount "$D/other"
    down
}

# Several begin at once on one directory: one of them is mounted there.
begin_at_once() {
    local i round served
    mkdir -p "$M"
    for i in {1..6}; do
        cp "$PRISTINE" "$D/$i.cosmicreach"
    done
    for round in {1..5}; do
        for i in {1..6}; do
            { timeout 30 "$TFS_BIN" "$D/$i.cosmicreach" "$M" 9>&-; echo $? >"$D/status.$i"; } &
        done
        wait
        served=$(cat "$D"/status.* | sort | uniq -c | tr -s '\n ' ' ')
        same "statuses in round $round" "$served" ' 1 0 5 3 '
        same "mounts in round $round" "$(mounts_at "$M")" 1
        down
    done
}

# What lies below a folder, or a mount of others, is no obstacle.
over_other_mounts() {
    [ "$(id -u)" = 0 ] || { skip 'needs root'; return; }
    mkdir -p "$M"
    mount -t tmpfs none "$M" || { skip 'no tmpfs here'; return; }
    mount_at "$S" "$M"
    same 'status of mount' $? 0
    timeout 60 "$TFS_BIN" umount "$M"
    same 'status of umount' $? 0
    same 'the mount below' "$(findmnt -n -o FSTYPE --mountpoint "$M")" tmpfs
    umount "$M"
}

# ---- dead mounts ---------------------------------------------------------------------------------------

# What the kernel remembers of the root decides whether a dead mount can be looked at: with and without.
over_a_dead_mount() {
    local edit
    for edit in true "mkdir $M/scratch"; do
        up
        ls "$M" >/dev/null
        $edit
        kill_daemon
        mount_at "$S" "$M"
        same "status of mount after $edit" $? 0
        want grep -q "took away the dead mount of $S" "$D/mount.err"
        same 'mounts' "$(mounts_at "$M")" 1
        want grep -q '^format' "$M/info.txt"
        down
        same 'mounts' "$(mounts_at "$M")" 0
    done
}

# Programs that work in it are no reason to leave it.
over_a_busy_dead_mount() {
    up
    exec 8<"$M/chunks/$C/blocks.txt"
    kill_daemon
    up
    exec 8<&-
    down
    same 'mounts' "$(mounts_at "$M")" 0
}

umount_of_a_dead_mount() {
    up
    kill_daemon
    timeout 60 "$TFS_BIN" umount "$M/" 2>"$D/said"
    same 'status of umount' $? 3
    want grep -q 'ended without telling whether all was saved' "$D/said"
    same 'mounts' "$(mounts_at "$M")" 0
    timeout 60 "$TFS_BIN" umount "$M" 2>"$D/said"
    same 'status of a second umount' $? 3
    want grep -q 'not a mount of terrainfs' "$D/said"
}

# fuse_mount TYPE: a mount on $M by hand, on descriptor 8.
fuse_mount() {
    exec 8<>/dev/fuse
    mount -i -t "$1" -o fd=8,rootmode=40000,user_id=0,group_id=0 somewhere "$M" 9>&-
}

# An older version, or a race, may have put a live mount over a dead one.
umount_leaves_no_dead_mount_below() {
    [ "$(id -u)" = 0 ] || { skip 'needs root'; return; }
    mkdir -p "$M" "$D/live"
    mount_at "$S" "$D/live"
    fuse_mount fuse.terrainfs || { skip 'mount does not do it here'; return; }
    exec 8>&-
    mount --bind "$D/live" "$M"
    same 'mounts' "$(mounts_at "$M")" 2
    umount -l "$D/live"
    down
    same 'mounts' "$(mounts_at "$M")" 0
}

dead_mount_of_others() {
    [ "$(id -u)" = 0 ] || { skip 'needs root'; return; }
    mkdir -p "$M"
    fuse_mount fuse.other || { skip 'mount does not do it here'; return; }
    exec 8>&-
    mount_at "$S" "$M"
    same 'status of mount' $? 3
    want grep -q "a dead mount (fuse.other).*fusermount3 -u $M" "$D/mount.err"
    timeout 60 "$TFS_BIN" umount "$M" 2>"$D/said"
    same 'status of umount' $? 3
    want grep -q 'a dead mount, but none of terrainfs' "$D/said"
    same 'mounts' "$(mounts_at "$M")" 1
    umount "$M"
}

# ---- mounts over ours ----------------------------------------------------------------------------------

# A daemon that ends takes away its own mount and no other.
ends_below_another_mount() {
    local pid
    [ "$(id -u)" = 0 ] || { skip 'needs root'; return; }
    up
    pid=$(daemon)
    echo 'fill 7' >"$M/$SKY"
    mount -t tmpfs none "$M" || { skip 'no tmpfs here'; return; }
    touch "$M/theirs"
    kill "$pid"
    want soon flock -n "$S" true
    want test -e "$M/theirs"
    umount "$M"
    timeout 60 "$TFS_BIN" umount "$M" 2>"$D/said"
    same 'mounts' "$(mounts_at "$M")" 0
    same 'the edit' "$("$TFS_BIN" cat "$S" "$SKY")" 'fill 7'
}

# Detached while a program has a file open: the mount that came into its place is not touched.
ends_after_it_was_detached() {
    local pid
    [ "$(id -u)" = 0 ] || { skip 'needs root'; return; }
    cp "$PRISTINE" "$D/next.cosmicreach"
    up
    pid=$(daemon)
    exec 8<"$M/chunks/$C/blocks.txt"
    umount -l "$M"
    mount_at "$D/next.cosmicreach" "$M"
    same 'status of mount' $? 0
    kill "$pid"
    want soon flock -n "$S" true
    want grep -q '^format' "$M/info.txt"
    exec 8<&-
    down
}

# Somebody cut the connection: the daemon notices and leaves no dead mount.
aborted_connection() {
    local abort
    up
    abort=/sys/fs/fuse/connections/$(stat -c %d "$M")/abort
    [ -w "$abort" ] || mount -t fusectl none /sys/fs/fuse/connections 2>/dev/null
    [ -w "$abort" ] || { skip 'connections cannot be aborted here'; return; }
    echo 1 >"$abort"
    want soon flock -n "$S" true
    want soon eval '[ "$(mounts_at "$M")" = 0 ]'
}

# What breaks at the end is told by umount, too.
broken_connection() {
    local broken
    broken=$(dirname "$TFS_TOOLS")/torture/broken.so
    [ -z "${TFS_TEST_SANITIZED:-}" ] || { skip 'nothing is preloaded under sanitizers'; return; }
    BROKEN_ERRNO=5 LD_PRELOAD=$broken up
    echo 'fill 7' >"$M/$SKY"
    down 3
    want grep -q 'unmounted; the connection to the kernel broke: Input/output error' "$D/umount.err"
    same 'the edit' "$("$TFS_BIN" cat "$S" "$SKY")" 'fill 7'
    BROKEN_ERRNO=103 LD_PRELOAD=$broken up # ECONNABORTED: a request was being read
    down
}

# ---- processes that die --------------------------------------------------------------------------------

# A save that is read from a mount whose process stands still: the mount of it stands still as well.
# Sets $stopped, and $parent, the mount command; its child opens the save.
stand_still() {
    up
    cp "$PRISTINE" "$M/$SAVE_NAME"
    stopped=$(daemon)
    kill -STOP "$stopped"
    want soon stands_still "$stopped"
    mkdir -p "$D/second"
    env --default-signal=INT "$TFS_BIN" "$M/$SAVE_NAME" "$D/second" 9>&- &
    parent=$!
    want soon pgrep -P "$parent"
    child=$(pgrep -P "$parent")
}

go_on() {
    kill -CONT "$stopped"
    down
    same 'mounts' "$(mounts_at "$D/second")" 0
}

gone() {
    ! kill -0 "$1" 2>/dev/null
}

# killed SIGNAL: the mount command gets it while it waits.
killed() {
    local stopped parent child
    stand_still
    kill "-$1" "$parent"
    wait "$parent"
    same 'status of the mount command' $? "$2"
    want soon gone "$child"
    go_on
}

is_mounted() {
    [ "$(mounts_at "$1")" = 1 ]
}

not_mounted() {
    [ "$(mounts_at "$1")" = 0 ]
}

# The mount is served, and the command ends by a signal before it heard of that.
interrupted_at_the_end() {
    local stopped parent child
    stand_still
    kill -STOP "$parent"
    want soon stands_still "$parent"
    kill -CONT "$stopped"
    want soon is_mounted "$D/second"
    want soon test -d "$D/second/chunks"
    kill -INT "$parent"
    kill -CONT "$parent"
    wait "$parent"
    same 'status of the mount command' $? 130
    want soon gone "$child"
    want soon not_mounted "$D/second"
    down
}

child_killed() {
    local stopped parent child
    stand_still 2>"$D/said"
    kill -9 "$child"
    wait "$parent"
    same 'status of the mount command' $? 3
    want grep -q 'the serving process was killed by signal 9' "$D/said"
    go_on
}

closed_streams() {
    mkdir -p "$M"
    timeout 30 "$TFS_BIN" "$S" "$M" <&- >&- 2>&- 9>&-
    same 'status of mount' $? 0
    echo 'fill 7' >"$M/$SKY"
    down
    same 'the edit' "$("$TFS_BIN" cat "$S" "$SKY")" 'fill 7'
}

# nohup's way: what is ignored at the start does not end the mount.
ignored_signal() {
    mkdir -p "$M"
    (
        trap '' HUP
        exec "$TFS_BIN" "$S" "$M" 9>&-
    )
    kill -HUP "$(daemon)"
    want grep -q '^format' "$M/info.txt"
    down
}

# signalled SIGNAL: ends the mount, and what waits to be saved is saved.
signalled() {
    needs_root || return
    up
    hold
    echo 'fill 7' >"$M/$SKY"
    want cmp "$PRISTINE" "$S"
    release
    kill "-$1" "$(daemon)"
    want soon flock -n "$S" true
    want soon eval '[ "$(mounts_at "$M")" = 0 ]'
    same 'the edit' "$("$TFS_BIN" cat "$S" "$SKY")" 'fill 7'
}

try 'few descriptors: refused, or it works' few_descriptors
try 'little memory: refused, or it works' little_memory
try 'no descriptor and no memory any more' runs_dry commit=close
try 'the same where a journal takes edits' runs_dry commit=auto
try 'max_read' max_read
try 'options that cannot work are named' options_that_cannot_work
try 'options that stand in fstab for others' options_of_fstab
try 'mount(8), fstab, remount' by_mount
try 'mount points that are none' mount_points
try 'mount points in use' mount_points_in_use
try 'no /dev/fuse' no_device
try 'mounted already: it says where' mounted_already
try 'several begin at once' begin_at_once
try 'over a mount of another file system' over_other_mounts
try 'over a dead mount' over_a_dead_mount
try 'over a dead mount that is in use' over_a_busy_dead_mount
try 'umount of a dead mount' umount_of_a_dead_mount
try 'umount leaves no dead mount below' umount_leaves_no_dead_mount_below
try 'a dead mount of others' dead_mount_of_others
try 'ends below a mount of others' ends_below_another_mount
try 'ends after it was detached' ends_after_it_was_detached
try 'an aborted connection' aborted_connection
try 'a broken connection' broken_connection
try 'the mount command is killed' killed KILL 137
try 'the mount command is interrupted' killed INT 130
try 'the mount command is interrupted when all is done' interrupted_at_the_end
try 'its child is killed' child_killed
try 'closed standard streams' closed_streams
try 'a signal that is ignored' ignored_signal
try 'descriptors of the caller' lock_of_the_caller
try 'SIGTERM' signalled TERM
try 'SIGINT' signalled INT
try 'SIGHUP' signalled HUP
finish
