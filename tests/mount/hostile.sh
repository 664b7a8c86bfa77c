#!/usr/bin/env bash
# Users and surroundings that mean no good, or bring none: what others see of a private save, names of any kind,
# thousands of files, disks that are full, read-only or gone, and links and directories that lead elsewhere.
# Nothing outside the save and its scratch area is read or written.
. "$(dirname "$0")/lib.sh"

as_root() {
    [ "$(id -u)" = 0 ] || { skip 'needs root'; return 1; }
    command -v setpriv >/dev/null || { skip 'setpriv is not installed'; return 1; }
}

# as UID COMMAND...
as() {
    setpriv --reuid "$1" --regid "$1" --clear-groups -- "${@:2}"
}

# The save in a directory $D/sub of its own, owned by user $1 with mode $2.
move_save() {
    mkdir "$D/sub"
    mv "$S" "$D/sub/" && S=$D/sub/$SAVE_NAME
    chown "$1:$1" "$D/sub" "$S"
    chmod "$2" "$S"
}

# A text that is refused, through file $1.
refused_text() {
    echo 'palette nonsense' >"$1"
}

# ---- who may see what -----------------------------------------------------------------------------------

# may_not UID: nothing of the mount can be read, listed or written by that user.
may_not() {
    local user=$1
    wants_not as "$user" ls "$M"
    wants_not as "$user" cat "$M/info.txt"
    wants_not as "$user" cat "$M/chunks/$C/raw.bin"
    wants_not as "$user" ls "$M/.terrainfs"
    wants_not as "$user" cat "$M/.terrainfs/status" "$M/.terrainfs/errors.log"
    wants_not as "$user" cat "$M/private"
    wants_not as "$user" sh -c 'echo x >"$1/mine"' - "$M"
    wants_not as "$user" sh -c 'echo fill 0 >"$1"' - "$M/chunks/$C/lights/sky.txt"
    wants_not as "$user" mkdir "$M/chunks/9_9_9"
    wants_not as "$user" rm "$M/chunks/$C/lights/sky.txt"
    wants_not as "$user" mv "$M/chunks/$C" "$M/chunks/0_9_0"
}

private_save() {
    as_root || return
    chmod 600 "$S"
    up -o allow_other
    echo secret >"$M/private"
    may_not 65534
    # As for files anywhere, who once opened a directory is asked again for each name in it.
    wants_not as 65534 sh -c 'cd "$1" && cat info.txt' - "$M"
    rm "$M/private"
    down
    want cmp "$PRISTINE" "$S"
}

readable_save() {
    as_root || return
    chmod 644 "$S"
    up -o allow_other
    want as 65534 cat "$M/info.txt" "$M/chunks/$C/blocks.txt"
    wants_not as 65534 sh -c 'echo fill 0 >"$1"' - "$M/chunks/$C/lights/sky.txt"
    wants_not as 65534 touch "$M/mine" "$M/chunks/$C/mine" "$M/info.txt"
    wants_not as 65534 ln -s x "$M/mine"
    wants_not as 65534 mkdir "$M/chunks/9_9_9" "$M/mine"
    wants_not as 65534 chmod 666 "$M/chunks/$C/blocks.txt"
    # A refused text can be a secret of its writer.
    refused_text "$M/chunks/$C/blocks.txt"
    want soon [ -s "$M/.terrainfs/rejected/chunks/$C/blocks.txt" ]
    wants_not as 65534 cat "$M/.terrainfs/rejected/chunks/$C/blocks.txt"
    down 3
    want cmp "$PRISTINE" "$S"
}

# Root mounts what belongs to a user: the user works in it, it stays the user's, others see nothing.
save_of_another() {
    local kept
    as_root || return
    move_save 65534 600
    up -o allow_other
    want as 65534 sh -c 'echo "$1" >>"$2"' - "$V,base:theirs" "$M/chunks/$C/voxels.csv"
    want as 65534 sh -c 'echo note >"$1" && cat "$1"' - "$M/private"
    block_is "$V" base:theirs
    same 'owner and mode' "$(stat -c '%u:%g %a' "$S")" '65534:65534 600'
    may_not 65533
    as 65534 sh -c 'echo nonsense >"$1"' - "$M/chunks/$C/blocks.txt"
    want soon as 65534 grep -q nonsense "$M/.terrainfs/rejected/chunks/$C/blocks.txt"
    rm "$M/private"
    down 3
    kept=$(find "$D/sub" -name blocks.txt)
    want as 65534 grep -q nonsense "$kept"
    wants_not as 65533 cat "$kept"
    want as 65534 rm -r "$D/sub/$SAVE_NAME.rejected-"*
    same 'owner and mode' "$(stat -c '%u:%g %a' "$S")" '65534:65534 600'
}

