# shellcheck shell=bash
# What the scripts of Godot Voxel Tools share: saves and what voxel.py, which shares no code with the program,
# says of them; edits that every container takes, with sed, echo, grep, vim, git, cp, mv and Python.
GODOT=$(dirname "$SAMPLES")/godot_voxel
export GIT_AUTHOR_NAME=tester GIT_AUTHOR_EMAIL=tester@example.org
export GIT_COMMITTER_NAME=tester GIT_COMMITTER_EMAIL=tester@example.org

voxel() {
    "$PYTHON" -S "$ROOT/tests/tools/voxel.py" "$@"
}

make_voxel() {
    "$TFS_TOOLS/make_voxel" "$@"
}

# saves NAME KIND [N [M]]: the pristine save of the following tests; chunk $C of it with voxel $V, and another
# chunk $C2; their blocks differ, and their voxels are as $EMPTY says where there is nothing.
saves() {
    SAVE_NAME=$1
    PRISTINE=$T/pristine/$1
    make_voxel "$2" "$PRISTINE" "${@:3}"
    C=0_0_0 V=3,4,5 C2=1_1_1 X=3
    case $2 in
    stream) C=-49_-1_-50 V=-781,-12,-795 C2=-21_-1_-50 X=-781 ;;
    esac
    VERSION=$(voxel block "$PRISTINE" $C | cut -d ' ' -f 2)
    EMPTY='0 32767' ITEM='u64 77' SECTION=00030004000500014d00000000000000
    if [ "$VERSION" = 2 ]; then
        EMPTY='0 65535' ITEM='variant 0200000005000000' SECTION=000000000300040005000200000005000000
    fi
}

# differs WANTED: lines of voxel.py diff, joined by commas.
differs() {
    settle_mounted
    differs_on_disk "$1"
}

# The same, as the save is by now.
differs_on_disk() {
    same 'what changed in the save' "$(voxel diff "$PRISTINE" "$S" | sort | paste -sd ,)" "$1"
}

# All blocks have their bytes again; what lies behind that of $C in its sectors may be another rest.
reverted() {
    settle_mounted
    same 'what is left of the edits' \
        "$(voxel diff "$PRISTINE" "$S" | grep -vx "changed $C sectors" | paste -sd ,)" ''
}

# voxel_is X,Y,Z 'TYPE SDF'
voxel_is() {
    settle_mounted
    same "voxel at $1" "$(voxel voxel "$S" ${1//,/ } | cut -d ' ' -f 1,2)" "$2"
}

was() {
    voxel voxel "$PRISTINE" ${1//,/ } | cut -d ' ' -f 1,2
}

# All files of a save with their bytes, inodes and times.
all_identity() {
    find "$1" -type f -exec stat -c '%n %i %s %y %z %a %u:%g' {} + -exec cksum {} + | sort
}

errno_of() {
    py 'print(err(put, a[0], a[1].encode()))' "$1" "$2"
}

sees() {
    grep -qx "$1" "$2" || { sync "$M/info.txt"; false; }
}

# ---- every container ------------------------------------------------------------------------------------

reads() {
    local before name
    before=$(all_identity "$S")
    up
    same 'chunks' "$(cd "$M" && find chunks lods -mindepth 1 -maxdepth 1 -name '*_*_*' 2>/dev/null |
        sed 's|^chunks/||' | sort)" "$(voxel chunks "$S" | sort)"
    want grep -q '^format: godot_voxel$' "$M/info.txt"
    want grep -q "^block version: $VERSION in " "$M/info.txt"
    for name in $C $C2; do
        [ -d "$M/chunks/$name" ] || continue
        want cmp "$M/chunks/$name/raw.bin" <(voxel raw "$S" $name)
        same 'first file' "$(ls -U "$M/chunks/$name" | head -1)" raw.bin
        same 'channels' "$(ls "$M/chunks/$name/channels" | wc -l)" 8
    done
    wants_not grep -rq nosuchname "$M"
    find "$M/chunks/$C" -type f | while read -r file; do
        [ "$(stat -c %s "$file")" = "$(wc -c <"$file")" ] || note "wrong size: $file"
    done
    find "$M/chunks/$C" -type f ! -name raw.bin | while read -r file; do
        cat "$file" >"$D/same" && cat "$D/same" >"$file" || note "cannot be written back: $file"
    done
    down
    same 'the save, bytes, inodes and times' "$(all_identity "$S")" "$before"
    want diff -r "$PRISTINE" "$S"
}

