#!/usr/bin/env bash
# Several processes do anything at random, at once. What holds afterwards: the daemon answers, no request
# failed for a reason of its own (EIO, a lost connection), the save is sound, and what the mount showed at the
# end is what the next mount shows.
. "$(dirname "$0")/lib.sh"

# One process: seed, number of steps, root of the mount. Prints errors that must not be.
storm() {
    py '
import random, shutil
r = random.Random(int(a[0]))
root = a[2]
names = ["palette.txt", "blocks.txt", "voxels.csv", "lights/sky.txt", "lights/block.txt", "raw.bin",
         "entities.bin"]
def chunk():
    there = [n for n in os.listdir(root + "/chunks") if n[0] != "."]
    if there and r.randrange(4):
        return root + "/chunks/" + r.choice(there)
    return "%s/chunks/%d_%d_%d" % (root, r.randrange(3), r.randrange(4), r.randrange(2))
def file():
    return chunk() + "/" + r.choice(names)
def scratch():
    return chunk() + "/." + r.choice("abc")
def read():
    get(file())
def append():
    c = chunk()
    x, y, z = (int(n) * 16 + r.randrange(16) for n in c.rsplit("/", 1)[1].split("_"))
    put(c + "/voxels.csv", b"%d,%d,%d,base:storm_%d\n" % (x, y, z, r.randrange(9)),
        os.O_WRONLY | os.O_APPEND)
def nonsense():
    put(file(), r.choice([b"", b"nonsense\n", b"fill 99\n", b"\x02\0\0"]))
def level():
    put(chunk() + "/lights/sky.txt", b"fill %d\n" % r.randrange(16))
def copy():
    put(file(), get(file()))
def same():
    f = file()
    put(f, get(f))
def replace():
    f, t = file(), scratch()
    put(t, get(f))
    os.rename(t, f)
def away_and_back():
    f, t = file(), scratch()
    os.rename(f, t)
    os.rename(t, f)
def unlink():
    os.unlink(file())
def anew():
    f = file()
    was = get(f)
    os.unlink(f)
    put(f, was, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
def hold():
    fd = os.open(file(), os.O_RDWR)
    try:
        was = os.pread(fd, 1 << 20, 0)
        r.choice([read, append, unlink, remove])()
        os.pwrite(fd, was, 0)
        os.fsync(fd)
    finally:
        os.close(fd)
def mapped():
    fd = os.open(file(), os.O_RDONLY)
    try:
        mmap.mmap(fd, 0, mmap.MAP_SHARED, mmap.PROT_READ)[:]
    finally:
        os.close(fd)
def sync():
    fd = os.open(r.choice([chunk(), chunk() + "/lights", root + "/info.txt"]), os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
def walk():
    for top, dirs, files in os.walk(root):
        for name in files:
            err(os.stat, top + "/" + name)
def make():
    os.mkdir(chunk())
def remove():
    if r.randrange(3) == 0:
        shutil.rmtree(chunk())
def move():
    os.rename(chunk(), chunk())
def duplicate():
    shutil.copytree(chunk(), chunk())
def link():
    t = scratch()
    os.symlink(".d", t)
    os.unlink(t)
def rename_blocks():
    text = get(root + "/palette.txt").replace(b"storm_1", b"storm_9")
    put(root + "/palette.txt", text, os.O_WRONLY | os.O_TRUNC)
def cut():
    os.truncate(file(), r.randrange(2000))
steps = [read, append, append, append, nonsense, level, copy, same, same, replace, away_and_back, unlink,
         anew, hold, mapped, sync, walk, make, remove, move, duplicate, link, rename_blocks, cut]
for i in range(int(a[1])):
    step = r.choice(steps)
    try:
        step()
    except shutil.Error as e:
        pass
    except (OSError, ValueError) as e:
        if getattr(e, "errno", 0) in (errno.EIO, errno.ENOTCONN, errno.ECONNABORTED, errno.ENOSYS):
            print(step.__name__, e)
' "$@" 2>&1
}

sums() {
    (cd "$1" && find . -type f ! -path '*/.*' -print0 | sort -z | xargs -0 sha1sum)
}

# Whiteouts end and directories just made show their files two seconds after the last touch; the kernel hears
# of it a moment later.
settled() {
    [ "$(sed -n 's/^hidden: //p' "$M/.terrainfs/status")" = 0 ] || return
    sums "$M" >"$D/one"
    sleep 0.5
    sums "$M" >"$D/two"
    cmp -s "$D/one" "$D/two"
}

weather() {
    local i
    up "${@:2}"
    for i in 1 2 3 4; do
        storm $(($1 * 10 + i)) 250 "$M" >"$D/storm.$i" &
        jobs[i]=$!
    done
    for i in 1 2 3 4; do
        want wait "${jobs[i]}"
        same "errors of process $i" "$(head -n 3 "$D/storm.$i")" ''
    done
    want soon ls "$M"
    find "$M" -name '.[abcd]' -exec rm -rf {} +
    want soon settled
    timeout 60 "$TFS_BIN" umount "$M"
    one_of 'status of umount' $? 0 3
    want region check "$S"
    up
    sums "$M" >"$D/next"
    want diff "$D/two" "$D/next"
    down
    "$TFS_BIN" check "$S" || note 'terrainfs check finds fault'
}

try 'a storm, seed 1' weather 1
try 'a storm, seed 2' weather 2
try 'a storm, seed 3, commit=close' weather 3 -o commit=close
try 'a storm, seed 4, small caches' weather 4 -o cache=64K,scratch=64K,threads=4
finish
