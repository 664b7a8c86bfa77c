#!/usr/bin/env bash
# Worlds of Cosmic Reach: zones of several regions as one tree, edited by programs; what an edit leaves alone,
# regions that come, go and are damaged, and who else may write. region.py judges each region file.
. "$(dirname "$0")/lib.sh"
export GIT_AUTHOR_NAME=tester GIT_AUTHOR_EMAIL=tester@example.org
export GIT_COMMITTER_NAME=tester GIT_COMMITTER_EMAIL=tester@example.org
SAVE_NAME=world
PRISTINE=$T/pristine/$SAVE_NAME
mkdir -p "$T/pristine"
"$TFS_TOOLS/make_world" --mixed --regions 16 --chunks 12 "$PRISTINE"
cp -Rp "$PRISTINE/zones/base" "$PRISTINE/zones/mod"
mkdir -p "$PRISTINE/players" "$PRISTINE/zones/base/earth/entities"
echo '{}' >"$PRISTINE/players/1.json"
echo mob >"$PRISTINE/zones/base/earth/entities/entityRegion_0_0_0.crbin"

# file X Z [ZONE]: the file of a region; zone ZONE below the mount.
file() {
    echo "$S/zones/${3:-base/earth}/regions/region_$1_0_$2.cosmicreach"
}

zone() {
    echo "$M/zones/${1:-base/earth}"
}

# A line for each file below the save: what must stay as it is.
identities() {
    (cd "$S" && find . -type f -printf '%p %i %T@ %C@ %s\n' | LC_ALL=C sort)
}

# The files that are other ones than before: paths below the regions.
others() {
    diff <(echo "$1") <(identities) | sed -n 's/^[<>] \([^ ]*\) .*/\1/p' | sed 's/.*regions.//' | sort -u |
        paste -sd ' '
}

first_chunk() {
    region chunks "$(file "$1" "$2")" | head -n 1 | cut -d ' ' -f 1 | cut -f 1
}

# The voxel 1,2,3 of a chunk, in global coordinates.
voxel_of() {
    local x y z
    IFS=_ read -r x y z <<<"$1"
    echo $((x * 16 + 1)),$((y * 16 + 2)),$((z * 16 + 3))
}

