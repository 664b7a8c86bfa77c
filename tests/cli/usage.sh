#!/usr/bin/env bash
# The command line itself: help, version, options, operands, the statuses of what is wrong with it.
. "$(dirname "$0")/lib.bash"

region save --chunks 2
"$ROOT/scripts/man-page" "$TFS" 2026-01-01 <"$ROOT/terrainfs.1" >page
ok "the man page is made"
sed 's/\\f.//g; s/\\//g' page >manual
sed 's/^@--delete@/@--deletes@/' "$ROOT/terrainfs.1" | "$ROOT/scripts/man-page" "$TFS" 2026-01-01 >out 2>err
[ $? = 1 ]
ok "the man page has no option that the program has not"
says err 'says nothing of --deletes import' "it is named"

run 0 "--help succeeds" --help
says out '^usage: terrainfs' "--help prints the usage on stdout"
for word in info check export import cat put sync umount format= inflate= upgrade ro commit= \
    scratch= cache= threads= max_read= --delete --all diff --stat \
    --all-rows --json text undo --list --force backup \
    merge --conflicts= --path=; do
    grep -Fq -e "$word" out
    ok "--help names $word"
    grep -Fq -e "$word" manual
    ok "the man page names $word"
done
run 0 "a command's --help succeeds" import --help
says out '^usage: terrainfs import .*--all' "a command's --help prints its usage"
cp out import.help
run 0 "help of a command succeeds" help import
same out import.help "help of a command is its --help"
run 0 "help succeeds" help
"$TFS" --help >wanted
same out wanted "help is --help"
for command in $(sed -n '/^Commands/,/^$/s/^  \([a-z]*\) .*/\1/p' wanted); do
    run 0 "help $command succeeds" help "$command"
    says out "^usage: terrainfs $command" "help $command prints its usage"
    grep -Eq "^\.B $command\b" manual
    ok "the man page has $command"
done
run 0 "--version succeeds" --version
says out '^terrainfs [0-9]+\.[0-9]+' "--version prints name and version"
version=$(cat out)
[ "$version" = "terrainfs $(cat "$ROOT/VERSION")" ]
ok "--version prints what is in VERSION"
grep -Fq 'terrainfs @VERSION@' "$ROOT/terrainfs.1" && ! grep -Eq "terrainfs [0-9]+\.[0-9]" "$ROOT/terrainfs.1"
ok "the man page gets its version from there"
[ "$(sed -n 's/^## //p' "$ROOT/CHANGELOG.md" | head -n 1)" = "$(cat "$ROOT/VERSION")" ]
ok "CHANGELOG.md begins with this version"
[ "$(sed -n '1s/.*(\(.*\)).*/\1/p' "$ROOT/debian/changelog")" = "$(cat "$ROOT/VERSION")" ]
ok "so does the Debian package"

