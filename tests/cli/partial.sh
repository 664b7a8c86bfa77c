#!/usr/bin/env bash
# Saves of which not everything can be shown: export names that, and import --delete does not remove it.
. "$(dirname "$0")/lib.bash"

# sqlite FILE SQL
sqlite() {
    python3 -c 'import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
db.execute(sys.argv[2])
db.commit()' "$@"
}

# partial SAVE WHAT: check and export both name one chunk.
partial() {
    run 1 "check of $2" check "$1"
    run 1 "export of $2" export "$1" "$1.tree"
    says err 'chunks/[-0-9_]+' "names the chunk"
    grep -qx partial "$1.tree/.terrainfs/manifest"
    ok "and notes it"
}

"$TOOLS/make_luanti" world luanti 6 2>/dev/null
sqlite luanti/map.sqlite "update blocks set data = x'1d00' where rowid = (select min(rowid) from blocks)"
partial luanti "a map with a damaged row"
"$TOOLS/make_voxel" stream stream.save 12 2>/dev/null
sqlite stream.save "update blocks set vb = x'0400' where rowid = (select min(rowid) from blocks)"
partial stream.save "a stream with a damaged row"
"$TOOLS/make_voxel" folder folder 2 2>/dev/null
part=folder/regions/lod0/r.0.0.0.vxr
head -c 100 /dev/zero | tr "\0" "\377" | dd of=$part bs=1 seek=$(($(stat -c %s $part) - 1500)) conv=notrunc status=none
partial folder "a folder with a damaged block"

# ---- a region that is left out
"$TOOLS/make_world" --regions 3 --chunks 6 whole || exit 3
region=regions/region_-1_0_-1.cosmicreach
whole=whole/zones/base/earth
[ -f $whole/$region ] || region=regions/$(cd $whole/regions && ls | sed 1q)
cp -r $whole zone
printf '\0\0\0\177' | dd of=zone/$region bs=1 seek=4 conv=notrunc status=none
cp -r zone damaged
run 1 "export of a zone without one of its regions" export zone tree
says err 'is left out' "names it"
cp $whole/$region zone/$region
for options in --delete '--all --delete'; do
    # shellcheck disable=SC2086 # options
    run 1 "import $options into the whole zone" import $options tree zone
    says err 'tree: this export could not show everything of the save, and --delete would remove that' "is refused"
    diff -r zone $whole >out
    ok "and removes nothing"
done
voxels=$(ls tree/chunks/*/voxels.csv | sed 1q)
run 2 "diff of the mended zone and the export" diff zone tree
says err 'could not show everything of the save, and what it lacks may be there' "says that the export lacks something"
sed -i '2s/,[^,]*$/,base:edited[default]/' "$voxels"
run 2 "diff of the mended zone and the export in which a chunk was edited" diff zone tree
says out 'base:edited' "shows that edit"
run 0 "import of that edit" import tree zone
done_testing
