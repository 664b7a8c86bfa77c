# shellcheck shell=bash disable=SC2034
# What the scripts of this directory share: TAP lines, a generated save, mounts that always come down.
#
# A script sources this, calls `try NAME FUNCTION [ARGUMENT...]` for each test and ends with `finish`.
# In a test function, `want` and `same` note what is wrong; a test with a note is `not ok`. `skip REASON;
# return` makes it a skip. Every test has its own directory $D with its own copy of the save $S, which
# `up` mounts on $M and `down` unmounts. Nothing here waits for a fixed time: `soon` polls.
set -u
export LC_ALL=C.UTF-8 TZ=UTC
ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
TFS_BIN=$(realpath -m "${TFS_BIN:-$ROOT/build/terrainfs}")
TFS_TOOLS=$(realpath -m "${TFS_TOOLS:-$(dirname "$TFS_BIN")/tools}")
SAMPLES=${TFS_SAMPLES:-$ROOT/../shared/samples/cosmic_reach}
PYTHON=$(python3 -c 'import sys; print(sys.executable)')
LIMIT=${TFS_TEST_LIMIT:-240} # seconds until a script that hangs loses its mounts
. "$ROOT/tests/lib/in_full.bash"
T=$(mktemp -d "${TMPDIR:-/tmp}/tfs-mount-XXXXXX")
chmod 755 "$T"
export HOME=$T/home XDG_STATE_HOME=$T/state GIT_CONFIG_NOSYSTEM=1 PYTHONDONTWRITEBYTECODE=1
mkdir -p "$HOME"
exec 9>&1 # the TAP lines; a test's own output goes to a log
number=0 failed=0 skipped='' notes='' held=()
D=$T M=$T/mnt S=''

# ---- TAP ----------------------------------------------------------------------------------------------

note() {
    notes+="$*"$'\n'
}

skip() {
    skipped=$*
}

try() {
    local title=$1
    shift
    number=$((number + 1)) notes='' skipped='' held=()
    D=$T/$number M=$T/$number/mnt S=$T/$number/$SAVE_NAME
    mkdir -p "$D"
    cp -Rp "$PRISTINE" "$S"
    "$@" >"$D.log" 2>&1 </dev/null
    unmount_all
    if [ -n "$notes" ]; then
        failed=$((failed + 1))
        echo "not ok $number - $title" >&9
        printf '%s' "$notes" | sed 's/^/#   /' >&9
        tail -n 12 "$D.log" | sed 's/^/#   | /' >&9
    elif [ -n "$skipped" ]; then
        echo "ok $number - $title # skip $skipped" >&9
    else
        echo "ok $number - $title" >&9
    fi
    [ -n "${TFS_TEST_KEEP:-}" ] || rm -rf "$D"
}

finish() {
    echo "1..$number" >&9
    [ $failed = 0 ]
    exit
}

# want COMMAND...: notes when it fails.
want() {
    "$@" || note "failed (status $?, line ${BASH_LINENO[0]}): $*"
}

wants_not() {
    ! "$@" || note "should have failed (line ${BASH_LINENO[0]}): $*"
}

# same WHAT GOT WANTED
same() {
    [ "$2" = "$3" ] || note "$1 (line ${BASH_LINENO[0]}): got '$2', wanted '$3'"
}

# one_of WHAT GOT WANTED...
one_of() {
    local what=$1 got=$2 wanted
    shift 2
    for wanted in "$@"; do
        [ "$got" != "$wanted" ] || return 0
    done
    note "$what (line ${BASH_LINENO[0]}): got '$got', wanted one of: $*"
}

# soon COMMAND...: runs it until it succeeds, for two minutes at most: a machine with much to do takes its time.
soon() {
    local end=$((SECONDS + 120))
    until "$@"; do
        if [ $SECONDS -ge $end ]; then
            note "did not come true in 120 seconds (line ${BASH_LINENO[0]}): $*"
            return 1
        fi
        sleep 0.1
    done
}

# ---- tools --------------------------------------------------------------------------------------------

region() {
    "$PYTHON" -S "$ROOT/tests/tools/region.py" "$@"
}

make_region() {
    "$TFS_TOOLS/make_region" "$@"
}

# py CODE [ARGUMENT...]: `a` are the arguments; err(f, ...) gives "ok" or the name of the errno.
py() {
    local code=$1
    shift
    "$PYTHON" -S -c "
import errno, mmap, os, sys, time
a = sys.argv[1:]
def err(f, *args):
    try:
        f(*args)
    except OSError as e:
        return errno.errorcode[e.errno]
    return 'ok'
def put(path, data, flags=os.O_WRONLY | os.O_CREAT | os.O_TRUNC):
    fd = os.open(path, flags, 0o666)
    try:
        os.write(fd, data)
    finally:
        os.close(fd)
def get(path):
    with open(path, 'rb') as f:
        return f.read()
$code" "$@"
}

