#!/usr/bin/env bash
# merge, diff and export of saves that do not show everything they have: what is not shown is not removed.
. "$(dirname "$0")/lib.bash"
. "$ROOT/tests/cli/merge.bash"

# refuses SIDE PATTERN WHAT: the merge of b, o and t is refused for that side, and o stays.
refuses() {
    rm -rf o.before && cp -a o o.before
    merge 2 "$3: merge" b o t
    says err "nothing is merged: not all of $1 can be read: .*$2" "$3: names the side and what cannot be read"
    diff -r o o.before >out
    ok "$3: ours is as it was"
}

# unsure PATTERN WHAT: diff of o and t.
unsure() {
    run 2 "$2: diff" diff o t
    says err "^terrainfs: t: not all of it can be read: .*$1" "$2: names what cannot be read"
    ! grep -Eq '^-chunk| [1-9][0-9]* removed' out
    ok "$2: nothing is called removed"
    run 2 "$2: the other way round" diff t o
    ! grep -Eq '^\+chunk| [1-9][0-9]* added' out
    ok "$2: nothing is called added"
    run 2 "$2: --json" diff --json o t
    says out '"removed":0' "$2: has none either"
    run 0 "$2: text" text t
    says out '^(not all of it can be read|no terrain): ' "$2: says so"
}

# ---- a region of a zone
"$TOOLS/make_world" --regions 2 --chunks 4 world || exit 3
zone=world/zones/base/earth
take "$zone"
region=$(cd t/regions && ls | sed 1q)
printf '\0\0\0\10' | dd of="t/regions/$region" bs=1 seek=4 conv=notrunc status=none
refuses theirs "$region: is left out" "a region of a later version"
unsure "$region: is left out" "a region of a later version"
cp "o/regions/$region" elsewhere && ln -sf "$PWD/elsewhere" "t/regions/$region"
refuses theirs "$region: is left out: it is a link" "a region that is a link"
run 1 "export of it" export t tree
says err "$region: is left out" "says so"
take "$zone"
mutate cosmic_reach "o/regions/$region" 1
printf '\0\0\0\10' | dd of="b/regions/$region" bs=1 seek=4 conv=notrunc status=none
refuses 'the base' "$region: is left out" "a base without a region"
take "$zone"
mutate cosmic_reach "t/regions/$region" 1
printf '\0\0\0\10' | dd of="o/regions/$region" bs=1 seek=4 conv=notrunc status=none
refuses ours "$region: is left out" "ours without a region"

run 0 "diff of the zone and itself" diff o o

# ---- chunks of a column that cannot be told
region one --version 7 --chunks 40
take one
python3 - t <<'END'
import gzip, struct, sys
data = open(sys.argv[1], 'rb').read()
packed = data[8:12] != b'\0\0\0\0'
payload = bytearray(gzip.decompress(data[12:]) if packed else data[12:])
code, size = {1: ('b', 1), 2: ('h', 2), 3: ('i', 4), 4: ('q', 8)}[payload[4]]
start = 5 + 256 * size
for offset in struct.unpack(f'>256{code}', payload[5:start]):
    if offset >= 0 and payload[start + offset + 8] > 1:
        payload[start + offset + 13:start + offset + 17] = struct.pack('>i', 15)
        break
else:
    sys.exit('no column has two chunks')
open(sys.argv[1], 'wb').write(data[:12] + (gzip.compress(bytes(payload)) if packed else payload))
END
run 1 "check of a column out of order" check t
says out 'damaged: column ' "calls it damaged, without a chunk"
refuses theirs 'column .*do not ascend' "a column out of order"
unsure 'column .*do not ascend' "a column out of order"
run 1 "export of it" export t column
cp t equal
run 0 "diff of the region and a file of the same bytes" diff t equal
run 0 "and of the region and itself" diff t t

