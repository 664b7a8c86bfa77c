# What bash and zsh share: what the last of some words can be, one a line. The program's own help
# says which commands and options there are.
_terrainfs_words() {
    local command=$2 count=$# start=
    while [ $# -gt 2 ]; do shift; done
    if [ "$1" = -o ]; then
        case $2 in *,*) start=${2%,*}, ;; esac
        terrainfs --help | sed -n '/^OPTIONS/,/^If/s/^  \([a-z_]*\)\(\[*=*\)[^ ]*.*/\1\2/p' |
            sed "s|\[=*||; s|^|$start|; s|views=|views=voxels\n${start}views=grids\n${start}views=raw\n${start}views=arrays|"
    elif [ "$command" = help ] && [ $count -gt 2 ] || { [ $count = 2 ] && [ "${2#-}" = "$2" ]; }; then
        terrainfs --help | sed -n '/^Commands/,/^$/s/^  \([a-z]*\) .*/\1/p'
    elif [ "${2#-}" != "$2" ] && [ $count = 2 ]; then
        printf '%s\n' -f -d -o --help --version
    elif [ "${2#-}" != "$2" ]; then
        printf '%s\n' -o --help
        terrainfs help "$command" 2>/dev/null | sed -n 's/^  \(--[a-z-]*=*\).*/\1/p'
    else
        case $command in
        sync | umount) awk '$3 == "fuse.terrainfs" { gsub(/\\040/, " ", $2); print $2 }' /proc/self/mounts ;;
        esac
    fi
}