shows_all() {
    local total=0 n
    up
    same 'entries of the world' "$(cd "$M" && echo *)" 'info.txt worldInfo.json zones'
    want grep -qx 'save: zones/base/earth' "$M/info.txt"
    want cmp "$M/info.txt" <("$TFS_BIN" cat "$S" info.txt)
    wants_not sh -c "echo x >'$M/info.txt'"
    want cmp "$M/worldInfo.json" "$S/worldInfo.json"
    want cmp "$(zone)/zoneInfo.json" "$S/zones/base/earth/zoneInfo.json"
    wants_not sh -c "echo x >'$M/worldInfo.json'"
    wants_not sh -c "echo x >'$(zone)/zoneInfo.json'"
    wants_not rm -f "$M/worldInfo.json"
    for f in "$S"/zones/base/earth/regions/*; do
        n=$(region chunks "$f" | wc -l)
        total=$((total + n))
    done
    same 'chunks of the zone' "$(find "$(zone)/chunks" -mindepth 1 -maxdepth 1 | wc -l)" "$total"
    same 'chunks of the other' "$(find "$(zone mod/earth)/chunks" -mindepth 1 -maxdepth 1 | wc -l)" "$total"
    want grep -q '^region files: 16$' "$(zone)/info.txt"
    same 'zones with a name' "$(cd "$M" && grep -rlx 'base:air' --include=palette.txt . | grep -c '/earth/palette.txt')" 2
    down
    up -o views=voxels
    same 'entries of a tree for git' "$(cd "$M" && echo * zones/base/earth/*)" 'zones zones/base/earth/chunks'
    down
    want "$TFS_BIN" export -o views=voxels "$S" "$D/voxels"
    same 'entries of its export' "$(cd "$D/voxels" && echo *)" zones
}

one_voxel() {
    local c v before
    c=$(first_chunk -1 -1) v=$(voxel_of "$c") before=$(identities)
    up
    echo "$v,base:gold_block" >>"$(zone)/chunks/$c/voxels.csv"
    same 'changed at close' "$(others "$before")" region_-1_0_-1.cosmicreach
    down
    same 'changed files' "$(others "$before")" region_-1_0_-1.cosmicreach
    same 'block' "$(region block "$(file -1 -1)" ${v//,/ })" base:gold_block
    want region check "$(file -1 -1)"
    same 'names in regions' "$(cd "$S/zones/base/earth/regions" && find . -name '.*' -type f)" ''
}

# cp -r and mv across a region border, into a region of another version and into one that is not there.
across() {
    local c to version before
    c=$(first_chunk -1 -1)
    up
    before=$(identities)
    for to in -33_5_-1 0_7_-1 40_-9_-40; do
        want cp -r "$(zone)/chunks/$c" "$(zone)/chunks/$to"
        same "palette of $to" "$(cut -d ' ' -f 2- "$(zone)/chunks/$to/palette.txt" | sed 's/base:air\[default\]/base:air/' | paste -sd ' ')" \
            "$(cut -d ' ' -f 2- "$(zone)/chunks/$c/palette.txt" | sed 's/base:air\[default\]/base:air/' | paste -sd ' ')"
    done
    want cmp "$(zone)/chunks/$c/raw.bin" "$(zone)/chunks/40_-9_-40/raw.bin"
    want mv "$(zone)/chunks/$c" "$(zone)/chunks/-17_-30_-17"
    wants_not test -e "$(zone)/chunks/$c"
    down
    for f in "$S"/zones/base/earth/regions/*; do
        want region check "$f"
    done
    want test -f "$S/zones/base/earth/regions/region_2_-1_-3.cosmicreach"
    want test -f "$S/zones/base/earth/regions/region_-2_-2_-2.cosmicreach"
    same 'the moved one' "$(region chunks "$S/zones/base/earth/regions/region_-2_-2_-2.cosmicreach" | cut -f 1 | cut -d ' ' -f 1)" -17_-30_-17
    version=$(region info "$S/zones/base/earth/regions/region_2_-1_-3.cosmicreach")
    [[ $version == *7* ]] || note "version of the new region: $version"
}

comes_and_goes() {
    local before
    up
    want mkdir "$(zone)/chunks/100_0_0"
    want test -f "$(file 6 0)"
    want region check "$(file 6 0)"
    before=$(identities)
    want rm -r "$(zone)/chunks/100_0_0"
    settle # right behind another edit, it went to the journal
    wants_not test -e "$(file 6 0)"
    same 'others' "$(others "$before")" region_6_0_0.cosmicreach
    wants_not test -e "$(zone)/chunks/100_0_0"
    down
}

renames() {
    up
    want sed -i 's/^base:stone.*/base:marble/' "$(zone)/palette.txt"
    down
    for f in "$S"/zones/base/earth/regions/*; do
        want region check "$f"
        wants_not grep -qa base:stone "$f" || true
    done
}

exdev() {
    local c
    c=$(first_chunk 0 0)
    up
    same 'rename between zones' "$(py 'print(err(os.rename, a[0], a[1]))' "$(zone)/chunks/$c" "$(zone mod/earth)/chunks/90_0_0")" EXDEV
    want mv "$(zone)/chunks/$c" "$(zone mod/earth)/chunks/90_0_0"
    wants_not test -e "$(zone)/chunks/$c"
    down
    want test -f "$(file 5 0 mod/earth)"
    want region check "$(file 5 0 mod/earth)"
}

rsyncs() {
    command -v rsync >/dev/null || { skip 'no rsync'; return; }
    local c v
    c=$(first_chunk 0 -1) v=$(voxel_of "$c")
    up
    echo "$v,base:gold_block" >>"$(zone)/chunks/$c/voxels.csv"
    want mkdir "$(zone)/chunks/-100_3_-100"
    want rsync -r --delete --inplace "$(zone)/chunks/" "$(zone mod/earth)/chunks/"
    down
    same 'block' "$(region block "$(file 0 -1 mod/earth)" ${v//,/ })" base:gold_block
    want test -f "$S/zones/mod/earth/regions/region_-7_0_-7.cosmicreach"
    want "$TFS_BIN" diff "$S/zones/base/earth" "$S/zones/mod/earth"
}

gits() {
    command -v git >/dev/null || { skip 'no git'; return; }
    local c
    c=$(first_chunk 1 1)
    want "$TFS_BIN" export "$S" "$D/tree"
    (cd "$D/tree" && git init -q && git add -A && git commit -qm one) || note 'git commit'
    up
    echo "$(voxel_of "$c"),base:gold_block" >>"$(zone)/chunks/$c/voxels.csv"
    down
    rm -rf "${D:?}/tree/zones" "$D/tree/worldInfo.json"
    want "$TFS_BIN" export "$S" "$D/new"
    cp -r "$D/new/." "$D/tree/"
    same 'files that git sees' "$(cd "$D/tree" && git status --porcelain | grep -c "base/earth/chunks/$c/")" 4
    same 'other chunks' "$(cd "$D/tree" && git status --porcelain | grep chunks/ | grep -vc "base/earth/chunks/$c/")" 0
    want git -C "$D/tree" checkout -q .
    want "$TFS_BIN" import --all "$D/tree" "$S"
    want "$TFS_BIN" diff "$PRISTINE" "$S"
}

damaged() {
    local c
    c=$(first_chunk 0 0)
    echo 'no region' >"$(file 1 1)"
    chmod 600 "$(file 1 1)"
    up
    want grep -q 'region_1_0_1.cosmicreach' "$(zone)/info.txt"
    wants_not mkdir "$(zone)/chunks/17_0_17"
    echo "$(voxel_of "$c"),base:gold_block" >>"$(zone)/chunks/$c/voxels.csv" || note 'edit beside the damage'
    same 'in the other zone' "$(grep -c damaged "$(zone mod/earth)/info.txt")" 0
    wants_not sh -c "sed '2s/.*/base:other/' '$(zone)/palette.txt' >'$D/list' && cat '$D/list' >'$(zone)/palette.txt'"
    logged 'not all of the save can be read: region_1_0_1.cosmicreach: is left out: .* nothing is renamed'
    down 3
    same 'the damaged file' "$(cat "$(file 1 1)")" 'no region'
    "$TFS_BIN" check "$S" >"$D/check" 2>&1
    same 'status of check' $? 1
    want grep -q 'damaged: region_1_0_1.cosmicreach: is left out' "$D/check"
}