# ---- mounts -------------------------------------------------------------------------------------------

mounts_below() {
    awk -v top="$T/" 'index($2, top) == 1 { print $2 }' /proc/self/mounts | sort -r
}

# Takes down what a test left, the hard way if need be.
unmount_all() {
    local mount
    for mount in $(mounts_below); do
        case $(findmnt -n -o FSTYPE --mountpoint "$mount" 2>/dev/null) in
        fuse*)
            timeout 20 "$TFS_BIN" umount "$mount" >/dev/null 2>&1 ||
                fusermount3 -u "$mount" 2>/dev/null || fusermount3 -u -z "$mount" 2>/dev/null ||
                umount -l "$mount" 2>/dev/null
            ;;
        *) umount "$mount" 2>/dev/null || umount -l "$mount" 2>/dev/null ;;
        esac
    done
}

cleanup() {
    trap '' EXIT INT TERM HUP
    kill "$watchdog" 2>/dev/null
    cd / && unmount_all
    [ -n "${TFS_TEST_KEEP:-}" ] || rm -rf "$T"
}

# A request that is never answered would hang the script: the watchdog aborts its mounts.
watch() {
    local end=$((SECONDS + LIMIT)) mount
    while [ $SECONDS -lt $end ]; do
        sleep 1
        kill -0 $$ 2>/dev/null || return
    done
    echo "# watchdog: not finished after $LIMIT seconds, aborting mounts" >&9
    for mount in $(mounts_below); do
        umount -f "$mount" 2>/dev/null || fusermount3 -u -z "$mount" 2>/dev/null
    done
}

# mount_at SAVE MOUNTPOINT [OPTION...]: the status of the mount command.
mount_at() {
    local save=$1 mount=$2
    shift 2
    mkdir -p "$mount"
    timeout 120 "$TFS_BIN" "$@" "$save" "$mount" >"$D/mount.out" 2>"$D/mount.err" 9>&-
}

# up [OPTION...]: $S on $M.
up() {
    mount_at "$S" "$M" "$@"
    same 'status of mount' $? 0
    want mountpoint -q "$M"
}

# down [STATUS]: unmounts $M and waits until the save is on disk.
down() {
    unmount "$M" "${1:-0}"
}

unmount() {
    timeout 120 "$TFS_BIN" umount "$1" 2>"$D/umount.err"
    local status=$?
    same "status of umount" $status "${2:-0}"
    [ $status = "${2:-0}" ] || note "umount said: $(cat "$D/umount.err")"
    ! mountpoint -q "$1" || note "still mounted: $1"
}

# The save on a file system of its own, so small that a second copy does not fit: $disk.
small_disk() {
    [ "$(id -u)" = 0 ] || { skip 'needs root'; return 1; }
    disk=$D/disk
    mkdir "$disk"
    mount -t tmpfs -o size=16k none "$disk" 2>/dev/null || { skip 'no tmpfs here'; return 1; }
    want mount -o remount,size=1m "$disk"
    want mv "$S" "$disk/"
    S=$disk/$SAVE_NAME
    fill_disk
}

# No more finds room on $disk than there is.
fill_disk() {
    local used
    used=$(df --output=used -B1 "$disk" | tail -1) # with blanks, which mount(8) does not take
    want mount -o remount,size="$((used))" "$disk"
}

# ---- the save -----------------------------------------------------------------------------------------

# killable [OPTIONS]: mounts in the foreground, to be killed by murder.
killable() {
    mkdir -p "$M"
    "$TFS_BIN" -f ${1:+-o "$1"} "$S" "$M" >"$D/daemon.out" 2>&1 9>&- &
    daemon_pid=$!
    want soon mountpoint -q "$M"
}

needs_root() {
    [ "$(id -u)" = 0 ] || { skip 'needs root'; return 1; }
}

