#!/usr/bin/env bash
# git and its configuration: git diff, log -p, blame, rename and stash of saves, in a scratch HOME.
. "$(dirname "$0")/lib.bash"
command -v git >/dev/null || { skip "git" "git is not installed"; done_testing; }

top=$PWD
export HOME=$top/home GIT_CONFIG_NOSYSTEM=1 GIT_PAGER=cat TERM=dumb
export GIT_AUTHOR_NAME=x GIT_AUTHOR_EMAIL=x@example.org GIT_COMMITTER_NAME=x GIT_COMMITTER_EMAIL=x@example.org
unset XDG_CONFIG_HOME
mkdir "$HOME" bin
ln -s "$(realpath "$TFS")" bin/terrainfs
PATH=$top/bin:$PATH
TFS=$top/bin/terrainfs

# g ARGUMENTS...: git, its output in out and err.
g() {
    git "$@" >out 2>err
}

# edit SAVE PATH SED
edit() {
    "$TFS" cat "$1" "$2" | sed "$3" >"$top/text" && "$TFS" put "$1" "$2" <"$top/text" || exit 3
}

# --- the configuration
run 3 "outside of a repository nothing can be enabled" git --enable
mkdir repository && cd repository && git init -q -b main
export GIT_TEST_ASSUME_DIFFERENT_OWNER=1
run 3 "nothing is enabled in a repository that somebody else owns" git --enable
unset GIT_TEST_ASSUME_DIFFERENT_OWNER
run 0 "enable" git --enable
run 0 "enable again" git --enable
says out '^\*\.cosmicreach -text diff=terrain merge=terrain$' "it prints the lines for .gitattributes"
[ "$(git config diff.terrain.command)" = 'terrainfs diff --git --' ]
ok "the program is called by its name where a shell finds it by that"
[ "$(git config merge.terrain.driver)" = 'terrainfs merge --path=%P -- %O %A %B' ]
ok "and so to merge"
[ ! -e .gitattributes ]
ok "it adds no lines by itself"
cp out .gitattributes
[ "$(git check-attr merge -- x.ter)" = 'x.ter: merge: terrain' ]
ok "git takes the lines"
git config --remove-section diff.terrain && git config --remove-section merge.terrain &&
    git config --remove-section merge.terrain-base && [ -z "$(git config --get-regexp terrain)" ]
ok "git takes the settings away"
touch .git/config.lock
run 3 "enable while another git writes the configuration" git --enable
rm .git/config.lock
run 0 "enable for the user" git --enable --global
[ -z "$(git config --local --get-regexp terrain)" ] && [ "$(git config --global merge.terrain.recursive)" = terrain-base ]
ok "goes to the user's configuration"
git config --global --remove-section diff.terrain && git config --global --remove-section merge.terrain
run 2 "no verb" git
run 2 "an operand too many" git --enable x
run 2 "an option of version 0.1" git --status
says err 'git config --get-regexp terrain' "what there is instead"
env PATH="${PATH#*:}" "$top/bin/terrainfs" git --enable >out 2>err
ok "enable from elsewhere"
[ "$(git config diff.terrain.command)" = "'$(realpath "$TFS")' diff --git --" ]
ok "calls the program by its path"
run 0 "enable once more" git --enable
rm -f out err
printf 'out\nerr\n' >.git/info/exclude