shown() {
    grep -qx "$2" "$(zone)/chunks/$1/palette.txt"
}

# The game adds, changes and removes regions meanwhile.
from_outside() {
    local c v
    c=$(first_chunk 0 0) v=$(voxel_of "$c")
    mkdir "$D/game" && cp "$(file 0 0)" "$D/game/"
    mount_at "$D/game/region_0_0_0.cosmicreach" "$D/gmnt"
    echo "$v,base:from_the_game" >>"$D/gmnt/chunks/$c/voxels.csv"
    unmount "$D/gmnt"
    up
    find "$M" -type f -exec cat {} + >/dev/null
    mv "$D/game/region_0_0_0.cosmicreach" "$(file 0 0)"
    want soon shown "$c" '.* base:from_the_game'
    rm "$(file -1 0)"
    want soon test ! -e "$(zone)/chunks/$(cd "$PRISTINE" && region chunks "zones/base/earth/regions/region_-1_0_0.cosmicreach" | head -n 1 | cut -f 1 | cut -d ' ' -f 1)"
    c=$(first_chunk 0 -1)
    echo "$(voxel_of "$c"),base:gold_block" >>"$(zone)/chunks/$c/voxels.csv" || note 'an edit behind it'
    down
    same 'block of the game' "$(region block "$(file 0 0)" ${v//,/ })" base:from_the_game
    wants_not test -e "$(file -1 0)"
}