sed_rows() {
    local file=$M/chunks/$C/channels/type.txt
    up
    want sed -i '/|/s/     *[0-9]*$/  777/' "$file"
    differs "changed $C type"
    same 'last of a row' "$(sed -n '3s/.* //p' "$file")" 777
    want grep -q ',777,' "$M/chunks/$C/voxels.csv"
    want sed -i 's/^fill 0$/fill 9/' "$M/chunks/$C/channels/data5.txt"
    differs "changed $C type data5"
    down
    want voxel check "$S"
    want "$TFS_BIN" check "$S"
}

append_voxel() {
    local table=$M/chunks/$C/voxels.csv before distance=-5
    before=$(was $V)
    [ "$VERSION" = 4 ] || distance=5
    up
    same 'header' "$(head -1 "$table")" x,y,z,type,sdf
    want sh -c "echo '$V,1234,$distance' >>'$table'"
    voxel_is $V "1234 $distance"
    differs "changed $C type sdf"
    want sh -c "grep -v '^$V,' '$table' >'$D/without'"
    want cp "$D/without" "$table"
    voxel_is $V "$EMPTY"
    want sh -c "echo '$V,${before/ /,}' >>'$table'"
    down
    reverted
}

# A line of metadata and none; what the engine would misread is refused.
metadata() {
    local file=$M/chunks/$C/metadata.txt
    up
    same 'size without metadata' "$(stat -c %s "$file")" 0
    want sh -c "echo 'voxel 3 4 5 $ITEM' >>'$file'"
    same 'section' "$(voxel metadata "$S" $C)" $SECTION
    differs "changed $C metadata"
    same 'position outside' "$(errno_of "$file" 'voxel 16 0 0 empty
')" EBADMSG
    logged 'metadata.txt:1:'
    same 'not UTF-8' "$(py 'print(err(put, a[0], b"voxel 0 0 0 \xff\xfe\n"))' "$file")" EBADMSG
    same 'section' "$(voxel metadata "$S" $C)" $SECTION
    want sh -c ": >'$file'"
    reverted
    down # the refused texts went when the file was mended
}

python_script() {
    local below
    below=$(was $V)
    up
    want py '
path, x0 = a[0], int(a[1])
with open(path) as f:
    head, *lines = f.read().split("\n")
out = [head]
for line in filter(None, lines):
    x, y, z, *cell = line.split(",")
    if int(x) == x0:
        cell[0] = "4321"
    out.append(",".join([x, y, z, *cell]))
with open(path, "w") as f:
    f.write("\n".join(out) + "\n")
' "$M/chunks/$C/voxels.csv" $X
    voxel_is $V "4321 ${below#* }"
    differs "changed $C type"
    down
}

# vim saves by renaming and by its own backup rules; git by reading everything.
editors() {
    local git="git --git-dir=$D/w.git --work-tree=$M"
    up
    want $git init -q
    want $git add -A chunks/$C
    want $git commit -qm before
    want vim -es -c '%s/fill 0/fill 7/' -c wq "$M/chunks/$C/channels/data7.txt"
    differs "changed $C data7"
    same 'git diff' "$($git diff -U0 | grep '^[-+][^-+]' | paste -sd ,)" '-fill 0,+fill 7'
    want $git checkout -q -- chunks/$C/channels/data7.txt
    down
    differs ''
}

refused() {
    local dir=$M/chunks/$C/channels
    up
    same 'a value too large' "$(errno_of "$dir/type.txt" 'fill 65536
')" EBADMSG
    logged 'type.txt:1:6: '
    same 'rows that are cut' "$(errno_of "$dir/sdf.txt" '
y=00 z=00 | 1 2 3
')" EBADMSG
    same 'a block of nothing' "$(errno_of "$M/chunks/$C/raw.bin" x)" EBADMSG
    same 'writing info.txt' "$(errno_of "$M/info.txt" x)" EACCES
    differs ''
    down 3
    differs ''
}

# What close() accepted is there after a kill at once, whatever the mode is.
survives_a_kill() {
    local mode
    for mode in auto close; do
        rm -rf "$S" && cp -Rp "$PRISTINE" "$S"
        killable "commit=$mode"
        want sh -c "echo 'fill 3' >'$M/chunks/$C/channels/data5.txt'"
        want sh -c "echo 'fill 4' >'$M/chunks/$C/channels/data6.txt'"
        murder
        up
        same "edits with commit=$mode" "$(sed -sn 2p "$M/chunks/$C"/channels/data[56].txt | paste -sd ,)" 'fill 3,fill 4'
        down
        differs_on_disk "changed $C data5 data6"
    done
}

