#!/usr/bin/env bash
# diff --png: both maps and what changed in one picture, judged pixel by pixel by a decoder of its own.
. "$(dirname "$0")/lib.bash"

# shows A B WHAT: the picture out.png is that of A and B.
shows() {
    python3 "$ROOT/tests/tools/diff_png.py" "$TFS" "$1" "$2" out.png >out 2>&1
    ok "$3"
}

# both FORMAT SAVE: against a mutation.
both() {
    cp -r "$2" new && python3 "$ROOT/tests/tools/diff_rows.py" mutate "$1" new 1 "$TFS" || exit 3
    rm -f out.png
    run 1 "$2 and a mutation" diff --png out.png "$2" new
    says out '^terrain: ' "the text is printed as ever"
    shows "$2" new "the picture has both maps, and every column that differs is marked"
    rm -rf new
}

region cosmic --version 7 --chunks 12
both cosmic_reach cosmic
"$TOOLS/make_place" --kind binary --chunks 6 --log2 4 --regions 2 place.rbxl
both roblox place.rbxl
"$TOOLS/make_voxel" stream stream.save 12 2>/dev/null
both godot_voxel stream.save
"$TOOLS/make_voxel" block block.save 4 2>/dev/null
both godot_voxel block.save
"$TOOLS/make_ter" --size 100 --version 9 odd.ter
both beamng odd.ter
"$TOOLS/make_luanti" world world 8
cp -r world other
"$TFS" cat other chunks/-1_-1_-1/voxels.csv | sed 3,40d | "$TFS" put other chunks/-1_-1_-1/voxels.csv || exit 3
run 1 "a world of Luanti" diff --stat --png out.png world other
shows world other "and its picture"

# ---- which pictures there are
cp out.png before.png
run 0 "two that are the same" diff --png out.png world world
[ ! -s out ]
ok "nothing is said"
shows world world "the picture takes the place of an older one, and marks nothing"
differ before.png out.png "it is another one"
region more --version 7 --chunks 30
run 1 "chunks were added" diff --png out.png cosmic more
shows cosmic more "the maps are drawn where they lie in the world"
run 0 "export" export cosmic tree
"$TFS" cat cosmic "chunks/$(judge chunks cosmic | awk 'NR == 1 { print $1 }')/voxels.csv" | sed 2,30d >csv
cp csv "tree/chunks/$(judge chunks cosmic | awk 'NR == 1 { print $1 }')/voxels.csv"
cp -r cosmic imported && "$TFS" import tree imported 2>err
run 1 "an exported directory" diff --png out.png cosmic tree
shows cosmic imported "is drawn as what import makes of it"
"$TOOLS/make_place" --kind raw --chunks 1 --log2 5 blob
far() { # far NAME X: the place with a chunk far away
    cp blob "$1" && rm -rf t && "$TFS" export "$1" t && cp -r "t/chunks/$one" "t/chunks/$2" && rm t/*.png &&
        "$TFS" import t "$1" 2>err
}
one=$("$TFS" text blob | awk '{ print $2 }')
IFS=_ read -r x y z <<<"$one"
far long $((x + 100))_${y}_$z
cp long longer && "$TFS" cat longer "chunks/$one/voxels.csv" | sed 5,20d | "$TFS" put longer "chunks/$one/voxels.csv"
run 1 "maps that are too wide stand below each other" diff --stat --png out.png long longer
shows long longer "all three"
far distant $((x + 300))_${y}_$z
cp distant shorter && "$TFS" cat shorter "chunks/$one/voxels.csv" | sed 5,20d | "$TFS" put shorter "chunks/$one/voxels.csv"
run 1 "a save whose map is scaled down" diff --stat --png out.png distant shorter
shows distant shorter "is drawn in squares of columns, each marked when one of its columns is"
run 1 "a save that is narrower than its other side" diff --stat --png out.png distant blob
shows distant blob "lies where it lies in the world"
far beyond $((x - 100001))_${y}_$z
run 1 "maps of different scales" diff --stat --png out.png distant beyond
shows distant beyond "have that of the wider one"
"$TOOLS/make_ter" --size 4096 --version 9 wide.ter
run 0 "maps that are too large to stand beside each other" diff --png large.png wide.ter wide.ter
[ "$(python3 -c 'import struct, sys; print(*struct.unpack(">II", open(sys.argv[1], "rb").read(24)[16:]))' large.png)" = "6160 2048" ]
ok "are drawn in squares of columns, too"

# ---- where the picture goes
run 2 "--png without a value" diff --png cosmic more
cp cosmic precious
run 2 "a file that is no picture" diff --png precious cosmic more
same precious cosmic "is not overwritten"
says err 'precious: it is there already, and is not a PNG' "it is said"
says out '^terrain: ' "the text was printed"
ln -s before.png link.png && cp before.png kept.png
run 2 "a link" diff --png link.png cosmic more
same before.png kept.png "is not followed"
run 2 "a directory" diff --png tree cosmic more
run 2 "a directory that is not there" diff --png nosuch/out.png cosmic more
run 2 "with --git" diff --git --png out.png -- a b
chmod 600 cosmic && rm -f new.png && run 1 "of a private save" diff --stat --png new.png cosmic more
[ "$(stat -c %a new.png)" = 600 ]
ok "nobody else may look at the picture"
mkdir -p worlds/zones/base && "$TOOLS/make_world" --regions 1 --chunks 3 worlds2 && cp -r worlds2 two &&
    cp -r two/zones/base/earth two/zones/base/moon
run 2 "worlds of several zones" diff --png zones.png two two
says err 'these are several saves: compare one, such as zones/' "are more than one picture"
run 0 "a world of one zone" diff --png zones.png worlds2 worlds2
[ -s zones.png ]
ok "is one"
done_testing
