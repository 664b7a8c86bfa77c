#!/usr/bin/env bash
# Programs that write a whole file or a piece of one, each in its own way of opening, writing and closing.
# $F is voxels.csv of chunk $C, $D/new its text with the block at $V changed to $NEW; whatever way it gets
# there, the save has exactly that change, and writing back what was read changes no byte.
. "$(dirname "$0")/lib.sh"

# writes FUNCTION [ARGUMENT...]
writes() {
    up
    F=$M/chunks/$C/voxels.csv NEW=base:written_by_$1
    sed "s/^$V,.*/$V,$NEW/" "$F" >"$D/new"
    want "$@"
    want soon cmp -s "$F" "$D/new"
    same 'size' "$(stat -c %s "$F")" "$(stat -c %s "$D/new")"
    want grep -q "^palette [0-9]* $NEW\$" "$M/chunks/$C/blocks.txt"
    same 'names beside the file' "$(ls -A "$M/chunks/$C")" "$(ls "$M/chunks/$C")"
    down
    block_is "$V" "$NEW"
    changes "changed $C blocks"
    want region check "$S"
}

by_cp() { cp "$@" "$D/new" "$F"; }
by_install() { install "$@" "$D/new" "$F"; }
by_cat() { cat "$D/new" >"$F"; }
by_tee() { tee "$F" <"$D/new"; }
by_dd() { dd if="$D/new" of="$F" bs=997 "$@"; }
by_rsync() { rsync "$@" "$D/new" "$F"; }

by_two_cats() {
    head -n 100 "$D/new" >"$D/a"
    tail -n +101 "$D/new" >"$D/b"
    (cat "$D/a"; cat "$D/b") >"$F"
}

by_many_writes() {
    while IFS= read -r line; do
        printf '%s\n' "$line"
    done <"$D/new" >"$F"
}

by_mv() {
    local other=/dev/shm
    [ -w $other ] || other=$D
    cp "$D/new" "$other/tfs-$$.csv" && mv "$other/tfs-$$.csv" "$F"
}

by_mv_force_without_prompt() {
    cp "$D/new" "$D/moved" && mv -f "$D/moved" "$F"
}

# Extracts over what is there: tar takes the old file away and creates it anew.
by_tar() {
    mkdir -p "$D/from/chunks/$C"
    cp "$D/new" "$D/from/chunks/$C/voxels.csv"
    tar -C "$D/from" -cf "$D/from.tar" "chunks/$C/voxels.csv"
    tar -C "$M" -xf "$D/from.tar" "$@"
}

by_cpio() {
    (cd "$D" && mkdir -p "chunks/$C" && cp new "chunks/$C/voxels.csv" &&
        tar --format=ustar -cf - "chunks/$C/voxels.csv") | (cd "$M" && tar -xf - -p)
}

by_append() { echo "$V,$NEW" >>"$F"; }
by_tee_append() { echo "$V,$NEW" | tee -a "$F"; }

by_python() {
    py "$1" "$F" "$D/new"
}

