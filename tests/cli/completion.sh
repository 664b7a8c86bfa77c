#!/usr/bin/env bash
# Completions, in the shells that are there: commands, their options, values of -o.
. "$(dirname "$0")/lib.bash"

for shell in bash zsh fish; do
    run 0 "completion $shell" completion $shell
    cp out terrainfs.$shell
done
run 2 "completion of another shell" completion csh
says err 'for bash, zsh and fish, not for csh' "that is said"

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
offers "bash completes an option of a command" --dry-run terrainfs undo --d
in_bash terrainfs info - | grep -qx -e --dry-run
[ $? = 1 ]
ok "and not that of another one"
offers "bash completes an option with a value" --prefer= terrainfs import --pr
offers "bash completes a value of -o" conflict= terrainfs -o con
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
else
    skip "zsh takes it" "there is no zsh"
fi
if command -v fish >/dev/null; then
    fish --no-config -c 'source terrainfs.fish; complete -C "terrainfs un"' >out 2>err
    says out '^undo' "fish completes a command"
    fish --no-config -c 'source terrainfs.fish; complete -C "terrainfs undo --dr"' >out 2>err
    says out '^--dry-run' "fish completes an option of a command"
    fish --no-config -c 'source terrainfs.fish; complete -C "terrainfs info --dr"' >out 2>err
    ! grep -q -e --dry-run out
    ok "and not that of another one"
else
    skip "fish completes commands and options" "there is no fish"
fi
done_testing
