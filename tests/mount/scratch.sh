#!/usr/bin/env bash
# Names that are not of the save: files and directories in memory, their cap, and names of the save that are
# hidden for a while or gone for good (optional files).
. "$(dirname "$0")/lib.sh"

ordinary_files() {
    local place
    up
    for place in "$M" "$M/chunks" "$M/chunks/$C" "$M/chunks/$C/lights"; do
        want cp "$PRISTINE" "$place/.x.swp"
        want cmp "$PRISTINE" "$place/.x.swp"
        want grep -qx .x.swp <(ls -A "$place")
        want mv "$place/.x.swp" "$place/4913"
        want truncate -s 100 "$place/4913"
        want cmp -n 100 "$PRISTINE" "$place/4913"
        same 'size' "$(stat -c %s "$place/4913")" 100
        want truncate -s 300 "$place/4913"
        same 'the hole' "$(tail -c 200 "$place/4913" | tr -d '\0' | wc -c)" 0
        want chmod 751 "$place/4913"
        want touch -d '2001-02-03 UTC' "$place/4913"
        same 'attributes' "$(stat -c '%a %Y' "$place/4913")" '751 981158400'
        want cp -p "$place/4913" "$place/file with blanks~"
        same 'attributes of a copy' "$(stat -c '%a %Y' "$place/file with blanks~")" '751 981158400'
        want mv -f "$place/4913" "$place/file with blanks~"
        want rm "$place/file with blanks~"
        wants_not [ -e "$place/4913" ]
    done
    want cp "$PRISTINE" "$M/left behind"
    down
    want cmp "$PRISTINE" "$S"
}

ordinary_directories() {
    up
    want mkdir -p "$M/notes/deep/er" "$M/chunks/$C/.git/objects" "$M/chunks/.x"
    echo text >"$M/notes/deep/er/file"
    want mv "$M/notes/deep" "$M/notes/other"
    same 'content' "$(cat "$M/notes/other/er/file")" text
    same 'rmdir of a full one' "$(py 'print(err(os.rmdir, a[0]))' "$M/notes")" ENOTEMPTY
    want mkdir "$M/notes/empty"
    want mv -T "$M/notes/other/er" "$M/notes/empty"
    same 'content' "$(cat "$M/notes/empty/file")" text
    one_of 'links' "$(stat -c %h "$M/notes")" 1 4
    want find "$M/notes"
    same 'into itself' "$(py 'print(err(os.rename, a[0], a[0] + "/empty/x"))' "$M/notes")" EINVAL
    want cp -r "$M/chunks/$C" "$M/notes/copy"
    want diff -r "$M/chunks/$C" "$M/notes/copy"
    want rm -r "$M/notes" "$M/chunks/$C/.git" "$M/chunks/.x"
    wants_not [ -e "$M/notes" ]
    down
    want cmp "$PRISTINE" "$S"
}

symlinks() {
    up
    want ln -s user@host.1:2 "$M/chunks/$C/.#blocks.txt"
    same 'target' "$(readlink "$M/chunks/$C/.#blocks.txt")" user@host.1:2
    want ln -s "chunks/$C/blocks.txt" "$M/link"
    want cmp "$M/link" "$M/chunks/$C/blocks.txt"
    want ln -sfn "chunks/$C2" "$M/link"
    want cmp "$M/link/blocks.txt" "$M/chunks/$C2/blocks.txt"
    same 'over it' "$(py 'print(err(os.symlink, "x", a[0]))' "$M/link")" EEXIST
    same 'in place of a chunk file' \
        "$(py 'print(err(os.symlink, "x", a[0]))' "$M/chunks/$C/blocks.txt")" EEXIST
    want rm "$M/link" "$M/chunks/$C/.#blocks.txt"
    down
    want cmp "$PRISTINE" "$S"
}

