#!/usr/bin/env bash
# make install and uninstall, and what they put where.
. "$(dirname "$0")/lib.bash"

build=$(dirname "$TFS")
build=${build#"$ROOT/"} # as make calls it

# The program under test is what is installed, whichever flags it was built with.
install_to() {
    make -C "$ROOT" -s -o "$build/terrainfs" -o "$build/libterrainfs.a" BUILD="$build" \
        DESTDIR="$PWD/root" "$@" >out 2>err
}

install_to install PREFIX=/usr
ok "make install"
find root -type f -o -type l | sort >installed
for file in bin/terrainfs bin/terrainfs-open lib/python3/dist-packages/terrainfs.py share/man/man1/terrainfs.1 share/man/man1/terrainfs-open.1 \
    share/man/man8/mount.terrainfs.8 share/zsh/site-functions/_terrainfs \
    share/bash-completion/completions/terrainfs share/fish/vendor_completions.d/terrainfs.fish \
    share/mime/packages/terrainfs.xml share/applications/terrainfs.desktop; do
    [ -f "root/usr/$file" ]
    ok "it brings $file"
done
for helper in mount.terrainfs mount.fuse.terrainfs; do
    [ "$(readlink "root/sbin/$helper")" = /usr/bin/terrainfs ]
    ok "it brings $helper"
done
[ "$(root/usr/bin/terrainfs --version)" = "terrainfs $(cat "$ROOT/VERSION")" ]
ok "the program runs"
grep -Fq "\"terrainfs $(cat "$ROOT/VERSION")\"" root/usr/share/man/man1/terrainfs.1
ok "the manual has the version"
for command in info check export import cat put diff text merge git undo upgrade sync umount help; do
    grep -q "^terrainfs.-$command .- ." "root/usr/share/man/man1/terrainfs-$command.1" ||
        echo "no page of $command"
done >out
[ ! -s out ] && [ "$(find root/usr/share/man -type f | wc -l)" = 18 ]
ok "every command has a page"
for page in root/usr/share/man/man?/*; do
    ! command -v man >/dev/null || { LC_ALL=C.UTF-8 man --warnings -l "$page" >/dev/null; } 2>&1
    ! command -v mandoc >/dev/null || mandoc -T lint -W warning "$page"
done >out 2>&1
[ ! -s out ]
ok "the pages have no warnings of man and mandoc"
bash -n root/usr/share/bash-completion/completions/terrainfs
ok "the completions are for bash"
python3 -S -c 'import sys, xml.dom.minidom
document = xml.dom.minidom.parse(sys.argv[1])
print(*[t.getAttribute("type") for t in document.getElementsByTagName("mime-type")], sep="\n")' \
    root/usr/share/mime/packages/terrainfs.xml | sort >types
[ "$(wc -l <types)" = 8 ]
ok "there are types of saves"
sed -n 's/^MimeType=//p' root/usr/share/applications/terrainfs.desktop | tr ';' '\n' | sed '/^$/d' | sort | cmp -s - types
ok "the desktop entry takes all of them"
if command -v desktop-file-validate >/dev/null; then
    desktop-file-validate root/usr/share/applications/terrainfs.desktop >out 2>&1
    ok "the desktop entry is valid"
else
    skip "the desktop entry is valid" "there is no desktop-file-validate"
fi
install_to uninstall PREFIX=/usr
ok "make uninstall"
[ -z "$(find root -type f -o -type l)" ]
ok "it leaves nothing"
install_to install PREFIX=/home/me/.local
[ -L root/home/me/.local/sbin/mount.terrainfs ] && [ "$(find root/sbin -type l)" = "" ]
ok "a prefix of one's own keeps all below it"
done_testing