usage() {
    local what=$1 pattern=$2
    shift 2
    run 2 "$what has status 2" "$@"
    says err "$pattern" "$what is explained"
    [ ! -s out ]
    ok "$what prints nothing on stdout"
}
cp save save2
run 0 "info of several saves" info save save2
[ "$(grep -c '^save: ' out)" = 2 ]
ok "info names each of several saves"
run 0 "check of several saves" check save save2
says out '^save2: .* 2 chunks, 0 damaged' "check names each of several saves"
run 3 "the worst of several decides the status" check save nosuch save2
says out '^save2: ' "the others are checked all the same"
usage "no operand" 'missing operand: SAVE MOUNTPOINT'
usage "a single operand" 'missing operand: SAVE MOUNTPOINT' save
usage "a command without operand" 'missing operand: SAVE DIR' export save
usage "an operand too many" 'too many operands: SAVE PATH$' put save palette.txt more
usage "a word that is nearly a command" 'neither a command nor a save chekc; did you mean check' chekc save
usage "a word that is nearly an option" 'no such option here: --forze; did you mean --force' undo --forze save
usage "a command that there is not, with help" 'there is no command unod; did you mean undo' help unod
usage "an unknown letter" 'no such option here: -x' info -x save
usage "an unknown long option" 'no such option here: --nonsense' info --nonsense save
usage "--delete with export" 'no such option here: --delete' export --delete save dir
usage "an option of diff with merge" 'no such option here: --git' merge --git save save save
usage "one of merge with diff" 'no such option here: --path' diff --path=save save save
usage "-f with a command" 'no such option here: -f' info -f save
usage "an option behind the operands" 'options stand before the operands: --stat' diff --stat save save2 --stat
usage "one behind a save" 'options stand before the operands: --json' info save --json
usage "one behind three operands" 'options stand before the operands: --virtual' merge save save save --virtual
usage "one between SAVE and PATH" 'options stand before the operands: -o' cat save -o format=roblox info.txt
usage "the result of merge before the operands" '-o OUT, the result, stands behind the operands' merge -o out.sav save save save
cp save ./--stat
run 0 "a save that is named like an option" check save --stat
rm ./--stat
usage "-o without value" 'needs a value: -o' info -o
usage "an unknown format" 'no format has this name; there is .*cosmic_reach' info -o format=doom save
usage "an unknown option" 'nonsense: there is no such option' info -o nonsense save
usage "a mount's option with a command" 'commit=auto: this option is for a mount' info -o commit=auto save
usage "a size that is none" 'inflate=2X: not a size' info -o inflate=2X save
usage "a size beyond 64 bits" 'not a size' info -o inflate=99999999999G save
usage "a size without number" 'inflate=G: not a size' info -o inflate=G save
usage "a value too much" 'upgrade=1: this option takes no value' info -o upgrade=1 save
usage "a value too few" 'format: this option needs a value' info -o format save
usage "a command behind options" 'written \./check' -o format=cosmic_reach check save
usage "commit of nothing" 'commit=: neither "auto"' -o commit= save mnt
usage "seconds" 'commit=5: seconds are chosen no more: auto' -o commit=5 save mnt
usage "commit of a word" 'commit=soon: neither "auto"' -o commit=soon save mnt
usage "another word for ro" 'readonly: there is no such option; did you mean ro\?$' -o readonly save mnt
usage "a view that there is not" 'views=voxel: there is no such view; there are voxels, ' -o views=voxel save mnt
usage "a directory for undo that there is not" 'backup=typo: there is no such directory' -o backup=typo save mnt
[ ! -e typo ]
ok "none is made"
usage "mount as a command" 'mounting needs no command: terrainfs SAVE MOUNTPOINT' mount save mnt
usage "upgrade of another game" 'save: only saves of Godot Voxel Tools are upgraded, and this one is of cosmic_reach' upgrade save
usage "a conflict to be decided" 'conflict=both: this option is no longer there' -o conflict=both save mnt
usage "threads beyond the limit" 'threads=1000: not a number from 0 to 256' -o threads=1000 save mnt
usage "a mount's option behind its operands" 'scratch=no: not a size' save mnt -o scratch=no

run 0 "several options, several -o" info -o inflate=2G,upgrade -o format=cosmic_reach save
run 0 "a small letter as suffix" info -o inflate=64m save
run 0 "empty words between commas" info -o ,inflate=1G,, save
run 1 "the inflate limit holds" info -o inflate=1K save
says err '^terrainfs: save: ' "the sentence about the limit names the save"
cp save info
run 0 "a save with a command's name" info ./info

run 3 "a save that is not there has status 3" info nosuch
says err 'nosuch: .*No such file' "a save that is not there is named"
mkdir empty
run 1 "a directory that is no save has status 1" info empty
echo hello >text
run 1 "a file of no format has status 1" info text
says err '^terrainfs: text: ' "a file of no format is named"

# What people give instead of a save: each is told what it is and what to do.
stranger() {
    run 1 "$1 has status 1" info "$1"
    says err "^terrainfs: $1: $2" "$1 is told what it is"
}
python3 -c 'import sqlite3; sqlite3.connect("history.db").execute("CREATE TABLE pages(a)").connection.commit()'
stranger history.db 'is an SQLite database of no game that is known here: [a-z A-Z]*$'
mkdir world && touch world/world.mt && echo garbage >world/map.sqlite
stranger world "map.sqlite is a file that no format fits"
printf 'version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 5\n' | tee pointer.ter >pointer.cosmicreach
stranger pointer.ter 'is a Git LFS pointer, .*git lfs pull'
stranger pointer.cosmicreach 'is a Git LFS pointer, .*git lfs pull'
"$TOOLS/make_level" --size 128 lv && cp pointer.ter lv/theTerrain.ter || exit 3
stranger lv 'theTerrain.ter is a Git LFS pointer, .*git lfs pull'
echo hello >level.rbxm
stranger level.rbxm 'is a file that no format fits: it is damaged, or no save'
: >nothing.rbxl
stranger nothing.rbxl 'is a file that no format fits'

usage "a mount with swapped operands" 'save is the save: the operands are the other way round, SAVE MOUNTPOINT' empty save
usage "export with swapped operands" 'the other way round, SAVE DIR' export empty save
usage "import with swapped operands" 'the other way round, DIR SAVE' import save empty
usage "cat with swapped operands" 'the other way round, SAVE PATH' cat info.txt save
usage "put with swapped operands" 'the other way round, SAVE PATH' put info.txt save

BUILD=$(dirname "$TFS") "$ROOT/scripts/sample" made >out 2>err && "$TFS" check -r made >out 2>err
ok "make sample makes saves that are good"
BUILD=$(dirname "$TFS") "$ROOT/scripts/sample" made >out 2>err
[ $? = 2 ]
ok "it takes no directory that is not empty"
done_testing
