#!/usr/bin/env bash
# Programs that read the tree, and what the tree says about itself: sizes, times, owners, git. Reading
# changes nothing of the save.
. "$(dirname "$0")/lib.sh"

sums() {
    (cd "$1" && find . -type f -print0 | sort -z | xargs -0 sha1sum)
}

leaves_the_save_alone() {
    local before
    before=$(identity)
    up
    find "$M" -type f -exec cat {} + >/dev/null
    find "$M" -type f -exec touch {} +
    py 'os.close(os.open(a[0], os.O_RDWR))' "$M/chunks/$C/blocks.txt"
    sync "$M/chunks/$C/blocks.txt"
    sync -f "$M"
    down
    same 'the save' "$(identity)" "$before"
    want cmp "$PRISTINE" "$S"
    same 'what lies beside the save' \
        "$(find "$D" -maxdepth 1 -name '*region*' -printf '%f\n')" "$SAVE_NAME"
}

gives_the_same_bytes_twice() {
    up
    sums "$M" >"$D/first"
    sums "$M" >"$D/again"
    down
    up
    sums "$M" >"$D/second"
    want cmp "$D/first" "$D/again"
    want cmp "$D/first" "$D/second"
    want [ "$(wc -l <"$D/first")" -gt $((COUNT * 5)) ]
    down
}

has_exact_sizes() {
    local file
    up
    while IFS= read -r -d '' file; do
        same "$file" "$(stat -c %s "$file")" "$(cat "$file" | wc -c)"
    done < <(find "$M" -type f -print0)
    echo "$V,base:a_much_longer_name_than_before" >>"$M/chunks/$C/voxels.csv"
    while IFS= read -r -d '' file; do
        same "$file after an edit" "$(stat -c %s "$file")" "$(cat "$file" | wc -c)"
    done < <(find "$M" -maxdepth 1 -type f -print0; find "$M/chunks/$C" -type f -print0)
    down
}

has_the_names_of_the_page() {
    up
    same 'root' "$(find "$M" -mindepth 1 -maxdepth 1 ! -name '*.png' -printf '%f\n' | sort | paste -sd ' ')" \
        'chunks info.txt palette.txt'
    same 'chunks' "$(ls "$M/chunks" | wc -l)" "$COUNT"
    for name in palette.txt blocks.txt voxels.csv lights/sky.txt lights/block.txt raw.bin; do
        want [ -f "$M/chunks/$C/$name" ]
    done
    same 'listed first' "$(py 'print(next(os.scandir(a[0])).name)' "$M/chunks/$C")" raw.bin
    same 'lowest inode' "$(ls -i "$M/chunks/$C" | sort -n | awk 'NR == 1 { print $2 }')" raw.bin
    wants_not grep -q terrainfs <(ls -a "$M")
    want [ -d "$M/.terrainfs" ]
    want [ -f "$M/.terrainfs/errors.log" ]
    want cmp "$M/chunks/$C/raw.bin" <(region body "$S" "$C")
    one_of 'links of a directory' "$(stat -c %h "$M/chunks")" 1 $((COUNT + 2))
    down
}

# Counts and places of blocks agree with the decoder.
grep_finds_blocks() {
    local hits
    up
    want [ "$(grep -rlw "$B" "$M/chunks" --include=palette.txt | wc -l)" -gt 0 ]
    hits=$(grep -rh ",$B\$" "$M/chunks" --include=voxels.csv | sort | awk 'NR % 97 == 1' | head -5)
    want [ -n "$hits" ]
    while IFS=, read -r x y z name; do
        same "block at $x $y $z" "$(region block "$S" "$x" "$y" "$z")" "$name"
    done <<<"$hits"
    wants_not grep -rq nosuchname "$M"
    down
}

copies_are_equal() {
    up
    want tar -C "$M" -cf "$D/tree.tar" .
    mkdir "$D/untarred"
    want tar -C "$D/untarred" -xf "$D/tree.tar"
    want diff -r "$M" "$D/untarred"
    want cp -a "$M" "$D/copy"
    want diff -r "$M" "$D/copy"
    want diff <(cd "$M" && find . | sort) <(cd "$D/copy" && find . | sort)
    want tar -C "$M" -df "$D/tree.tar"
    down
}

