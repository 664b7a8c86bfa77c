#!/usr/bin/env bash
# Terrains of BeamNG: pictures edited with ImageMagick and netpbm, tiles with sed and cp, the sidecar. Two
# programs that write PNGs of their own give back the same save; what is painted is what the save holds.
. "$(dirname "$0")/lib.sh"

for tool in convert mogrify pngtopnm pnmtopng; do
    command -v $tool >/dev/null || bail "no $tool here"
done
SAVE_NAME=theTerrain.ter
PRISTINE=$T/pristine/$SAVE_NAME
make_ter() {
    "$TFS_TOOLS/make_ter" "$@"
}
make_ter --version 9 --size 200 --seed 9 --sidecar "$PRISTINE"

# The sidecar of the save of this test.
sidecar() {
    echo "${S%.ter}.terrain.json"
}
ter() {
    "$PYTHON" -S "$ROOT/tests/tools/ter.py" "$@"
}
# differs WANTED: what differs between the save and the copy it began as.
differs() {
    settle_mounted
    same 'what differs in the save' "$(ter diff "$PRISTINE" "$S")" "$1"
}
# sample X Z WANTED
sample() {
    settle_mounted
    same "height and layer at $1,$2" "$(ter at "$S" "$1" "$2")" "$3"
}
# info KEY
info() {
    sed -n "s/^$1: //p" "$M/info.txt"
}
# Every picture that can be written: the name of $picture in turn.
each_picture() {
    local picture
    while read -r picture; do
        "$@" "$picture"
    done < <(cd "$M" && find . -name '*.png' ! -name map.png | sed 's|^\./||' | sort)
}

# ---- pictures saved again without a change ---------------------------------------------------------------

