#!/usr/bin/env bash
# Real programs on one line of voxels.csv: an edit that is taken, and one that is refused. A program that looks
# at what close and rename say tells its user of a refusal; some do not look, and nothing is expected of them
# (docs/reliability.md has the table). Always: the save keeps every byte, the sentence is in errors.log, the refused
# text in rejected/, and the file shows again what was accepted.
. "$(dirname "$0")/lib.sh"

needs() {
    command -v "$1" >/dev/null || { skip "$1 is not installed"; return 1; }
}

prepare() {
    up
    F=$M/chunks/$C/voxels.csv
    cp "$F" "$D/accepted"
}

# substitution NEW: the line of the block at $V with another name; without one it is refused.
substitution() {
    echo "s/^$V,.*/$V,$1/"
}

# with PROGRAM, which edits $F by $1 = the new name, and uses $D/new, the whole new text.
edits() {
    NEW=base:new
    prepare
    sed "$(substitution $NEW)" "$D/accepted" >"$D/new"
    want "$1" $NEW
    want soon cmp -s "$F" "$D/new"
    down
    block_is "$V" $NEW
    changes "changed $C blocks"
}

# refuses PATTERN PROGRAM: it fails and says so; without a pattern it need not.
refuses() {
    local status
    prepare
    sed "$(substitution '')" "$D/accepted" >"$D/new"
    "$2" '' >"$D/said" 2>&1
    status=$?
    echo "# status $status: $(tr -d '\0\033' <"$D/said" | grep -a . | tail -n 1 | cut -c 1-200)" >&9
    if [ -n "$1" ]; then
        [ $status != 0 ] || note 'it ends with status 0'
        grep -Eaq -- "$1" "$D/said" || note "it does not say '$1' but: $(tail -n 3 "$D/said")"
    fi
    refused_well "$F" "$D/accepted"
}

# A child of the program may live a moment longer (rsync's receiver does) and keep the mount busy.
gone() {
    timeout 60 "$TFS_BIN" umount "$M" 2>"$D/umount.err"
    left=$?
    ! mountpoint -q "$M"
}

