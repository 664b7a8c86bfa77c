#!/usr/bin/env bash
# Orders of events that once went wrong, each tried many times: what one process does between two steps of
# another. Nothing hangs, and at the end every file that is listed can be read.
. "$(dirname "$0")/lib.sh"

# A file renamed onto one of a chunk that moves just then: both are done, and the file can be read there.
moved_under_a_rename() {
    up
    same 'files that cannot be read' "$(py '
import shutil
chunks, beside = a
first, second, temp = chunks + "/3_1_2", chunks + "/3_2_2", beside + "/.a"
hammer = os.fork()
if hammer == 0:
    for i in range(1 << 30):
        put(beside + "/lights/block.txt", b"fill %03x\n" % (i % 4096))
def step(i):
    os.mkdir(first)
    err(os.mkdir, first + "/lights")
    put(temp, b"fill %d\n" % (i % 16))
    child = os.fork()
    if child == 0:
        os._exit(err(os.rename, temp, first + "/lights/sky.txt") != "ok")
    time.sleep(0.0002 * (i % 20))
    os.rename(first, second)
    renamed = os.waitpid(child, 0)[1] == 0
    for top, dirs, files in os.walk(second):
        for file in files:
            if err(get, top + "/" + file) not in ("ok", "ENOENT"):
                print(file, err(get, top + "/" + file), "in round", i)
    if renamed and get(second + "/lights/sky.txt") != b"fill %d\n" % (i % 16):
        print("sky.txt is another in round", i)
    shutil.rmtree(second)
    err(os.unlink, temp)
try:
    for i in range(60):
        step(i)
finally:
    os.kill(hammer, 9)
    os.wait()
' "$M/chunks" "$M/chunks/$C" 2>&1 | tail -n 3)" ''
    timeout 60 "$TFS_BIN" umount "$M"
    one_of 'status of umount' $? 0 3
    want region check "$S"
}

# The same with a file that is written.
moved_under_a_writer() {
    up
    same 'what went wrong' "$(py '
import shutil
chunks = a[0]
first, second = chunks + "/3_1_2", chunks + "/3_2_2"
for i in range(60):
    os.mkdir(first)
    child = os.fork()
    if child == 0:
        os._exit(err(put, first + "/voxels.csv", b"x,y,z,block\n50,18,34,base:moved\n") != "ok")
    time.sleep(0.0002 * (i % 20))
    os.rename(first, second)
    written = os.waitpid(child, 0)[1] == 0
    if written and b"50,34,34,base:moved" not in get(second + "/voxels.csv"):
        print("the edit is lost in round", i)
    shutil.rmtree(second)
    if os.path.exists(first):
        shutil.rmtree(first)
' "$M/chunks" 2>&1 | tail -n 3)" ''
    timeout 60 "$TFS_BIN" umount "$M"
    one_of 'status of umount' $? 0 3
}

# A reader of a file that others rename onto sees one state or another, never a mixture or nothing.
read_while_replaced() {
    up
    same 'mixtures' "$(py '
blocks = a[0]
text = get(blocks)
states = [text, text.replace(b" base:air\n", b" base:air[%s]\n" % (b"x" * 300))]
child = os.fork()
if child == 0:
    for i in range(150):
        put(blocks + ".tmp", states[i % 2])
        os.rename(blocks + ".tmp", blocks)
    os._exit(0)
while os.waitpid(child, os.WNOHANG)[0] == 0:
    seen = get(blocks)
    if seen not in states:
        print(len(seen), "bytes, of", *map(len, states))
' "$M/chunks/$C/blocks.txt" 2>&1 | sort | uniq -c | tail -n 3)" ''
    down
    same 'chunks changed' "$(region diff "$PRISTINE" "$S" | grep -cv "^changed $C ")" 0
}

try 'a file renamed into a chunk that moves' moved_under_a_rename
try 'a file written in a chunk that moves' moved_under_a_writer
try 'a file read while others replace it' read_while_replaced
finish