# ---- names and numbers -----------------------------------------------------------------------------------

names_of_any_kind() {
    local name long before
    long=$(printf 'n%.0s' {1..255})
    mkdir -p "$M"
    "$TFS_BIN" -f "$S" "$M" >"$D/said" 2>&1 &
    want soon mountpoint -q "$M"
    before=$(py 'print(len(os.listdir(a[0])))' "$M")
    for name in $'two\nlines' $'\nterrainfs: all is well' $'\033[2J' $'\377\376' '...' '-rf' '*' ' ' '%s%n' "$long"; do
        want py 'put(os.fsencode(a[0]) + b"/" + os.fsencode(a[1]), b"x")' "$M/chunks/$C" "$name"
        same "content of $(printf %q "$name")" "$(cat "$M/chunks/$C/$name")" x
        want mkdir "$M/$name"
        want mv "$M/chunks/$C/$name" "$M/$name/inside"
    done
    same 'names that are listed' "$(py 'print(len(os.listdir(os.fsencode(a[0]))) - int(a[1]))' "$M" "$before")" 10
    same '256 bytes' "$(py 'print(err(put, a[0], b"x"), err(os.mkdir, a[0]), err(os.stat, a[0]))' \
        "$M/${long}n")" 'ENAMETOOLONG ENAMETOOLONG ENAMETOOLONG'
    same 'two points' "$(py 'print(err(os.mkdir, a[0] + "/.."), err(os.rmdir, a[0] + "/chunks/.."))' "$M")" \
        'EEXIST ENOTEMPTY'
    same 'above the root' "$(cd "$M/.." && pwd -P)" "$D"
    same 'as chunks' "$(py '
for name in "1_2", "1_2_3_4", "+1_2_3", "01_2_3", "-0_2_3", "1_2_3\n", " 1_2_3", "1_2_99999999999", "0x1_2_3":
    print(err(os.mkdir, a[0] + "/" + name), end=" ")' "$M/chunks")" \
        'EINVAL EINVAL EINVAL EINVAL EINVAL EINVAL EINVAL EINVAL EINVAL '
    timeout 60 "$TFS_BIN" umount "$M"
    same 'status of umount' $? 0
    wait
    wants_not grep -q '^terrainfs: all' "$D/said"
    same 'lines that the daemon said' "$(grep -c ' not kept' "$D/said")" 1
    wants_not grep -q $'\033' "$D/said"
    want cmp "$PRISTINE" "$S"
}

ten_thousand_files() {
    up
    same 'files' "$(py '
top = a[0] + "/many"
os.mkdir(top)
for i in range(10000):
    put("%s/file %d" % (top, i), b"%d" % i)
names = os.listdir(top)
print(len(names), len(set(names)), get(top + "/file 9999").decode(), end=" ")
for name in names[::2]:
    os.unlink(top + "/" + name)
print(len(os.listdir(top)), end=" ")
for entry in os.scandir(top): # removed while they are listed
    os.unlink(entry.path)
print(len(os.listdir(top)))
os.rmdir(top)' "$M")" '10000 10000 9999 5000 0'
    echo "$V,base:beside_many" >>"$M/chunks/$C/voxels.csv"
    down
    block_is "$V" base:beside_many
}

# Files without a byte are counted too: names cost memory.
empty_files_are_capped() {
    up -o scratch=1M
    want py '
made = 0
try:
    while made < 100000:
        put("%s/%d" % (a[0], made), b"")
        made += 1
except OSError as e:
    assert e.errno == errno.ENOSPC, e
print(made)
assert 100 < made < 100000
for i in range(made):
    os.unlink("%s/%d" % (a[0], i))
put(a[0] + "/again", b"x")
os.unlink(a[0] + "/again")' "$M"
    echo "$V,base:despite_cap" >>"$M/chunks/$C/voxels.csv"
    down
    block_is "$V" base:despite_cap
}

open_at_unmount() {
    up
    same 'umount of a busy mount' "$(py '
import subprocess
fd = os.open(a[0] + "/" + a[1], os.O_WRONLY | os.O_APPEND)
os.write(fd, a[2].encode() + b"\n")
done = subprocess.run([a[3], "umount", a[0]], stderr=subprocess.PIPE)
print(done.returncode, b"still has a file open" in done.stderr, end=" ")
print(err(os.close, fd))' "$M" "chunks/$C/voxels.csv" "$V,base:open" "$TFS_BIN")" '3 True ok'
    want grep -qx "$V,base:open" "$M/chunks/$C/voxels.csv"
    down
    block_is "$V" base:open
}