# Chunks removed, copied, moved, made, all where the save can hold them.
directories() {
    up
    want rm -r "$M/chunks/$C2"
    differs "removed $C2"
    want cp -r "$M/chunks/$C" "$M/chunks/$C2"
    differs "changed $C2 type sdf"
    want cmp "$M/chunks/$C/raw.bin" "$M/chunks/$C2/raw.bin"
    want rm -r "$M/chunks/$C2"
    want mv "$M/chunks/$C" "$M/chunks/$C2"
    differs "changed $C2 type sdf,removed $C"
    want mkdir "$M/chunks/$C"
    same 'no coordinate' "$(py 'print(err(os.mkdir, a[0]))' "$M/chunks/01_0_0")" EINVAL
    down
    want voxel check "$S"
    same 'block of the new chunk' "$(voxel block "$S" $C)" \
        "$(voxel block "$PRISTINE" $C | sed 's/ dense.*/ dense/')"
    voxel_is $V "$EMPTY"
}

far_away() {
    up
    want cp -r "$M/chunks/$C" "$M/chunks/-70_3_90"
    want cmp "$M/chunks/$C/raw.bin" "$M/chunks/-70_3_90/raw.bin"
    same 'first voxel' "$(sed -n '2s/,[^,]*,[^,]*$//p' "$M/chunks/-70_3_90/voxels.csv")" -1120,48,1440
    want mv "$M/chunks/-70_3_90" "$M/chunks/-71_3_90"
    differs 'added -71_3_90'
    want rm -r "$M/chunks/-71_3_90"
    down
    differs ''
}

# ---- levels of detail -----------------------------------------------------------------------------------

# with_levels: $D/there is a database with four chunks of each of levels 1 and 2, mounted; $LEVELS are their names.
with_levels() {
    local level name
    there levels:stream 4
    mkdir -p "$D/tree/chunks"
    for level in 1 2; do
        mkdir -p "$D/tree/lods/$level/chunks"
        for name in 0_0_0 -1_0_2 3_-1_0 1_1_1; do
            cp -r "$D/there/chunks/-49_-1_-50" "$D/tree/lods/$level/chunks/$name"
            rm "$D/tree/lods/$level/chunks/$name/voxels.csv" # it names the place that it comes from
        done
    done
    unmount "$D/there"
    want "$TFS_BIN" import "$D/tree" "$D/levels"
    mount_at "$D/levels" "$D/there"
    LEVELS=$(voxel chunks "$D/levels" | grep lods | sort)
    same 'chunks of levels' "$(wc -l <<<"$LEVELS")" 8
}

# has_levels SAVE: the levels of $D/there, and no other.
has_levels() {
    same 'levels' "$(voxel sums "$1" | grep lods)" "$(voxel sums "$D/levels" | grep lods)"
    want voxel check "$1"
}

levels_copied() {
    with_levels
    up
    wants_not test -e "$M/lods"
    want cp -r "$D/there/lods" "$M/"
    want diff -r "$D/there/lods" "$M/lods"
    down
    has_levels "$S"
    up
    want diff -r "$D/there/lods" "$M/lods"
    want rm -r "$M/lods/1"
    same 'levels' "$(ls "$M/lods")" 2
    want rm -r "$M/lods"
    wants_not test -e "$M/lods"
    down
    differs ''
}

levels_unpacked() {
    with_levels
    up
    want tar -C "$D/there" -cf "$D/levels.tar" lods
    want tar -C "$M" -xf "$D/levels.tar"
    want tar -C "$M" -df "$D/levels.tar"
    want tar -C "$M" -xpf "$D/levels.tar"
    down
    has_levels "$S"
}

levels_synced() {
    command -v rsync >/dev/null || { skip 'rsync is not installed'; return; }
    with_levels
    up
    want cp -r "$D/there/lods/1" "$D/one"
    want mkdir -p "$M/lods/2/chunks"
    want cp -r "$D/one/chunks/0_0_0" "$M/lods/2/chunks/7_7_7"
    want rsync -a --delete "$D/there/lods" "$M/"
    want diff -r "$D/there/lods" "$M/lods"
    want rm -r "$D/there/lods/2"
    want rsync -a --delete "$D/there/lods" "$M/"
    same 'levels' "$(ls "$M/lods")" 1
    want rm -r "$D/there/lods"
    want rsync -a --delete --exclude '/*.txt' --exclude '/*.png' --exclude '/chunks/*' "$D/there/" "$M/"
    wants_not test -e "$M/lods"
    down
    differs ''
}

