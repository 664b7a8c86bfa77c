#!/usr/bin/env bash
# Databases of Godot Voxel Tools on real mounts: every key format, beside a game that locks and changes them. In full
# with all edits of each format.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/godot.bash"

# ---- databases ------------------------------------------------------------------------------------------

sql() {
    "$PYTHON" -S -c '
import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
for row in db.execute(sys.argv[2]).fetchall():
    print(*row)
db.commit()' "$@"
}

# hold SQL...: another connection, which did this and keeps its locks until `let_go`.
hold() {
    rm -f "$D/held" "$D/go"
    "$PYTHON" -S -c '
import os, sqlite3, sys, time
db = sqlite3.connect(sys.argv[1], isolation_level=None)
for sql in sys.argv[3:]:
    db.execute(sql).fetchall()
open(sys.argv[2] + "/held", "w").close()
while not os.path.exists(sys.argv[2] + "/go"):
    if os.path.exists(sys.argv[2] + "/more"):
        db.execute(open(sys.argv[2] + "/more").read())
        os.unlink(sys.argv[2] + "/more")
    time.sleep(0.02)
db.execute("ROLLBACK")' "$S" "$D" "$@" 9>&- &
    holder=$!
    soon test -e "$D/held"
}

let_go() {
    touch "$D/go"
    want wait $holder
}

# A handle whose edit the database does not take keeps it, and saves it later.
locked_while_writing() {
    up
    cat "$M/chunks/$C/channels/data5.txt" >/dev/null
    hold 'BEGIN IMMEDIATE'
    same 'reading' "$(sed -n 2p "$M/chunks/$C2/channels/data5.txt")" 'fill 0'
    same 'fsync and close' "$(py '
fd = os.open(a[0], os.O_WRONLY | os.O_TRUNC)
os.write(fd, b"fill 9\n")
print(err(os.fsync, fd), err(os.close, fd))' "$M/chunks/$C/channels/data5.txt")" 'EBUSY EBUSY'
    logged 'the database is locked by another program, which may be a running game'
    same 'still seen' "$(sed -n 2p "$M/chunks/$C/channels/data5.txt")" 'fill 9'
    same 'mkdir' "$(py 'print(err(os.mkdir, a[0]))' "$M/chunks/9_9_9")" EBUSY
    want [ -d "$M/chunks/9_9_9" ] # it waits, too
    differs_on_disk ''
    let_go
    want sync "$M/chunks/$C/channels/data5.txt"
    differs "added 9_9_9,changed $C data5"
    down
    differs "added 9_9_9,changed $C data5"
}

# The lock goes before anybody asks again: the unmount saves.
locked_until_unmount() {
    up
    hold 'BEGIN IMMEDIATE'
    same 'write' "$(errno_of "$M/chunks/$C/channels/data5.txt" 'fill 9
')" EBUSY
    let_go
    down
    differs "changed $C data5"
}