diff_of_two_mounts() {
    mkdir -p "$D/other"
    cp -p "$PRISTINE" "$D/other/$SAVE_NAME"
    mount_at "$D/other/$SAVE_NAME" "$D/mnt2"
    up
    want diff -r "$M" "$D/mnt2"
    echo "$V,$B.changed" >>"$M/chunks/$C/voxels.csv"
    diff -rq -x .terrainfs "$M" "$D/mnt2" | sed "s|^Files $M/\(.*\) and .*|\1|" | sort >"$D/differ"
    same 'files that differ' "$(grep -v -e '\.png$' -e '^info.txt$' "$D/differ" | paste -sd ' ')" \
        "chunks/$C/blocks.txt chunks/$C/palette.txt chunks/$C/raw.bin chunks/$C/voxels.csv palette.txt"
    down
    unmount "$D/mnt2"
}

# git sees what changed, and checkout brings it back.
git_works() {
    local g=(git --git-dir="$D/git" --work-tree="$M" -c user.name=t -c user.email=t@example.org)
    command -v git >/dev/null || { skip 'git is not installed'; return; }
    up
    git init -q --bare "$D/git" && git --git-dir="$D/git" config core.bare false
    want "${g[@]}" add -A .
    want "${g[@]}" commit -q -m before
    same 'status of a clean tree' "$("${g[@]}" status --porcelain)" ''
    echo "$V,$B.changed" >>"$M/chunks/$C/voxels.csv"
    same 'status' "$("${g[@]}" status --porcelain | grep -v -e '\.png$' -e info.txt | cut -c 4- | paste -sd ' ')" \
        "chunks/$C/blocks.txt chunks/$C/palette.txt chunks/$C/raw.bin chunks/$C/voxels.csv palette.txt"
    same 'diff' "$("${g[@]}" -C "$M" diff -U0 -- "chunks/$C/voxels.csv" | grep '^[-+][0-9]' | paste -sd ' ')" \
        "-$V,$B +$V,$B.changed"
    want "${g[@]}" checkout -q -- chunks
    same 'status after checkout' "$("${g[@]}" status --porcelain)" ''
    want rm -r "$M/chunks/$C2"
    want "${g[@]}" checkout -q -- chunks
    same 'status after checkout of a removed chunk' "$("${g[@]}" status --porcelain)" ''
    down
    changes ''
}

git_branches() {
    local g=(git --git-dir="$D/git" --work-tree="$M" -c user.name=t -c user.email=t@example.org)
    command -v git >/dev/null || { skip 'git is not installed'; return; }
    up
    git init -q --bare "$D/git" && git --git-dir="$D/git" config core.bare false
    echo '/info.txt' >"$D/git/info/exclude"
    echo '*.png' >>"$D/git/info/exclude"
    want "${g[@]}" add -A .
    want "${g[@]}" commit -q -m before
    want "${g[@]}" checkout -q -b other
    want sed -i "s/^$V,.*/$V,base:branch/" "$M/chunks/$C/voxels.csv"
    want "${g[@]}" commit -q -a -m after
    want "${g[@]}" checkout -q -
    want grep -qxF "$V,$B" "$M/chunks/$C/voxels.csv"
    want "${g[@]}" checkout -q other
    want grep -qxF "$V,base:branch" "$M/chunks/$C/voxels.csv"
    down
    block_is "$V" base:branch
    changes "changed $C blocks"
}

# mtimes of the files given, a line each.
times() {
    (cd "$M" && stat -c '%n %y %z' "$@")
}

times_move_with_content() {
    local c=chunks/$C still moving
    still="$c/lights/sky.txt $c/lights/block.txt chunks/$C2/blocks.txt chunks/$C2/raw.bin"
    moving="$c/voxels.csv $c/blocks.txt $c/raw.bin"
    up
    # shellcheck disable=SC2086
    {
        same 'mtime of a file' "$(stat -c %Y "$M/$c/blocks.txt")" "$(stat -c %Y "$S")"
        times $still palette.txt $c/palette.txt >"$D/still"
        times $moving >"$D/moving"
        echo "$V,$(grep -v -e ' base:air' -e " $B\$" "$M/$c/palette.txt" | awk 'NR == 1 { print $2 }')" \
            >>"$M/$c/voxels.csv"
        times $still palette.txt $c/palette.txt >"$D/now"
        want diff "$D/still" "$D/now"
        same 'times that stayed' "$(times $moving | grep -cxFf "$D/moving")" 0
        times $moving >"$D/moving"
        cp "$M/$c/blocks.txt" "$D/blocks.txt" && cat "$D/blocks.txt" >"$M/$c/blocks.txt"
        times $c/voxels.csv $c/raw.bin >"$D/now"
        same 'times after writing the same' "$(grep -cxFf "$D/moving" "$D/now")" 2
        echo "$V,base:new_name" >>"$M/$c/voxels.csv"
        same 'times of palettes that stayed' \
            "$(times palette.txt $c/palette.txt | grep -cxFf "$D/still")" 0
    }
    down
}