unlinked_while_open() {
    up
    same 'a scratch file' "$(py '
fd = os.open(a[0], os.O_RDWR | os.O_CREAT | os.O_EXCL)
os.write(fd, b"still here")
os.unlink(a[0])
put(a[0], b"another")
print(os.pread(fd, 99, 0).decode(), os.fstat(fd).st_size, get(a[0]).decode())
os.ftruncate(fd, 5)
os.pwrite(fd, b"!", 5)
print(os.pread(fd, 99, 0).decode())
os.close(fd)' "$M/chunks/$C/.tmp" | paste -sd ' ')" 'still here 10 another still!'
    want rm "$M/chunks/$C/.tmp"
    same 'a file of the save' "$(py '
was = get(a[0])
fd = os.open(a[0], os.O_RDONLY)
os.unlink(a[0])
print(os.pread(fd, 1 << 20, 0) == was, end=" ")
put(a[0], was)
print(os.pread(fd, 1 << 20, 0) == was, get(a[0]) == was)
os.close(fd)' "$M/chunks/$C/blocks.txt")" 'True True True'
    down
    want cmp "$PRISTINE" "$S"
}

# A handle that wrote to a file that was unlinked since: it is told, and the save stays.
written_and_unlinked() {
    up
    same 'close' "$(py '
fd = os.open(a[0], os.O_RDWR)
os.ftruncate(fd, 0)
os.write(fd, b"x")
os.unlink(a[0])
print(err(os.close, fd))' "$M/chunks/$C/blocks.txt")" ESTALE
    want soon [ -e "$M/chunks/$C/blocks.txt" ]
    want grep -qx x "$M/.terrainfs/rejected/chunks/$C/blocks.txt"
    down 3
    want cmp "$PRISTINE" "$S"
}

mapped_scratch() {
    up
    same 'two mappings' "$(py '
fd = os.open(a[0], os.O_RDWR | os.O_CREAT)
os.ftruncate(fd, 100000)
m = mmap.mmap(fd, 100000)
n = mmap.mmap(fd, 100000)
m[99990:99994] = b"here"
print(n[99990:99994].decode(), end=" ")
m.flush()
print(get(a[0])[99990:99994].decode())' "$M/mapped")" 'here here'
    want rm "$M/mapped"
    down
}

renamed_open_files() {
    up
    want py '
was = get(a[0])
fd = os.open(a[0], os.O_RDONLY)
os.rename(a[0], a[1])
assert os.pread(fd, 1 << 20, 0) == was
assert get(a[1]) == was
os.rename(a[1], a[0])
assert get(a[0]) == was' "$M/chunks/$C/blocks.txt" "$M/chunks/$C/blocks.txt~"
    down
    want cmp "$PRISTINE" "$S"
}

# A chunk file moved over one of another chunk is a copy that is committed; the first comes back.
renamed_over_another() {
    up
    cp "$M/chunks/$C/lights/sky.txt" "$D/sky.txt"
    cp "$M/chunks/$C/blocks.txt" "$D/blocks.txt"
    want mv "$M/chunks/$C/blocks.txt" "$M/chunks/$C2/blocks.txt"
    want cmp "$D/blocks.txt" "$M/chunks/$C2/blocks.txt"
    want soon cmp -s "$D/blocks.txt" "$M/chunks/$C/blocks.txt"
    down
    changes "changed $C2 blocks"
}

cap() {
    up -o scratch=1M
    same 'writes' "$(py '
big = b"x" * (1 << 19)
print(err(put, a[0] + "/.one", big), err(put, a[0] + "/.two", big + b"x"))
os.unlink(a[0] + "/.one")
print(err(put, a[0] + "/.two", big), err(os.truncate, a[0] + "/.two", 1 << 40))
os.unlink(a[0] + "/.two")
print(err(put, a[0] + "/.one", big))' "$M/chunks/$C" | paste -sd ' ')" 'ok ENOSPC ok ENOSPC ok'
    wants_not cp /bin/bash "$M/big"
    echo "$V,base:despite_cap" >>"$M/chunks/$C/voxels.csv"
    rm -f "$M/chunks/$C/.one" "$M/big"
    down
    block_is "$V" base:despite_cap
}