locked_for_good() {
    up
    hold 'BEGIN IMMEDIATE'
    errno_of "$M/chunks/$C/channels/data5.txt" 'fill 9
'
    down 3
    let_go
    differs ''
    want "$TFS_BIN" import "$D"/*.unsaved-* "$S"
    differs "changed $C data5"
}

# At the end nobody can even read it, and import knows all the same what the edit replaced.
unreadable_at_unmount() {
    up
    hold 'PRAGMA cache_size = 1' 'BEGIN IMMEDIATE'
    same 'close' "$(errno_of "$M/chunks/$C/channels/data5.txt" 'fill 9
')" EBUSY
    echo 'UPDATE blocks SET vb = zeroblob(100000)' >"$D/sql"
    want mv "$D/sql" "$D/more"
    want soon [ ! -e "$D/more" ]
    down 3
    let_go
    differs ''
    want "$TFS_BIN" import "$D"/*.unsaved-* "$S"
    differs "changed $C data5"
}

# The chunk stays, and no file of it says that its instances are gone.
removal_of_instances_locked() {
    local chunk=lods/1/chunks/-1_0_2
    up
    hold 'BEGIN IMMEDIATE'
    want rm "$M/$chunk/instances.bin"
    down 3
    let_go
    differs ''
    want "$TFS_BIN" import "$D"/*.unsaved-* "$S"
    wants_not "$TFS_BIN" cat "$S" "$chunk/instances.bin"
}

# Who holds it alone keeps even readers out; what they get is an error, no wrong data.
locked_while_reading() {
    up
    hold 'BEGIN EXCLUSIVE'
    same 'reading' "$(py 'print(err(get, a[0]))' "$M/chunks/$C/raw.bin")" EBUSY
    let_go
    want cmp "$M/chunks/$C/raw.bin" <(voxel raw "$S" $C)
    down
    want cmp "$PRISTINE" "$S"
    hold 'BEGIN EXCLUSIVE'
    wants_not mount_at "$S" "$M"
    want grep -q 'locked by another program' "$D/mount.err"
    let_go
}

# A listing without what cannot be known now would stay in the kernel's cache.
locked_while_listing() {
    sql "$S" "UPDATE blocks SET instances = x'0001000000803f0df00d90' WHERE loc = $(key $C)"
    up
    hold 'BEGIN EXCLUSIVE'
    same 'chunks' "$(ls "$M/chunks" | sort)" "$(voxel chunks "$PRISTINE" | sort)"
    same 'attributes' "$(stat -c %F "$M/chunks/$C" "$M/chunks/$C2" | uniq)" directory
    same 'files of a chunk' "$(py 'print(err(os.listdir, a[0]))' "$M/chunks/$C")" EBUSY
    same 'instances' "$(py 'print(err(get, a[0]))' "$M/chunks/$C/instances.bin")" EBUSY
    let_go
    same 'files of the chunk' "$(ls "$M/chunks/$C" | paste -sd ' ')" \
        'channels instances.bin metadata.txt raw.bin voxels.csv'
    want cp -r "$M/chunks/$C" "$M/chunks/7_7_7"
    want cmp "$M/chunks/$C/instances.bin" "$M/chunks/7_7_7/instances.bin"
    down
}

# key CHUNK: its row's key as SQL.
key() {
    IFS=_ read -r x y z <<<"$1"
    echo "'$x,$y,$z,0'"
}

changed_outside() {
    up
    cat "$M/chunks/$C2/channels/data5.txt" >"$D/kept"
    sql "$S" "UPDATE blocks SET vb = (SELECT vb FROM blocks WHERE loc = $(key $C)) WHERE loc = $(key $C2)"
    soon cmp -s "$M/chunks/$C2/raw.bin" "$M/chunks/$C/raw.bin" || sync "$M/info.txt"
    sql "$S" "DELETE FROM blocks WHERE loc = $(key $C2)"
    soon gone "$M/chunks/$C2"
    want sh -c "echo 'fill 9' >'$M/chunks/$C/channels/data5.txt'"
    down
    differs "changed $C data5,removed $C2"
}

gone() {
    [ ! -e "$1" ] || { sync "$M/info.txt"; false; }
}

# The game changes a row between the write of an edit and its close: what the file shows is another text then.
conflict_is_told() {
    local file
    up
    file=$(cd "$M/chunks/$C" && for file in channels/*; do cmp -s "$file" "../$C2/$file" || break; done; echo "$file")
    cp "$M/chunks/$C/$file" "$D/text"
    same 'close' "$(py '
import sqlite3
fd = os.open(a[0], os.O_WRONLY)
os.write(fd, get(a[0]))
db = sqlite3.connect(a[1])
db.execute(a[2])
db.commit()
db.close()
open(a[3], "wb").write(get(a[1]))
print(err(os.close, fd))' "$M/chunks/$C/$file" "$S" \
        "UPDATE blocks SET vb = (SELECT vb FROM blocks WHERE loc = $(key $C2)) WHERE loc = $(key $C)" \
        "$D/theirs")" ESTALE
    down 3
    want cmp "$S" "$D/theirs"
    want cmp "$D"/*.rejected-*/chunks/$C/"$file" "$D/text"
}

