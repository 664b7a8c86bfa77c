#!/usr/bin/env bash
# Documents that are refused: nothing of the save changes, the writer is told, the sentence is in the log, the
# bytes are kept, and the file shows again what was accepted.
. "$(dirname "$0")/lib.sh"

setup() {
    up
    P=chunks/$C/blocks.txt
    cp "$M/$P" "$D/accepted"
}

# After a refusal: log, file, rejected bytes, save. left TEXT PLACE
left() {
    logged "$P:$2: [^ ].*"
    soon cmp -s "$M/$P" "$D/accepted" || note "the file does not show the accepted content"
    printf '%b' "$1" >"$D/wanted"
    soon cmp -s "$M/.terrainfs/rejected/$P" "$D/wanted" ||
        note "the bytes are not in .terrainfs/rejected/$P"
    want cmp "$PRISTINE" "$S"
    want grep -q . "$M/chunks/$C/voxels.csv"
}

# The same after unmount: status 3, the bytes beside the save.
unsaved() {
    local found
    down 3
    found=$(find "$D" -path "*/$SAVE_NAME.rejected-*/$P" -type f)
    [ -n "$found" ] || note "no $P in $SAVE_NAME.rejected-DATE: $(ls -A "$D")"
    [ -z "$found" ] || want cmp "$found" <(printf '%b' "$1")
    want cmp "$PRISTINE" "$S"
}

BAD='palette 0 base:air\npalette 1 base:x\n\nfill 300\n' BAD_AT=4:6

refuses_at_close() {
    setup
    same 'write, close' "$(py '
fd = os.open(a[0], os.O_WRONLY | os.O_TRUNC)
print(err(os.write, fd, a[1].encode().decode("unicode_escape").encode()), err(os.close, fd))' "$M/$P" "$BAD")" \
        'ok EBADMSG'
    left "$BAD" "$BAD_AT"
    unsaved "$BAD"
}

refuses_at_fsync() {
    setup
    same 'fsync, again, close' "$(py '
fd = os.open(a[0], os.O_WRONLY | os.O_TRUNC)
err(os.write, fd, a[1].encode().decode("unicode_escape").encode())
print(err(os.fsync, fd), err(os.fsync, fd), err(os.close, fd))' "$M/$P" "$BAD")" \
        'EBADMSG EBADMSG EBADMSG'
    left "$BAD" "$BAD_AT"
    unsaved "$BAD"
}

refuses_at_rename() {
    setup
    printf '%b' "$BAD" >"$M/$P.tmp"
    same 'rename' "$(py 'print(err(os.rename, a[0], a[1]))' "$M/$P.tmp" "$M/$P")" EBADMSG
    logged "$P:$BAD_AT: "
    want cmp "$M/$P" "$D/accepted"
    want cmp "$PRISTINE" "$S"
    want cmp "$M/$P.tmp" <(printf '%b' "$BAD")
    want rm "$M/$P.tmp"
    left "$BAD" "$BAD_AT"
    unsaved "$BAD"
}

refuses_tools() {
    setup
    printf '%b' "$BAD" >"$D/bad"
    wants_not cp "$D/bad" "$M/$P"
    left "$BAD" "$BAD_AT"
    wants_not dd if="$D/bad" of="$M/$P"
    wants_not sed -i "s/^palette 0 .*/palette 7 base:air/" "$M/$P"
    wants_not install -m 644 "$D/bad" "$M/$P"
    soon cmp -s "$M/$P" "$D/accepted"
    want cmp "$PRISTINE" "$S"
    timeout 60 "$TFS_BIN" umount "$M"
    same 'status of umount' $? 3
    want cmp "$PRISTINE" "$S"
}

# The handle reads its bytes as written, all others what is accepted; good bytes after bad ones are accepted.
good_after_bad() {
    setup
    sed "s/ $B\$/ base:good/" "$D/accepted" >"$D/good"
    same 'fsync, what it reads, what others read, fsync, close' "$(py '
bad, was = b"nonsense", get(a[0])
fd = os.open(a[0], os.O_RDWR | os.O_TRUNC)
os.write(fd, bad)
print(err(os.fsync, fd), os.pread(fd, 99, 0) == bad, get(a[0]) == was, end=" ")
os.ftruncate(fd, 0)
os.pwrite(fd, get(a[1]), 0)
print(err(os.fsync, fd), err(os.close, fd))' "$M/$P" "$D/good")" 'EBADMSG True True ok ok'
    want soon cmp -s "$M/$P" "$D/good"
    down
    block_is "$V" base:good
    changes "changed $C blocks"
}

