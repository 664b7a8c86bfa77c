#!/usr/bin/env bash
# import of a tree of several saves: each is taken as if it were alone.
. "$(dirname "$0")/lib.bash"

# Two zones; the second has everything that the first one has.
"$TOOLS/make_world" --regions 2 --chunks 4 start || exit 3
zone=zones/base/earth last=zones/base/moon
cp -r start/$zone start/$last

# fresh [OPTION...]: `world` is as at the start, `dir` its export.
fresh() {
    rm -rf world dir "${state:?}"/terrainfs
    cp -r start world
    "$TFS" export "$@" world dir || exit 3
}

# unchanged WHAT: the world is as at the start.
unchanged() {
    diff -r start world >out
    ok "$1"
}

fresh
run 1 "cat of a world with a path of a zone" cat world palette.txt
says err '^terrainfs: world/palette.txt: there is no such file: .* begin with one of them, such as zones/base/earth/$' "says how paths begin"
run 1 "cat of a name that a zone lacks" cat world $zone/palete.txt
says err "^terrainfs: world/$zone/palete.txt: .*did you mean palette.txt" "names the zone"
run 2 "diff of a world and its zone" diff world world/$zone
says err "^terrainfs: world/$zone is one save, and world holds several" "says what they are"
run 1 "import of what is no tree" import start world/$zone
says err '^terrainfs: start: nothing here has a name of the tree: give what terrainfs export wrote$' "says what is wanted"

for all in "" --all; do
    fresh -o views=raw
    run 0 "import $all --delete of raw.bin of every zone" import $all --delete dir world
    unchanged "removes nothing from any of them"
    [ "$(grep -c 'nothing differs' err)" = 2 ]
    ok "nothing differs in either"
    [ -z "$all" ] && rm -rf dir/$zone/.terrainfs dir/$last/.terrainfs && # as git has it
        run 0 "import --delete without the manifests" import --delete dir world && unchanged "removes nothing, either"
done

fresh -o views=voxels+arrays
printf '\377' | dd of=dir/$last/arrays/lights/sky.npy bs=1 seek=300 conv=notrunc status=none
run 1 "import of an edited array of the second zone" import dir world
says err "^terrainfs: dir/$last/arrays/lights/sky.npy: the array is not what the save says, and import takes no arrays" "names it"
unchanged "nothing was written"

fresh
touch dir/$zone/notes dir/$last/notes
run 0 "names that mean nothing, in both zones" import dir world
says err "dir/$zone/notes: ignored" "are told of the first"
says err "dir/$last/notes: ignored" "and of the second"

# What only DIR has: the game deleted the zone, or somebody misspelt it.
only() {
    run 1 "import of $1, which the world lacks" import dir world
    says err "^terrainfs: dir/$1: world has no such save: nothing was taken. Give it the name of one, such as $zone" "names it"
    unchanged "nothing is taken of the others, either"
}
fresh
sed -i 1q dir/$zone/chunks/*/voxels.csv
cp -r dir/$last dir/zones/base/flat
only zones/base/flat
mv dir/zones/base/flat dir/zones/other
only zones/other
rm -r dir/zones/other
touch dir/notes dir/zones/notes dir/.notes
run 0 "import of a tree with other files" import dir world
says err '^terrainfs: dir/notes: ignored: the tree has no such name$' "names one beside the zones"
says err '^terrainfs: dir/zones/notes: ignored: the tree has no such name$' "and one among them"
[ "$(grep -c ignored err)" = 2 ]
ok "and nothing else"

# An export that was killed in the second zone, as it leaves the first.
fresh
mv dir/$last/.terrainfs/manifest dir/$last/.terrainfs/manifest.new
rm -r dir/$last/chunks/* dir/$zone/chunks/"$(cd dir/$zone/chunks && ls | sed 1q)"
run 1 "import --delete of an export that was cut off" import --delete dir world
says err "^terrainfs: dir/$last: this export was cut off: export again$" "names the zone"
unchanged "takes nothing of the one before, either"
rm dir/$last/.terrainfs/manifest.new
run 0 "without the beginning of a manifest" import dir world
says err 'nothing differs' "it is a tree as a mount shows it"

# ---- zones that cannot be looked at, and links
all() {
    rm -rf out.dir
    run "$1" "check $3" check "$2"
    says err "$4" "names it"
    run "$1" "export $3" export "$2" out.dir
    says err "$4" "names it"
    run 2 "diff $3" diff "$2" start
    says err "$4" "names it"
    run 2 "diff $3, the other way round" diff start "$2"
    says err "$4" "names it"
}
fresh
mkdir -p world/zones/mod/mars
ln -s regions world/zones/mod/mars/regions
unseen='^terrainfs: world: its zones/mod/mars is left out: it cannot be looked at: Too many levels of symbolic links$'
all 1 world "with a folder of regions that nobody can enter" "$unseen"
chunk=$(cd dir/$zone/chunks && find . -mindepth 1 -maxdepth 1 | sed 1q)
run 0 "cat of it" cat world "$zone/chunks/$chunk/raw.bin"
same out "dir/$zone/chunks/$chunk/raw.bin" "shows the other zones"
says err "$unseen" "names it"
rm -r "dir/$zone/chunks/$chunk"
run 0 "import into it" import --delete dir world
says err "$unseen" "names it"
run 1 "undo of it" undo world
says err '^terrainfs: world: holds several saves, and one is wanted here, such as .*/zones/' "names a zone"
run 0 "undo of the zone" undo "world/$zone"
diff -r start/zones/base world/zones/base >out
ok "puts it back"
if [ "$(id -u)" = 0 ]; then
    skip "a directory of another user" "root may look at all"