# The line of $V overwritten where it stands, by a name of the same length.
in_place() {
    up
    F=$M/chunks/$C/voxels.csv NEW=${B%?}Z
    sed "s/^$V,.*/$V,$NEW/" "$F" >"$D/new"
    local at
    at=$(($(grep -obxF "$V,$B" "$F" | cut -d: -f1) + ${#V} + 1))
    want "$1" "$at"
    want soon cmp -s "$F" "$D/new"
    want grep -q "^palette [0-9]* $NEW\$" "$M/chunks/$C/blocks.txt"
    down
    block_is "$V" "$NEW"
    changes "changed $C blocks"
}

dd_notrunc() {
    printf %s "$NEW" | dd of="$F" bs=64 seek="$1" oflag=seek_bytes conv=notrunc
}

dd_notrunc_fsync() {
    printf %s "$NEW" | dd of="$F" bs=64 seek="$1" oflag=seek_bytes conv=notrunc,fsync
}

# What is written through a mapping would be in pages that all share (docs/semantics.md, W8).
mapped() {
    up
    F=$M/chunks/$C/voxels.csv
    same 'mappings' "$(py '
fd = os.open(a[0], os.O_RDWR)
size = os.fstat(fd).st_size
print(err(mmap.mmap, fd, size, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE),
      err(mmap.mmap, fd, size, mmap.MAP_SHARED, mmap.PROT_READ))
private = mmap.mmap(fd, size, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_WRITE)
print(private[:] == get(a[0]))
reader = mmap.mmap(os.open(a[0], os.O_RDONLY), size, mmap.MAP_SHARED, mmap.PROT_READ)
print(reader[:] == get(a[0]))
' "$F" | xargs)" 'ENODEV ENODEV True True'
    down
    want cmp "$PRISTINE" "$S"
}

# ---- drafts are private to their handles ----------------------------------------------------------------

# The texts of a second view, edited while a handle appends to the first, are there at the end.
appended_beside_another_view() {
    up
    same 'what happened' "$(py '
voxels, blocks, at, above, name = a[0], a[1], a[2].encode(), a[3].encode(), a[4].encode()
fd = os.open(voxels, os.O_WRONLY | os.O_APPEND)
os.write(fd, at + b",base:first\n")
os.fsync(fd)
put(blocks, get(blocks).replace(b" " + name + b"\n", b" base:by_another_view\n"))
os.sync()
os.write(fd, above + b",base:second\n")
os.fsync(fd)
print(err(os.close, fd))
text = get(voxels)
print(text.count(b",base:by_another_view\n") > 0, text.count(b"," + name + b"\n"),
      at + b",base:first\n" in text, above + b",base:second\n" in text)
' "$M/chunks/$C/voxels.csv" "$M/chunks/$C/blocks.txt" "$V" "$(above)" "$B" | xargs)" 'ok True 0 True True'
    down
    block_is "$V" base:first
    block_is "$(above)" base:second
}

# gone BY: its name was unlinked, went away and came back, or another file took it: who wrote is told, and the bytes are kept.
gone() {
    up
    F=$M/chunks/$C/voxels.csv
    same 'fsync, close, what reads it and what is kept' "$(py '
voxels, how, kept = a
was = get(voxels)
fd, reader = os.open(voxels, os.O_RDWR), os.open(voxels, os.O_RDONLY)
os.pwrite(fd, b"mine\n", 0)
if how == "unlink":
    os.unlink(voxels)
elif how == "away and back":
    os.rename(voxels, voxels + ".bak")
    os.rename(voxels + ".bak", voxels)
else:
    put(voxels + ".new", was)
    os.rename(voxels + ".new", voxels)
print(err(os.fsync, fd), err(os.close, fd), os.pread(reader, len(was) + 1, 0) == was,
      get(kept)[:5] == b"mine\n")
' "$F" "$1" "$M/.terrainfs/rejected/chunks/$C/voxels.csv")" 'ESTALE ESTALE True True'
    want grep -q "chunks/$C/voxels.csv: this file was removed or replaced while it was written" "$M/.terrainfs/errors.log"
    "$TFS_BIN" umount "$M"
    same 'status of umount' $? 3
    want cmp "$PRISTINE" "$S"
}

# half COMMIT: nobody but who wrote a table commits the half of it that is there.
half() {
    up
    F=$M/chunks/$C/voxels.csv NEW=base:whole
    sed "s/^$V,.*/$V,$NEW/" "$F" >"$D/new"
    same 'what others see, and close' "$(py '
voxels, text, how = a[0], get(a[1]), a[2]
was = get(voxels)
fd = os.open(voxels, os.O_WRONLY | os.O_TRUNC)
os.set_inheritable(fd, True)
os.write(fd, text[:len(text) // 2 + 3])
if how == "fsync through a reader":
    reader = os.open(voxels, os.O_RDONLY)
    os.fsync(reader)
    os.close(reader)
elif how == "fork":
    if os.fork() == 0:
        os._exit(0)
    os.wait()
else:
    os.spawnl(os.P_WAIT, "/bin/true", "true")
print(get(voxels) == was, os.stat(voxels).st_size == len(was), end=" ")
os.write(fd, text[len(text) // 2 + 3:])
print(err(os.close, fd))
' "$F" "$D/new" "$1")" 'True True ok'
    want cmp -s "$F" "$D/new"
    wants_not grep -q "voxels.csv:[0-9]" "$M/.terrainfs/errors.log"
    down
    block_is "$V" "$NEW"
}

# Two programs write the palette of the save at once; each closes what it wrote itself.
two_writers_of_the_palette() {
    up
    same 'closes, and what is there' "$(py '
palette, name = a[0], a[1].encode()
was = get(palette)
first, second = (was.replace(b"\n" + name + b"\n", b"\nbase:" + new + b"\n") for new in (b"first", b"second"))
one = os.open(palette, os.O_WRONLY | os.O_TRUNC)
os.write(one, first[:len(first) // 2])
two = os.open(palette, os.O_RDWR)
os.ftruncate(two, 0)
os.write(two, second)
print(err(os.close, two), get(palette).count(b"\nbase:second\n"), end=" ")
os.ftruncate(one, 0)
os.pwrite(one, get(palette).replace(b"\nbase:second\n", b"\nbase:first\n"), 0)
print(err(os.close, one), get(palette).count(b"\nbase:first\n"))
' "$M/palette.txt" "$B")" 'ok 1 ok 1'
    down
    block_is "$V" base:first
}

# The last line cut off: its voxel becomes air.
cut_off() {
    local last air
    up
    F=$M/chunks/$C/voxels.csv
    IFS=, read -ra last < <(tail -n 1 "$F")
    read -ra air < <(air_of "$C")
    head -n -1 "$F" >"$D/new"
    want "$@" "$(stat -c %s "$D/new")" "$F"
    want soon cmp -s "$F" "$D/new"
    down
    same 'block of the line that is gone' "$(region block "$S" "${last[@]:0:3}")" \
        "$(region block "$S" "${air[@]}")"
    changes "changed $C blocks"
}

# A place in the chunk that is air in the pristine save.
air_of() {
    "$PYTHON" -S -c '
import sys
sys.path.insert(0, sys.argv[1])
from region import Region
c = Region(sys.argv[2]).chunks[tuple(int(n) for n in sys.argv[3].split("_"))]
x0, y0, z0 = (n * 16 for n in c.place)
for i in range(4096):
    at = x0 + i % 16, y0 + i // 256, z0 + i // 16 % 16
    if c.block(*at).startswith(b"base:air"):
        sys.exit(print(*at))
' "$ROOT/tests/tools" "$PRISTINE" "$1"
}

truncate_path() {
    py 'os.truncate(a[1], int(a[0]))' "$@"
}

# close() = 0: every byte is in the save before the program goes on.
durable_at_close() {
    up
    F=$M/chunks/$C/voxels.csv NEW=base:durable
    sed "s/^$V,.*/$V,$NEW/" "$F" >"$D/new"
    want py 'put(a[0], get(a[1])); open(a[2], "wb").write(get(a[3]))' "$F" "$D/new" "$D/then" "$S"
    same 'block in the save when close came back' \
        "$(region block "$D/then" ${V//,/ })" "$NEW"
    want cmp "$D/then" "$S"
    same 'strays beside the save' "$(find "$D" -path "$M" -prune -o -name '.*terrainfs*' -print)" ''
    down
}

durable_at_fsync() {
    up
    F=$M/chunks/$C/voxels.csv NEW=base:durable
    sed "s/^$V,.*/$V,$NEW/" "$F" >"$D/new"
    want py '
fd = os.open(a[0], os.O_RDWR | os.O_TRUNC)
os.write(fd, get(a[1]))
os.fsync(fd)
open(a[2], "wb").write(get(a[3]))
os.close(fd)' "$F" "$D/new" "$D/then" "$S"
    same 'block in the save when fsync came back' \
        "$(region block "$D/then" ${V//,/ })" "$NEW"
    down
}

# A file opened for writing, forked, written by both, closed by one: the bytes are one document.
shared_handle() {
    up
    F=$M/chunks/$C/voxels.csv
    want py '
fd = os.open(a[0], os.O_WRONLY | os.O_APPEND)
child = os.fork()
os.write(fd, b"%s,base:by_%s\n" % ((a[1] if child else a[2]).encode(), b"parent" if child else b"child"))
if not child:
    os._exit(0)
os.waitpid(child, 0)
os.close(fd)' "$F" "$V" "$(above)"
    down
    block_is "$V" base:by_parent
    block_is "$(above)" base:by_child
    changes "changed $C blocks"
}

# The place of $V, in the layer above or below.
above() {
    local p
    IFS=, read -ra p <<<"$V"
    echo "${p[0]},$((p[1] ^ 1)),${p[2]}"
}

parallel_appends() {
    local i p
    IFS=, read -ra p <<<"$V"
    up
    F=$M/chunks/$C/voxels.csv
    for i in {0..15}; do
        echo "$((p[0] & -16 | i)),${p[1]},${p[2]},base:parallel_$i" >>"$F" &
        jobs[i]=$!
    done
    wait "${jobs[@]}"
    for i in {0..15}; do
        want grep -qx "$((p[0] & -16 | i)),${p[1]},${p[2]},base:parallel_$i" "$F"
    done
    down
    for i in {0..15}; do
        block_is "$((p[0] & -16 | i)),${p[1]},${p[2]}" "base:parallel_$i"
    done
    changes "changed $C blocks"
}

# All chunks' files closed at once; how many rewrites that took is told, not judged.
parallel_closers() {
    local chunk i=0 x y z
    up
    for chunk in "$M"/chunks/*; do
        IFS=_ read -r x y z <<<"${chunk##*/}"
        echo "$((x * 16)),$((y * 16)),$((z * 16)),base:closer" >>"$chunk/voxels.csv" &
        jobs[i++]=$!
    done
    wait "${jobs[@]}"
    for chunk in "$M"/chunks/*; do
        IFS=_ read -r x y z <<<"${chunk##*/}"
        block_is "$((x * 16)),$((y * 16)),$((z * 16))" base:closer
    done
    down
    same 'chunks changed' "$(region diff "$PRISTINE" "$S" | grep -c '^changed .* blocks$')" "$COUNT"
}

# What was read written back: the save keeps its bytes, and with cp its inode.
writes_back() {
    local file before
    up
    before=$(identity)
    cp -r "$M/chunks/$C" "$D/read"
    for file in raw.bin palette.txt blocks.txt voxels.csv lights/sky.txt lights/block.txt; do
        want cp "$D/read/$file" "$M/chunks/$C/$file"
        want cmp "$D/read/$file" "$M/chunks/$C/$file"
    done
    cp "$M/palette.txt" "$D/palette.txt" && want cp "$D/palette.txt" "$M/palette.txt"
    down
    want cmp "$PRISTINE" "$S"
    same 'the save' "$(identity)" "$before"
}

# rsync looks at size and time: a second run has nothing to do.
rsync_settles() {
    up
    cp -r "$M/chunks/$C" "$D/tree"
    sed -i "s/^$V,.*/$V,base:synced/" "$D/tree/voxels.csv"
    want rsync -rt --exclude='*.txt' --exclude='*.bin' "$D/tree/" "$M/chunks/$C/"
    same 'second run' \
        "$(rsync -rti --exclude='*.txt' --exclude='*.bin' "$D/tree/" "$M/chunks/$C/" | grep '^>')" ''
    down
    block_is "$V" base:synced
    changes "changed $C blocks"
}

keeps_times() {
    up
    F=$M/chunks/$C/voxels.csv NEW=base:timed
    sed "s/^$V,.*/$V,$NEW/" "$F" >"$D/new"
    touch -d '2020-02-02 02:02:02 UTC' "$D/new"
    want cp -p "$D/new" "$F"
    same 'mtime after cp -p' "$(stat -c %Y "$F")" "$(stat -c %Y "$D/new")"
    down
    block_is "$V" "$NEW"
}

has() {
    local program=$1
    shift
    command -v "$program" >/dev/null || { skip "$program is not installed"; return 0; }
    "$@"
}

# What a text lacks may come with the next write.
palette_in_pieces() {
    local piece
    up
    F=$M/chunks/$C/blocks.txt
    for piece in '# edited by hand\n' '\n' 'palette 1 base:new\n'; do
        same "first: $piece" "$(py '
first = a[1].encode().decode("unicode_escape").encode()
fd = os.open(a[0], os.O_WRONLY | os.O_TRUNC)
lines = [line for line in (b"palette 0 base:air\n", b"palette 1 base:new\n") if line != first]
print(*[err(os.write, fd, part) for part in [first, *lines, b"\n", b"fill 1\n"]], err(os.close, fd))' "$F" "$piece" |
            tr ' ' '\n' | sort -u)" ok
    done
    down
    block_is "$V" base:new
}

try 'cp over it' writes by_cp
try 'cp --remove-destination' writes by_cp --remove-destination
try 'cp -p' writes by_cp -p
try 'mv from another filesystem' writes by_mv
try 'mv -f' writes by_mv_force_without_prompt
try 'install' writes by_install -m 644
try 'install -C' writes by_install -C
try 'cat >' writes by_cat
try 'a loop of printf >' writes by_many_writes
try '(cat a; cat b) >' writes by_two_cats
try 'tee' writes by_tee
try 'tee -a' writes by_tee_append
try '>>' writes by_append
try 'dd' writes by_dd
try 'dd conv=fsync' writes by_dd conv=fsync
try 'rsync' has rsync writes by_rsync -a
try 'rsync --inplace' has rsync writes by_rsync -a --inplace
try 'rsync --checksum, no temp name in the way' has rsync writes by_rsync -rc --delay-updates
try 'tar x over it' writes by_tar
try 'tar x --overwrite' writes by_tar --overwrite
try 'tar x --unlink-first' writes by_tar --unlink-first
try 'tar x -p from a pipe' writes by_cpio
try 'python with close' writes by_python 'put(a[0], get(a[1]))'
try 'python without close' writes by_python '
fd = os.open(a[0], os.O_WRONLY | os.O_TRUNC)
os.write(fd, get(a[1]))
os._exit(0)'
try 'python with fsync' writes by_python '
fd = os.open(a[0], os.O_RDWR | os.O_TRUNC)
os.write(fd, get(a[1]))
os.fsync(fd)
os.close(fd)'
try 'python, pieces in reverse order' writes by_python '
new = get(a[1])
fd = os.open(a[0], os.O_RDWR | os.O_TRUNC)
for at in reversed(range(0, len(new), 5000)):
    os.pwrite(fd, new[at:at + 5000], at)
os.close(fd)'
try 'python, written, then truncated to the end' writes by_python '
new = get(a[1])
fd = os.open(a[0], os.O_RDWR)
os.write(fd, new + b"rest of something longer\n" * 9)
os.ftruncate(fd, len(new))
os.close(fd)'
try 'dd conv=notrunc' in_place dd_notrunc
try 'dd conv=notrunc,fsync' in_place dd_notrunc_fsync
try 'a mapping of a text that is open for writing' mapped
try 'an append handle that stays open keeps the edit of another view' appended_beside_another_view
try 'a handle whose name was unlinked' gone unlink
try 'a handle whose name another file took' gone rename
try 'a handle whose name went away and came back' gone 'away and back'
try 'fsync through a reader commits nothing of a writer' half 'fsync through a reader'
try 'a child that ends commits nothing of its parent' half fork
try 'a program that is started commits nothing of who started it' half exec
try 'two writers of the palette' two_writers_of_the_palette
try 'a palette that comes in pieces' palette_in_pieces
try 'truncate -s' cut_off truncate -s
try 'truncate(2) of a path' cut_off truncate_path
try 'close is durable' durable_at_close
try 'fsync is durable' durable_at_fsync
try 'a handle shared by two processes' shared_handle
try 'parallel appends all land' parallel_appends
try 'closers at once' parallel_closers
try 'writing back what was read' writes_back
try 'a second rsync has nothing to do' has rsync rsync_settles
try 'cp -p keeps the time' keeps_times
finish