# What a program asks for first after the game replaced a region, of chunks that nobody read: what is there now.
asked_at_once() {
    local c=() c1 v w f how
    mapfile -t c < <(region chunks "$(file 0 0)" | cut -d ' ' -f 1 | cut -f 1)
    mkdir "$D/game" "$D/old"
    cp "$(file 0 0)" "$D/game/"
    f=$D/game/region_0_0_0.cosmicreach
    mount_at "$f" "$D/gmnt"
    for c1 in "${c[@]}"; do
        echo "$(voxel_of "$c1"),base:from_the_game" >>"$D/gmnt/chunks/$c1/voxels.csv"
    done
    unmount "$D/gmnt"
    cp -p "$(file 0 0)" "$D/old/"
    for how in cat sed ls mv cp rm mkdir; do
        cp -p "$D/old/region_0_0_0.cosmicreach" "$(file 0 0)"
        up
        same 'chunks' "$(find "$(zone)/chunks" -mindepth 1 -maxdepth 1 | wc -l)" 192
        c1=${c[1]} v=$(voxel_of "$c1") w=$(voxel_of "${c[2]}")
        cp "$f" "$D/next"
        mv "$D/next" "$(file 0 0)"
        case $how in
        cat) want grep -qx "$v,base:from_the_game" "$(zone)/chunks/$c1/voxels.csv" ;;
        sed) want sed -i "s/^$v,.*/$v,base:ours/" "$(zone)/chunks/$c1/voxels.csv" ;;
        ls) want ls -l "$(zone)/chunks/$c1" >/dev/null ;;
        mv) want mv "$(zone)/chunks/$c1" "$(zone)/chunks/-30_2_-30" ;;
        cp) want cp -r "$(zone)/chunks/$c1" "$(zone)/chunks/-30_2_-30" ;;
        rm) want rm -r "$(zone)/chunks/$c1" ;;
        mkdir) want mkdir "$(zone)/chunks/-30_2_-30" ;;
        esac
        [[ $how != @(mv|cp) ]] || want grep -q base:from_the_game "$(zone)/chunks/-30_2_-30/palette.txt"
        wants_not grep -qs 'while edits were pending' "$M/.terrainfs/errors.log"
        down
        same "block of the game in $how" "$(region block "$(file 0 0)" ${w//,/ })" base:from_the_game
        [ $how != sed ] || same 'our block' "$(region block "$(file 0 0)" ${v//,/ })" base:ours
        rm -f "$(file -2 -2)" && cp -p "$PRISTINE/zones/base/earth/regions/region_-2_0_-2.cosmicreach" "$(file -2 -2)"
    done
}

# The game changes one region while edits of another one wait: that is no conflict; of the same one it is.
conflicts() {
    local c v d
    needs_root || return
    c=$(first_chunk 0 0) v=$(voxel_of "$c") d=$(first_chunk -1 -1)
    mkdir "$D/game" && cp "$(file -1 -1)" "$D/game/"
    mount_at "$D/game/region_-1_0_-1.cosmicreach" "$D/gmnt"
    echo "$(voxel_of "$d"),base:from_the_game" >>"$D/gmnt/chunks/$d/voxels.csv"
    unmount "$D/gmnt"
    up
    want cat "$(zone)/chunks/$c/voxels.csv" "$(zone)/chunks/$d/voxels.csv" >/dev/null
    hold "$(file 0 0)"
    echo "$v,base:gold_block" >>"$(zone)/chunks/$c/voxels.csv" || note 'an edit'
    mv "$D/game/region_-1_0_-1.cosmicreach" "$(file -1 -1)"
    release
    want sync "$(zone)/info.txt"
    want shown "$d" '.* base:from_the_game'
    same 'our block' "$(region block "$(file 0 0)" ${v//,/ })" base:gold_block
    hold "$(file 0 0)"
    echo "$v,base:coal" >>"$(zone)/chunks/$c/voxels.csv" || note 'an edit'
    cp -p "$(file 0 0)" "$D/same"
    behind_its_back cp "$D/same" "$(file 0 0)"
    want sync "$(zone)/info.txt"
    same 'our block beside the same region' "$(region block "$(file 0 0)" ${v//,/ })" base:coal
    hold "$(file 0 0)"
    echo "$v,base:snow" >>"$(zone)/chunks/$c/voxels.csv" || note 'an edit'
    cp -p "$PRISTINE/zones/base/earth/regions/region_0_0_0.cosmicreach" "$D/other"
    behind_its_back cp "$D/other" "$(file 0 0)"
    want soon is_aside "$S"/zones/base/earth
    down 3
    want cmp "$D/other" "$(file 0 0)"
    wants_not "$TFS_BIN" import "$S"/zones/base/earth.unsaved-* "$S/zones/base/earth" 2>"$D/import.err"
    want grep -q "chunks/$c: not taken: it was changed since" "$D/import.err"
    want "$TFS_BIN" import --force "$S"/zones/base/earth.unsaved-* "$S/zones/base/earth"
    same 'our block' "$(region block "$(file 0 0)" ${v//,/ })" base:snow
}

