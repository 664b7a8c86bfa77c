#!/usr/bin/env bash
# Editors and other programs that replace a line of a file: each sets one block, and the save has exactly
# that change. They differ in what they do to the file: write in place, rename a temp file over it, move
# the old one away first, leave a backup beside it.
. "$(dirname "$0")/lib.sh"

# edits COMMAND...: with $F = voxels.csv, changes the line of $V from block $B to $NEW.
edits() {
    local listing
    NEW=base:$1
    up
    F=$M/chunks/$C/voxels.csv
    listing=$(ls -A "$M/chunks/$C")
    want grep -qxF "$V,$B" "$F"
    want "$@"
    want grep -qxF "$V,$NEW" "$F"
    wants_not grep -qxF "$V,$B" "$F"
    want grep -q "^palette [0-9]* $NEW\$" "$M/chunks/$C/blocks.txt"
    want grep -qxF "$NEW" "$M/palette.txt"
    if [ "${BACKUP:-}" ]; then
        want grep -qxF "$V,$B" "$F$BACKUP"
        want rm "$F$BACKUP"
    fi
    same 'names beside the file' "$(ls -A "$M/chunks/$C")" "$listing"
    down
    block_is "$V" "$NEW"
    changes "changed $C blocks"
    want region check "$S"
}

substitute() {
    echo "s/^$V,.*/$V,$NEW/"
}

with_vim() {
    vim -es -u NONE -i NONE -N -c "set backupcopy=$1 writebackup swapfile backupskip= $2" \
        -c "%$(substitute)" -c 'wq' "$F"
}

with_vim_twice() {
    vim -es -u NONE -i NONE -N -c "set backupcopy=$1" -c "%s/^$V,.*/$V,base:interim/" -c 'w' \
        -c "%$(substitute)" -c 'w' -c 'q' "$F"
}

with_ed() {
    printf '%s\n' ",$(substitute)" w q | ed -s "$F"
}

with_sed() {
    sed -i"$1" "$(substitute)" "$F"
}

with_perl() {
    perl -pi"$1" -e "$(substitute)" "$F"
}

with_patch() {
    sed "$(substitute)" "$F" >"$D/new"
    diff -u "$F" "$D/new" >"$D/patch"
    patch -s "$@" "$F" "$D/patch"
}

# As Emacs saves: a lock that is a symlink, the old file moved to a backup, a new one written.
with_emacs_steps() {
    local directory
    directory=$(dirname "$F")
    sed "$(substitute)" "$F" >"$D/new"
    ln -s 'user@host.123:456' "$directory/.#voxels.csv" && [ -L "$directory/.#voxels.csv" ] &&
        mv "$F" "$F~" && cat "$D/new" >"$F" && rm "$directory/.#voxels.csv"
}

# As GLib and many others save: a temp file, synced, renamed over it.
with_temp_and_rename() {
    sed "$(substitute)" "$F" >"$D/new"
    py '
tmp = a[0] + "/.goutputstream-ABC123"
fd = os.open(tmp, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
os.write(fd, get(a[1]))
os.fsync(fd)
os.close(fd)
os.chmod(tmp, 0o644)
os.rename(tmp, a[0] + "/voxels.csv")
' "$(dirname "$F")" "$D/new"
}

# A chain of commands on the other views: the palette line of a chunk, and of the whole save.
edit_palette() {
    up
    want grep -qx " *[0-9]*  *$B" "$M/chunks/$C/palette.txt"
    want sed -i "s/ $B\$/ base:renamed/" "$M/chunks/$C/palette.txt"
    want grep -qxF "$V,base:renamed" "$M/chunks/$C/voxels.csv"
    down
    block_is "$V" base:renamed
    changes "changed $C blocks"
}

edit_root_palette() {
    local wanted
    up
    wanted=$(grep -lr " $B\$" "$M"/chunks/*/palette.txt | wc -l)
    want sed -i "s/^$B\$/zz:renamed/" "$M/palette.txt"
    wants_not grep -rq " $B\$" "$M/chunks" --include=palette.txt
    same 'chunks with the new name' \
        "$(grep -lr ' zz:renamed$' "$M"/chunks/*/palette.txt | wc -l)" "$wanted"
    down
    block_is "$V" zz:renamed
    same 'chunks changed' "$(region diff "$PRISTINE" "$S" | grep -c '^changed .* blocks$')" "$wanted"
}

needs() {
    command -v "$1" >/dev/null || { skip "$1 is not installed"; return 1; }
}

vim_saves() {
    needs vim && edits with_vim "$@"
}

ed_saves() {
    needs ed && edits with_ed
}

patch_saves() {
    needs patch && edits with_patch "$@"
}

try 'vim, backupcopy=auto' vim_saves auto nobackup
try 'vim, backupcopy=yes' vim_saves yes nobackup
try 'vim, backupcopy=no' vim_saves no nobackup
BACKUP='~' try 'vim, backupcopy=yes, keeps a backup' vim_saves yes backup
BACKUP='~' try 'vim, backupcopy=no, keeps a backup' vim_saves no backup
try 'vim writes twice' edits with_vim_twice auto
try 'ed' ed_saves
try 'sed -i' edits with_sed ''
BACKUP=.bak try 'sed -i.bak' edits with_sed .bak
try 'perl -pi' edits with_perl ''
BACKUP=.bak try 'perl -pi.bak' edits with_perl .bak
try 'patch' patch_saves
BACKUP=.orig try 'patch -b' patch_saves -b
BACKUP='~' try 'steps of emacs' edits with_emacs_steps
try 'a temp file renamed over it' edits with_temp_and_rename
try 'sed -i on a chunk palette' edit_palette
try 'sed -i on the palette of the save' edit_root_palette
finish