# Made, listed and never filled: the save has no empty level.
levels_made() {
    up
    want mkdir -p "$M/lods/2/chunks"
    same 'what is there' "$(cd "$M" && find lods | paste -sd ' ')" 'lods lods/2 lods/2/chunks'
    same 'mkdir again' "$(py 'print(err(os.mkdir, a[0]), err(os.mkdir, a[1]))' "$M/lods" "$M/lods/2")" \
        'EEXIST EEXIST'
    same 'rmdir' "$(py 'print(err(os.rmdir, a[0]), err(os.rmdir, a[1]))' "$M/lods" "$M/lods/2")" \
        'ENOTEMPTY ENOTEMPTY'
    same 'no number' "$(py 'print(err(os.mkdir, a[0]))' "$M/lods/two")" EINVAL
    logged '^lods/two: a directory in lods is named N, '
    same 'no level' "$(py 'print(err(os.mkdir, a[0]))' "$M/lods/24")" EINVAL
    logged '^lods/24: this save holds lods/1 to lods/[0-9]* only$'
    want mkdir "$M/lods/2/chunks/-5_0_3" "$M/lods/1"
    want soon test -e "$M/lods/2/chunks/-5_0_3/voxels.csv"
    same 'mv into a level' "$(py 'print(err(os.rename, a[0], a[1]))' "$M/lods/2" "$M/lods/1/2")" EPERM
    want rmdir "$M/lods/1"
    want mv "$M/lods/2" "$M/lods/1"
    same 'levels' "$(ls "$M/lods")" 1
    down
    differs 'added lods/1/-5_0_3'
    up
    want rm -r "$M/lods/1/chunks/-5_0_3"
    same 'what is left' "$(cd "$M" && find lods | paste -sd ' ')" 'lods lods/1 lods/1/chunks'
    down
    differs ''
    up
    wants_not test -e "$M/lods"
    down
}

# Killed between the chunks of a copy: what was made is there whole, and the copy can be made again.
levels_killed() {
    with_levels
    up
    want mkdir -p "$M/lods/1/chunks" "$M/lods/2"
    want cp -r "$D/there/lods/1/chunks/0_0_0" "$M/lods/1/chunks/"
    kill_daemon
    soon fusermount3 -u "$M"
    up
    same 'what is on disk' "$(voxel diff "$PRISTINE" "$S")" 'added lods/1/0_0_0'
    want cmp <(voxel raw "$S" lods/1/0_0_0) <(voxel raw "$D/levels" lods/1/0_0_0)
    same 'levels' "$(cd "$M" && find lods -maxdepth 3 | sort | paste -sd ' ')" \
        'lods lods/1 lods/1/chunks lods/1/chunks/0_0_0'
    want cp -r "$D/there/lods" "$M/"
    down
    has_levels "$S"
}

levels() {
    try "$1: levels of detail, cp -r and rm -r" levels_copied
    try "$1: levels of detail, tar x" levels_unpacked
    try "$1: levels of detail, rsync -a --delete" levels_synced
    try "$1: levels of detail, mkdir -p" levels_made
    try "$1: levels of detail, killed during a copy" levels_killed
}

# levels_refused WHY: a place that holds level 0 alone.
levels_refused() {
    up
    same 'mkdir lods' "$(py 'print(err(os.mkdir, a[0]))' "$M/lods")" EINVAL
    logged '^lods: this save cannot hold lods$'
    wants_not test -e "$M/lods"
    down
    want cmp "$PRISTINE" "$S"
}

# The save is under another name for a moment, and an edit meets that.
away() {
    local file=$M/chunks/$C/channels/data5.txt
    up
    want grep -q '^format: godot_voxel$' "$M/info.txt"
    mv "$S" "$D/elsewhere"
    same 'info.txt' "$(py 'print(err(get, a[0]))' "$M/info.txt")" EIO
    same 'a listing' "$(py 'print(err(os.listdir, a[0]))' "$M/chunks/$C")" EIO
    one_of 'close of an edit' "$(errno_of "$file" 'fill 9
')" EIO ESTALE
    mv "$D/elsewhere" "$S"
    want soon sees 'format: godot_voxel' "$M/info.txt"
    want sh -c "echo 'fill 9' >'$file'"
    same 'files' "$(ls "$M/chunks/$C/channels" | wc -l)" 8
    down_whatever
    differs "changed $C data5"
}