locks() {
    up
    mount_at "$(file 0 0)" "$D/second"
    same 'a region of a mounted zone' $? 3
    want grep -q "is mounted on $M already" "$D/mount.err"
    mount_at "$S/zones/base/earth/regions" "$D/second"
    same 'the regions of a mounted zone' $? 3
    "$TFS_BIN" info "$(file 0 0)" >/dev/null || note 'info needs no lock'
    down
    mount_at "$(file 0 0)" "$D/second"
    same 'a region' $? 0
    mount_at "$S" "$M"
    same 'the world of a mounted region' $? 3
    mount_at "$(file 0 1)" "$D/third"
    same 'another region' $? 3
    unmount "$D/second"
    up
    down
}

undone() {
    local c
    c=$(first_chunk 0 0)
    up
    want rm -r "$(zone)/chunks/$c"
    want mkdir "$(zone)/chunks/300_0_0"
    "$TFS_BIN" undo "$S/zones/base/earth" 2>"$D/undo.err"
    same 'undo of a mounted zone' $? 3
    down
    want "$TFS_BIN" undo "$S/zones/base/earth"
    want "$TFS_BIN" diff "$PRISTINE/zones/base/earth" "$S/zones/base/earth"
    wants_not test -e "$(file 18 0)"
}

no_regions() {
    rm -r "$S/zones/base/earth/regions" "$S/zones/mod"
    up
    same 'chunks' "$(find "$(zone)/chunks" -mindepth 1 | wc -l)" 0
    want mkdir "$(zone)/chunks/-1_-1_-1"
    want region check "$S/zones/base/earth/regions/region_-1_-1_-1.cosmicreach"
    down
}

is_empty() {
    [ -z "$(ls "$1" 2>/dev/null)" ] && ls "$1" >/dev/null 2>&1
}

# A region file in the folder of a zone, beside its folder regions/.
stray_region() {
    needs_root || return
    local c v stray=$S/zones/base/earth/region_5_0_5.cosmicreach
    c=$(first_chunk 0 0) v=$(voxel_of "$c")
    cp -p "$(file 0 0)" "$D/stray"
    cp -p "$D/stray" "$stray"
    killable
    want cat "$(zone)/chunks/$c/voxels.csv" >/dev/null
    hold "$(file 0 0)"
    echo "$v,base:gold_block" >>"$(zone)/chunks/$c/voxels.csv" || note 'an edit beside the file'
    want cmp "$D/stray" "$stray"
    release
    want sync "$(zone)/info.txt"
    same 'the block after a sync' "$(region block "$(file 0 0)" ${v//,/ })" base:gold_block
    hold "$(file 0 0)"
    echo "$v,base:snow" >>"$(zone)/chunks/$c/voxels.csv" || note 'an edit for the journal'
    murder
    rm "$stray"
    up
    want grep -qx "$v,base:snow" "$(zone)/chunks/$c/voxels.csv"
    down
    same 'the block in its region' "$(region block "$(file 0 0)" ${v//,/ })" base:snow
}