# `>` closes the empty file before the first byte comes: bash's printf, and two cats.
shell_redirections() {
    setup
    sed "s/ $B\$/ base:good/" "$D/accepted" >"$D/good"
    head -c 1000 "$D/good" >"$D/a"
    tail -c +1001 "$D/good" >"$D/b"
    (cat "$D/a"; cat "$D/b") >"$M/$P"
    want soon cmp -s "$M/$P" "$D/good"
    block_is "$V" base:good
    printf '%s\n' "$(<"$D/accepted")" >"$M/$P"
    want soon cmp -s "$M/$P" "$D/accepted"
    down
    changes ''
}

# Shells and scripts that do not look at what close says are told by write: hears NAME COMMAND, with the file as $1.
hears() {
    local program=$2
    command -v "${program%% *}" >/dev/null || { skip "no ${program%% *} here"; return; }
    P=chunks/$C/voxels.csv
    $program "$3" "$M/$P" >>"$D/out" 2>&1 && note "$1 says 0"
    logged "$P:[0-9]+:[0-9]+: [^ ].*"
    soon cmp -s "$M/$P" "$D/table" || note "$1: the file does not show the accepted content"
    want cmp "$PRISTINE" "$S"
}

scripts_hear_of_bad_lines() {
    setup
    cp "$M/chunks/$C/voxels.csv" "$D/table"
    hears 'bash' 'bash -c' 'echo 1,2,zzz,base:x >>"$0"'
    hears 'dash' 'dash -c' 'echo 1,2,zzz,base:x >>"$0"'
    hears 'zsh' 'zsh -fc' 'echo 1,2,zzz,base:x >>"$0"'
    hears 'perl' 'perl -e' '$| = 1; open(F, ">>", $ARGV[0]); select(F); $| = 1; print F "1,2,zzz,base:x\n" or exit 1'
    hears 'Python' "$PYTHON -c" 'import sys; f = open(sys.argv[1], "a", buffering=1); f.write("1,2,zzz,base:x\n")'
    hears 'awk' 'awk -v x=1' 'BEGIN { print "1,2,zzz,base:x" >>ARGV[1]; exit close(ARGV[1]) != 0 }'
    hears 'tee' 'sh -c' 'echo 1,2,zzz,base:x | tee -a "$0"'
    wants_not [ -e "$M/.terrainfs/rejected/$P" ]
    down
}

# What is appended goes on behind a line that was refused, which is not in the draft.
goes_on_behind_a_bad_line() {
    setup
    P=chunks/$C/voxels.csv
    same 'writes, close' "$(py '
fd = os.open(a[0], os.O_WRONLY | os.O_APPEND)
print(err(os.write, fd, b"1,2,zzz"), err(os.write, fd, b",base:x\n1,2,3,base:y\n"), err(os.write, fd, b"\n"), err(os.close, fd), end=" ")
fd = os.open(a[0], os.O_WRONLY | os.O_APPEND)
for line in b"1,2,zzz,base:x\n", a[1].encode() + b",base:one\n", b"\"a\n", a[1].encode() + b",base:last\n":
    print(err(os.write, fd, line), end=" ")
print(err(os.close, fd))' "$M/$P" "$V")" 'ok EBADMSG EBADMSG EBADMSG EBADMSG ok ok ok EBADMSG'
    logged "$P:$(($(wc -l <"$M/$P") + 1)):[0-9]+: "
    down 3
}

# Ten thousand lines cost what ten thousand lines cost.
many_lines() {
    up
    P=chunks/$C/voxels.csv
    same 'close' "$(py '
fd = os.open(a[0], os.O_WRONLY | os.O_APPEND)
for i in range(10000):
    os.write(fd, b"%s,base:n%d\n" % (a[1].encode(), i % 7))
os.write(fd, a[1].encode() + b",base:last\n")
print(err(os.close, fd))' "$M/$P" "$V")" ok
    down
    block_is "$V" base:last
}

# What came before a bad line is no document: nothing of it is taken, whatever the writer does then.
half_a_document() {
    setup
    P=chunks/$C/voxels.csv
    cp "$M/$P" "$D/table"
    same 'a long table with a bad line behind its middle' "$(py '
good = open(a[1]).read()
fd = os.open(a[0], os.O_WRONLY | os.O_TRUNC)
print(err(os.write, fd, good.encode()), err(os.write, fd, b"1,2,zzz,base:x\n"),
      err(os.write, fd, good.encode()), err(os.fsync, fd), err(os.close, fd))' "$M/$P" "$D/table")" \
        'ok ok ok EBADMSG EBADMSG'
    want soon cmp -s "$M/$P" "$D/table"
    want cmp "$M/.terrainfs/rejected/$P" <(cat "$D/table"; echo 1,2,zzz,base:x; cat "$D/table")
    down 3
    want cmp "$PRISTINE" "$S"
}

