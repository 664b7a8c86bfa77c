#!/usr/bin/env bash
# Many at once: random work on scratch files, ten writers, readers of what is derived from a chunk that changes,
# the end of the mount and the replacement of the save while writers are at work.
. "$(dirname "$0")/lib.sh"

fsx() {
    local seed
    up
    mkdir "$M/.fsx"
    for seed in 1 2 3; do
        "$PYTHON" -S "$ROOT/tests/tools/fsx.py" "$M/.fsx/$seed" "$seed" 1500 >"$D/fsx.$seed" 2>&1 &
        jobs[seed]=$!
    done
    for seed in 1 2 3; do
        wait "${jobs[seed]}" || note "fsx, seed $seed: $(<"$D/fsx.$seed")"
    done
    rm -r "$M/.fsx"
    down
    want cmp "$PRISTINE" "$S"
}

stress_ng() {
    command -v stress-ng >/dev/null || { skip 'stress-ng is not installed'; return; }
    up
    mkdir "$M/.stress"
    want timeout 100 stress-ng --temp-path "$M/.stress" --verify --quiet --rename 2 --rename-ops 300 \
        --dentry 2 --dentries 64 --dentry-ops 300 --dir 1 --dir-dirs 64 --dir-ops 200 --timeout 15
    want rm -r "$M/.stress"
    want cmp "$M/chunks/$C/raw.bin" <(region body "$PRISTINE" "$C")
    down
    want cmp "$PRISTINE" "$S"
}

