#!/usr/bin/env bash
# info, check, cat: what they print, what they leave alone, and a standard output that breaks.
. "$(dirname "$0")/lib.bash"

region save --chunks 12
cp save before
chunk=$(judge chunks save | awk 'NR == 1 { print $1 }')

run 0 "info succeeds" info save
says out '^format: cosmic_reach$' "info names the format"
says out '^chunks: 12$' "info counts the chunks"
cp out info.txt
run 0 "cat of info.txt succeeds" cat save info.txt
same out info.txt "cat of info.txt prints what info prints"

# The bytes that stand for block entities in a made region are none that the game wrote.
run 0 "check of a save with strange block entities succeeds" check save
says out 'warning: chunks/.*: its block entities are not understood' "check warns of them"
says out '12 chunks, 0 damaged, 1 warning$' "check counts the warning"
region good --version 0 --chunks 12
run 0 "check of a good save succeeds" check good
says out '12 chunks, 0 damaged, 0 warnings$' "check counts"
[ "$(wc -l <out)" = 1 ]
ok "check of a good save prints one line"

run 0 "cat of a chunk's file succeeds" cat save "chunks/$chunk/raw.bin"
judge body save "$chunk" >body
same out body "cat of raw.bin prints the chunk's bytes"
run 0 "cat of a path with slashes and dots" cat save "/./chunks//$chunk/raw.bin"
same out body "such a path means the same file"
run 1 "cat of a directory fails" cat save "chunks/$chunk"
says err 'it is a directory' "cat of a directory says so"
run 1 "cat of an unknown name fails" cat save nosuch.txt
says err '^terrainfs: save/nosuch.txt: the save has no such file$' "cat of an unknown name says so"
run 1 "cat of a name that is nearly one" cat save palete.txt
says err 'save/palete.txt: the save has no such file; did you mean palette.txt\?$' "asks for that"
run 1 "cat of an absent chunk fails" cat save chunks/15_15_15/raw.bin
says err 'chunks/15_15_15: the save has no such chunk' "cat of an absent chunk names the chunk"
run 1 "cat of nothing below a file" cat save info.txt/x
run 0 "cat of several files succeeds" cat save info.txt palette.txt
{ "$TFS" cat save info.txt; "$TFS" cat save palette.txt; } >wanted
same out wanted "they come one behind the other"
run 0 "cat of a pattern succeeds" cat save './chunks/*/raw.bin'
for name in $("$TFS" export save tree && ls tree/chunks); do cat "tree/chunks/$name/raw.bin"; done | wc -c >size
[ "$(wc -c <out)" = "$(cat size)" ]
ok "the pattern means the files of all chunks"
run 0 "a pattern of several components" cat save 'chunks/*/lights/*.txt'
for directory in tree/chunks/*; do cat "$directory"/lights/*.txt; done | wc -c >size
[ "$(wc -c <out)" = "$(cat size)" ]
ok "it means what a shell finds in an export"
run 1 "a pattern that fits nothing has status 1" cat save 'chunks/q*/raw.bin' info.txt
says err 'q\*/raw.bin: the save has no file like this' "it says so"
says out '^format:' "the others are printed all the same"
run 1 "a pattern that fits directories only" cat save 'chunks/*'
run 1 "a pattern that is too long" cat save "$(printf '%0300d' 0)*"

run 0 "info --json succeeds" info --json save
"$TFS" info save >lines
python3 - <<'END'
import json
found = json.load(open('out'))
lines = [line.rstrip('\n').split(': ', 1) for line in open('lines')]
assert found.pop('save') == 'save' and found.pop('damaged') == []
assert found.pop('warning') == [value for key, value in lines if key == 'warning']
assert list(found) == [key for key, value in lines if key not in ('damaged', 'warning')]
assert all(str(found[key]) == value for key, value in lines if key != 'warning') and found['chunks'] == 12
END
ok "info --json says what info says"
run 0 "check --json succeeds" check --json good
[ "$(cat out)" = '{"save":"good","format":"cosmic_reach","chunks":12,"damaged":0,"warnings":0,"findings":[]}' ]
ok "check --json prints one object"
cp save 'a"b\'
run 0 "info --json of a name with quotes" info --json 'a"b\' save
python3 -c 'import json; assert [json.loads(l)["save"] for l in open("out")] == ["a\"b\\", "save"]'
ok "several saves are an object a line, and names are escaped"
same save before "nothing was written"

if [ -w /dev/full ]; then
    for command in "info save" "check save" "cat save info.txt" "--help"; do
        # shellcheck disable=SC2086
        "$TFS" $command >/dev/full 2>err
        [ $? = 3 ]
        ok "$command to a full disk has status 3"
        says err 'standard output: No space left on device' "$command to a full disk says why"
    done
fi
for command in "info save" "check save" "cat save info.txt" "text save" "info --json save" "--help"; do
    # shellcheck disable=SC2086
    "$TFS" $command >&- 2>err
    [ $? = 3 ]
    ok "$command to a closed output has status 3"
    says err 'standard output: Bad file descriptor' "$command to a closed output says why"