# Detached while a writer is in it: the writer goes on, and the daemon ends when it has.
open_at_lazy_unmount() {
    local pid
    up
    pid=$(sed -n 's/^pid: //p' "$M/.terrainfs/status")
    same 'close after the mount is gone' "$(py '
import subprocess
fd = os.open(a[0] + "/" + a[1], os.O_WRONLY | os.O_APPEND)
subprocess.run(["fusermount3", "-u", "-z", a[0]], check=True)
os.write(fd, a[2].encode() + b"\n")
print(os.path.ismount(a[0]), err(os.fsync, fd), err(os.close, fd))' "$M" "chunks/$C/voxels.csv" "$V,base:lazy")" \
        'False ok ok'
    block_is "$V" base:lazy
    soon [ ! -e "/proc/$pid" ]
    want region check "$S"
}

# ---- disks -----------------------------------------------------------------------------------------------

# A file system of its own for the save, of $1 bytes.
disk() {
    as_root || return
    mkdir "$D/disk"
    mount -t tmpfs -o "size=$1" none "$D/disk" 2>/dev/null || { skip 'no tmpfs can be mounted here'; return 1; }
    mv "$S" "$D/disk/" && S=$D/disk/$SAVE_NAME
}

read_only_disk() {
    disk 4M || return
    mount -o remount,ro "$D/disk"
    up
    want grep -q . "$M/chunks/$C/voxels.csv"
    want grep -qi 'read-only' "$M/info.txt"
    one_of 'open for write' "$(py 'print(err(os.open, a[0], os.O_WRONLY))' "$M/chunks/$C/voxels.csv")" EROFS EACCES
    one_of 'mkdir' "$(py 'print(err(os.mkdir, a[0]))' "$M/chunks/0_9_0")" EROFS EACCES
    down
    want cmp "$PRISTINE" "$S"
}

# The disk becomes read-only meanwhile: who closes hears it, the edit waits, and is saved when it can be.
disk_that_becomes_read_only() {
    disk 4M || return
    up
    mount -o remount,ro "$D/disk"
    same 'close' "$(py '
fd = os.open(a[0], os.O_WRONLY | os.O_APPEND)
os.write(fd, a[1].encode() + b"\n")
print(err(os.close, fd))' "$M/chunks/$C/voxels.csv" "$V,base:later")" EROFS
    want grep -qx "$V,base:later" "$M/chunks/$C/voxels.csv"
    want cmp "$PRISTINE" "$S"
    mount -o remount,rw "$D/disk"
    want sync "$M/chunks/$C/voxels.csv"
    block_is "$V" base:later
    down
    changes "changed $C blocks"
}

# The directory for temporary files is full: nothing of it is needed.
full_directory_of_temporary_files() {
    as_root || return
    mkdir "$D/tmp"
    mount -t tmpfs -o size=64K none "$D/tmp" 2>/dev/null || { skip 'no tmpfs can be mounted here'; return; }
    head -c 100K /dev/zero >"$D/tmp/full" 2>/dev/null
    "$TFS_TOOLS/make_voxel" stream "$D/world.sqlite" 20
    local chunk
    for save in "$S" "$D/world.sqlite"; do
        export TMPDIR=$D/tmp SQLITE_TMPDIR=$D/tmp
        mount_at "$save" "$M"
        unset TMPDIR SQLITE_TMPDIR
        chunk=$(ls "$M/chunks" | head -n 1)
        want cp -r "$M/chunks/$chunk" "$D/copy"
        rm -rf "$D/copy"
        want mkdir "$M/chunks/3_3_3"
        want rm -r "$M/chunks/3_3_3" # by then its files may show
        down
        want "$TFS_BIN" check "$save"
    done
}

# The save goes, alone or with its directory, while somebody writes: the edit lies where the save lay, or where
# programs keep their state.
removed_while_written() {
    mkdir "$D/sub"
    mv "$S" "$D/sub/" && S=$D/sub/$SAVE_NAME
    up
    same 'close' "$(py '
import shutil
fd = os.open(a[0], os.O_WRONLY | os.O_APPEND)
os.write(fd, a[1].encode() + b"\n")
shutil.rmtree(a[2]) if os.path.isdir(a[2]) else os.unlink(a[2])
print(err(os.close, fd))' "$M/chunks/$C/voxels.csv" "$V,base:orphan" "$1")" EIO
    timeout 60 "$TFS_BIN" umount "$M"
    same 'status of umount' $? 3
    want grep -rq base:orphan "$2"
    wants_not [ -e "$S" ]
}