attributes_can_be_set() {
    local file=$M/chunks/$C/blocks.txt mode
    up
    mode=$(stat -c %a "$file")
    want chmod 600 "$file"
    want chown "$(id -u):$(id -g)" "$file"
    same 'mode' "$(stat -c %a "$file")" "$mode"
    want touch -d '2001-02-03 04:05:06.789 UTC' "$file"
    same 'mtime' "$(stat -c %y "$file")" '2001-02-03 04:05:06.789000000 +0000'
    want touch -d '2001-02-03 04:05:06 UTC' "$M/chunks/$C" "$M/chunks/$C/lights"
    want touch "$file"
    want [ "$(stat -c %Y "$file")" -gt 1000000000 ]
    down
    want cmp "$PRISTINE" "$S"
}

owner_and_mode_follow_the_save() {
    local name
    chmod 600 "$S"
    [ "$(id -u)" != 0 ] || chown 1234:4321 "$S"
    up
    name=$(stat -c %u:%g "$S")
    same 'a file' "$(stat -c '%a %u:%g' "$M/chunks/$C/blocks.txt")" "600 $name"
    same 'a directory' "$(stat -c '%a %u:%g' "$M/chunks/$C")" "700 $name"
    same 'the root' "$(stat -c '%a %u:%g' "$M")" "700 $name"
    same 'a read-only file' "$(stat -c '%a %u:%g' "$M/info.txt")" "400 $name"
    same 'a hidden file' "$(stat -c '%a' "$M/.terrainfs/errors.log" | cut -c 2-)" '00'
    echo "$V,base:owned" >>"$M/chunks/$C/voxels.csv"
    down
    same 'the new save' "$(stat -c '%a %u:%g' "$S")" "600 $name"
    block_is "$V" base:owned
}

keeps_xattrs_of_the_save() {
    py 'os.setxattr(a[0], "user.mark", b"kept")' "$S" 2>/dev/null || { skip 'no xattrs here'; return; }
    up
    echo "$V,base:marked" >>"$M/chunks/$C/voxels.csv"
    down
    same 'xattr' "$(py 'print(os.getxattr(a[0], "user.mark").decode())' "$S")" kept
}

read_only_files_refuse() {
    up
    for flags in O_WRONLY O_RDWR 'O_WRONLY|os.O_TRUNC'; do
        same "open $flags" "$(py "print(err(os.open, a[0], os.$flags))" "$M/info.txt")" EACCES
    done
    same 'unlink' "$(py 'print(err(os.unlink, a[0]))' "$M/info.txt")" EPERM
    one_of 'rename away' "$(py 'print(err(os.rename, a[0], a[1]))' "$M/info.txt" "$M/x")" EPERM EACCES
    echo text >"$M/x"
    one_of 'rename over it' "$(py 'print(err(os.rename, a[0], a[1]))' "$M/x" "$M/info.txt")" EPERM EACCES
    one_of 'truncate' "$(py 'print(err(os.truncate, a[0], 0))' "$M/info.txt")" EPERM EACCES
    same 'write bits' "$(stat -c %A "$M/info.txt" | tr -cd w)" ''
    want rm "$M/x"
    down
}

filesystem_facts() {
    up
    want df "$M"
    same 'longest name' "$(stat -f -c %l "$M")" 255
    same 'room, of the file system of the save' "$(stat -f -c '%b %S %c' "$M")" "$(stat -f -c '%b %S %c' "$S")"
    same 'options' "$(findmnt -n -o OPTIONS --mountpoint "$M" | tr , '\n' |
        grep -cx -e nosuid -e nodev -e noexec -e default_permissions)" 4
    one_of 'getxattr' "$(py 'print(err(os.getxattr, a[0], "user.x"))' "$M/info.txt")" ENOTSUP EOPNOTSUPP
    down
}

mount_options_pass() {
    up -o 'ro,fsname=world,scratch=1M,cache=8M,threads=2,commit=close,format=cosmic_reach'
    same 'source' "$(findmnt -n -o SOURCE --mountpoint "$M")" world
    same 'write' "$(py 'print(err(os.open, a[0], os.O_WRONLY))' "$M/chunks/$C/blocks.txt")" EROFS
    same 'mkdir' "$(py 'print(err(os.mkdir, a[0]))' "$M/x")" EROFS
    want grep -q . "$M/chunks/$C/blocks.txt"
    down
    want cmp "$PRISTINE" "$S"
}

