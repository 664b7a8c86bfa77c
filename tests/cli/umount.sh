#!/usr/bin/env bash
# umount: what is no mount, and a real one (tests/mount has more).
. "$(dirname "$0")/lib.bash"

mkdir plain mnt
run 3 "umount of a plain directory has status 3" umount plain
says err 'plain: this is not a mount of terrainfs' "it says why"
run 3 "umount of nothing has status 3" umount nosuch
says err 'nosuch: No such file' "it names it"
mkdir plain/.terrainfs
printf 'pid: %s\numount-pipe: 0\n' $$ >plain/.terrainfs/status
run 3 "a directory that looks like a mount is none" umount plain
run 3 "the root directory is not unmounted" umount /
run 3 "sync of a plain directory has status 3" sync plain
says err 'plain: this is not a mount of terrainfs' "sync says why"
run 3 "sync of nothing has status 3" sync nosuch
says err 'nosuch: No such file' "sync names it"

if ! [ -w /dev/fuse ] || ! command -v fusermount3 >/dev/null; then
    skip "umount of a mount" "no access to /dev/fuse"
    done_testing
fi
region save --chunks 2
cp save before
run 0 "a save is mounted" save mnt
mountpoint -q mnt
ok "the mount is there"
exec 9<mnt/palette.txt
run 3 "umount of a busy mount has status 3" umount mnt
says err 'a program still has a file open there' "it says why"
mountpoint -q mnt
ok "the busy mount is still there"
exec 9<&-
run 0 "umount succeeds" umount mnt
! mountpoint -q mnt
ok "the mount is gone"
flock -n save true
ok "the save is unlocked when umount returns"
same save before "an unedited save is as it was"

run 0 "a save is mounted again" save mnt
name=$(ls mnt/chunks | head -n 1)
for light in 1 2 3; do
    echo "fill $light" >"mnt/chunks/$name/lights/sky.txt"
done
run 0 "sync of a mount with a burst of edits" sync mnt
[ ! -s err ]
ok "sync says nothing"
cp save before
"$TFS" cat before "chunks/$name/lights/sky.txt" >out
says out '^fill 3$' "the edits are in the save when sync returns"
echo 'fill 5' >"mnt/chunks/$name/lights/sky.txt"
echo 'fill 4' >"mnt/chunks/$name/lights/sky.txt"
run 0 "umount of a mount with a burst of edits" umount ./mnt/
differ save before "the edits are in the save when umount returns"
"$TFS" cat save "chunks/$name/lights/sky.txt" >out
says out '^fill 4$' "the edit is as written"
done_testing