# refused_well FILE ACCEPTED
refused_well() {
    local path=${1#"$M/"}
    want cmp "$PRISTINE" "$S"
    logged "$path: ?[0-9:]* "
    soon cmp -s "$1" "$2" || note 'the file does not show what was accepted'
    want [ -s "$M/.terrainfs/rejected/$path" ]
    soon gone
    same 'status of umount' $left 3
    want cmp "$PRISTINE" "$S"
}

# hears PROGRAM: a line that is appended fails when it is written, and is in no draft that a close could refuse.
hears() {
    prepare
    wants_not "$1" ''
    logged "chunks/$C/voxels.csv:[0-9:]* "
    want cmp -s "$F" "$D/accepted"
    wants_not [ -e "$M/.terrainfs/rejected/chunks/$C/voxels.csv" ]
    down
    want cmp "$PRISTINE" "$S"
}

# appends PROGRAM FUNCTION
appends() {
    try "$1: an edit" given "${1%% *}" edits "$2"
    try "$1: a refused line" given "${1%% *}" hears "$2"
}

# run PROGRAM PATTERN FUNCTION
run() {
    try "$1: an edit" given "${1%%,*}" edits "$3"
    try "$1: a refused edit" given "${1%%,*}" refuses "$2" "$3"
}

given() {
    needs "${1%% *}" && "${@:2}"
}

by_cp() { cp "$D/new" "$F"; }
by_mv() { cp "$D/new" "$HOME/moved" && mv -f "$HOME/moved" "$F"; }
by_install() { install -m 644 "$D/new" "$F"; }
by_cat() { cat "$D/new" >"$F"; }
by_printf() { printf '%s\n' "$V,$1" >>"$F"; }
by_dash() { dash -c 'printf "%s\n" "$1" >>"$2"' - "$V,$1" "$F"; }
by_tee() { tee "$F" <"$D/new" >/dev/null; }
by_dd() { dd if="$D/new" of="$F" status=none; }
by_rsync() { rsync "$D/new" "$F"; }
by_rsync_inplace() { rsync --inplace "$D/new" "$F"; }
by_tar() {
    mkdir -p "$D/from/chunks/$C" && cp "$D/new" "$D/from/chunks/$C/voxels.csv"
    tar -C "$D/from" -cf - "chunks/$C/voxels.csv" | tar -C "$M" -xf -
}
by_sed() { sed -i "$(substitution "$1")" "$F"; }
by_perl() { perl -pi -e "$(substitution "$1")" "$F"; }
by_patch() {
    diff -u "$F" "$D/new" >"$D/patch"
    patch -s "$F" "$D/patch"
}
by_ed() { printf '%s\n' ",$(substitution "$1")" w q | ed -s "$F"; }
by_vim() {
    timeout 60 vim -V1 -es -u NONE -i NONE -N -c "set backupcopy=$2 writebackup swapfile backupskip=" \
        -c "%$(substitution "$1")" -c 'wq' "$F"
}
by_vim_auto() { by_vim "$1" auto; }
by_vim_yes() { by_vim "$1" yes; }
by_vim_no() { by_vim "$1" no; }

# by_keys PROGRAM...: nano, driven by what its screen says.
by_nano() {
    TERM=xterm "$PYTHON" -S - "$F" "$(grep -n "^$V," "$F" | cut -d: -f1)" "$V,$1" <<'END'
import os, pty, select, sys, time
file, line, text = sys.argv[1:]
pid, fd = pty.fork()
if pid == 0:
    os.execvp('nano', ['nano', '--ignorercfiles', '+' + line, file])
seen = b''
def expect(*words):
    global seen
    end = time.monotonic() + 60
    while not any(w in seen for w in words):
        if not select.select([fd], [], [], max(0, end - time.monotonic()))[0]:
            sys.exit('nano does not say %s' % (words,))
        seen += os.read(fd, 4096)
    said, seen = seen, b''
    return said
expect(b'Exit')
os.write(fd, b'\x0b' + text.encode() + b'\r\x0f')
expect(b'File Name to Write')
os.write(fd, b'\r')
said = expect(b'Wrote', b'Error writing')
if b'Wrote' in said:
    os.write(fd, b'\x18')
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
while b'message' not in said and b'Bad' not in said:
    said += os.read(fd, 4096)
print(said.decode(errors='replace'))
os.kill(pid, 9)
os.waitpid(pid, 0)
sys.exit(1)
END
}

by_emacs() {
    timeout 60 emacs -Q --batch --eval "(progn (find-file \"$F\") (goto-char (point-min))
        (re-search-forward \"^$V,.*\$\") (replace-match \"$V,$1\") ${2:-} (save-buffer))"
}
by_emacs_copying() { by_emacs "$1" '(setq backup-by-copying t)'; }
by_emacs_alone() { by_emacs "$1" '(setq make-backup-files nil)'; }

by_python() {
    "$PYTHON" -S -c '
import sys
with open(sys.argv[2], "w") as f:
    f.write(open(sys.argv[1]).read())' "$D/new" "$F"
}

# The text comes out of a commit.
by_git() {
    local blob git=(git --git-dir="$D/git" --work-tree="$M")
    export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a
    "${git[@]}" init -q
    blob=$("${git[@]}" hash-object -w --no-filters "$D/new")
    "${git[@]}" update-index --add --cacheinfo "100644,$blob,chunks/$C/voxels.csv"
    "${git[@]}" checkout -f -- "chunks/$C/voxels.csv"
}

# sort reads all before it opens its output, which is the same file. Reversed, the header stays first; in
# order it goes to the end, which is no table any more.
by_sort() {
    cp "$D/new" "$F" && sort -r -o "$F" "$F"
}

sort_refused() {
    prepare
    wants_not sort -o "$F" "$F"
    refused_well "$F" "$D/accepted"
}

# Reads the table and writes it anew in its own way, into the directory of the chunk.
by_libreoffice() {
    mkdir -p "$D/in" && cp "$D/new" "$D/in/voxels.csv"
    timeout 120 soffice "-env:UserInstallation=file://$T/libreoffice" --headless \
        --convert-to 'csv:Text - txt - csv (StarCalc):44,34,76' --outdir "$(dirname "$F")" "$D/in/voxels.csv"
}

# ImageMagick makes the height map $P of the save anew; in another size it is refused.
picture() {
    P=$M/heightmap.png
    convert -version 2>/dev/null | grep -q ImageMagick || { skip 'ImageMagick is not installed'; return 1; }
    prepare
    cp "$P" "$D/accepted.png"
}

picture_edit() {
    picture || return
    want convert "$P" -evaluate subtract 1 -depth 16 -define png:bit-depth=16 "PNG:$P"
    same 'difference' "$(convert "$P" "$D/accepted.png" -compose difference -composite -format '%[fx:maxima>0]' info:)" 1
    down
    wants_not cmp -s "$PRISTINE" "$S"
    want region check "$S"
}

picture_refused() {
    picture || return
    wants_not convert "$P" -crop 5x5+0+0 +repage -depth 16 -define png:bit-depth=16 "PNG:$P"
    refused_well "$P" "$D/accepted.png"
}

run 'cp' 'Bad message' by_cp
run 'mv' 'Bad message' by_mv
run 'install' 'Bad message' by_install
run 'cat >' 'Bad message' by_cat
appends 'bash >>' by_printf
appends 'dash >>' by_dash
run 'tee' 'Bad message' by_tee
run 'dd' 'Bad message' by_dd
run 'rsync' 'Bad message' by_rsync
run 'rsync --inplace' 'Bad message' by_rsync_inplace
run 'tar x' 'Bad message' by_tar
run 'sed -i' 'Bad message' by_sed
run 'perl -pi' 'Bad message' by_perl
run 'patch' 'Bad message' by_patch
run 'ed' 'Bad message' by_ed
run 'vim, backupcopy=auto' 'E512: Close failed' by_vim_auto
run 'vim, backupcopy=yes' 'E512: Close failed' by_vim_yes
run 'vim, backupcopy=no' 'E512: Close failed' by_vim_no
run 'nano' 'Bad message' by_nano
run 'emacs, backup by renaming' 'Bad message' by_emacs
run 'emacs, backup by copying' 'Bad message' by_emacs_copying
run 'emacs, no backup' 'Bad message' by_emacs_alone
run 'python3' 'Bad message' by_python
run 'git checkout' '' by_git
run 'soffice --convert-to csv' '' by_libreoffice
try 'ImageMagick: an edit' picture_edit
try 'ImageMagick: a refused edit' picture_refused
try 'sort -o f f: an edit' edits by_sort
try 'sort -o f f: a refused edit' sort_refused
finish