threads_of_daemon() {
    find "/proc/$(daemon)/task" -mindepth 1 -maxdepth 1 | wc -l
}

# Two threads that take turns on one CPU are slower than one.
as_many_threads_as_cpus() {
    local cpus one
    cpus=$(taskset -pc "$BASHPID" | sed 's/.*: //')
    up -o ro,threads=1
    one=$(threads_of_daemon)
    down
    want taskset -pc "${cpus%%[-,]*}" "$BASHPID" >"$D/out"
    up -o ro
    same 'threads on one CPU' "$(threads_of_daemon)" "$one"
    want taskset -pc "$cpus" "$BASHPID" >"$D/out"
    down
}

# asked OPCODE COMMAND...: how often the kernel asks the daemon that meanwhile.
asked() {
    local before opcode=$1
    shift
    before=$(grep -c "opcode: $opcode" "$D/log")
    "$@" >"$D/out" || note "failed: $*"
    echo $(($(grep -c "opcode: $opcode" "$D/log") - before))
}

# grep looks for holes in every file of more than 32 KiB.
files_without_holes_are_not_asked_for_them() {
    mkdir "$M"
    "$TFS_BIN" -d "$S" "$M" >"$D/daemon" 2>"$D/log" &
    want soon mountpoint -q "$M"
    cat >"$D/seek.py" <<'END'
import errno, os, sys
for path in sys.argv[1:]:
    f = os.open(path, os.O_RDONLY)
    size = os.fstat(f).st_size
    assert (os.lseek(f, 3, os.SEEK_HOLE), os.lseek(f, 3, os.SEEK_DATA)) == (size, 3)
    for whence in os.SEEK_HOLE, os.SEEK_DATA:
        try:
            os.lseek(f, size, whence)
            sys.exit(f'{path}: beyond the end')
        except OSError as e:
            assert e.errno == errno.ENXIO
END
    echo scratch >"$M/scratch"
    same 'lseek' "$(asked LSEEK python3 "$D/seek.py" "$M/map.png" "$M/chunks/$C/blocks.txt" "$M/scratch")" 1
    down
    wait $!
}

# The kernel is told once that names and listings are stale, by the first write (Linux 6.16).
names_are_kept_until_something_is_written() {
    printf '%s\n' 6.16 "$(uname -r)" | sort -CV || { skip 'an older kernel'; return; }
    mkdir "$M"
    "$TFS_BIN" -d "$S" "$M" >"$D/daemon" 2>"$D/log" &
    want soon mountpoint -q "$M"
    ls -lR "$M" >"$D/first"
    same 'listed again' "$(asked READDIR ls -lR "$M") $(asked LOOKUP ls -lR "$M")" '0 0'
    want cmp "$D/first" "$D/out"
    same 'a short text comes with its open' "$(asked READ cat "$M/chunks/$C2/palette.txt")" 0
    want [ -s "$D/out" ]
    same 'and once' "$(asked READ cat "$M/chunks/$C2/palette.txt") $(asked GETATTR stat "$M/chunks/$C2/palette.txt")" '0 0'
    echo "$V,base:written" >>"$M/chunks/$C/voxels.csv"
    want [ "$(asked LOOKUP stat "$M/chunks/$C/voxels.csv" "$M/chunks/$C2/raw.bin")" -ge 2 ]
    want [ "$(asked READDIR ls "$M/chunks")" -ge 1 ]
    soon keeps_again
    same 'kept again' "$(asked LOOKUP stat "$M/chunks/$C2/raw.bin")" 0
    for name in one two; do
        echo "$V,base:$name" >>"$M/chunks/$C/voxels.csv"
        want grep -qx "$V,base:$name" "$M/chunks/$C/voxels.csv"
        want grep -qw "base:$name" "$M/palette.txt"
        soon keeps_again
    done
    down
    wait $!
}

# Two seconds after the last change: what was looked up once is kept.
keeps_again() {
    stat "$M/palette.txt" "$M/chunks/$C2/raw.bin" >"$D/out"
    [ "$(asked LOOKUP stat "$M/chunks/$C2/raw.bin")" = 0 ]
}

