#!/usr/bin/env bash
# check and info of directories; --quiet, --json and progress of commands that take long.
. "$(dirname "$0")/lib.bash"

mkdir -p all/deep/er all/.hidden all/empty mixed
"$TOOLS/make_place" --kind binary all/place.rbxl
"$TOOLS/make_place" --kind binary all/.hidden/place.rbxl
"$TOOLS/make_ter" --size 64 --sidecar all/deep/theTerrain.ter
"$TOOLS/make_luanti" world all/deep/world
region all/deep/er/region_0_0_0.cosmicreach --version 4 --chunks 2
echo text >all/deep/notes.txt
ln -s ../place.rbxl all/deep/link.rbxl

run 0 "check -r of a directory" check -r all
[ "$(grep -c ' chunks, 0 damaged, ' out)" = 4 ]
ok "every save is checked once"
says out '^all/deep/theTerrain.ter: beamng: ' "it is named by its path"
run 0 "info -r of a directory" info -r all
[ "$(sed -n 's/^save: //p' out | paste -sd ' ')" = \
    "all/deep/er all/deep/theTerrain.ter all/deep/world all/place.rbxl" ]
ok "info names each, in order; a folder that is a save is one"
run 0 "--recursive is -r, and --json goes with it" check --recursive --json all
python3 -S -c 'import json, sys
saves = [json.loads(line) for line in open("out")]
sys.exit(len(saves) != 4 or any(s["damaged"] for s in saves))'
ok "each is an object"
run 0 "several operands, files among them" check -r all/deep/ all/place.rbxl
run 0 "--quiet prints findings alone" check -r --quiet all/deep/theTerrain.ter all/place.rbxl
[ ! -s out ] && [ ! -s err ]
ok "there are none"

region chunked --chunks 3
run 0 "an exported tree beside them" export chunked all/tree
run 0 "is no place to look for saves" check -r all
[ "$(grep -c ' chunks, 0 damaged, ' out)" = 4 ]
ok "and holds none"

"$TOOLS/make_voxel" folder godot 1
"$TFS" export godot all/deep/clone >/dev/null 2>&1 && rm -r all/deep/clone/.terrainfs
run 0 "nor is one without its manifest, though a raw.bin could be a save" check -r all
[ "$(grep -c ' chunks, 0 damaged, ' out)" = 4 ]
ok "and it holds none"
rm -r all/deep/clone

region mixed/region_0_0_0.cosmicreach --chunks 2 && mkdir mixed/more && "$TOOLS/make_voxel" stream mixed/world.sqlite 4 &&
    "$TOOLS/make_place" --kind binary mixed/place.rbxl && "$TOOLS/make_ter" --size 64 mixed/more/a.ter || exit 3
run 0 "a folder of regions with other saves in it" info -r mixed
[ "$(sed -n 's/^save: //p' out | paste -sd ' ')" = "mixed mixed/more/a.ter mixed/place.rbxl mixed/world.sqlite" ]
ok "each of them is found"
"$TOOLS/make_world" --regions 2 --chunks 3 zones && "$TFS" info -r zones/zones/base/earth >out && "$TFS" info -r godot >>out &&
    "$TOOLS/make_level" --size 64 level && "$TFS" info -r level >>out
[ "$(sed -n 's/^save: //p' out | paste -sd ' ')" = "zones/zones/base/earth godot level" ]
ok "a folder whose files lie deeper is one save"
printf 'short' >mixed/place.rbxl
run 1 "one of them is damaged" check -r mixed
says err 'mixed/place.rbxl: ' "and named"

run 1 "a directory without a save" check -r all/empty
says err 'all/empty: there is no save in this directory' "is named"
run 1 "a file that is no save" check -r all/deep/notes.txt
run 3 "a directory that is not there" check -r none
run 2 "only check and info walk" export -r all dir
says err 'no such option here: -r' "which is said"
run 2 "neither does a mount" -r all dir
printf 'short' >all/deep/broken.ter
run 1 "what is named as a save and is none fails" check -r all
says err 'all/deep/broken.ter: ' "by its name"
rm all/deep/broken.ter
truncate -s 100 all/deep/theTerrain.ter
"$TFS" check -r all >out 2>err
[ $? = 1 ] && [ "$(grep -c ' chunks, 0 damaged, ' out)" = 3 ]
ok "one that is damaged does not keep the others from being checked"
if [ "$(id -u)" != 0 ]; then
    chmod 0 all/deep
    run 3 "a directory that cannot be read" check -r all
    chmod 755 all/deep
