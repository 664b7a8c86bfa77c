#!/usr/bin/env bash
# git itself: a repository with saves, text as textconv, merge as merge driver.
. "$(dirname "$0")/lib.bash"

export HOME=$PWD GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@example.org
export GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@example.org GIT_PAGER=cat GIT_EDITOR=true
export GIT_AUTHOR_DATE='2024-01-01T00:00:00Z' GIT_COMMITTER_DATE='2024-01-01T00:00:00Z'

# g STATUS WHAT ARGUMENTS...: git in the repository, output in out.
g() {
    local wanted=$1 what=$2 status
    shift 2
    git -C repo "$@" >out 2>&1
    status=$?
    [ $status = "$wanted" ] || echo "exit status $status, not $wanted" >>out
    [ $status = "$wanted" ]
    ok "$what"
}

# start NAME SAVE: a repository that holds the save under that name.
start() {
    rm -rf repo
    mkdir repo
    git -C repo init -q -b main
    (cd repo && "$TFS" git --enable) >/dev/null
    echo "${1// /?} diff=terrain merge=terrain" >repo/.gitattributes
    cp "$2" "repo/$1"
    name=$1
    git -C repo add -A && git -C repo commit -qm base
}

# commit WHAT: all of the repository.
commit() { git -C repo commit -qam "$1"; }

# set_ LINE BLOCK: of the first chunk.
set_() {
    "$TFS" cat "repo/$name" "$csv" | sed "$1s/,[^,]*\$/,$2/" | "$TFS" put "repo/$name" "$csv"
}

shows() {
    "$TFS" cat "repo/$name" "$csv" | sed -n "$1p" | grep -q ",$2\$"
    ok "$3"
}

region region_0_0_0.cosmicreach --version 7 --chunks 4
save=region_0_0_0.cosmicreach
chunk=$("$TFS" text $save | awk 'NR == 1 { print $2 }')
csv=chunks/$chunk/voxels.csv

for name in "$save" "a name with 'quotes' and blanks.cosmicreach"; do
    start "$name" $save
    g 0 "a branch edits a block ($name)" checkout -qb side
    chunk=$("$TFS" text "repo/$name" | awk 'NR == 1 { print $2 }')
    csv=chunks/$chunk/voxels.csv
    set_ 2 base:iron && commit iron
    g 0 "the other branch" checkout -q main
    set_ 3 base:gold && commit gold
    g 0 "disjoint edits of one chunk merge" merge -m merged side
    shows 2 base:iron "theirs is there"
    shows 3 base:gold "and ours"
    g 0 "nothing is left over" status --porcelain
    [ ! -s out ]
    ok "no file lies about"
done

# Two branches that were merged into each other, with a conflict that each decided for itself: git merges their
# common ancestors first, where neither may win.
start $save $save
chunk=$("$TFS" text "repo/$name" | awk 'NR == 1 { print $2 }')
csv=chunks/$chunk/voxels.csv
git -C repo branch b && git -C repo checkout -qb a
set_ 2 base:iron && set_ 5 base:clay && commit a
git -C repo checkout -q b
set_ 2 base:gold && commit b
git -C repo checkout -q a
g 1 "a branch merges the other one" merge b
commit "a and b"
git -C repo checkout -q b
g 1 "and the other way round" merge a~1
set_ 5 "$("$TFS" cat $save "$csv" | sed -n '5s/.*,//p')" && commit "b and a, and clay is taken back"
set_ 7 base:tin && commit tin
git -C repo checkout -q a
set_ 9 base:zinc && commit zinc
g 1 "merging them once more" merge b
says out 'conflict in chunk .*: 1 voxel' "tells of the conflict"
[ "$(grep -c 'conflict in chunk' out)" = 1 ]
ok "once"
tail -n +2 "repo/.git/terrainfs/$save.conflicts.csv" | cut -d , -f 5- >out
says out '^base:iron,base:gold$' "with what both made of it"
shows 7 base:tin "theirs is there"
shows 9 base:zinc "and ours"
! "$TFS" cat "repo/$name" "$csv" | sed -n 5p | grep -q base:clay
ok "what was taken back stays so"

start $save $save
chunk=$("$TFS" text "repo/$name" | awk 'NR == 1 { print $2 }')
csv=chunks/$chunk/voxels.csv
set_ 2 base:iron && commit iron
g 0 "log -p" log -p -1
says out "^\+chunk $chunk .* base:iron 1 " "shows the line of the chunk"
[ "$(grep -c '^[-+]chunk' out)" = 2 ]
ok "and no other"
g 0 "show" show HEAD
says out "^\+chunk $chunk " "shows it"
g 0 "blame" blame --textconv "$name"
[ "$(cut -d' ' -f1 out | sort -u | wc -l)" = 2 ]
ok "tells the two commits apart"
g 0 "a branch from before" checkout -qb side HEAD~1
set_ 2 base:gold && set_ 4 base:tin && commit gold
g 1 "both changed one voxel" merge main
says out "^conflict in chunk $chunk: 1 voxel, x " "git says where"
says out 'CONFLICT \(content\)' "and that it is a conflict"
shows 2 base:gold "ours stays"
shows 4 base:tin "what did not overlap is there"
says out "^voxels in conflict: .git/terrainfs/$name.conflicts.csv\$" "and where they are listed"
table=repo/.git/terrainfs/$name.conflicts.csv
says "$table" ',base:gold,base:iron$' "with what all sides made of them"
g 0 "the work tree" status --porcelain --untracked-files
! grep -q '^??' out
ok "has no file more"
at=$("$TFS" cat "repo/$name" "$csv" | sed -n 2p | cut -d, -f1-3)
says "$table" "^$at," "in coordinates of the world"
g 0 "the merge is given up" merge --abort
g 0 "cherry-pick" checkout -qb pick HEAD~1
set_ 5 base:lead && commit lead
g 0 "of a commit beside it" cherry-pick main
shows 2 base:iron "the picked edit is there"
shows 5 base:lead "beside ours"
g 0 "rebase" checkout -qb moved HEAD~2
set_ 6 base:zinc && commit zinc
g 0 "onto it" rebase pick
shows 2 base:iron "what it was put onto is there"
shows 6 base:zinc "and what was moved"
set_ 7 base:salt
g 0 "stash" stash
set_ 8 base:clay && commit clay
g 0 "its edit comes back" stash pop
shows 7 base:salt "with the voxel"
shows 8 base:clay "beside the new one"
commit salt
g 0 "a branch that renames the save" checkout -qb named main~1
echo '*.cosmicreach diff=terrain merge=terrain' >repo/.gitattributes
g 0 "renames it" mv "$name" "moved here.cosmicreach"
commit renamed
g 0 "and merges what others edited under the old name" merge -m m main
name="moved here.cosmicreach"
shows 2 base:iron "their edit is there"

