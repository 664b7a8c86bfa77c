#!/usr/bin/env bash
# export: the whole tree, its modes, what it refuses.
. "$(dirname "$0")/lib.bash"

region save --chunks 12
cp save before
chmod 0640 save

run 0 "export succeeds" export save dir
[ ! -s out ] && [ ! -s err ]
ok "export says nothing when all is well"
[ "$(find dir/chunks -mindepth 1 -maxdepth 1 -type d | wc -l)" = 12 ]
ok "every chunk has a directory"
chunk=$(judge chunks save | awk 'NR == 1 { print $1 }')
failed=0
find dir -type f ! -path 'dir/.terrainfs/*' | sed 's,^dir/,,' >names
while read -r name; do
    "$TFS" cat save "$name" | cmp -s - "dir/$name" || failed=1
done <names
[ "$(wc -l <names)" -gt 48 ] && [ $failed = 0 ]
ok "every file is what cat prints"
[ -d "dir/chunks/$chunk/lights" ]
ok "directories without files are written too"
[ "$(stat -c %a dir/palette.txt)" = 640 ] && [ "$(stat -c %a dir/chunks)" = 750 ]
ok "modes follow the save"
same save before "the save is as it was"

run 2 "export into a directory that is not empty is refused" export save dir
says err 'dir: the directory is not empty' "it is said which"
"$TOOLS/make_ter" --size 64 --materials 1 t.ter && printf '0 %0250d\n' 1 | "$TFS" put t.ter palette.txt &&
    "$TFS" export t.ter long >out 2>err && "$TFS" diff t.ter t.ter && cp long/layers/*.png mask.png &&
    python3 "$ROOT/tests/tools/png.py" edit mask.png --strip && cp mask.png long/layers/00_*.png &&
    "$TFS" import long t.ter >out 2>err
ok "a material name of 250 bytes is exported, and its mask imported"
mkdir empty
run 0 "export into an empty directory" export save empty
diff -r dir empty >/dev/null
ok "both copies are the same"
touch file
run 3 "export onto a file is refused" export save file
says err 'file: Not a directory' "it is said why"
run 3 "export below nothing is refused" export save no/such/dir
place() {
    printf '<roblox version="4"><Item class="%s"><Properties>%s</Properties></Item></roblox>' "$2" "$3" >"$1"
}
place bare.rbxlx Workspace ''
run 1 "export of a place without terrain is refused" export bare.rbxlx nothing
says err 'nothing to export: this file has no Terrain' "it is said that there is none"
[ ! -e nothing ]
ok "no directory is made"
place old.rbxlx Terrain '<BinaryString name="ClusterGridV2">AQID</BinaryString>'
run 1 "export of the terrain of old places is refused" export old.rbxlx nothing
says err 'ClusterGrid.*Roblox Studio, which converts it' "it is said what converts it"
chmod 0400 save
run 0 "export of a read-only save" export save from_read_only
[ "$(stat -c %a from_read_only/palette.txt)" = 600 ]
ok "the owner can edit the copy"

region table --version 2 --chunks 3
damage table damaged
run 1 "export of a damaged save has status 1" export damaged salvage
says err 'damaged: ' "it says what is damaged"
[ "$(find salvage -name voxels.csv | wc -l)" = 2 ] && [ "$(find salvage -name raw.bin | wc -l)" = 3 ]
ok "what can be read is written"

# A limit on file size stands for a full disk.
(
    trap '' XFSZ
    ulimit -f 8
    exec "$TFS" export save big
) >out 2>err
[ $? = 3 ]
ok "export to a full disk has status 3"
says err '^terrainfs: big/.*: File too large' "it says which file could not be written"
diff -rq dir big | grep -E '^Files' | grep -v /.terrainfs/ >out
[ ! -s out ]
ok "no file is left of which only a part was written"
chmod u+w save
cp save before
for options in "" "--all --delete"; do
    run 1 "import $options of it" import $options big save
    says err '^terrainfs: big: this export was cut off: export again$' "says that it is only a part"
    same save before "and takes nothing"
done
run 2 "diff with it" diff save big
says err '^terrainfs: big: this export was cut off' "says so, too"
done_testing