fi

# ---- export and import for programs -------------------------------------------------------------------

# keys WANTED...: the object in out has these and no others.
keys() {
    python3 -S -c 'import json, sys
print(*json.loads(open("out").read()))' >keys && [ "$(<keys)" = "$*" ]
}

# value KEY
value() {
    python3 -S -c 'import json, sys
print(json.dumps(json.loads(open("out").read())[sys.argv[1]]))' "$1"
}

region save --chunks 3
run 0 "export --json" export --json save 'a "dir"'
keys save dir format chunks files status
ok "it has the members of the manual"
[ "$(value files)" = "$(find 'a "dir"' -path '*/.terrainfs' -prune -o -type f -print | wc -l)" ] &&
    [ "$(value dir)" = '"a \"dir\""' ] && [ "$(value chunks)" = 3 ]
ok "they are true"
run 0 "import --json of what nobody touched" import --json 'a "dir"' save
keys dir save format written files added removed left_out status
ok "it has the members of the manual"
[ "$(value written)" = false ]
ok "nothing was written"
chunk=$(judge chunks save | awk 'NR == 1 { print $1 }')
rm -r 'a "dir"'/chunks/"$chunk"
run 0 "import --json --delete" import --json --delete 'a "dir"' save
[ "$(value written) $(value removed) $(value status)" = "true 1 0" ]
ok "what was removed is counted"
cp save before
echo 'fill 3' >'a "dir"'/palette.txt
run 1 "import --json that is refused" import --json 'a "dir"' save
[ "$(value written) $(value status)" = "false 1" ] && cmp -s save before
ok "it says so"
rm -r 'a "dir"'
run 0 "export --quiet" export --quiet save dir
[ ! -s out ] && [ ! -s err ]
ok "it says nothing"
run 0 "import --quiet" import --quiet dir save
[ ! -s out ] && [ ! -s err ]
ok "neither does import"

# ---- progress -----------------------------------------------------------------------------------------

# Short work shows nothing: on the clock of tests/torture/haste.c a step takes a tenth of a second.
: >screen
region large --chunks 400
haste=$(realpath "$TOOLS/../torture/haste.so")
# shown COMMAND...: what a terminal shows of it, in lines; status 77 where that cannot be seen.
shown() {
    command -v script >/dev/null && [ -e "$haste" ] && [ -z "${TFS_TEST_SANITIZED:-}" ] || return 77
    script -qefc "env TICK=100 LD_PRELOAD=$haste $(printf '%q ' "$TFS" "$@")" /dev/null >screen 2>err
    local status=$?
    tr '\r' '\n' <screen >out
    return $status
}
# shows WHAT UNIT COMMAND...: progress with the time that is left.
shows() {
    local what=$1 unit=$2
    shift 2
    shown "$@"
    local status=$?
    if [ $status = 77 ]; then
        skip "$what" "no script(1), or sanitizers"
        return
    fi
    [ $status = 0 ] && grep -Eq "^$what: [0-9]+ of [0-9]+ $unit(, [0-9]+ a second)?, [0-9]+:[0-9][0-9] left" out
    ok "$what shows its progress on a terminal"
}
shows export chunks export large large.dir
shows check chunks check large
[ ! -s screen ] || grep -q ' of 400 chunks, [0-9]* a second, ' screen
ok "with a rate"
[ ! -s screen ] || { grep -q ' warning: ' out && ! grep -q ' of .* warning: ' out; }
ok "a warning stands in a line of its own"
sed -i 's/,base:[a-z_]*\(,.*\)*$/,base:other/' large.dir/chunks/*/voxels.csv
shows import chunks import large.dir large
"$TOOLS/make_voxel" folder godot3 2 2
shows upgrade chunks upgrade godot3
shown check --quiet large
[ $? = 77 ] || ! grep -q ' of ' out
ok "--quiet shows none"
NO_COLOR=1 shown check large
! grep -q $'\e\\[[0-9;]*m' out
ok "no colours"
run 0 "check with its errors in a file" check large
[ ! -s err ]
ok "shows none where nobody looks"
done_testing