# --- a repository
region region_0_0_0.cosmicreach --kind demo
"$TOOLS/make_place" --kind binary --coding stored place.rbxl && "$TOOLS/make_ter" --size 128 gone.ter || exit 3
cp place.rbxl pointer.rbxm
git add -A && git commit -qm one || exit 3
chunk=$("$TFS" export region_0_0_0.cosmicreach ../tree && cd ../tree && wc -l chunks/*/voxels.csv | awk '$1 > 20 { print $2; exit }')
edit region_0_0_0.cosmicreach "$chunk" '2,4s/,[^,]*$/,base:gold/'
rm gone.ter
"$TOOLS/make_ter" --size 64 'new one.ter' || exit 3
git add -N 'new one.ter'
printf 'version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 5\n' >pointer.rbxm
chmod +x place.rbxl
g diff && says out '^@@ chunk .* @@ .*base:gold \+3' "git diff shows rows of terrain"
says out '^diff --git a/region_0_0_0.cosmicreach b/region_0_0_0.cosmicreach$' "under git's head"
says out '^deleted file mode 100644$' "a save that is gone"
says out '^-chunk 0_0_0 .*and 3 more' "has lost its chunks"
says out '^diff --git a/new one.ter b/new one.ter$' "a new save"
says out '^\+chunk 0_0_0' "has new chunks"
says out '^b/pointer.rbxm: .' "a pointer of LFS is said to be no save"
says out '^old mode 100644$' "modes are shown"
[ ! -s err ]
ok "nothing goes to stderr"
g -c color.diff=always diff && says out $'\033\\[' "colours are what git's configuration says"
NO_COLOR=1 g -c color.diff=always diff region_0_0_0.cosmicreach && ! grep -q $'^\033.*gold' out
ok "and NO_COLOR"
g diff --exit-code
[ $? = 1 ]
ok "git knows itself whether something differs"
g diff --no-ext-diff region_0_0_0.cosmicreach && says out '^\+chunk .*base:gold 3' "textconv shows counts"
GIT_EXTERNAL_DIFF='terrainfs diff --git --' g -c diff.terrain.command= diff region_0_0_0.cosmicreach &&
    says out 'base:gold \+3' "GIT_EXTERNAL_DIFF does the same"
git reset -q 'new one.ter'
g stash && g diff && [ ! -s out ]
ok "stash puts the save back"
g stash pop && g diff && says out 'base:gold \+3' "and pop brings it again"
git add -A && git commit -qm two || exit 3
g log -p -1 && says out '^\+chunk .*base:gold 3' "log -p shows counts"
says out '^\+(this file|no format|pointer|is named)' "also of a pointer of LFS"
g show --stat && says out 'region_0_0_0' "show --stat works"
g blame region_0_0_0.cosmicreach && [ "$(grep -c '^[^^]' out)" = 1 ] && [ "$(grep -c '^^' out)" -gt 5 ]
ok "blame names the commit of each chunk"
mkdir sub && git mv place.rbxl sub/other.name && echo 'sub/* diff=terrain' >>.gitattributes
rows=$("$TFS" export sub/other.name ../place && cd ../place && wc -l chunks/*/voxels.csv | awk '$1 > 20 { print $2; exit }')
edit sub/other.name "$rows" '5d'
git add -A
g diff --cached -M20% -- place.rbxl sub/other.name && says out '^diff --git a/place.rbxl b/sub/other.name$' "a rename"
says out '^rename from place.rbxl$' "is told as git tells it"
says out '^@@ chunk .* @@ .* -1$' "with its rows"
git commit -qm three || exit 3
g log -p -M20% --ext-diff -1 && says out '^@@ chunk .* @@ .* -1$' "log --ext-diff, too"

# Two branches edit one chunk: the driver that --enable wrote merges them.
git checkout -qb mine && edit region_0_0_0.cosmicreach "$chunk" '6s/,[^,]*$/,base:mine/' && git commit -qam mine || exit 3
git checkout -q main && edit region_0_0_0.cosmicreach "$chunk" '9s/,[^,]*$/,base:yours/' && git commit -qam yours || exit 3
g merge -m both mine
ok "git merge of edits in one chunk"
"$TFS" cat region_0_0_0.cosmicreach "$chunk" >csv
[ "$(grep -c 'base:mine$\|base:yours$' csv)" = 2 ]
ok "has both"
rm csv

# Names that mean something to a shell.
for name in "-dash's \"\$(touch pwned)\"; &.rbxm" $'new\nline.rbxm'; do
    "$TOOLS/make_place" --kind binary --chunks 3 ./"$name" && git add ./"$name" && git commit -qm odd || exit 3
    git checkout -q -b "odd${#name}" && edit ./"$name" "$rows" '5d' && git commit -qam mine && git checkout -q main
    edit ./"$name" "$rows" '9d'
    g diff -- ./"$name" && says out '^@@ chunk .* @@ .* -1$' "an odd name is diffed"
    git commit -qam yours && g merge -m both "odd${#name}" && g diff HEAD^2 -- ./"$name"
    says out '; 1 voxel; ' "and merged"
    [ ! -e pwned ]
    ok "and no more"
done

# --- a repository without a work tree, where git reads no .gitattributes
git clone -q --bare . "$top/bare.git" && cd "$top/bare.git" || exit 3
run 0 "enable in a bare repository" git --enable
cp out info/attributes
git diff "$(git rev-list --max-parents=0 HEAD)" HEAD -- region_0_0_0.cosmicreach >out
says out '^@@ chunk ' "git diff shows rows of terrain there"
cd "$top/repository" || exit 3