# ---- the last chunk of a column
region few --version 7 --chunks 1
region many --version 7 --chunks 20
python3 - few <<'END'
import gzip, struct, sys
data = open(sys.argv[1], 'rb').read()
packed = data[8:12] != b'\0\0\0\0'
payload = bytearray(gzip.decompress(data[12:]) if packed else data[12:])
code, size = {1: ('b', 1), 2: ('h', 2), 3: ('i', 4), 4: ('q', 8)}[payload[4]]
start = 5 + 256 * size
first = min(o for o in struct.unpack(f'>256{code}', payload[5:start]) if o >= 0)
payload[start + first + 21] = 99
open(sys.argv[1], 'wb').write(data[:12] + (gzip.compress(bytes(payload)) if packed else payload))
END
run 1 "check of a region whose only chunk is damaged" check few
says out 'damaged: chunk' "names it"
run 1 "diff of that and a region with more chunks" diff --stat few many
says out '(19|20) added' "counts them"

# ---- terrain that is stored in another way
place() {
    printf '<roblox version="4"><Item class="Terrain"><Properties>%s</Properties></Item>%s</roblox>' "$2" "${3:-}" >"$1"
}
"$TOOLS/make_place" --kind xml --chunks 4 --log2 4 model.rbxmx
take model.rbxmx
place t '<BinaryString name="ClusterGridV3">AQID</BinaryString>'
refuses theirs 'ClusterGrid' "a terrain of the old kind"
unsure 'ClusterGrid' "a terrain of the old kind"
place t '<SharedString name="SmoothGrid">a2V5</SharedString>' \
    '<SharedStrings><SharedString md5="a2V5">AQUA</SharedString></SharedStrings>'
refuses theirs 'not stored as a byte string' "a terrain that is a shared string"
unsure 'not stored as a byte string' "a terrain that is a shared string"

# ---- rows that no coordinate reaches
# sqlite FILE SQL
sqlite() {
    python3 -c 'import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
db.execute(sys.argv[2])
db.commit()' "$@"
}

"$TOOLS/make_voxel" stream stream.save 12 2>/dev/null
take stream.save
sqlite t "update blocks set loc = ' ' || loc where rowid = 1"
refuses theirs '1 row of the database cannot be reached' "a row whose key is in another spelling"
unsure '1 row of the database cannot be reached' "a row whose key is in another spelling"
run 1 "export of it" export t rows

# ---- an export that lacks what could not be read
take "$zone"
printf '\0\0\0\10' | dd of="t/regions/$region" bs=1 seek=4 conv=notrunc status=none
rm -rf tree && run 1 "export of a zone without a region" export t tree
cp -r o o.before
run 1 "import --all --delete of it" import --all --delete tree o
says err 'could not show everything of the save, and --delete would remove that' "is refused"
diff -r o o.before >out
ok "the region stays"
run 1 "--delete alone" import --delete tree o
diff -r o o.before >out
ok "leaves it, too"
run 0 "--all alone" import --all tree o
run 0 "export of the whole zone" export o whole
! grep -qx partial whole/.terrainfs/manifest
ok "does not say so"
run 0 "--all --delete of it" import --all --delete whole o

# ---- as git merges common ancestors first
take one
mutate cosmic_reach o 1
head -c 100 one >t && before=$(sha1sum <b)
run 2 "--virtual with a side that is damaged" merge --virtual --path=one b o t
same o b "leaves the base: ours must not win the merge that follows"
[ "$(sha1sum <b)" = "$before" ] && [ "$(stat -c %a o)" = "$(stat -c %a t)" ]
ok "which stays itself"
take one
head -c 100 one >o
run 2 "--virtual with ours damaged" merge --virtual --path=one b o t
same o b "leaves the base"
take one
mutate cosmic_reach o 1 && head -c 100 one >b
run 2 "--virtual with a base that is damaged" merge --virtual --path=one b o t
same o b "leaves it as it is"
: >b && head -c 100 one >t
run 2 "--virtual without a base" merge --virtual --path=one b o t
[ -f o ] && [ ! -s o ]
ok "leaves nothing, as before both"
take one
mutate cosmic_reach o 1 && cp o o.before && head -c 100 one >t
run 2 "--virtual by hand" merge --virtual b o t
same o o.before "leaves ours: nothing keeps what would be replaced"
run 2 "with an OUT" merge --virtual --path=one b o t -o result
same o o.before "leaves ours, too"
[ ! -e result ]
ok "and makes none"
ln -s o link
run 2 "ours by a link" merge --virtual --path=one b link t
same o b "leaves the base in the file that it leads to"
[ -L link ]
ok "and the link"
done_testing