regions_go() {
    up
    rm -r "$S/zones/base/earth/regions/"*
    want soon is_empty "$(zone)/chunks"
    want mkdir "$(zone)/chunks/-1_-1_-1"
    want region check "$(file -1 -1 | sed 's/_0_/_-1_/')"
    wants_not grep -q 'another terrainfs' "$M/.terrainfs/errors.log"
    down
}

# A pattern may mean files of several zones; what is written has one name.
patterns() {
    "$TFS_BIN" cat "$S" 'zones/*/*/info.txt' >"$D/out"
    same 'status of cat' $? 0
    same 'zones whose info.txt is printed' "$(grep -c '^format: cosmic_reach' "$D/out")" \
        "$(find "$S/zones" -mindepth 2 -maxdepth 2 -type d | wc -l)"
    "$TFS_BIN" info --json "$S" >"$D/out"
    same 'objects of info --json' "$(grep -c '^{"save":"[^"]*/zones/' "$D/out")" "$(wc -l <"$D/out")"
    "$TFS_BIN" cat "$S" zones/base/earth/palette.txt | "$TFS_BIN" put "$S" 'zones/*/earth/palette.txt' 2>"$D/said"
    same 'status of put with a pattern' "${PIPESTATUS[1]}" 1
    want grep -q 'paths begin with one of them' "$D/said"
}

linked() {
    mkdir "$D/out"
    mv "$(file 0 0)" "$D/out/secret"
    ln -s "$D/out/secret" "$(file 0 0)"
    up
    wants_not mkdir "$(zone)/chunks/1_9_1"
    want grep -q 'region_0_0_0.cosmicreach: is left out: it is a link' "$(zone)/info.txt"
    down
    want test -L "$(file 0 0)"
    want region check "$D/out/secret"
}

# Links may lead anywhere: what they lead to is not of the world.
linked_folders() {
    mv "$S/zones/mod" "$D/out"
    ln -s "$D/out/earth" "$S/zones/base/moon"
    ln -s "$D/out" "$S/zones/linked"
    echo secret >"$D/secret"
    ln -sf "$D/secret" "$S/worldInfo.json"
    ln -sf "$D/secret" "$S/zones/base/earth/zoneInfo.json"
    up
    same 'zones' "$(cd "$M/zones" && echo */*)" 'base/earth'
    wants_not grep -rq secret "$M"
    want test -s "$(zone)/palette.txt"
    want mkdir "$(zone)/chunks/1_9_1"
    down
    "$TFS_BIN" export -o views=voxels "$S" "$D/exported" 2>"$D/said"
    same 'status of export' $? 1
    want grep -Eq 'its zones/(base/moon|linked) is left out: it is a link' "$D/said"
    wants_not grep -rq secret "$D/exported"
    want test -L "$S/worldInfo.json"
    want test -L "$S/zones/base/moon"
}

# Edits wait, of regions that were read one after another, when all others are read.
read_later() {
    local before c
    needs_root || return
    before=$(identities)
    up
    c=$(first_chunk 0 0)
    want cat "$(zone)/chunks/$c/voxels.csv" >/dev/null
    hold "$(file 0 0)"
    wants_not ls "$(zone)/chunks/999_0_0"
    same 'links of a directory that was not read' "$(stat -c %h "$(zone)/chunks")" 1
    want rm -r "$(zone)/chunks/$c"
    want mkdir "$(zone)/chunks/-30_2_-30"
    same 'chunks' "$(find "$(zone)/chunks" -mindepth 1 -maxdepth 1 | wc -l)" 192
    same 'chunks' "$(sed -n 's/^chunks: //p' "$(zone)/info.txt")" 192
    wants_not ls "$(zone)/chunks/$c"
    release
    down
    same 'files that changed' "$(others "$before")" \
        'region_-2_0_-2.cosmicreach region_0_0_0.cosmicreach'
}

# What close() accepted is there after a kill at once, whatever the mode is.
survives_a_kill() {
    local mode c1 c2
    c1=$(first_chunk 0 0) c2=$(first_chunk -1 -1)
    needs_root || return
    for mode in auto close held; do
        rm -rf "$S" && cp -Rp "$PRISTINE" "$S"
        killable "commit=${mode/held/auto}"
        want cat "$(zone)/chunks/$c1/voxels.csv" "$(zone)/chunks/$c2/voxels.csv" >/dev/null
        [ $mode != held ] || hold "$(file 0 0)" "$(file -1 -1)"
        echo "$(voxel_of "$c1"),base:one" >>"$(zone)/chunks/$c1/voxels.csv"
        echo "$(voxel_of "$c2"),base:two" >>"$(zone)/chunks/$c2/voxels.csv"
        murder
        up
        want grep -qxFe "$(voxel_of "$c1"),base:one" "$(zone)/chunks/$c1/voxels.csv"
        want grep -qxFe "$(voxel_of "$c2"),base:two" "$(zone)/chunks/$c2/voxels.csv"
        down
    done
}

# Damage that is found when a region is read, long after the mount, stands in info.txt.
found_late() {
    local c f
    c=$(first_chunk 1 1)
    f=$(file 1 1)
    truncate -s $(($(stat -c %s "$f") - 20)) "$f"
    up
    ls "$(zone)/chunks/$c" >/dev/null 2>&1
    ls "$(zone)/chunks" >/dev/null
    want grep -q '^damaged: region_1_0_1' "$(zone)/info.txt"
    cp "$(file 0 1)" "$D/bad" && truncate -s 30 "$D/bad" && mv "$D/bad" "$(file 0 1)"
    want soon grep -q '^damaged: region_0_0_1' "$(zone)/info.txt"
    down
}

# A region that became one of a version that nobody knows yet, while edits of it waited.
newer_version() {
    local c v
    needs_root || return
    c=$(first_chunk 0 0) v=$(voxel_of "$c")
    up
    want cat "$(zone)/chunks/$c/voxels.csv" >/dev/null
    hold "$(file 0 0)"
    echo "$v,base:gold_block" >>"$(zone)/chunks/$c/voxels.csv" || note 'an edit'
    { head -c 4 "$(file 0 0)"; printf '\0\0\0\143'; tail -c +9 "$(file 0 0)"; } >"$D/newer"
    cp "$D/newer" "$D/copy"
    behind_its_back mv "$D/copy" "$(file 0 0)"
    want soon is_logged '^zones/base/earth(: |/.*)the save was changed by another program'
    want is_aside "$S"/zones/base/earth
    want cmp "$(file 0 0)" "$D/newer"
    down 3
    want cmp "$(file 0 0)" "$D/newer"
    cp -p "$PRISTINE/zones/base/earth/regions/region_0_0_0.cosmicreach" "$(file 0 0)"
    want "$TFS_BIN" import "$S"/zones/base/earth.unsaved-* "$S/zones/base/earth"
    same 'our block' "$(region block "$(file 0 0)" ${v//,/ })" base:gold_block
}

# A read-only copy of a real world would be no test of writing: so a copy.
real_world() {
    local real before c
    real=$(cd "$(dirname "$0")/../.." && realpath -e ../shared/samples/cosmic_reach/server-world-1 2>/dev/null)
    [ -n "$real" ] || { skip 'no samples'; return; }
    rm -rf "$S" && cp -Rp "$real" "$S" && chmod -R u+w "$S"
    before=$(identities)
    up
    c=$(cd "$M" && find zones -path '*/chunks/*/voxels.csv' -size +8k | LC_ALL=C sort | head -n 1)
    want [ -n "$c" ]
    want sed -i '2s/,[^,]*$/,base:gold_block/' "$M/$c"
    want grep -q gold_block "$M/$c"
    down
    same 'region files that changed' "$(others "$before" | wc -w)" 1
    want "$TFS_BIN" check "$S" >/dev/null
}

# Killed right before the N-th change of the disk, for each N in full, else for some: the chunk is in one of the two regions of a move, or in
# both, never in none; and each region file is whole.
cut_between() {
    local c to=-30_2_-30 strike=$BUILD/torture/strike.so n=0 step=12 both=0 status=137 zone=$S/zones/base/earth
    [ -z "${TFS_TEST_SANITIZED:-}" ] || { skip 'nothing is preloaded under sanitizers'; return; }
    LD_PRELOAD=$strike "$TFS_BIN" --version >/dev/null 2>&1 || { skip 'nothing can be preloaded'; return; }
    c=$(first_chunk 0 0)
    in_full && step=1
    find "$zone/regions" -type f ! -name region_0_0_0.cosmicreach ! -name region_-2_0_-2.cosmicreach -delete
    cp -Rp "$zone" "$D/two"
    want "$TFS_BIN" export -o views=raw "$zone" "$D/tree"
    want mv "$D/tree/chunks/$c" "$D/tree/chunks/$to"
    while [ $status = 137 ] && [ $n -lt 500 ]; do
        n=$((n + step))
        rm -rf "$zone" && cp -Rp "$D/two" "$zone"
        python3 -c 'import struct, sys; sys.stdout.buffer.write(struct.pack("=8I256x", 2, int(sys.argv[1]), 0, 1, 0, 0, 0, 0))' \
            $n >"$D/control"
        STRIKE_DIR=$(realpath "$zone") STRIKE_CONTROL=$D/control LD_PRELOAD=$strike \
            "$TFS_BIN" import --delete -o backup=no "$D/tree" "$zone" >"$D/out" 2>&1
        status=$?
        for f in "$zone"/regions/*.cosmicreach; do
            want region check "$f"
        done
        "$TFS_BIN" export -o views=raw "$zone" "$D/e$n" >/dev/null 2>&1
        [ -e "$D/e$n/chunks/$c" ] || [ -e "$D/e$n/chunks/$to" ] || note "cut $n lost the chunk"
        [ -e "$D/e$n/chunks/$c" ] && [ -e "$D/e$n/chunks/$to" ] && both=$((both + 1))
    done
    same "status of an import without a cut ($(cat "$D/out"))" $status 0
    echo "$n cuts, in both: $both"
}

try 'a world shows each of its zones, and the game'\''s own files beside them' shows_all
try 'one voxel rewrites one region, and nothing else of the world' one_voxel
try 'chunks are copied and moved across region borders and versions' across
try 'a region comes with its first chunk and goes with its last' comes_and_goes
try 'a block is renamed in all regions' renames
try 'nothing is renamed from one zone to another, mv copies' exdev
try 'rsync makes one zone like another' rsyncs
try 'git sees the chunks that changed, and import takes them back' gits
try 'a damaged region costs its own area' damaged
try 'what the game changes meanwhile is shown' from_outside
try 'a chunk is what the game made of it, whatever asks first' asked_at_once
try 'a region that the game changes is a conflict with edits of it, and of no other one' conflicts
try 'a zone and a region of it are written by one program at a time' locks
try 'undo brings back what edits of a zone replaced' undone
try 'a zone without regions gets its first' no_regions
try 'a region beside the folder of regions is refused, or left alone by who is at work' stray_region
try 'a zone whose regions are all removed meanwhile is empty, and gets its first' regions_go
try 'a pattern prints files of all zones' patterns
try 'a region that is a link is left alone' linked
try 'links in the place of zones, namespaces and their JSON are left alone' linked_folders
try 'what was accepted survives a kill' survives_a_kill
try 'a move that is cut between two region files loses no chunk' cut_between
try 'regions are read when somebody asks for them' read_later
try 'a real world is edited in one of its regions' real_world
try 'damage that is found late is logged' found_late
try 'a region that became a newer version is a conflict, and nothing is lost' newer_version
finish