# sentence FILE LINE:COLUMN TEXT WORDS: TEXT written to FILE is refused with a sentence that has WORDS.
sentence() {
    same "$1, close" "$(py '
fd = os.open(a[0], os.O_WRONLY | os.O_TRUNC)
err(os.write, fd, a[1].encode().decode("unicode_escape").encode("latin-1"))
print(err(os.close, fd))' "$M/chunks/$C/$1" "$3")" EBADMSG
    logged "chunks/$C/$1:$2: .*($4)"
}

sentences() {
    local head='palette 0 base:air\npalette 1 base:x\n\n'
    setup
    : >"$M/chunks/$C/blocks.txt" # which is no write, and refused soon behind the close
    soon grep -q 'blocks.txt:' "$M/.terrainfs/errors.log"
    sentence blocks.txt '4:6' "${head}fill 2\n" 'palette has 2 entries'
    sentence blocks.txt '4:[0-9]+' "${head}y=01 z=00 | 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n" 'y=01|label'
    sentence blocks.txt '4:[0-9]+' "${head}y=00 z=00 | 0 0 0 0 0 0 0 0 x 0 0 0 0 0 0 0\n" 'x'
    sentence blocks.txt '[0-9:]+' "${head}y=00 z=00 | 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n" 'row'
    sentence blocks.txt '3:1' 'palette 1 base:air\n\nfill 0\n' 'palette|index'
    sentence palette.txt '1:[0-9]+' 'zero base:air\n' 'zero'
    sentence voxels.csv '2:[0-9]+' 'x,y,z,block\n999,0,0,base:x\n' '999'
    sentence voxels.csv '2:[0-9]+' 'x,y,z,block\n1,2,base:x\n' '.'
    sentence voxels.csv '2:[0-9]+' "x,y,z,block\\n$V,\\n" 'name|empty'
    sentence lights/sky.txt '1:6' 'fill 16\n' '16'
    sentence lights/block.txt '1:6' 'fill fff0\n' 'fff0'
    sentence blocks.txt '1:[0-9]+' 'palette 0 base:\xff\xfe\n\nfill 0\n' 'UTF-8'
    sentence blocks.txt '1:[0-9]+' 'palette 0 base:\\q\n\nfill 0\n' 'escape|q'
    want cmp "$PRISTINE" "$S"
    down 3
    want cmp "$PRISTINE" "$S"
}

refuses_raw() {
    setup
    same 'raw.bin, close' "$(py '
fd = os.open(a[0], os.O_WRONLY | os.O_TRUNC)
os.write(fd, b"\x09nonsense")
print(err(os.close, fd))' "$M/chunks/$C/raw.bin")" EBADMSG
    logged "chunks/$C/raw.bin"
    region body "$PRISTINE" "$C" >"$D/body"
    want soon cmp -s "$M/chunks/$C/raw.bin" "$D/body"
    down 3
    want cmp "$PRISTINE" "$S"
}

refuses_root_palette() {
    setup
    same 'a line less, close' "$(py '
text = get(a[0])
fd = os.open(a[0], os.O_WRONLY | os.O_TRUNC)
os.write(fd, text[text.index(b"\n") + 1:])
print(err(os.close, fd))' "$M/palette.txt")" EBADMSG
    logged 'palette.txt'
    down 3
    want cmp "$PRISTINE" "$S"
}

# A refused chunk does not keep another one from being saved.
other_edits_go_on() {
    setup
    printf '%b' "$BAD" >"$D/bad"
    wants_not cp "$D/bad" "$M/$P"
    IFS=_ read -r x y z <<<"$C2"
    echo "$((x * 16)),$((y * 16)),$((z * 16)),base:other" >>"$M/chunks/$C2/voxels.csv"
    block_is "$((x * 16)),$((y * 16)),$((z * 16))" base:other
    down 3
    changes "changed $C2 blocks"
}

# A writer that never closes: at unmount its bytes are judged and, when bad, kept.
open_at_unmount() {
    setup
    py '
fd = os.open(a[0], os.O_WRONLY | os.O_TRUNC)
os.write(fd, b"never finished")
put(a[1], str(os.getpid()).encode())
time.sleep(100)' "$M/$P" "$D/ready" &
    soon [ -s "$D/ready" ]
    kill -KILL "$(cat "$D/ready")"
    wait $!
    soon grep -q . "$M/.terrainfs/errors.log"
    logged "$P:.* "
    unsaved 'never finished'
}