# texts COUNT: that many texts that voxels.csv may have, of different sizes, $D/text1 and so on.
texts() {
    local i
    for ((i = 1; i <= $1; i++)); do
        awk -F, -v i="$i" 'NR == 1; NR > 1 && NR % (i + 1) { print $1 "," $2 "," $3 ",base:race" i }' \
            "$D/table" >"$D/draft"
        cat "$D/draft" >"$M/chunks/$C/voxels.csv" || note "text $i is refused"
        cat "$M/chunks/$C/voxels.csv" >"$D/text$i"
    done
}

# Readers in pieces and mapped beside writers that cut, overwrite, append and rename.
race() {
    up "${@:2}"
    cat "$M/chunks/$C/voxels.csv" >"$D/table"
    texts 4
    want "$TFS_TOOLS/race" "$M/chunks/$C/voxels.csv" 40 "$1" "$D"/text?
    down
}

# A reader goes on with what it opened, however large it is and however often it is replaced.
a_text_is_read_to_its_end() {
    up
    same 'what was wrong' "$(py '
import mmap
path = a[0]
old = get(path)
f = os.open(path, os.O_RDONLY)
mapped = mmap.mmap(f, 0, prot=mmap.PROT_READ)
head = os.read(f, 10)
for i in range(5):
    put(path, old.split(b"\n")[0] + b"\n")
    put(path + ".tmp", old.split(b"\n")[0] + b"\n%s,base:other%d\n" % (a[1].encode(), i))
    if i == 4:
        os.rename(path + ".tmp", path)
rest = b"".join(iter(lambda: os.read(f, 1000), b""))
if head + rest != old: print("read", len(head + rest), "of", len(old))
if mapped[:] != old: print("mapped")
if os.fstat(f).st_size != len(old): print("fstat", os.fstat(f).st_size)
if get(path) == old or os.stat(path).st_size != len(get(path)): print("by its name")
' "$M/chunks/$C/voxels.csv" "$V" 2>&1 | tail -n 5)" ''
    down
}

# The other mapping is there until the process ends.
killed_beside_readers() {
    up
    py '
import mmap, signal
f = os.open(a[0], os.O_RDONLY)
mapped = mmap.mmap(f, 0, prot=mmap.PROT_READ)
size = len(mapped[:])
print("mapped", flush=True)
while not os.path.exists(a[1]):
    time.sleep(0.01)
sys.exit(len(mapped[:]) != size)
' "$M/chunks/$C/voxels.csv" "$D/killed" >"$D/mapping" &
    local reader=$!
    want soon grep -q mapped "$D/mapping"
    echo "$V,base:written" >>"$M/chunks/$C/voxels.csv"
    kill_daemon
    touch "$D/killed"
    want timeout 120 tail --pid=$reader -f /dev/null
    want wait $reader
    want umount "$M"
    rmdir "$M"
    up
    down
    block_is "$V" base:written
}

two_readers() {
    up
    sums "$M" >"$D/first" &
    jobs[0]=$!
    sums "$M" >"$D/second" &
    jobs[1]=$!
    wait "${jobs[@]}"
    want cmp "$D/first" "$D/second"
    down
}

try 'reading leaves the save alone' leaves_the_save_alone
try 'the same bytes in every run' gives_the_same_bytes_twice
try 'sizes are exact' has_exact_sizes
try 'names' has_the_names_of_the_page
try 'grep -r' grep_finds_blocks
try 'tar c, cp -a, diff -r, find' copies_are_equal
try 'diff -r of two mounts' diff_of_two_mounts
try 'git status, diff, checkout' git_works
try 'git branches' git_branches
try 'times move with content' times_move_with_content
try 'chmod, chown, touch' attributes_can_be_set
try 'owner and mode follow the save' owner_and_mode_follow_the_save
try 'xattrs of the save are kept' keeps_xattrs_of_the_save
try 'read-only files' read_only_files_refuse
try 'statfs and mount options' filesystem_facts
try '-o ro and options of our own' mount_options_pass
try 'as many threads as CPUs' as_many_threads_as_cpus
try 'names are kept until something is written' names_are_kept_until_something_is_written
try 'a text is read to its end' a_text_is_read_to_its_end
try 'readers beside one writer, one thread' race 1 -o threads=1
try 'readers beside three writers, four threads' race 3 -o threads=4
try 'readers beside writers, every close in the save' race 2 -o commit=close
try 'readers when the daemon is killed' killed_beside_readers
try 'files without holes are not asked for them' files_without_holes_are_not_asked_for_them
try 'two readers at once' two_readers
finish