names_of_the_log() {
    up
    echo x >"$M/chunks/$C/.scratch_left"
    cp "$M/.terrainfs/errors.log" "$D/log"
    same 'open for write' "$(py 'print(err(os.open, a[0], os.O_WRONLY))' "$M/.terrainfs/errors.log")" EACCES
    one_of 'unlink' "$(py 'print(err(os.unlink, a[0]))' "$M/.terrainfs/errors.log")" EPERM EACCES
    one_of 'mkdir' "$(py 'print(err(os.mkdir, a[0]))' "$M/.terrainfs")" EEXIST
    one_of 'rmdir' "$(py 'print(err(os.rmdir, a[0]))' "$M/.terrainfs")" EPERM ENOTEMPTY
    down
}

# mv would copy a chunk into memory, and remove it from the save.
moved_out_of_the_save() {
    up
    wants_not mv "$M/chunks/$C" "$M/aside"
    wants_not mv "$M/chunks/$C" "$M/chunks/$C2"
    wants_not [ -e "$M/aside" ]
    down
    want cmp "$PRISTINE" "$S"
}

# cp -r of a chunk onto one that is there would leave its copy in memory.
chunk_in_a_chunk() {
    up
    wants_not cp -r "$M/chunks/$C" "$M/chunks/$C2"
    same 'in lights/' "$(py 'print(err(os.mkdir, a[0]))' "$M/chunks/$C/lights/0_0_0")" EINVAL
    logged "chunks/$C2/$C: a chunk has no chunk in it"
    want mkdir "$M/chunks/$C/notes"
    down
    want cmp "$PRISTINE" "$S"
}

lost_at_unmount() {
    up
    echo note >"$M/note"
    "$TFS_BIN" umount "$M" 2>"$D/said"
    same 'status of umount' $? 0
    same 'what it said' "$(cat "$D/said")" "terrainfs: $M: note is not kept"
    up
    mkdir -p "$M/notes/more/none" "$M/.git"
    touch "$M/notes/more/b" "$M/.git/HEAD" "$M/chunks/$C/blocks.txt~"
    "$TFS_BIN" umount "$M" 2>"$D/said"
    same 'what it said of a directory' "$(cat "$D/said")" "terrainfs: $M: notes/more/b is not kept"
    wants_not compgen -G "$S.unsaved-*"
}

long_names() {
    local name
    name=$(printf 'n%.0s' {1..255})
    up
    echo x >"$M/$name"
    same 'content' "$(cat "$M/$name")" x
    same 'too long' "$(py 'print(err(put, a[0], b"x"))' "$M/${name}n")" ENAMETOOLONG
    want rm "$M/$name"
    down
}

# ---- hidden names -------------------------------------------------------------------------------------

# ENOENT at once (unless the machine slept for two seconds), and back after a while.
comes_back() {
    up
    cp "$M/chunks/$C/blocks.txt" "$D/blocks.txt"
    want py '
start = time.monotonic()
os.unlink(a[0])
there = err(os.stat, a[0]), "blocks.txt" in os.listdir(os.path.dirname(a[0]))
sys.exit(there != ("ENOENT", False) and time.monotonic() - start < 1.5)' "$M/chunks/$C/blocks.txt"
    want soon cmp -s "$D/blocks.txt" "$M/chunks/$C/blocks.txt"
    want grep -qx blocks.txt <(ls "$M/chunks/$C")
    down
    want cmp "$PRISTINE" "$S"
}

moved_away_comes_back() {
    up
    cp "$M/chunks/$C/blocks.txt" "$D/blocks.txt"
    want mv "$M/chunks/$C/blocks.txt" "$M/saved"
    want cmp "$D/blocks.txt" "$M/saved"
    want soon cmp -s "$D/blocks.txt" "$M/chunks/$C/blocks.txt"
    want mv "$M/chunks/$C/blocks.txt" "$D/moved out"
    want cmp "$D/blocks.txt" "$D/moved out"
    want soon [ -e "$M/chunks/$C/blocks.txt" ]
    want rm "$M/saved"
    down
    want cmp "$PRISTINE" "$S"
}

