# shellcheck shell=bash
# What the scripts of pictures share: heightmap.png of the save $S is painted with ImageMagick, on a real mount.

KEEP16='-depth 16 -define png:bit-depth=16'

# paint OPTIONS...: heightmap.png through convert and back.
paint() {
    # shellcheck disable=SC2086
    convert "$M/heightmap.png" "$@" $KEEP16 "PNG:$D/painted.png" && cp "$D/painted.png" "$M/heightmap.png"
}

# pixel X,Y [PICTURE]: the height there.
pixel() {
    convert "${2:-$M/heightmap.png}" -depth 16 -crop "1x1+${1/,/+}" +repage gray:- | od -An -tu2 | tr -d ' '
}

# The painted picture and the file show the same.
shows_painted() {
    same 'pixels that differ' "$(compare -metric AE "$M/heightmap.png" "$D/painted.png" null: 2>&1)" 0
}

# What was read is written back: not a byte of the save changes.
written_back() {
    up
    cp "$M/heightmap.png" "$D/copy.png"
    want cp "$D/copy.png" "$M/heightmap.png"
    # shellcheck disable=SC2086
    convert "$D/copy.png" $KEEP16 "PNG:$D/other.png" # compressed, the same pixels
    want cp "$D/other.png" "$M/heightmap.png"
    down
    want diff -r "$PRISTINE" "$S"
}

raises_a_disc() {
    up
    local before
    before=$(pixel 20,20)
    cp "$M/map.png" "$D/map.png"
    want paint \( -size 24x24 xc:black -fill '#000A000A000A' -draw 'circle 11,11 11,2' \) \
        -geometry +9+9 -compose plus -composite
    same 'the middle of the disc' "$(pixel 20,20)" $((before + 10))
    shows_painted
    wants_not cmp -s "$M/map.png" "$D/map.png"
    down
    up -o ro
    shows_painted
    down
}

# One height for all, above everything: what is lowered may end in a hollow, what is raised may not.
flattens() {
    up
    want paint -evaluate set 44
    shows_painted
    same 'heights' "$(identify -format '%[min] %[max]' "$M/heightmap.png")" '44 44'
    down
    want "$TFS_BIN" check "$S"
}

# Blurring lowers peaks, under trees into hollows: no column ends higher than it was painted.
smooths() {
    up
    want paint -blur 0x2
    same 'columns above what was painted' "$(convert "$M/heightmap.png" "$D/painted.png" -compose minus_src \
        -composite -format '%[fx:maxima]' info:)" 0
    down
    want "$TFS_BIN" check "$S"
}

refuses_what_is_too_high() {
    up
    wants_not paint -evaluate set 65535
    logged 'heightmap.png: pixel 0,0: '
    down 3
    want diff -r "$PRISTINE" "$S"
}

# The chunks at the bottom of the save; at its west edge where there is one layer.
edge_chunks() {
    ls "$M/chunks" | awk -F_ '
        { name[NR] = $0; x[NR] = $1; y[NR] = $2 }
        NR == 1 || $1 < west { west = $1 }
        NR == 1 || $2 < bottom { bottom = $2 }
        NR > 1 && $2 != y[1] { layers = 1 }
        END { for (i = 1; i <= NR; i++) if (layers ? y[i] == bottom : x[i] == west) print name[i] }'
}

# Without them the save begins elsewhere: every pixel of an old picture would be wrong.
refuses_what_was_made_for_other_bounds() {
    local chunks
    up
    cp "$M/heightmap.png" "$D/old.png"
    mapfile -t chunks < <(edge_chunks)
    same 'what a handle answers that was open meanwhile' "$(py '
import shutil
fd = os.open(a[0] + "/heightmap.png", os.O_RDWR)
data = os.pread(fd, 1 << 24, 0)
for name in a[1:]:
    shutil.rmtree(a[0] + "/chunks/" + name)
os.pwrite(fd, data, 0)
print(err(os.fsync, fd))
' "$M" "${chunks[@]}")" EBADMSG
    logged 'heightmap.png: the picture was made for other bounds'
    cp "$M/heightmap.png" "$D/now.png"
    wants_not cp "$D/old.png" "$M/heightmap.png"
    want cmp "$M/heightmap.png" "$D/now.png"
    want paint -fill black -draw 'point 20,20'
    shows_painted
    # What changes something mends the file: the text that was refused is let go.
    if cmp -s "$M/heightmap.png" "$D/now.png"; then down 3; else down; fi
    want "$TFS_BIN" check "$S"
}

map_is_read_only() {
    up
    same 'opened for writing' "$(py 'print(err(os.open, a[0], os.O_WRONLY))' "$M/map.png")" EACCES
    down
    want diff -r "$PRISTINE" "$S"
}

if ! command -v convert >/dev/null || ! command -v compare >/dev/null; then
    echo '1..0 # skip no ImageMagick'
    exit 0
fi

# sculpt NAME: all tests on the pristine save of that name.
sculpt() {
    try "$1: what was read and is written back changes nothing" written_back
    try "$1: a disc is raised" raises_a_disc
    try "$1: all is flattened" flattens
    try "$1: all is smoothed" smooths
    try "$1: what is too high is refused" refuses_what_is_too_high
    try "$1: a picture made for other bounds is refused" refuses_what_was_made_for_other_bounds
    try "$1: the map cannot be written" map_is_read_only
}