through_imagemagick() {
    convert "$1" -define png:compression-level=9 "$2"
}
# Another program with another way of writing: interlaced, and masks in few bits.
through_netpbm() {
    case $1 in
    *corners.png) cp "$1" "$2" ;; # netpbm keeps alpha in a second file
    *) pngtopnm "$1" 2>/dev/null | pnmtopng -interlace -compression=1 2>/dev/null >"$2" ;;
    esac
}
# save_again PROGRAM PICTURE
save_again() {
    "$1" "$M/$2" "$D/again.png" || note "$2: $1 failed"
    wants_not cmp -s "$M/$2" "$D/again.png"
    want cp "$D/again.png" "$M/$2"
}
# saved_again PROGRAM [OPTION OF make_ter...]
saved_again() {
    [ $# -lt 2 ] || make_ter --size 100 --seed 7 "${@:2}" "$S"
    cp "$S" "$D/before.ter"
    up
    each_picture save_again "$1"
    same commits "$(sed -n 's/^commits: //p' "$M/.terrainfs/status")" 0
    down
    want cmp "$S" "$D/before.ter"
}

# Saved in place, as mogrify does: a temporary file is renamed over the picture.
mogrified() {
    up
    want mogrify -define png:compression-level=1 "$M/heightmap.png" "$M/layers.png"
    down
    want cmp "$S" "$PRISTINE"
}

# ---- heights -------------------------------------------------------------------------------------------

raised() {
    local height layer
    read -r height layer < <(ter at "$S" 30 20)
    up
    want mogrify -evaluate add 100 -define png:bit-depth=16 "$M/heightmap.png"
    sample 30 20 "$((height + 100)) $layer"
    same 'in the text' "$(awk '/z=20 / { print $(4 + 30) }' "$M/chunks/0_0_0/heights.txt")" \
        "$((height + 100))"
    down
    differs 'heights 40000 layers 0 extra 0 names 0'
}

# A dot in the picture is a sample: x to the right, north up.
dotted() {
    up
    want convert "$M/heightmap.png" -fill white -draw 'point 150,10' -define png:bit-depth=16 \
        "$D/dot.png"
    want cp "$D/dot.png" "$M/heightmap.png"
    down
    sample 150 189 "65535 $(ter at "$PRISTINE" 150 189 | cut -d ' ' -f 2)"
    differs 'heights 1 layers 0 extra 0 names 0'
}

refused() {
    up
    want convert "$M/heightmap.png" -depth 8 "$D/low.png"
    wants_not cp "$D/low.png" "$M/heightmap.png"
    logged '^heightmap.png: the picture has 8 bits a pixel, the heights of the save need 16'
    want cmp "$D/low.png" "$M/.terrainfs/rejected/heightmap.png"
    want convert "$M/heightmap.png" -resize 100x100 "$D/small.png"
    wants_not cp "$D/small.png" "$M/heightmap.png"
    logged '^heightmap.png: the picture has 100 x 100 pixels, 200 x 200 are needed'
    wants_not cp "$S" "$M/heightmap.png"
    logged '^heightmap.png: this is not a PNG picture'
    want convert "$M/heightmap.png" -fill red -draw 'point 3,4' "$D/red.png"
    wants_not cp "$D/red.png" "$M/heightmap.png"
    logged '^heightmap.png: pixel 3,4 is not grey'
    want convert "$M/holes.png" -alpha set -channel A -evaluate set 50% "$D/alpha.png"
    wants_not cp "$D/alpha.png" "$M/holes.png"
    logged '^holes.png: pixel 0,0 is not opaque'
    down 3
    want cmp "$S" "$PRISTINE"
}

# ---- masks and holes -----------------------------------------------------------------------------------

# painted [OPTION OF make_ter...]
painted() {
    [ $# = 0 ] || make_ter --size 200 --seed 9 "$@" "$S"
    cp "$S" "$D/before.ter"
    up
    want convert "$M/layers/02_Rock.png" -fill white -draw 'rectangle 20,30 39,39' "$D/mask.png"
    want cp "$D/mask.png" "$M/layers/02_Rock.png"
    sample 20 169 "$(ter at "$D/before.ter" 20 169 | sed 's/ .*/ 2/')"
    sample 39 160 "$(ter at "$D/before.ter" 39 160 | sed 's/ .*/ 2/')"
    # A soft brush: greys count by the middle.
    want convert -size 200x200 xc:black -fill white -draw 'circle 100,100 100,80' -depth 8 \
        "$D/holes.png"
    want cp "$D/holes.png" "$M/holes.png"
    sample 100 99 "$(ter at "$D/before.ter" 100 99 | sed 's/ .*/ 255/')"
    same 'holes in info.txt' "$(info holes)" "$(ter count "$S" 255)"
    want cmp <(convert "$M/holes.png" gray:-) <(convert "$D/holes.png" -threshold 50% -depth 8 gray:-)
    down
    same 'heights that changed' "$(ter diff "$D/before.ter" "$S" | cut -d ' ' -f 2)" 0
    [ $# = 0 ] || same 'corners that do not follow' "$(ter odd "$S")" 0
}

layer_0_taken() {
    up
    want convert -size 200x200 xc:black "$D/black.png"
    wants_not cp "$D/black.png" "$M/layers/00_Grass.png"
    logged '^layers/00_Grass.png: pixel [0-9]+,[0-9]+ takes layer 0 away'
    want cp "$D/black.png" "$M/layers/01_DirtRoad.png"
    same 'dirt roads' "$(ter count "$S" 1)" 0
    down 3
}

# ---- texts ---------------------------------------------------------------------------------------------

tile_edited() {
    up
    want sed -i '/z=02 /s/| *[0-9]*/|   777/' "$M/chunks/1_0_2/heights.txt"
    sample 64 130 "777 $(ter at "$PRISTINE" 64 130 | cut -d ' ' -f 2)"
    want cp "$M/chunks/0_0_0/layers.txt" "$M/chunks/1_0_0/layers.txt"
    settle
    same 'layer that was copied' "$(ter at "$S" 70 9 | cut -d ' ' -f 2)" \
        "$(ter at "$PRISTINE" 6 9 | cut -d ' ' -f 2)"
    wants_not cp "$M/chunks/0_0_0/layers.txt" "$M/chunks/3_0_0/layers.txt"
    logged '^chunks/3_0_0/layers.txt:1:'
    wants_not sed -i '0,/| *[0-9]*/s//|  77/' "$M/chunks/0_0_1/layers.txt"
    logged '^chunks/0_0_1/layers.txt:1:14: voxel .*: layer 77 for no material; palette.txt lists them'
    down 3
}

differ_at_a_place() {
    cp "$S" "$D/other.ter"
    up
    want sed -i '/z=05 /s/| *[0-9]*/|     1/' "$M/chunks/2_0_1/heights.txt"
    mount_at "$D/other.ter" "$D/other"
    same 'files that differ' \
        "$(diff -rq "$M/chunks" "$D/other/chunks" | sed 's|^Files .*/chunks/\(.*\) and .*|\1|')" \
        2_0_1/heights.txt
    same 'lines' "$(diff "$M/chunks/2_0_1/heights.txt" "$D/other/chunks/2_0_1/heights.txt" |
        grep -c '^<')" 1
    unmount "$D/other"
    down
}

# Tiles are what they are.
tiles_stay() {
    up
    same mkdir "$(py 'print(err(os.mkdir, a[0] + "/chunks/9_0_9"))' "$M")" EPERM
    same rmdir "$(py 'print(err(os.rmdir, a[0] + "/chunks/0_0_0"))' "$M")" EPERM
    same rename "$(py 'print(err(os.rename, a[0] + "/chunks/0_0_0", a[0] + "/chunks/9_0_0"))' "$M")" \
        EPERM
    logged 'none can be made, moved or removed'
    want cp -r "$M/chunks/0_0_0" "$D/tile"
    want cp -r "$D/tile/." "$M/chunks/0_0_0"
    down
    want cmp "$S" "$PRISTINE"
}

# ---- changes behind our back -----------------------------------------------------------------------------

# The game raises the north-east corner.
game_writes() {
    "$PYTHON" -S -c '
import sys
with open(sys.argv[1], "r+b") as f:
    f.seek(5 + 2 * 40000 - 2)
    f.write((777).to_bytes(2, "little"))' "$S"
}

kept_as_files() {
    needs_root || return
    make_ter --version 8 --size 200 "$S"
    up
    hold
    want sed -i '/z=00 /s/| *[0-9]*/|   555/' "$M/chunks/0_0_0/heights.txt"
    want convert "$M/extra/corners.png" -evaluate set 1 "PNG32:$D/corners.png"
    want cp "$D/corners.png" "$M/extra/corners.png"
    cp "$S" "$D/before"
    behind_its_back game_writes
    want soon is_aside "$S"
    down 3
    wants_not "$TFS_BIN" import "$S".unsaved-* "$S" 2>"$D/import.err"
    want grep -q 'not taken: it was changed since' "$D/import.err"
    cp "$D/before" "$S"
    want "$TFS_BIN" import "$S".unsaved-* "$S"
    "$TFS_BIN" cat "$S" chunks/0_0_0/heights.txt >"$D/heights"
    want grep -q '| *555 ' "$D/heights"
    want cmp <(convert "$D/corners.png" rgba:-) <("$TFS_BIN" cat "$S" extra/corners.png | convert - rgba:-)
}

# ---- palette and sidecar -------------------------------------------------------------------------------

listed() {
    settle_mounted
    "$PYTHON" -S -c 'import json, sys; print(*json.load(open(sys.argv[1]))["materials"], sep=",")' \
        "$(sidecar)"
}

renamed() {
    cp "${PRISTINE%.ter}.terrain.json" "$(sidecar)"
    up
    same sidecar "$(info sidecar)" agrees
    want test -f "$M/layers/02_Rock.png" # the kernel has the name now
    want sed -i 's/^2 Rock$/2 Granite "grey"/' "$M/palette.txt"
    want test -f "$M/layers/02_Granite \"grey\".png"
    wants_not test -e "$M/layers/02_Rock.png"
    echo '6 Snow' >>"$M/palette.txt"
    want test -f "$M/layers/06_Snow.png"
    same 'what the sidecar lists' "$(listed)" \
        'Grass,DirtRoad,Granite "grey",BeachSand,asphalt worn,warning_material,Snow'
    same 'lines of it that differ' \
        "$(diff "${PRISTINE%.ter}.terrain.json" "$(sidecar)" | grep -c '^[<>]')" 5
    same sidecar "$(info sidecar)" agrees
    # shellcheck disable=SC2016 # sed's own
    wants_not sed -i '/^5 /,$d' "$M/palette.txt"
    logged '^palette.txt: material 5 is used, first at'
    want sed -i '/^6 /d' "$M/palette.txt"
    wants_not test -e "$M/layers/06_Snow.png"
    down # the refused text went when the palette was mended
    differs 'heights 0 layers 0 extra 0 names 1'
}

stale() {
    sed 's/Rock/Stone/' "${PRISTINE%.ter}.terrain.json" >"$(sidecar)"
    cp "$(sidecar)" "$D/before.json"
    want "$TFS_BIN" check "$S"
    same 'what check says' "$("$TFS_BIN" check "$S" | grep -c 'warning: .*other materials')" 1
    up
    same sidecar "$(info sidecar)" 'differs (other materials than the terrain)'
    want mogrify -evaluate add 1 -define png:bit-depth=16 "$M/heightmap.png"
    want cmp "$(sidecar)" "$D/before.json"
    want sed -i 's/Grass/Gras/' "$M/palette.txt"
    settle
    same sidecar "$(info sidecar)" agrees
    same 'what the sidecar lists' "$(listed)" 'Gras,DirtRoad,Rock,BeachSand,asphalt worn,warning_material'
    down
    same 'what check says' "$("$TFS_BIN" check "$S" | grep -c warning:)" 0
}

no_sidecar() {
    up
    want sed -i 's/Grass/Gras/' "$M/palette.txt"
    down
    wants_not test -e "$(sidecar)"
}

# ---- the same without a mount --------------------------------------------------------------------------

imported() {
    want "$TFS_BIN" export "$S" "$D/out"
    # shellcheck disable=SC2016 # sed's own
    want sed -i 's/^5 .*/5 mud/; $a 6 snow' "$D/out/palette.txt"
    want mogrify -evaluate subtract 1 -define png:bit-depth=16 "$D/out/heightmap.png"
    want convert "$D/out/layers.png" -depth 8 -fill 'rgb(6,6,6)' -draw 'point 0,199' "$D/layers.png"
    want mv "$D/layers.png" "$D/out/layers.png"
    want "$TFS_BIN" import "$D/out" "$S"
    differs 'heights 40000 layers 1 extra 0 names 2'
    same 'material in the south-west' "$(ter at "$S" 0 0 | cut -d ' ' -f 2)" 6
}

# ---- pictures that are too large for memory ------------------------------------------------------------

# large STEP: a picture in which every height has another lowest bit is written as a whole.
large() {
    "$PYTHON" -S - "$M" "$@" <<'END'
import errno, os, re, struct, sys, time, zlib
m, step = sys.argv[1:3]
path = f"{m}/heightmap.png"

def edited(png):
    side, = struct.unpack_from(">I", png, 16)
    at, head = 8, png[:8]
    while png[at + 4:at + 8] != b"IDAT":
        n, = struct.unpack_from(">I", png, at)
        head += png[at:at + 12 + n]
        at += 12 + n
    n, = struct.unpack_from(">I", png, at)
    rows = zlib.decompress(png[at + 8:at + 8 + n])
    size = 1 + 2 * side
    other = bytes(i ^ 1 for i in range(256))
    rows = bytearray(rows)
    for i in range(0, len(rows), size):
        rows[i + 2:i + size:2] = rows[i + 2:i + size:2].translate(other)
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    return head + chunk(b"IDAT", zlib.compress(rows, 0)) + chunk(b"IEND", b"")

def memory(what):
    pid = int(re.search("pid: ([0-9]+)", open(f"{m}/.terrainfs/status").read())[1])
    return int(re.search(what + r":\s*([0-9]+)", open(f"/proc/{pid}/status").read())[1]) << 10

sanitized = "TFS_TEST_SANITIZED" in os.environ

def check_peak(most):
    print("peak of memory:", memory("VmHWM"), "of", most)
    assert memory("VmHWM") <= most or sanitized

before = open(path, "rb").read()
png = edited(before)
if step == "write":
    open(path, "wb").write(png)
    most = int(sys.argv[3]) + len(png) + (14 << 20)
    check_peak(most)
    # The old heights go with the last reference, which RELEASE drops: close(2) does not wait for it.
    for _ in range(1000):
        if sanitized or memory("VmRSS") <= most - len(png):
            break
        time.sleep(0.01)
    open(path, "rb").read()
    check_peak(most)
elif step == "refuse":
    f = os.open(path, os.O_WRONLY | os.O_TRUNC)
    os.write(f, png[:-100000])
    try:
        os.close(f)
        raise SystemExit("it was taken")
    except OSError:
        pass
    assert open(f"{m}/.terrainfs/rejected/heightmap.png", "rb").read() == png[:-100000]
    assert open(path, "rb").read() == before
elif step == "replace":
    rejected = f"{m}/.terrainfs/rejected/heightmap.png"
    def close(f, text):
        try:
            os.close(f)
            raise SystemExit("it was taken")
        except OSError as e:
            assert e.errno == errno.ESTALE
        assert open(rejected, "rb").read() == text
    f = os.open(path, os.O_RDWR | os.O_TRUNC)
    os.write(f, before[:-100000])
    open(f"{m}/.new.png", "wb").write(png)
    os.rename(f"{m}/.new.png", path)
    assert os.pread(f, len(before), 0) == before[:-100000]
    os.pwrite(f, b"x", 5)
    assert os.pread(f, 10, 0) == before[:5] + b"x" + before[6:10]
    close(f, before[:5] + b"x" + before[6:-100000])
    f = os.open(path, os.O_WRONLY | os.O_TRUNC)
    os.write(f, before)
    now = open(path, "rb").read()
    os.truncate(path, len(now))
    os.rename(path, f"{m}/.kept.png")
    close(f, before)
    assert open(f"{m}/.kept.png", "rb").read() == now
    os.rename(f"{m}/.kept.png", path)
    os.unlink(rejected)
END
}

large_written() {
    up
    want large write "$(stat -c %s "$S")"
    differs "heights $((2600 * 2600)) layers 0 extra 0 names 0"
}

large_refused() {
    up
    want large refuse
    logged 'heightmap.png: the PNG is damaged: it is cut off'
    down 3
    want cmp "$PRISTINE" "$S"
}

large_replaced() {
    up
    want large replace
    differs "heights $((2600 * 2600)) layers 0 extra 0 names 0"
}

large_without_room() {
    want mkdir "$D/tmp"
    mount -t tmpfs -o size=1m tmpfs "$D/tmp" || {
        skip 'no tmpfs can be mounted'
        return
    }
    TMPDIR=$D/tmp up
    wants_not large write "$((1 << 40))"
    down 3
    want cmp "$S" "$PRISTINE"
    want umount -l "$D/tmp" # whoever served the mount may still be ending
}

# ---- real files ----------------------------------------------------------------------------------------

real() {
    rm "$S"
    S=$D/$(basename "${1%.gz}")
    case $1 in *.gz) gunzip -c "$1" >"$S" ;; *) cat "$1" >"$S" ;; esac
    [ ! -e "${1%.ter*}.terrain.json" ] || cat "${1%.ter*}.terrain.json" >"$(sidecar)"
    cp "$S" "$D/before.ter"
    up
    each_picture save_again through_imagemagick
    want cp -r "$M/chunks" "$D/chunks"
    want cp -r "$D/chunks" "$M"
    wants_not grep -rq nosuchname "$M/chunks"
    down
    want cmp "$S" "$D/before.ter"
}