# O_EXCL succeeds on a name that was taken away.
created_anew() {
    up
    want py '
was = get(a[0])
os.unlink(a[0])
put(a[0], was.replace(a[1].encode(), a[2].encode()), os.O_WRONLY | os.O_CREAT | os.O_EXCL)
assert a[2].encode() in get(a[0])' "$M/chunks/$C/voxels.csv" "$V,$B" "$V,base:anew"
    down
    block_is "$V" base:anew
    changes "changed $C blocks"
}

# ---- optional files -----------------------------------------------------------------------------------

sky_is() {
    [ "$(region sky "$S" "${V%%,*}" "$(cut -d, -f2 <<<"$V")" "${V##*,}")" = "$1" ]
}

light_is() {
    [ "$(region light "$S" "${V%%,*}" "$(cut -d, -f2 <<<"$V")" "${V##*,}")" = "$1" ]
}

removed_for_good() {
    up
    want rm "$M/chunks/$C/lights/sky.txt"
    want soon sky_is NONE
    wants_not [ -e "$M/chunks/$C/lights/sky.txt" ]
    changes "changed $C sky"
    echo 'fill 9' >"$M/chunks/$C/lights/sky.txt"
    want sky_is 9
    want rm "$M/chunks/$C/lights/block.txt"
    down
    want light_is NONE
    want sky_is 9
    changes "changed $C sky light"
}

removed_at_fsync_of_the_directory() {
    up
    want py '
os.unlink(a[0] + "/sky.txt")
fd = os.open(a[0], os.O_RDONLY | os.O_DIRECTORY)
os.fsync(fd)
open(a[1], "wb").write(get(a[2]))' "$M/chunks/$C/lights" "$D/then" "$S"
    same 'sky in the save then' "$(region sky "$D/then" ${V//,/ })" NONE
    wants_not [ -e "$M/chunks/$C/lights/sky.txt" ]
    down
}

# Edits of the chunk take the removal along: what is in the save then is what a kill would leave.
removed_with_an_edit() {
    up
    want rm "$M/chunks/$C/lights/sky.txt"
    echo "$V,base:beside_a_removal" >>"$M/chunks/$C/voxels.csv"
    want cp "$S" "$D/then"
    same 'sky in the save then' "$(region sky "$D/then" ${V//,/ })" NONE
    same 'block in the save then' "$(region block "$D/then" ${V//,/ })" base:beside_a_removal
    want rm "$M/chunks/$C/lights/block.txt"
    want sed -i s/base:beside_a_removal/base:of_the_root/ "$M/palette.txt"
    want cp "$S" "$D/then"
    same 'light in the save then' "$(region light "$D/then" ${V//,/ })" NONE
    same 'block in the save then' "$(region block "$D/then" ${V//,/ })" base:of_the_root
    wants_not [ -e "$M/chunks/$C/lights/sky.txt" ]
    down
}

# removal_and WANTED COMMAND...: what the save has of sky light after rm and the command, before the chunk is at rest.
removal_and() {
    local wanted=$1
    shift
    echo 'fill 9' >"$M/chunks/$C/lights/sky.txt"
    exec 8>>"$M/chunks/$C/blocks.txt"
    want rm "$M/chunks/$C/lights/sky.txt"
    want "$@"
    wants_not [ -e "$M/chunks/$C/lights/sky.txt" ]
    want sync "$M/chunks/$C2/voxels.csv"
    same "sky in the save after $1" "$(region sky "$S" ${V//,/ })" "$wanted"
    exec 8>&-
}

edits() {
    sed -i "s/,$B\$/,base:edited_$RANDOM/" "$M/chunks/$1/voxels.csv"
}

cuts() {
    tail -n 1 "$M/chunks/$C/voxels.csv" >"$D/last"
    truncate -s "-$(stat -c %s "$D/last")" "$M/chunks/$C/voxels.csv"
}

refused_edit() {
    ! cp <(echo nonsense) "$M/chunks/$C/blocks.txt"
}

moves() {
    mv "$M/chunks/$C" "$M/chunks/15_15_15" && mv "$M/chunks/15_15_15" "$M/chunks/$C"
}

writes_stored_bytes() {
    "$TFS_BIN" cat "$PRISTINE" "chunks/$C/raw.bin" >"$D/raw.bin"
    cp "$D/raw.bin" "$M/chunks/$C/raw.bin"
}

removals() {
    local stored
    stored=$(region sky "$PRISTINE" ${V//,/ })
    up
    removal_and NONE edits "$C"
    removal_and 9 edits "$C2"
    removal_and NONE cuts
    removal_and 9 refused_edit
    removal_and 9 moves
    removal_and "$stored" writes_stored_bytes
    want soon [ -e "$M/chunks/$C/lights/sky.txt" ]
    down 3
}

# Its copy may be the only one.
renamed_away_and_edited() {
    up
    exec 8>>"$M/chunks/$C/blocks.txt"
    want mv "$M/chunks/$C/lights/sky.txt" "$M/chunks/$C/lights/sky.txt~"
    want edits "$C"
    exec 8>&-
    want soon [ -e "$M/chunks/$C/lights/sky.txt" ]
    want cmp "$M/chunks/$C/lights/sky.txt" "$M/chunks/$C/lights/sky.txt~"
    down
    changes "changed $C blocks"
}

removed_at_fsync_of_another_file() {
    up
    want rm "$M/chunks/$C/lights/sky.txt"
    want sync "$M/chunks/$C/voxels.csv"
    want cp "$S" "$D/then"
    same 'sky in the save then' "$(region sky "$D/then" ${V//,/ })" NONE
    want rm "$M/chunks/$C/lights/block.txt"
    want sync "$M/info.txt"
    want cp "$S" "$D/then"
    same 'light in the save then' "$(region light "$D/then" ${V//,/ })" NONE
    down
    changes "changed $C sky light"
}

removed_and_brought_back() {
    up
    cp "$M/chunks/$C/lights/sky.txt" "$D/sky.txt"
    want mv "$M/chunks/$C/lights/sky.txt" "$M/chunks/$C/lights/sky.txt~"
    want cp "$D/sky.txt" "$M/chunks/$C/lights/sky.txt"
    want rm "$M/chunks/$C/lights/sky.txt~"
    down
    want cmp "$PRISTINE" "$S"
}

entities_come_and_go() {
    up
    printf 'CRB\2 some bytes' >"$M/chunks/$C/entities.bin"
    want [ "$(region body "$S" "$C" | tail -c 15 | tr -d '\2')" = 'CRB some bytes' ]
    changes "changed $C entities"
    want rm "$M/chunks/$C/entities.bin"
    down
    changes ''
}

# ---- coherence ----------------------------------------------------------------------------------------

# When close comes back every view shows the edit, also those read before and those that are open.
views_agree() {
    up
    same 'stale views' "$(py '
chunk, root, old, new = a
views = [chunk + "/voxels.csv", chunk + "/palette.txt", chunk + "/blocks.txt", chunk + "/raw.bin",
         root + "/palette.txt"]
for i in range(30):
    before = [get(v) for v in views]
    sizes = [os.stat(v).st_size for v in views]
    name = (new + "x" * i).encode()
    text = get(chunk + "/blocks.txt").replace(b" " + old.encode() + b"\n", b" " + name + b"\n")
    put(chunk + "/blocks.txt", text, os.O_WRONLY | os.O_TRUNC)
    old = name.decode()
    for v in views[:2] + views[3:]:
        if name not in get(v):
            print(v, "in round", i)
        if os.stat(v).st_size != len(get(v)):
            print("size of", v, "in round", i)
' "$M/chunks/$C" "$M" "$B" base:view)" ''
    down
    changes "changed $C blocks"
}

# Who has it open for reading goes on with the text that he opened.
open_handles_go_on() {
    up
    same 'open handle' "$(py '
fd = os.open(a[0] + "/voxels.csv", os.O_RDONLY)
old = get(a[0] + "/voxels.csv")
text = get(a[0] + "/palette.txt").replace(b" " + a[1].encode() + b"\n", b" base:seen\n")
put(a[0] + "/palette.txt", text, os.O_WRONLY | os.O_TRUNC)
print(os.pread(fd, 1 << 20, 0) == old, b"base:seen" in get(a[0] + "/voxels.csv"))
' "$M/chunks/$C" "$B")" 'True True'
    down
}

listings_see_it() {
    up
    same 'listings' "$(py '
lights = a[0] + "/lights"
os.listdir(lights), os.listdir(a[0]), os.listdir(a[1])
os.unlink(lights + "/sky.txt")
fd = os.open(lights, os.O_RDONLY | os.O_DIRECTORY)
os.fsync(fd)
print("sky.txt" in os.listdir(lights), end=" ")
put(lights + "/sky.txt", b"fill 3\n")
print("sky.txt" in os.listdir(lights), end=" ")
os.mkdir(a[1] + "/0_9_0")
print("0_9_0" in os.listdir(a[1]), end=" ")
os.rename(a[1] + "/0_9_0", a[1] + "/0_10_0")
print("0_9_0" in os.listdir(a[1]), "0_10_0" in os.listdir(a[1]))' "$M/chunks/$C" "$M/chunks")" \
        'False True True False True'
    down
}

# What a desktop does when a file is thrown away.
trash() {
    command -v gio >"$D/gio" || { skip 'no gio here'; return; }
    up
    echo text >"$M/notes.txt"
    want gio trash "$M/notes.txt"
    wants_not [ -e "$M/notes.txt" ]
    wants_not gio trash "$M/info.txt"
    wants_not gio trash "$M/chunks/$C"
    want grep -q . "$M/chunks/$C/voxels.csv" "$M/info.txt"
    want gio trash "$M/chunks/$C/voxels.csv"
    soon [ -e "$M/chunks/$C/voxels.csv" ]
    down
    want cmp "$PRISTINE" "$S"
}

try 'scratch files' ordinary_files
try 'scratch directories' ordinary_directories
try 'symlinks' symlinks
try 'unlinked while open' unlinked_while_open
try 'written, then unlinked' written_and_unlinked
try 'a mapped scratch file' mapped_scratch
try 'renamed while open' renamed_open_files
try 'a chunk file moved over another' renamed_over_another
try 'the cap of scratch files' cap
try 'a chunk is not moved to a name that is none' moved_out_of_the_save
try 'a chunk is not copied into another one' chunk_in_a_chunk
try 'scratch files that are lost at unmount are named' lost_at_unmount
try 'the hidden directory' names_of_the_log
try 'long names' long_names
try 'a file that was removed comes back' comes_back
try 'a file that was moved away comes back' moved_away_comes_back
try 'a removed name is created anew' created_anew
try 'rm of an optional file' removed_for_good
try 'fsync of the directory ends the wait' removed_at_fsync_of_the_directory
try 'an edit of the chunk ends it' removed_with_an_edit
try 'what takes a removal along, and what does not' removals
try 'a file that was renamed away is not removed' renamed_away_and_edited
try 'fsync of another file ends it' removed_at_fsync_of_another_file
try 'an optional file removed and brought back' removed_and_brought_back
try 'entities.bin' entities_come_and_go
try 'views agree when close comes back' views_agree
try 'open handles go on with what was opened' open_handles_go_on
try 'listings see the edit' listings_see_it
try 'gio trash' trash
finish