# Unmounts: the text of the edit that was refused may be kept beside the save.
down_whatever() {
    timeout 60 "$TFS_BIN" umount "$M"
    one_of 'status of umount' $? 0 3
}

# What the texts of a block say is the same in every container.
texts() {
    try "$1: a line behind voxels.csv, and without it" append_voxel
    try "$1: metadata" metadata
    try "$1: a Python script" python_script
    try "$1: vim and git" editors
}

edits() {
    try "$1: reads the same as the save" reads
    try "$1: sed on channels" sed_rows
    ! in_full || texts "$1"
    try "$1: what cannot be is refused" refused
    try "$1: what was accepted survives a kill" survives_a_kill
    try "$1: away for a moment" away
}

# ---- damage ---------------------------------------------------------------------------------------------

# A block that does not decode shows its bytes, everything else can be edited, and good bytes restore it.
damaged() {
    "$@"
    cp -R "$S" "$D/before"
    up
    same 'files' "$(ls "$M/chunks/$C2" | paste -sd ' ')" raw.bin
    want grep -q "^damaged: chunks/$C2: " "$M/info.txt"
    want cmp "$M/chunks/$C2/raw.bin" <(voxel raw "$S" $C2)
    want sh -c "echo 'fill 9' >'$M/chunks/$C/channels/data5.txt'"
    same 'writing nonsense' "$(errno_of "$M/chunks/$C2/raw.bin" x)" EBADMSG
    down 3
    want cmp <(voxel raw "$D/before" $C2) <(voxel raw "$S" $C2)
    voxel raw "$PRISTINE" $C2 >"$D/good"
    "$TFS_BIN" check "$S" >"$D/check" && note 'check finds nothing'
    want grep -q -- "$C2" "$D/check"
    up
    want cp "$D/good" "$M/chunks/$C2/raw.bin"
    same 'files' "$(ls "$M/chunks/$C2" | wc -l)" 4
    want test -e "$M/chunks/$C2/voxels.csv"
    down
    differs "changed $C data5"
    rm -rf "$S"
    cp -R "$D/before" "$S"
    up
    want rm -r "$M/chunks/$C2"
    down
    same 'removed' "$(voxel chunks "$S" | grep -cx -- "$C2")" 0
}

# ---- from one container to another ----------------------------------------------------------------------

# Mounts another save on $D/there.
there() {
    make_voxel "${1#*:}" "$D/${1%%:*}" "${@:2}"
    cp -R "$D/${1%%:*}" "$D/there.before"
    mount_at "$D/${1%%:*}" "$D/there"
}

misfits() {
    there big:region 1 5
    there_block=$D/there/chunks/0_0_0/raw.bin
    up
    same 'a block of 32 voxels a side' "$(py 'print(err(put, a[0], get(a[1])))' \
        "$M/chunks/$C/raw.bin" "$there_block")" EBADMSG
    logged 'raw.bin: the block has 32 x 32 x 32 voxels, this .* holds blocks of 16 x 16 x 16'
    down 3
    differs ''
}

# ---- real saves -----------------------------------------------------------------------------------------

# Every chunk of a sample reads as it is stored; after one edit all others have their bytes.
sample() {
    local name
    up
    find "$M" -name raw.bin -exec sha1sum {} + |
        sed -nE "s|^([0-9a-f]*) .*/mnt/(lods/[0-9]*/)?chunks/(.*)/raw.bin\$|\\2\\3 \\1|p" | sort >"$D/raw"
    voxel sums "$PRISTINE" | sort >"$D/wanted"
    want cmp "$D/raw" "$D/wanted"
    wants_not grep -rq nosuchname "$M"
    want diff -r "$PRISTINE" "$S"
    name=$(grep -v lods "$D/wanted" | head -1 | cut -d ' ' -f 1)
    want sh -c "echo 'fill 201' >'$M/chunks/$name/channels/data7.txt'"
    differs "changed $name data7"
    want cp <(voxel raw "$PRISTINE" "$name") "$M/chunks/$name/raw.bin"
    differs ''
    down
}

# samples MOST FILE...
samples() {
    local file
    if [ ! -d "$GODOT" ]; then
        try 'real saves' skip 'the samples are not here'
        return
    fi
    while read -r file; do
        SAVE_NAME=${file##*/}
        PRISTINE=$T/pristine/$SAVE_NAME
        cp -R "$file" "$PRISTINE" && chmod -R u+w "$PRISTINE"
        try "sample ${file#"$GODOT"/}" sample
    done < <(few "$@")
}
