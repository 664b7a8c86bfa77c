#!/usr/bin/env bash
# Names that others chose, with line ends, escape sequences and overrides of the direction: no command prints a
# line that a name forged, nor anything that drives a terminal.
. "$(dirname "$0")/lib.bash"
export LC_ALL=C.UTF-8

evil=$'\nterrainfs: all is well\e[2J\u009b\u202e'
shown='\\nterrainfs: all is well\\x1b\[2J\\xc2\\x9b\\xe2\\x80\\xae'

# clean WHAT: what the last run said is lines of ours, without control characters.
clean() {
    ! grep -aqE '^terrainfs: all is well' out err && ! LC_ALL=C.UTF-8 grep -qP '[\x00-\x1f\x7f\x{80}-\x{9f}\x{202e}]' out err
    ok "$1 prints no control character and no line of the name's"
}

region "save$evil" --chunks 3
region save --chunks 3
run 0 "check of such a save succeeds" check "save$evil"
says out "^save$shown: cosmic_reach: 3 chunks" "check shows the name escaped"
clean check
run 1 "cat of such a path fails" cat save "chunks/x$evil"
says err "chunks/x$shown: the save has no file like this" "cat shows the path escaped"
clean cat
run 3 "info of such a name that is not there" info "nosuch$evil"
clean info
run 2 "an option like that is refused" check -o "x$evil" save
clean "a refused option"

run 0 "export to such a directory" export save "dir$evil"
mkdir "dir$evil/chunks/y$evil"
echo x >"dir$evil/new$evil"
bad=("dir$evil"/chunks/*/blocks.txt)
printf 'palette 0 a:b\nfill 300\n' >"${bad[0]}"
run 1 "import of foreign names fails by the one bad file" import "dir$evil" save
says err "dir$shown/new$shown: ignored: " "import shows the names escaped"
says err "dir$shown/chunks/.*/blocks.txt:2:6: " "a refused file is named the same way"
clean import

done_testing