else
    rm -r world/zones/mod
    mkdir -m 0 world/zones/base/lost+found world/zones/mod
    run 1 "check of directories that nobody may look at" check world
    says err 'its zones/(mod|base/lost.found) is left out: it cannot be looked at: Permission denied' "names one"
    run 0 "cat beside them" cat world "$zone/info.txt"
    chmod 700 world/zones/base/lost+found world/zones/mod
    rmdir world/zones/base/lost+found
fi
rm -r world/zones/mod
chmod 0 world/zones
if [ -r world/zones ]; then
    skip "zones/ that nobody may look into" "root may look at all"
else
    run 3 "zones/ that nobody may look into" check world
fi
chmod 755 world/zones
cp -r start/$zone elsewhere
ln -s "$PWD/elsewhere" world/zones/base/mars
out='^terrainfs: world: its zones/base/mars is left out: it is a link, and links lead out of the world$'
all 1 world "with a link to a zone" "$out"
cp -r start/$zone start/zones/base/mars
json() {
    python3 -S - "$@" <<'END'
import json, sys
text, decoder, found = open('out').read(), json.JSONDecoder(), []
while text.strip():
    value, end = decoder.raw_decode(text.lstrip())
    text = text.lstrip()[end:]
    found.append([value['save'], value.get('only_in'), 'changed' in value])
assert found == json.loads(sys.argv[1]), found
END
    ok "$2"
}
run 2 "diff of the link and a zone" diff world start
says out '^only in start: zones/base/mars$' "does not follow it"
run 0 "info of it" info world
says err "$out" "names it"
run 1 "diff --json of worlds, of which one has a zone more" diff --json start dir
json "[[\"$zone\", null, true], [\"zones/base/mars\", \"start\", false], [\"$last\", null, true]]" "is JSON, and names it"
rm -r start/zones/base/mars world/zones/base/mars
ln -s "$PWD/start/zones/base" world/zones/mod
all 1 world "with a link to a folder of zones" 'its zones/mod is left out'

# ---- thirty regions of all versions: each is in the zone what it is alone
# chunks_of TREE WHAT: the chunks of all trees below `alone` are those of TREE.
chunks_of() {
    mkdir together && cp -r alone/*/tree/chunks/. together && diff -r together "$1/chunks" >out
    ok "$2"
    rm -r together
}
# edited TREE [NAME...]: a block of the first chunk, the second one is gone, the third one's copy is new.
edited() {
    local tree=$1 c
    shift
    for c in "$@"; do
        set -- $c
        sed -i '2s/,[^,]*$/,base:gold_block/' "$tree/chunks/$1/voxels.csv"
        rm -r "$tree/chunks/$2"
        cp -r "$tree/chunks/$3" "$tree/chunks/${3%%_*}_${4}_${3##*_}"
    done
}
"$TOOLS/make_world" --mixed --regions 30 --chunks 3 thirty || exit 3
zone=thirty/zones/base/earth
run 0 "export of a zone of thirty regions" export "$zone" tree
lists=() bad=
for file in "$zone"/regions/*; do
    name=${file##*/} && mkdir -p "alone/$name" && cp "$file" "alone/$name"
    "$TFS" export "alone/$name/$name" "alone/$name/tree" || bad="$bad $name"
    y=${name#region_*_} && y=${y%%_*}
    lists+=("$(cd "alone/$name/tree/chunks" && echo * $((16 * y + 15)))")
    edited "alone/$name/tree" "${lists[-1]}"
    "$TFS" import --delete "alone/$name/tree" "alone/$name/$name" 2>/dev/null || bad="$bad $name"
done
[ "${#lists[@]}$bad" = 30 ]
ok "each is exported, edited and stored alone$bad"
edited tree "${lists[@]}"
chunks_of tree "the zone had the chunks of all"
run 0 "the same edits of the zone" import --delete tree "$zone"
for file in "$zone"/regions/*; do
    cmp "$file" "alone/${file##*/}/${file##*/}"
done >out
[ ! -s out ] && [ "$(ls "$zone/regions" | wc -l)" = 30 ]
ok "make each region the file that it is alone"
run 0 "check of it" check "$zone"

# ---- terrains of a level
"$TOOLS/make_level" --terrains 2 level && "$TFS" export -o views=voxels+arrays level terrains || exit 3
array=terrains/terrains/theTerrain2/arrays/heights.npy
printf '\377' | dd of=$array bs=1 seek=300 conv=notrunc status=none
run 1 "import of an edited array of the second terrain" import terrains level
says err "^terrainfs: $array: the array is not what the save says, and import takes no arrays" "names it"
cp -r terrains/terrains/theTerrain2 terrains/terrains/hills
run 1 "import of a terrain that the level lacks" import terrains level
says err '^terrainfs: terrains/terrains/hills: level has no such save: nothing was taken' "is refused"
rm -r terrains && "$TFS" export level terrains && cp -r terrains/terrains/theTerrain2 terrains/terrains/hills || exit 3
run 1 "diff of the level with it" diff level terrains
says out '^only in terrains: terrains/hills$' "names it"
run 1 "and the other way round" diff terrains level
says out '^only in terrains: terrains/hills$' "names it, too"

done_testing