save_is_removed() { removed_while_written "$D/sub/$SAVE_NAME" "$D/sub"; }
directory_is_removed() { removed_while_written "$D/sub" "$XDG_STATE_HOME"; }

# ---- what leads elsewhere ----------------------------------------------------------------------------------

# A link in the scratch area is resolved by the kernel, for the user, and never by the daemon.
scratch_links() {
    echo outside >"$D/outside"
    up
    want ln -s "$D/outside" "$M/link"
    same 'through the link' "$(cat "$M/link")" outside
    same 'onto a file of the save' "$(py 'print(err(os.rename, a[0], a[1]))' "$M/link" "$M/chunks/$C/blocks.txt")" EPERM
    want grep -q '^palette' "$M/chunks/$C/blocks.txt"
    same 'in the place of one' "$(py '
os.unlink(a[1])
print(err(os.symlink, a[0], a[1]))
print(get(a[0]).decode().strip())' "$D/outside" "$M/chunks/$C/blocks.txt" | paste -sd ' ')" 'EPERM outside'
    want soon [ -f "$M/chunks/$C/blocks.txt" ]
    one_of 'hard link of a file of the save' "$(py 'print(err(os.link, a[0], a[1]))' "$M/info.txt" "$M/hard")" \
        EPERM ENOSYS EOPNOTSUPP
    echo x >"$M/scratch"
    one_of 'hard link of a scratch file' "$(py 'print(err(os.link, a[0], a[1]))' "$M/scratch" "$M/hard")" \
        EPERM ENOSYS EOPNOTSUPP
    one_of 'hard link from outside' "$(py 'print(err(os.link, a[0], a[1]))' "$D/outside" "$M/hard")" EXDEV
    one_of 'a device' "$(py 'print(err(os.mkfifo, a[0]))' "$M/pipe")" EPERM ENOSYS EOPNOTSUPP
    rm -f "$M/link" "$M/scratch"
    down
    same 'outside' "$(<"$D/outside")" outside
    want cmp "$PRISTINE" "$S"
}

# The save is named by a link: its target is replaced, where it lies, and the link stays.
save_behind_a_link() {
    mkdir "$D/real"
    mv "$S" "$D/real/save.cosmicreach"
    ln -s real/save.cosmicreach "$S"
    up
    echo "$V,base:behind" >>"$M/chunks/$C/voxels.csv"
    same 'link' "$(readlink "$S")" real/save.cosmicreach
    same 'beside the link' "$(find "$D" -maxdepth 1 -name '.*')" ''
    # Led elsewhere meanwhile: the file that was mounted is the one that is written.
    cp "$PRISTINE" "$D/other"
    ln -sfn other "$S"
    echo "$V,base:again" >>"$M/chunks/$C/voxels.csv"
    down
    want cmp "$PRISTINE" "$D/other"
    S=$D/real/save.cosmicreach
    block_is "$V" base:again
}

hard_linked_save() {
    ln "$S" "$D/other name"
    up
    echo "$V,base:new" >>"$M/chunks/$C/voxels.csv"
    down
    block_is "$V" base:new
    want cmp "$PRISTINE" "$D/other name"
}

# The directory of the save becomes a link to another one.
directory_becomes_a_link() {
    mkdir "$D/sub" "$D/elsewhere"
    mv "$S" "$D/sub/" && S=$D/sub/$SAVE_NAME
    cp "$PRISTINE" "$D/elsewhere/"
    touch -r "$S" "$D/elsewhere/$SAVE_NAME"
    up
    mv "$D/sub" "$D/real"
    ln -s elsewhere "$D/sub"
    one_of 'close' "$(py '
fd = os.open(a[0], os.O_WRONLY | os.O_APPEND)
os.write(fd, a[1].encode() + b"\n")
print(err(os.close, fd))' "$M/chunks/$C/voxels.csv" "$V,base:led_away")" EIO ESTALE ELOOP
    timeout 60 "$TFS_BIN" umount "$M"
    same 'status of umount' $? 3
    same 'elsewhere' "$(ls -A "$D/elsewhere")" "$SAVE_NAME"
    want cmp "$PRISTINE" "$D/elsewhere/$SAVE_NAME"
    want cmp "$PRISTINE" "$D/real/$SAVE_NAME"
    want grep -rq base:led_away "$XDG_STATE_HOME"
}

