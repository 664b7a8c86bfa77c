#!/usr/bin/env bash
# Completions, in the shells that are there: commands, their options, values of -o.
. "$(dirname "$0")/lib.bash"

cp "$ROOT/share/completions/fish" terrainfs.fish
for shell in bash zsh; do
    cat "$ROOT/share/completions"/{words.sh,$shell} >terrainfs.$shell
done
mkdir bin && ln -s "$(realpath "$TFS")" bin/terrainfs && PATH=$PWD/bin:$PATH

# in_bash WORD...: what bash offers for the last word.
in_bash() {
    bash --norc -c '
        . ./terrainfs.bash
        COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
        _terrainfs
        printf "%s\n" "${COMPREPLY[@]}"' bash "$@" 2>err
}

# offers WHAT WANTED WORD...
offers() {
    local what=$1 wanted=$2
    shift 2
    in_bash "$@" | sort >out
    grep -qxF -e "$wanted" out
    ok "$what"
}

offers "bash completes a command" undo terrainfs un
[ "$(cat out)" = undo ]
ok "and only those that begin so"
offers "bash completes an option of a command" --force terrainfs undo --f
in_bash terrainfs info - | grep -qx -e --force
[ $? = 1 ]
ok "and not that of another one"
offers "bash completes an option with a value" --conflicts= terrainfs merge --con
offers "bash completes a value of -o" scratch= terrainfs -o sc
offers "bash completes what stands behind a comma" ro,scratch= terrainfs -o ro,sc
offers "bash completes the value of an option, which it takes apart" voxels terrainfs -o ro,views = vo
offers "bash completes the operand of help" check terrainfs help ch
[ "$(in_bash terrainfs info sa)" = "" ]
ok "an operand is left to the names of files"
for command in $("$TFS" --help | sed -n '/^Commands/,/^$/s/^  \([a-z]*\) .*/\1/p'); do
    offers "bash offers $command" "$command" terrainfs ""
done

if command -v zsh >/dev/null; then
    zsh -f -c 'autoload -U compinit && compinit -u -D && . ./terrainfs.zsh &&
        [ -n "${_comps[terrainfs]}" ] && whence _terrainfs >/dev/null' >out 2>err
    ok "zsh takes it"
    zsh -f -c '
        compdef() { :; }
        compadd() { [ "$1" = -S ] && print -l blank:none $open || print -l blank:yes $whole; }
        . ./terrainfs.zsh
        words=(terrainfs merge --) CURRENT=3
        _terrainfs' >out 2>err
    [ "$(sed -n '/blank:none/,$p' out)" = $'blank:none\n--conflicts=\n--path=' ]
    ok "zsh appends no blank to an option with a value"
else
    skip "zsh takes it" "there is no zsh"
fi
if command -v fish >/dev/null; then
    fish --no-config -c 'source terrainfs.fish; complete -C "terrainfs un"' >out 2>err
    says out '^undo' "fish completes a command"
    fish --no-config -c 'source terrainfs.fish; complete -C "terrainfs undo --fo"' >out 2>err
    says out '^--force' "fish completes an option of a command"
    fish --no-config -c 'source terrainfs.fish; complete -C "terrainfs -o ro,view"' >out 2>err
    says out '^ro,views=voxels' "fish completes what stands behind a comma, with its value"
    fish --no-config -c 'source terrainfs.fish; complete -C "terrainfs info --fo"' >out 2>err
    ! grep -q -e --force out
    ok "and not that of another one"
else
    skip "fish completes commands and options" "there is no fish"
fi

if ! [ -w /dev/fuse ] || ! command -v fusermount3 >/dev/null; then
    skip "mounts are completed for umount; terrainfs-open" "no access to /dev/fuse"
    done_testing
fi
region save --chunks 1
mount="a \$(touch ran) mount" # a name that nobody may run
mkdir "$mount" && run 0 "a save is mounted" save "$mount"
offers "bash completes a mount for umount" "$PWD/$mount" terrainfs umount "$PWD"
[ ! -e ran ]
ok "and runs nothing that is in its name"
if command -v fish >/dev/null; then
    fish --no-config -c 'source terrainfs.fish; complete -C "terrainfs umount "' >out 2>err
    grep -qxF "$PWD/$mount" out && [ ! -e ran ]
    ok "fish does, too"
fi
run 0 "it is unmounted" umount "$mount"

# ---- terrainfs-open ------------------------------------------------------------------------------------

# opens STATUS WHAT SAVE [NAME=VALUE...]
opens() {
    local wanted=$1 what=$2 save=$3
    shift 3
    env XDG_RUNTIME_DIR="$PWD" PATH="$(dirname "$TFS"):$PATH" "$@" "$ROOT/share/terrainfs-open" "$save" >out 2>err
    [ $? = "$wanted" ] && [ -z "$(ls terrainfs 2>/dev/null)" ]
    ok "$what"
}
opens 3 "terrainfs-open without a program that opens directories mounts nothing" save TERRAINFS_OPENER=nosuch
opens 1 "of a save that cannot be mounted it leaves no directory" terrainfs.bash TERRAINFS_OPENER=ls
done_testing