done
# The reader is gone before the writer begins.
mkfifo pipe
(exec 3<>pipe 4>pipe 3>&-; "$TFS" info save >&4 2>err; echo $? >status)
[ "$(cat status)" = 3 ]
ok "info into a closed pipe has status 3"
[ ! -s err ]
ok "it ends quietly"

chmod 0400 save
run 0 "a save that only can be read is shown" info save
chmod 0000 save
if [ "$(id -u)" != 0 ]; then
    run 3 "a save that cannot be read has status 3" info save
fi
chmod 0600 save

# Damage inside one chunk whose extent is known: the palette's size of a table region's first chunk.
region table --version 2 --chunks 3
damage table damaged
run 1 "check of a damaged save has status 1" check damaged
says out '^damaged: damaged: ' "check names what is damaged"
says out '3 chunks, 1 damaged' "check counts what is damaged"
run 1 "check --json of a damaged save has status 1" check --json damaged
python3 -c 'import json; f = json.load(open("out")); assert f["damaged"] == 1 and f["findings"][0]["kind"] == "damaged"'
ok "check --json names what is damaged"
run 0 "info of a damaged save succeeds" info damaged
says out '^damaged: ' "info names what is damaged"
head -c 20 table >short
run 1 "check of a truncated save has status 1" check short
says err '^terrainfs: short: ' "check of a truncated save names it"

mkdir unreadable && mv short unreadable/short.cosmicreach && cp good unreadable/good.cosmicreach
"$TFS" check --json unreadable/short.cosmicreach none 2>err >out
[ $? = 3 ] && "$TFS" check -r --json unreadable 2>>err >>out
[ $? = 1 ] && python3 - <<'END'
import json
short, none, whole, again = map(json.loads, open('out'))
assert short == again and short['format'] is None and short['damaged'] == 1 and whole['chunks'] == 12
assert none['findings'][0]['kind'] == 'unreadable' and 'No such file' in none['findings'][0]['text']
END
ok "check --json prints an object of a save that cannot be read, with -r too"
run 0 "check --quiet of a save with warnings" check --quiet save
[ ! -s out ] && [ ! -s err ]
ok "prints no harmless ones"
run 1 "check --quiet of damage" check --quiet damaged
says out '^damaged: damaged: ' "names it"

# ---- patterns in a save of several regions, of which a path reads one
"$TOOLS/make_world" --regions 3 --chunks 6 world || exit 3
zone=world/zones/base/earth
cp -r $zone world/zones/base/moon
"$TFS" export $zone shown || exit 3
# What there is but for headers of tables.
rows() {
    sed '/^x,y,z,block$/d' | wc -c
}
for pattern in 'chunks/*/voxels.csv' 'heightmaps/*.png' '*/-*/raw.bin'; do
    run 0 "cat of $pattern in a zone" cat $zone "$pattern"
    (cd shown && compgen -G "$pattern" | xargs cat | rows) >wanted
    [ "$(rows <out)" = "$(cat wanted)" ]
    ok "prints those of every region"
    run 0 "cat of $pattern in every zone" cat world "zones/*/*/$pattern"
    [ "$(rows <out)" = $((2 * $(cat wanted))) ]
    ok "prints those of every zone"
done
first=$(cd shown/chunks && echo * | cut -d' ' -f1)
run 0 "cat of a file and a pattern" cat $zone "chunks/$first/voxels.csv" 'chunks/*/voxels.csv'
[ "$(grep -n '^x,' out)" = 1:x,y,z,block ]
ok "the header of many tables stands once"
sort -u out >got
cat shown/chunks/*/voxels.csv | sort -u >wanted
same got wanted "the pattern means all regions, whatever was read before"

# opens ARGUMENTS...: how often the program opens region files. Equal events that follow each other are one: so
# closing is watched, too.
opens() {
    python3 -S - "$zone/regions" "$TFS" "$@" <<'END'
import ctypes, os, struct, subprocess, sys
libc = ctypes.CDLL(None)
queue = libc.inotify_init1(os.O_NONBLOCK)
assert queue >= 0 and libc.inotify_add_watch(queue, sys.argv[1].encode(), 0x20 | 0x10) >= 0
subprocess.run(sys.argv[2:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
events, at, count = os.read(queue, 1 << 20), 0, 0
while at < len(events):
    _, mask, _, size = struct.unpack_from('iIII', events, at)
    count += events[at + 16:at + 16 + size].startswith(b'region_') and mask & 0x20 != 0
    at += 16 + size
print(count)
END
}
one=$(opens cat $zone "chunks/$first/voxels.csv")
every=$(opens cat $zone 'chunks/*/voxels.csv')
[ "$one" -lt "$every" ] && [ "$(opens cat $zone "./chunks/$first/*.csv")" = "$one" ]
ok "a pattern in the directory of one chunk reads the regions that its path reads"
none=$(opens cat $zone 'chunks/none/*.csv')
[ "$none" -lt "$one" ] && [ "$none" -lt "$(opens cat $zone 'chunks/no*/*.csv')" ]
ok "one in the directory of no chunk reads none"
run 1 "which is said" cat $zone 'chunks/none/*.csv'
says err 'the save has no file like this' "as of every pattern"
done_testing