# Both sides add a save that was not there before.
start other.txt "$ROOT/LICENSE"
name=$save
echo '*.cosmicreach diff=terrain merge=terrain' >repo/.gitattributes && commit attributes
git -C repo checkout -qb side
cp $save "repo/$name" && set_ 2 base:iron && git -C repo add -A && commit theirs
git -C repo checkout -q main
cp $save "repo/$name" && set_ 3 base:gold && git -C repo add -A && commit ours
g 1 "both added the save" merge side
says out '^conflict in chunk ' "without a base what differs is a conflict"
grep -q '<<<<' "repo/$name"
[ $? = 1 ]
ok "the save is one"
run 0 "that is whole" check "repo/$name"

# Git LFS: git gives pointers to what it calls.
start $save $save
git -C repo checkout -qb side
printf 'version https://git-lfs.github.com/spec/v1\noid sha256:%064d\nsize 5\n' 7 >"repo/$name" && commit pointer
g 0 "log -p of a pointer" log -p -1
says out '^\+this file: is a Git LFS pointer' "shows what it is"
git -C repo checkout -q main
set_ 2 base:iron && commit iron
g 1 "a merge with a pointer to what is nowhere" merge side
says out "Error downloading object|'lfs' is not a git command" "says why not"
run 0 "our save is whole" check "repo/$name"
if git lfs version >out 2>&1; then
    start $save $save
    git -C repo lfs install --local --skip-repo >out
    echo "$save filter=lfs -text diff=terrain merge=terrain" >repo/.gitattributes && git -C repo add --renormalize . && commit lfs
    git -C repo checkout -qb side
    set_ 2 base:iron && commit iron
    git -C repo checkout -q main
    set_ 3 base:gold && commit gold
    g 0 "disjoint edits of a save that Git LFS keeps merge" merge -m merged side
    shows 2 base:iron "theirs is there"
    shows 3 base:gold "and ours"
    git -C repo show "HEAD:$save" >out
    says out '^version https://git-lfs' "the repository has a pointer"
    g 0 "nothing is left over" status --porcelain --ignored
    [ ! -s out ]
    ok "no file lies about"
    git -C repo checkout -q side
    set_ 3 base:tin && commit tin
    g 1 "the same voxel on both sides" merge main
    says out '^conflict in chunk .*: 1 voxel' "is told"
    shows 3 base:tin "ours stays"
    says "repo/.git/terrainfs/$save.conflicts.csv" ',base:tin,base:gold$' "the table lies in the repository"
else
    skip "merges of saves that Git LFS keeps" "there is no git-lfs"
fi

# The name of a region says where it lies; git's temporary files have other names.
"$TOOLS/make_voxel" region r.1.0.-2.vxr 2 3 2>/dev/null
start r.1.0.-2.vxr r.1.0.-2.vxr
chunk=$("$TFS" text "repo/$name" | awk 'NR == 1 { print $2 }')
csv=chunks/$chunk/channels/type.txt
set_type() { "$TFS" cat "repo/$name" "$csv" | sed "0,/| *[0-9]* /s//| $1 /" | "$TFS" put "repo/$name" "$csv"; }
git -C repo checkout -qb side
set_type 7 && commit seven
git -C repo checkout -q main
set_type 8 && commit eight
g 1 "both changed a voxel of a region" merge side
IFS=_ read -r x y z <<<"$chunk"
says "repo/.git/terrainfs/$name.conflicts.csv" "^$((x * 8)),$((y * 8)),$((z * 8)),.*type=8.*,.*type=7" "the table has coordinates of the world"
[ "$x" = 2 ]
ok "which the name gives"

# Models.
"$TOOLS/make_place" --kind binary --chunks 6 --log2 4 Terrain.rbxm
start Terrain.rbxm Terrain.rbxm
git -C repo checkout -qb side
python3 "$ROOT/tests/tools/diff_rows.py" mutate roblox repo/Terrain.rbxm 3 "$TFS" && commit theirs
cp repo/Terrain.rbxm theirs.rbxm
git -C repo checkout -q main
echo other >repo/other && git -C repo add -A && commit other
g 0 "a model that one side changed" merge -m m side
same repo/Terrain.rbxm theirs.rbxm "is theirs to the byte"
done_testing