# hold [FILE...]: nothing takes the place of a file that is a mount point, so what is accepted stays in the journal. The
# save, or regions of one that is a folder. Needs root.
hold() {
    local file
    [ $# -gt 0 ] || set -- "$S"
    for file; do
        want mount --bind "$file" "$file" && held+=("$file")
    done
}

release() {
    [ ${#held[@]} = 0 ] || umount "${held[@]}"
    held=()
}

# is_aside PATH: edits of that save were set aside there.
is_aside() {
    compgen -G "$1.unsaved-*" >"$D/aside"
}

# stands_still PROCESS: all its threads are stopped, which kill(1) does not wait for.
stands_still() {
    ! grep -qv ') T ' "/proc/$1/task/"*/stat
}

# behind_its_back COMMAND...: files are released and the command runs before the daemon does anything more.
behind_its_back() {
    local pid
    pid=$(daemon)
    want kill -STOP "$pid"
    want soon stands_still "$pid"
    release
    want "$@"
    want kill -CONT "$pid"
}

# The process that serves $M.
daemon() {
    sed -n 's/^pid: //p' "$M/.terrainfs/status"
}

# Kills it, and waits until it has let go of the save.
kill_daemon() {
    kill -KILL "$(daemon)"
    want soon flock -n "$S" true
}

murder() {
    kill -KILL "$daemon_pid"
    wait "$daemon_pid"
    release
    fusermount3 -u -z "$M" 2>/dev/null || umount -l "$M"
}

# settle [MOUNTPOINT...]: the saves of the mounts hold what was accepted. With commit=auto, after a burst, they
# need not before.
settle() {
    local mount
    [ $# -gt 0 ] || set -- "$M"
    for mount in "$@"; do
        want timeout 120 "$TFS_BIN" sync "$mount"
    done
}

# The same, if there is a mount.
settle_mounted() {
    ! mountpoint -q "$M" || settle
}

# changes WANTED: what differs between the save and the copy it began as, e.g. "changed 0_0_0 blocks".
changes() {
    settle_mounted
    same 'chunks changed in the save' "$(region diff "$PRISTINE" "$S" | paste -sd ,)" "$1"
}

# Inode, times, mode and owner of the save: the same before and after when nobody wrote it.
identity() {
    stat -c '%i %s %y %z %a %u:%g' "$S"
}

# block_is X,Y,Z NAME
block_is() {
    local place
    settle_mounted
    IFS=, read -ra place <<<"$1"
    same "block at $1" "$(region block "$S" "${place[@]}")" "$2"
}

# on_git ARGUMENT...: git with the tree of the mount.
on_git() {
    git --git-dir="$D/git" --work-tree="$M" -c user.name=x -c user.email=x@example.org \
        -c core.fileMode=false -c advice.detachedHead=false -c gc.auto=0 "$@"
}

# commits MESSAGE: all that is in the tree.
commits() {
    [ -e "$D/git" ] || want on_git init -q -b main
    want on_git add -A
    want on_git commit -qm "$1"
}

# is_logged PATTERN: a sentence in the mount's errors.log, without its time.
is_logged() {
    sed -E 's/ \([0-9-]+ [0-9:]+\)$//' "$M/.terrainfs/errors.log" | grep -E -- "$1" >/dev/null
}

logged() {
    is_logged "$1" ||
        note "no '$1' (line ${BASH_LINENO[0]}) in errors.log: $(tail -n 3 "$M/.terrainfs/errors.log")"
}

# Chooses from the save what the tests edit: chunk $C with blocks, sky and block light in layers and without
# entities, voxel $V (x,y,z) of it, its block $B (a plain name), another chunk $C2; $COUNT chunks there are.
choose() {
    read -r C V B C2 COUNT < <("$PYTHON" -S -c '
import sys
sys.path.insert(0, sys.argv[1])
from region import Region, name_of
r = Region(sys.argv[2])
mixed = [c for c in r.chunks.values() if c.sections[0][0] == 2]
c = next(c for c in mixed if c.sections[1][0] == 2 and c.light and c.entities is None)
other = next(o for o in mixed if o is not c)
x0, y0, z0 = (n * 16 for n in c.place)
for i in reversed(range(4096)):
    at = x0 + i % 16, y0 + i // 256, z0 + i // 16 % 16
    name = c.block(*at).decode()
    if not name.startswith("base:air") and "[" not in name:
        break
print(name_of(c.place), ",".join(map(str, at)), name, name_of(other.place), len(r.chunks))
' "$ROOT/tests/tools" "$PRISTINE")
}

bail() {
    echo "ok 1 - all # skip $*" >&9
    echo "1..1" >&9
    exit 0
}

trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
watchdog=$$
[ -r /dev/fuse ] || [ -u "$(command -v fusermount3)" ] || { watchdog=''; bail 'no FUSE here'; }
[ -x "$TFS_BIN" ] || { echo "not ok 1 - $TFS_BIN is there" >&9; exit 1; }
[ -x "$TFS_TOOLS/make_region" ] || { echo "not ok 1 - $TFS_TOOLS/make_region is there" >&9; exit 1; }
watch </dev/null >/dev/null 2>&1 &
watchdog=$!
disown "$watchdog"
SAVE_NAME=region_0_0_0.cosmicreach
PRISTINE=$T/pristine/$SAVE_NAME
mkdir -p "$T/pristine"
make_region --kind demo "$PRISTINE"
choose
[ -n "$COUNT" ] || { echo "not ok 1 - region.py reads what make_region wrote" >&9; exit 1; }
