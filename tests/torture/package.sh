#!/usr/bin/env bash
# The tarball of make dist builds a Debian package; lintian finds no error in it, and it runs from where it is
# unpacked. Skipped where the tools of Debian are not there.
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
[ -L "$work/installed/usr/sbin/mount.terrainfs" ] &&
    [ -f "$work/installed/usr/share/bash-completion/completions/terrainfs" ] &&
    [ -f "$work/installed/usr/share/man/man1/terrainfs.1.gz" ]
ok "helpers, completions and the manual are in it"
# dpkg itself, into a root of its own, where that is allowed.
mkdir -p "$work/scratch/var/lib/dpkg/"{info,updates} && : >"$work/scratch/var/lib/dpkg/status"
if [ "$(id -u)" = 0 ]; then
    dpkg --root="$work/scratch" --force-depends --force-script-chrootless --log=/dev/null \
        -i "$work"/terrainfs_"$version"_*.deb >"$work/log" 2>&1
    ok "dpkg installs it into a root of its own"
    [ -x "$work/scratch/usr/bin/terrainfs" ] && "$work/scratch/usr/bin/terrainfs" --help >"$work/log"
    ok "and it runs there"
fi
echo "1..$number"
exit $failed
