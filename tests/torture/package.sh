#!/usr/bin/env bash
# The tarball of make dist builds Debian packages; lintian finds no error in them, and they are installed, used and removed in a
# clean root. Skipped where the tools of Debian are not there.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
version=$(cat "$root/VERSION")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
number=0 failed=0

# ok WHAT: the result of the command before.
ok() {
    local status=$?
    number=$((number + 1))
    if [ $status = 0 ]; then
        echo "ok $number - $1"
    else
        echo "not ok $number - $1"
        failed=1
        tail -n 20 "$work/log" | sed 's/^/# /'
    fi
}

if [ "${TORTURE:-short}" != full ]; then
    echo "ok 1 - package # skip a package is built by make torture"
    echo "1..1"
    exit 0
fi
for tool in dpkg-buildpackage dh lintian git; do
    if ! command -v $tool >/dev/null; then
        echo "ok 1 - package # skip there is no $tool"
        echo "1..1"
        exit 0
    fi
done
cd "$root" || exit 3
git rev-parse HEAD >/dev/null 2>&1 || { echo "ok 1 - package # skip no git repository"; echo "1..1"; exit 0; }
tools=$(realpath "${BUILD:-build}")/tools
unset MAKEFLAGS MFLAGS MAKELEVEL BUILD
make -s BUILD="$work" dist >"$work/log" 2>&1
ok "make dist"
tar -C "$work" -xzf "$work/terrainfs-$version.tar.gz"
ok "the tarball unpacks"
cd "$work/terrainfs-$version" || exit 3
DEB_BUILD_OPTIONS="nocheck parallel=$(nproc)" dpkg-buildpackage -b -us -uc >"$work/log" 2>&1
ok "dpkg-buildpackage"
cd "$work" || exit 3
lintian --fail-on error --allow-root ./terrainfs_*.changes >"$work/log" 2>&1
ok "lintian finds no error"
dpkg-deb -x terrainfs_"$version"_*.deb "$work/installed" 2>"$work/log"
ok "the package unpacks"
[ "$("$work/installed/usr/bin/terrainfs" --version)" = "terrainfs $version" ]
ok "the program in it runs"
find "$work/installed" -type f -o -type l | sed "s,$work/installed,," | sort >"$work/log"
for file in /usr/sbin/mount.terrainfs /usr/share/bash-completion/completions/terrainfs \
    /usr/share/man/man1/terrainfs{,-diff,-open}.1.gz /usr/share/man/man8/mount.terrainfs.8.gz \
    /usr/share/doc/terrainfs/docs/{recipes.md,demo.svg}; do
    grep -qx "$file" "$work/log"
    ok "$file is in it"
done
dpkg-deb -c python3-terrainfs_"$version"_all.deb | grep ' ./usr/lib/python3/dist-packages/terrainfs.py$' >"$work/log"
ok "terrainfs.py is in python3-terrainfs"

# What a new user does, in a copy of this system with the packages and nothing else of the sources.
cat >inside.sh <<'EOF'
set -eux
dpkg --force-depends -i ./*.deb
cp region_0_0_0.cosmicreach /root && cd /root && mkdir mnt
terrainfs region_0_0_0.cosmicreach mnt
sed -i 's/^base:sand$/base:snow/' mnt/palette.txt
terrainfs umount mnt
mount -t terrainfs -o ro region_0_0_0.cosmicreach mnt
grep -qx base:snow mnt/palette.txt
umount mnt
terrainfs undo region_0_0_0.cosmicreach
! command -v man || man -w terrainfs terrainfs-diff mount.fuse.terrainfs
bash -c '. /usr/share/bash-completion/completions/terrainfs && complete -p terrainfs'
! command -v xdg-mime || [ "$(xdg-mime query filetype region_0_0_0.cosmicreach)" = application/x-cosmicreach-region ]
! /usr/bin/python3 -c 'import numpy' || /usr/bin/python3 -c 'import terrainfs'
dpkg -r terrainfs python3-terrainfs
[ ! -e /usr/bin/terrainfs ] && [ ! -e /usr/sbin/mount.terrainfs ]
EOF
if [ "$(id -u)" != 0 ] || ! [ -w /dev/fuse ]; then
    number=$((number + 1))
    echo "ok $number - dpkg installs, mounts and removes it in a clean root # skip needs root and /dev/fuse"
else
    "$tools/make_region" --kind demo region_0_0_0.cosmicreach
    mkdir clean
    # shellcheck disable=SC2016 # the inner shell expands it
    unshare -m --propagation private bash -euc '
        mount -t tmpfs none clean && mkdir clean/{upper,work,root}
        mount -t overlay -o "lowerdir=/,upperdir=$PWD/clean/upper,workdir=$PWD/clean/work" none clean/root
        for dir in proc dev; do mount --rbind /$dir clean/root/$dir; done
        mkdir clean/root/packages && cp {,python3-}terrainfs_*.deb region_0_0_0.cosmicreach inside.sh clean/root/packages
        env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root \
            chroot clean/root bash -c "cd /packages && bash inside.sh"' >"$work/log" 2>&1
    ok "dpkg installs, mounts and removes it in a clean root"
fi
echo "1..$number"
exit $failed