# --- what git calls
git show HEAD:region_0_0_0.cosmicreach >"$top/xyz" && cp region_0_0_0.cosmicreach "$top/abc"
edit "$top/abc" "$chunk" '3s/,[^,]*$/,base:tin/'
run 0 "names of temporary files say nothing" diff --git -- sub/x "$top/xyz" 0 100644 "$top/abc" 0 100644
says out 'base:tin \+1' "and need not"
run 0 "an unmerged path" diff --git -- sub/x
says out '^\* Unmerged path sub/x$' "is named"
run 0 "a path like an option" diff --git -- --stat /dev/null . . "$top/abc" 0 100644
says out 'diff --git a/--stat b/--stat' "is a path"
run 0 "nothing on both sides" diff --git -- x /dev/null . . /dev/null . .
run 0 "no save on one side" diff --git -- x "$top/text" 0 100644 "$top/abc" 0 100644
says out '^a/x: is a file that no format fits' "is named in the diff"
run 0 "a path with a newline" diff --git -- $'a\nb' "$top/xyz" 0 100644 "$top/abc" 0 100644
says out '^diff --git a/a\\nb b/a\\nb$' "stays one line"
run 2 "another number of arguments" diff --git -- a b c
# A pager that was quit before the diff came.
mkfifo "$top/pager"
: <"$top/pager" &
exec 3>"$top/pager"
wait $!
"$TFS" diff --git -- x "$top/xyz" 0 100644 "$top/abc" 0 100644 >&3 2>err && [ ! -s err ]
ok "a pager that was quit is no failure, which git would end with"
exec 3>&-
[ ! -w /dev/full ] || {
    "$TFS" diff --git -- x "$top/xyz" 0 100644 "$top/abc" 0 100644 >/dev/full 2>err
    [ $? = 3 ]
    ok "a full disk is one"
}
region "$top/first" --chunks 40 && region "$top/second" --chunks 40 --seed 2
(
    ulimit -f 1
    "$TFS" diff --git -- x "$top/first" 0 100644 "$top/second" 0 100644 >"$top/part" 2>err
)
[ $? = 3 ] && [ -s "$top/part" ]
ok "a file that may not grow, and has a part of the diff, is one"
says err '^terrainfs: standard output: File too large$' "it is said"

# --- line ends, and mergetool, as the guide says it
"$TFS" git --enable >>.gitattributes || exit 3
"$TOOLS/make_place" --kind xml --chunks 3 text.rbxlx && cp text.rbxlx kept && git add -A && git commit -qm text || exit 3
git config core.autocrlf true && rm text.rbxlx && git checkout -q text.rbxlx
same text.rbxlx kept "git gives a save its line ends as they were"
git config --unset core.autocrlf
git checkout -q -b left && edit region_0_0_0.cosmicreach "$chunk" '4s/,[^,]*$/,base:left/' && git commit -qam left &&
    git checkout -q main && edit region_0_0_0.cosmicreach "$chunk" '4s/,[^,]*$/,base:right/' && git commit -qam right || exit 3
git config mergetool.terrain.cmd "$(sed -n "s/^git config mergetool.terrain.cmd '\(.*\)'\$/\1/p" "$ROOT/docs/git.md")"
git config mergetool.terrain.trustExitCode true
! g merge left && [ -s .git/terrainfs/region_0_0_0.cosmicreach.conflicts.csv ]
ok "git stops at a conflict"
g mergetool -y --tool=terrain </dev/null
ok "mergetool takes the other side"
[ -z "$(find . -path ./.git -prune -o -name "*conflicts*" -print)" ]
ok "and leaves no table in the work tree"
"$TFS" cat region_0_0_0.cosmicreach "$chunk" | grep -q 'base:left$'
ok "where they conflict"
git add -A && git commit -qm resolved || exit 3

# Scripts that both changed.
for side in left right; do
    git checkout -q -B "$side" main && sed -i "0,/<Item /s//<!-- $side --><Item /" text.rbxlx && git commit -qam "$side" || exit 3
done
! g merge left && ! g mergetool -y --tool=terrain </dev/null && [ -n "$(git ls-files -u)" ]
ok "scripts that both changed are left to the user"
says out '^conflict in the rest of the file: it changed' "who is told"
git merge --abort && git checkout -q main || exit 3

# A side that is damaged: nothing is merged, and nothing is taken for resolved.
git checkout -q -b broken && python3 - region_0_0_0.cosmicreach <<'END' && git commit -qam broken && git checkout -q main || exit 3
import sys
data = open(sys.argv[1], 'rb').read()
open(sys.argv[1], 'wb').write(data[:len(data) // 2])
END
edit region_0_0_0.cosmicreach "$chunk" '6s/,[^,]*$/,base:ours/' && git commit -qam ours || exit 3
cp region_0_0_0.cosmicreach was
! g merge broken && [ -n "$(git ls-files -u)" ] && cmp -s region_0_0_0.cosmicreach was
ok "a merge that is refused leaves the path unmerged, with ours"
! g mergetool -y --tool=terrain </dev/null && [ -n "$(git ls-files -u)" ]
ok "mergetool fails, and the path stays unmerged"
git merge --abort && git reset -q --hard && rm -f was || exit 3

edit region_0_0_0.cosmicreach "$chunk" '5s/,[^,]*$/,base:patch/' && cp region_0_0_0.cosmicreach patched
git diff --binary --no-ext-diff --no-textconv >"$top/patch" && git checkout -q region_0_0_0.cosmicreach &&
    g apply "$top/patch" && cmp -s region_0_0_0.cosmicreach patched
ok "a patch with the bytes of a save is applied"
git checkout -q region_0_0_0.cosmicreach && rm -f patched kept ./*.orig
cd ..
done_testing