# write_each TOP COUNT CHUNKS LEDGERS STEPS [ERRNO...]: COUNT writers append STEPS blocks each, to the chunks in
# turn, and keep ledgers of what was acknowledged. Errors other than those named are printed.
write_each() {
    py '
top, count, chunks, ledgers = a[0], int(a[1]), a[2].split(), a[3]
def line(writer, i):
    x, y, z = (int(n) * 16 for n in chunks[writer % len(chunks)].split("_"))
    return b"%d,%d,%d,base:writer_%d\n" % (x + writer, y + i % 16, z + i // 16 % 16, writer)
for writer in range(count):
    if os.fork() == 0:
        with open("%s/%d" % (ledgers, writer), "wb", 0) as ledger:
            for i in range(int(a[4])):
                text = line(writer, i)
                try:
                    put("%s/%s/voxels.csv" % (top, chunks[writer % len(chunks)]), text, os.O_WRONLY | os.O_APPEND)
                except OSError as e:
                    if errno.errorcode[e.errno] not in a[5:]:
                        print(e)
                    continue
                ledger.write(text)
        os._exit(0)
while True:
    try:
        os.wait()
    except ChildProcessError:
        break
' "$@"
}

# Every line of the ledgers is a block of the save.
ledgers_hold() {
    same 'edits that were acknowledged and are not in the save' "$("$PYTHON" -S -c '
import glob, sys
sys.path.insert(0, sys.argv[1])
from region import Region
chunks, count = Region(sys.argv[2]).chunks, 0
for name in glob.glob(sys.argv[3] + "/*"):
    for line in open(name, "rb"):
        x, y, z, block = line.rstrip().split(b",")
        x, y, z, count = int(x), int(y), int(z), count + 1
        if chunks[x // 16, y // 16, z // 16].block(x, y, z) != block:
            print(line)
print(count, file=sys.stderr)' "$ROOT/tests/tools" "$S" "$D/ledgers" 2>"$D/count")" ''
    [ -z "${1:-}" ] || same 'edits that were acknowledged' "$(<"$D/count")" "$1"
}

ten_writers() {
    mkdir "$D/ledgers"
    up
    same 'errors' "$(write_each "$M/chunks" 10 "$1" "$D/ledgers" 10)" ''
    ledgers_hold 100
    down
    ledgers_hold 100
    want region check "$S"
}

on_one_chunk() { ten_writers "$C"; }

on_different_chunks() {
    ten_writers "$(region chunks "$S" | cut -d' ' -f1 | head -n 10 | paste -sd ' ')"
}

# Each read of a derived file shows the state before an edit or the one after it: never bytes of both. A read
# that an edit falls into is not judged, as of any file: its times say so.
readers_of_derived_files() {
    up
    same 'mixtures' "$(py '
top, chunk, voxel, old = a
table = top + "/chunks/" + chunk + "/voxels.csv"
text = get(table)
was = ("\n%s,%s\n" % (voxel, old)).encode()
states = [text.replace(was, ("\n%s,%s\n" % (voxel, name)).encode()) for name in ("aa:a", "zz:z" * 60)]
def every(name):
    return [top + "/" + name] if "chunk" not in name else [top + "/chunks/" + chunk + "/" + name[6:]]
def settle(state):
    put(table, state, os.O_WRONLY | os.O_TRUNC)
files = [top + "/palette.txt", top + "/heightmap.png"] + [
    top + "/chunks/" + chunk + "/" + name for name in ("palette.txt", "blocks.txt", "raw.bin")]
wanted = []
for state in states * 4:
    settle(state)
    wanted.append([get(f) for f in files])
reader = []
done = a[1] + "-done"
for f, good in zip(files, zip(*wanted)):
    r, w = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(w)
        while True:
            before = os.stat(f).st_mtime_ns
            seen = get(f)
            if os.stat(f).st_mtime_ns == before and not any(seen == state[:len(seen)] and len(seen) in map(len, good) for state in good):
                print(f, len(seen), "bytes of", *map(len, good), flush=True)
                os._exit(1)
            if os.get_blocking(r):
                os.set_blocking(r, False)
            try:
                if os.read(r, 1) == b"":
                    os._exit(0)
            except BlockingIOError:
                pass
    os.close(r)
    reader.append((pid, w))
for i in range(60):
    settle(states[i % 2])
for pid, w in reader:
    os.close(w)
for pid, w in reader:
    os.waitpid(pid, 0)
' "$M" "$C" "$V" "$B" 2>&1 | head -n 5)" ''
    down
    want region check "$S"
}

some_written() {
    cat "$D/ledgers/"* 2>/dev/null | grep -q .
}

# The daemon is told to end while ten write: what was acknowledged is in the save.
ends_under_load() {
    local pid
    mkdir "$D/ledgers"
    up
    pid=$(sed -n 's/^pid: //p' "$M/.terrainfs/status")
    write_each "$M/chunks" 10 "$C" "$D/ledgers" 300 ENOTCONN ECONNABORTED ENOENT ENODEV EIO >"$D/errors" &
    soon some_written
    case $1 in
    signal) kill -TERM "$pid" ;;
    lazily) fusermount3 -u -z "$M" ;;
    esac
    wait $!
    same 'errors' "$(<"$D/errors")" ''
    soon [ ! -e "/proc/$pid" ]
    ledgers_hold
    want region check "$S"
}

# Others put new saves in the place of ours while ten write: each side hears of the other, the save is always
# whole, and at the end the mount shows what is in it.
replaced_under_load() {
    mkdir "$D/ledgers"
    up
    write_each "$M/chunks" 10 "$C" "$D/ledgers" 40 ESTALE EIO ENOENT >"$D/errors" &
    for _ in {1..15}; do
        cp "$PRISTINE" "$D/next"
        mv "$D/next" "$S"
        want "$TFS_BIN" check "$S"
    done
    wait $!
    same 'errors' "$(<"$D/errors")" ''
    region body "$PRISTINE" "$C2" >"$D/body" # a pipe could be read once only
    want soon cmp -s "$M/chunks/$C2/raw.bin" "$D/body"
    timeout 60 "$TFS_BIN" umount "$M"
    one_of 'status of umount' $? 0 3
    want "$TFS_BIN" check "$S"
    want region check "$S"
}

try 'fsx on scratch files' fsx
try 'stress-ng on scratch files' stress_ng
try 'ten writers on one chunk' on_one_chunk
try 'ten writers on different chunks' on_different_chunks
try 'readers of derived files while the chunk changes' readers_of_derived_files
try 'SIGTERM under load' ends_under_load signal
try 'a lazy unmount under load' ends_under_load lazily
try 'the save is replaced under load' replaced_under_load
finish