# rm of the rejected copy is how a user says that it is not wanted.
rejected_can_be_read_and_listed() {
    setup
    printf '%b' "$BAD" >"$D/bad"
    wants_not cp "$D/bad" "$M/$P"
    left "$BAD" "$BAD_AT"
    same 'listing' "$(cd "$M/.terrainfs/rejected" && find . -type f)" "./$P"
    wants_not grep -q rejected <(find "$M" -name rejected)
    want cp "$M/.terrainfs/rejected/$P" "$D/again"
    sed -i 's/300/1/' "$D/again"
    want cp "$D/again" "$M/$P"
    want grep -q '^fill 0' "$M/$P"
    wants_not test -e "$M/.terrainfs/rejected/$P"
    down
    changes "changed $C blocks"
    block_is "$V" base:x
}

too_large() {
    setup
    same 'truncate to 64 GiB, close' "$(py '
fd = os.open(a[0], os.O_WRONLY)
print(err(os.ftruncate, fd, 1 << 36), err(os.close, fd))' "$M/$P")" 'EFBIG ok'
    same 'write at 64 GiB' "$(py '
fd = os.open(a[0], os.O_WRONLY)
print(err(os.pwrite, fd, b"x", 1 << 36))
os.close(fd)' "$M/$P")" EFBIG
    want soon cmp -s "$M/$P" "$D/accepted"
    down
    want cmp "$PRISTINE" "$S"
}

# Names with line ends, escape sequences and overrides of the direction: nothing that is said has any.
foreign_names() {
    local evil=$'\nterrainfs: all is well\e[2J\u009b\u202e' line
    wants_not "$TFS_BIN" "$D/nosuch$evil" "$M" 2>"$D/said"
    mv "$S" "$D/a$evil" && S=$D/a$evil
    mkdir "$M"
    want "$TFS_BIN" -f "$S" "$M" 2>>"$D/said" &
    soon grep -qs . "$M/info.txt" || note 'not mounted'
    wants_not mkdir "$M/chunks/x$evil"
    printf x >"$M/scratch$evil"
    want grep -q 'x\\nterrainfs: all is well\\x1b\[2J\\xc2\\x9b\\xe2\\x80\\xae: a chunk directory' \
        "$M/.terrainfs/errors.log"
    cat "$M/.terrainfs/errors.log" "$M/.terrainfs/status" >>"$D/said"
    want "$TFS_BIN" umount "$M" 2>>"$D/said"
    wait
    wants_not "$TFS_BIN" umount "$D/none$evil" 2>>"$D/said"
    while IFS= read -r line; do
        case $line in *all\ is\ well*) [[ $line == *'\nterrainfs: all is well'* ]] ||
            note "a line of its own: $line" ;;
        esac
    done <"$D/said"
    want grep -q 'scratch\\nterrainfs.* not kept' "$D/said"
    wants_not grep -qP '[\x00-\x1f\x7f\x{80}-\x{9f}\x{202e}]' "$D/said"
}

# Nowhere to put them beside the save: they go below XDG_STATE_HOME.
state_directory() {
    [ "$(id -u)" = 0 ] || { skip 'needs root'; return; }
    mkdir "$D/sub" "$D/ro"
    mv "$S" "$D/sub/" && S=$D/sub/$SAVE_NAME
    setup
    printf '%b' "$BAD" >"$D/bad"
    wants_not cp "$D/bad" "$M/$P"
    chattr +i "$D/sub" 2>/dev/null || { skip 'no immutable directories here'; return; }
    timeout 60 "$TFS_BIN" umount "$M" 2>"$D/said"
    same 'status of umount' $? 3
    chattr -i "$D/sub"
    want grep -q "1 refused text is kept in $XDG_STATE_HOME/terrainfs/$SAVE_NAME.rejected-" "$D/said"
    want grep -rqx 'fill 300' "$XDG_STATE_HOME"
    want cmp "$PRISTINE" "$S"
}

# Nowhere to put them at all: each is named.
no_room_at_unmount() {
    local disk
    small_disk || return
    want mount -o remount,size=1m "$disk"
    export XDG_STATE_HOME=$disk/state
    setup
    echo 'a,b' >"$M/chunks/$C/voxels.csv"
    wants_not cp <(printf '%b' "$BAD") "$M/$P"
    fill_disk
    down 3
    want grep -q "chunks/$C/voxels.csv, $P were refused and are not kept: No space left" "$D/umount.err"
    want cmp "$PRISTINE" "$S"
    export XDG_STATE_HOME=$T/state
}