# An edit waits for the lock of the game, which then commits the same row. The row is the unit: edits of others are
# taken, also while the game goes on to write.
conflict_of_one_row() {
    up
    same 'closes' "$(py '
import sqlite3
def game(sql):
    db = sqlite3.connect(a[2])
    db.execute(sql)
    db.commit()
    db.close()
db = sqlite3.connect(a[2])
db.execute("BEGIN IMMEDIATE")
db.execute(a[3])
print(err(put, a[0], b"fill 9\n"))
db.commit()
db.close()
for i in range(20):
    game(f"UPDATE blocks SET vb = vb WHERE loc = {a[4]}")
    print(err(put, a[1], b"fill %d\n" % (i % 7 + 1)))
open(a[5], "wb").write(get(a[2]))' "$M/chunks/$C/channels/data5.txt" \
        "$M/chunks/$C2/channels/data5.txt" "$S" \
        "UPDATE blocks SET vb = (SELECT vb FROM blocks WHERE loc = $(key $C2)) WHERE loc = $(key $C)" \
        "$(key $C)" "$D/theirs" | sort | uniq -c | sed 's/^ *//' | paste -sd ,)" '1 EBUSY,20 ok'
    down 3
    want cmp "$S" "$D/theirs"
    wants_not "$TFS_BIN" import "$D"/*.unsaved-* "$S"
    want cmp "$S" "$D/theirs"
    want "$TFS_BIN" import --force "$D"/*.unsaved-* "$S"
    same 'the edit' "$("$TFS_BIN" cat "$S" "chunks/$C/channels/data5.txt" | tail -n 1)" 'fill 9'
}

# Another row is nobody's conflict.
beside_the_game() {
    up
    want sh -c "echo 'fill 9' >'$M/chunks/$C/channels/data5.txt'"
    sql "$S" "DELETE FROM blocks WHERE loc = $(key $C2)"
    want sync "$M/chunks/$C/channels/data5.txt"
    down
    differs "changed $C data5,removed $C2"
}

instances() {
    local chunk=$M/lods/1/chunks/-1_0_2
    I=lods/1/-1_0_2
    up
    want cmp "$chunk/instances.bin" <(voxel instances "$S" $I)
    want sh -c "echo 'fill 9' >'$chunk/channels/data5.txt'"
    differs "changed $I data5"
    want cp "$chunk/instances.bin" "$D/instances"
    want rm "$chunk/instances.bin"
    want soon has_no_instances
    differs "changed $I instances data5"
    want cp "$D/instances" "$chunk/instances.bin"
    differs "changed $I data5"
    same 'no instances' "$(errno_of "$chunk/instances.bin" nonsense)" EBADMSG
    want sh -c "echo 'fill 0' >'$chunk/channels/data5.txt'"
    down 3
    differs ''
}

has_no_instances() {
    sync "$M/lods/1/chunks/-1_0_2"
    [ -z "$(voxel instances "$S" $I)" ]
}

damage_database() {
    sql "$S" "UPDATE blocks SET vb = x'021f000000ff' WHERE loc = $(key $C2)"
}

for format in 0 1 3; do
    saves db$format stream 30 $format
    try "database, keys $format: reads the same as the save" reads
    try "database, keys $format: chunks made, copied, moved, removed" directories
    if in_full; then
        try "database, keys $format: sed on channels" sed_rows
        try "database, keys $format: far away" far_away
    fi
done
saves db4 stream 30 4
if in_full; then
    edits 'database, schema 0'
else
    try 'database, schema 0: reads the same as the save' reads
    try 'database, schema 0: sed on channels' sed_rows
fi
saves db stream 30 2
edits 'database'
try 'database: chunks made, copied, moved, removed' directories
try 'database: far away' far_away
levels database
try 'database: locked, and saved later' locked_while_writing
try 'database: locked, and saved at unmount' locked_until_unmount
try 'database: locked until the end' locked_for_good
try 'database: not even read at the end' unreadable_at_unmount
try 'database: locked against readers' locked_while_reading
try 'database: locked against a listing' locked_while_listing
try 'database: changed by others' changed_outside
try 'database: another row changed by others' beside_the_game
try 'database: a conflict is told' conflict_is_told
try 'the conflict of one row is none of others' conflict_of_one_row
try 'database: blocks of another size' misfits
try 'database: a damaged block' damaged damage_database

samples 3 "$GODOT"/*/*.sqlite
if [ -d "$GODOT" ]; then
    SAVE_NAME=stream.sqlite
    PRISTINE=$T/pristine/$SAVE_NAME
    cp "$GODOT/engine_v4/stream_coord2.sqlite" "$PRISTINE" && chmod u+w "$PRISTINE"
    try 'database: instances' instances
    try 'database: locked until the end, instances that were removed' removal_of_instances_locked
fi
finish