# What looks like a temp file of ours and is none.
false_strays() {
    local stray=$D/.$SAVE_NAME.terrainfs-
    echo outside >"$D/outside"
    ln -s outside "${stray}Link00"
    mkfifo "${stray}Fifo00"
    mkdir "${stray}Dir000"
    echo x >"${stray}toolong"
    echo x >"${stray}short"
    echo x >"${stray}File00"
    up
    echo "$V,base:despite" >>"$M/chunks/$C/voxels.csv"
    down
    block_is "$V" base:despite
    same 'outside' "$(<"$D/outside")" outside
    same 'left' "$(cd "$D" && printf '%s\n' ".$SAVE_NAME.terrainfs-"* | sed 's/.*-//' | paste -sd ' ')" \
        'Dir000 Fifo00 Link00 short toolong'
}

# Each temp file is at once replaced by a link to another file. The save may come to harm, which belongs to who
# does this; the other file does not.
temp_files_are_swapped() {
    mkdir "$D/sub"
    mv "$S" "$D/sub/" && S=$D/sub/$SAVE_NAME
    echo outside >"$D/outside"
    cp "$D/outside" "$D/before"
    up
    py '
top, target, ready = a
put(ready, b"x")
while True:
    for name in os.listdir(top):
        if ".terrainfs-" in name:
            err(os.unlink, top + "/" + name)
            err(os.symlink, target, top + "/" + name)
' "$D/sub" "$D/outside" "$D/ready" &
    soon [ -e "$D/ready" ]
    for name in {1..60}; do
        echo "$V,base:swapped_$name" >>"$M/chunks/$C/voxels.csv"
    done
    kill $!
    wait $!
    want cmp "$D/outside" "$D/before"
    timeout 60 "$TFS_BIN" umount "$M"
    one_of 'status of umount' $? 0 3
    want cmp "$D/outside" "$D/before"
    same 'mode outside' "$(stat -c %a "$D/outside")" "$(stat -c %a "$D/before")"
}

# The names that the directory of refused texts can get are links already.
rejected_directories_are_links() {
    local kept
    mkdir "$D/sub" "$D/elsewhere"
    mv "$S" "$D/sub/" && S=$D/sub/$SAVE_NAME
    up
    refused_text "$M/chunks/$C/blocks.txt"
    py '
for second in range(600):
    at = time.strftime("%Y%m%d-%H%M%S", time.localtime(time.time() + second - 5))
    os.symlink(a[1], "%s.rejected-%s" % (a[0], at))' "$S" "$D/elsewhere"
    down 3
    same 'elsewhere' "$(ls -A "$D/elsewhere")" ''
    kept=$(find "$D/sub" -type d -name "$SAVE_NAME.rejected-*-1")
    want grep -q nonsense "$kept/chunks/$C/blocks.txt"
    want cmp "$PRISTINE" "$S"
}

# Where the name of the save leaves no room for more.
rejected_of_the_longest_name() {
    local name
    name=$(printf 'n%.0s' {1..243}).cosmicreach
    mkdir "$D/sub"
    mv "$S" "$D/sub/$name" && S=$D/sub/$name
    up
    refused_text "$M/chunks/$C/blocks.txt"
    down 3
    want grep -rq nonsense "$D/sub" --include=blocks.txt
    want cmp "$PRISTINE" "$S"
}

try 'a private save, mounted for all by root' private_save
try 'a save that all may read' readable_save
try 'a save of another user, mounted by root' save_of_another
try 'names of any kind' names_of_any_kind
try 'ten thousand scratch files' ten_thousand_files
try 'empty scratch files are counted too' empty_files_are_capped
try 'a file that is open at unmount' open_at_unmount
try 'a file that is open when the mount is detached' open_at_lazy_unmount
try 'a read-only file system' read_only_disk
try 'a file system that becomes read-only' disk_that_becomes_read_only
try 'a full directory of temporary files' full_directory_of_temporary_files
try 'a save that is removed while it is written' save_is_removed
try 'a directory that is removed while its save is written' directory_is_removed
try 'links in the scratch area' scratch_links
try 'a save behind a link' save_behind_a_link
try 'a save with two names' hard_linked_save
try 'a directory that becomes a link' directory_becomes_a_link
try 'names like those of temp files' false_strays
try 'temp files are swapped for links' temp_files_are_swapped
try 'links in the place of NAME.rejected-DATE' rejected_directories_are_links
try 'refused texts of a save with the longest name' rejected_of_the_longest_name
finish