# git sees nothing of them.
git_ignores_them() {
    want git -C "$D" init -q
    up
    echo "a,b" >"$M/chunks/$C/voxels.csv"
    down 3
    want grep -qx a,b "$D/$SAVE_NAME".rejected-*/"chunks/$C/voxels.csv"
    same 'what git sees of it' "$(git -C "$D" status --porcelain -uall | grep -F rejected)" ''
}

# cp, tar, rsync --delete and git leave it alone.
not_listed() {
    up
    echo 'a,b' >"$M/chunks/$C/voxels.csv"
    wants_not grep -qx '\.terrainfs' <(ls -A "$M")
    want grep -q 'voxels.csv:1:' "$M/.terrainfs/errors.log"
    want rm -r "$M/.terrainfs/rejected/chunks"
    down
}

# The kernel tells of the last close behind close(2), and another thread may serve what comes after it.
read_behind_a_close() {
    local tardy
    tardy=$(dirname "$TFS_TOOLS")/torture/tardy.so
    [ -z "${TFS_TEST_SANITIZED:-}" ] || { skip 'nothing is preloaded under sanitizers'; return; }
    LD_PRELOAD=$tardy up -o threads=8
    P=chunks/$C/blocks.txt
    same 'what is read behind a close' "$(py '
before = open(a[0], "rb").read()
for i in range(3):
    fd = os.open(a[0], os.O_WRONLY | os.O_TRUNC)
    err(os.write, fd, a[1].encode().decode("unicode_escape").encode())
    print(err(os.close, fd), open(a[0], "rb").read() == before)' "$M/$P" "$BAD" | sort -u)" 'EBADMSG True'
    down 3
}

# A writer that has written nothing yet keeps nothing as it was: what was refused meanwhile leaves no draft, which
# would hide what other views change and take it back with the next append.
open_writers_go_on() {
    up
    same "$1" "$(py '
chunk, voxel = a[:2]
voxels = chunk + "/voxels.csv"
fd = os.open(voxels, os.O_RDWR | os.O_APPEND)
'"$2"'
put(chunk + "/blocks.txt", b"palette 0 base:air\npalette 1 base:new\n\nfill 1\n")
print(len(get(voxels).splitlines()))
os.write(fd, voxel.encode() + b",base:inside\n")
os.close(fd)' "$M/chunks/$C" "$V")" "$3
4097"
    down
    same 'voxels in the save' "$("$TFS_BIN" cat "$S" "chunks/$C/voxels.csv" | wc -l)" 4097
    block_is "$V" base:inside
}

try 'refused at close' refuses_at_close
try 'a file that is read behind a close that was refused' read_behind_a_close
try 'refused at fsync' refuses_at_fsync
try 'refused at rename' refuses_at_rename
try 'a rename that is refused leaves open writers alone' open_writers_go_on rename '
put(chunk + "/new", b"nonsense\n")
print(err(os.rename, chunk + "/new", voxels))
os.unlink(chunk + "/new")' EBADMSG
try 'a write that is refused leaves open writers alone' open_writers_go_on write '
other = os.open(voxels, os.O_RDWR)
print(err(os.pwrite, other, b"x", 1 << 33))
os.close(other)' EFBIG
try 'a truncate that is refused leaves open writers alone' open_writers_go_on truncate '
print(err(os.truncate, voxels, 1 << 33))' EFBIG
try 'cp, dd, sed -i, install report it' refuses_tools
try 'good bytes after bad ones' good_after_bad
try 'redirections that close early' shell_redirections
try 'scripts that do not look at close hear of bad lines' scripts_hear_of_bad_lines
try 'what is appended behind a line that was refused' goes_on_behind_a_bad_line
try 'ten thousand lines appended' many_lines
try 'nothing of a document with a bad line is taken' half_a_document
try 'sentences with line and column' sentences
try 'raw.bin that does not parse' refuses_raw
try 'a palette with a line less' refuses_root_palette
try 'edits of other chunks go on' other_edits_go_on
try 'a writer that is killed' open_at_unmount
try 'rejected bytes, mended and written' rejected_can_be_read_and_listed
try 'a document that is too large' too_large
try 'foreign names in what is said' foreign_names
try 'refused texts below XDG_STATE_HOME' state_directory
try 'refused texts for which there is no room' no_room_at_unmount
try 'refused texts beside a save in a work tree of git' git_ignores_them
try 'where refusals are said is not listed' not_listed
finish