try 'ImageMagick saves every picture again: the same save' saved_again through_imagemagick
try 'netpbm does' saved_again through_netpbm
try 'ImageMagick, version 8 with corners' saved_again through_imagemagick --version 8
try 'ImageMagick, the layout of the community' saved_again through_imagemagick --layout community --nul
try 'netpbm, the layout of the community' saved_again through_netpbm --layout community --nul
try 'mogrify saves pictures in place: the same save' mogrified
try 'mogrify raises the ground' raised
try 'a dot in the picture is one sample' dotted
try 'lossy, coloured, transparent and wrong pictures are refused with a sentence' refused
try 'a mask paints its material, holes.png makes holes' painted
try 'with version 8 the corners follow' painted --version 8
try 'layer 0 is taken away only by painting another' layer_0_taken
try 'sed and cp edit tiles' tile_edited
try 'diff -r of two terrains names the place' differ_at_a_place
try 'tiles cannot be made, moved or removed' tiles_stay
try 'what cannot be saved is kept as pictures and texts' kept_as_files
try 'a renamed material: masks and sidecar follow' renamed
try 'a stale sidecar is told, and left alone until a name changes' stale
try 'a sidecar is never made' no_sidecar
try 'export, edit, import' imported
make_ter --version 8 --size 2600 --seed 9 --sidecar "$PRISTINE"
try 'a large picture is written without lying in memory' large_written
try 'one that is refused is kept' large_refused
try 'one that is written while another takes its name' large_replaced
try 'no room for it' large_without_room
make_ter --version 9 --size 200 --seed 9 --sidecar "$PRISTINE"
# shellcheck disable=SC2153 # of lib.sh
samples=$(dirname "$SAMPLES")/beamng
while read -r file; do
    [ ! -e "$file" ] || try "the sample $(basename "$file")" real "$file"
done < <(few 3 "$samples"/*256*.ter && in_full && printf '%s\n' "$samples"/*{512,1024}*.ter{,.gz})
finish
