# For the scripts of tests/cli: sourced. Each script works in a directory of its own, which is removed,
# prints "ok N - what" and "not ok N - what" lines with the plan at the end, and ends with done_testing.
#
#   TFS_BIN    the program (build/terrainfs)        TFS_TOOLS   make_region (build/tools)
set -u
tests_cli=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
ROOT=$(cd "$tests_cli/../.." && pwd)
TFS=${TFS_BIN:-$ROOT/build/terrainfs}
TOOLS=${TFS_TOOLS:-$ROOT/build/tools}
. "$ROOT/tests/lib/in_full.bash"
export LC_ALL=C
umask 022

work=$(mktemp -d)
state=$(mktemp -d)
mkdir "$state/home"
export HOME=$state/home XDG_STATE_HOME=$state
trap 'chmod -R u+rwx "$work"; rm -rf "$work" "$state"' EXIT
cd "$work" || exit 3
count=0 failures=0

# ok WHAT: the result of the command before.
ok() {
    local status=$?
    count=$((count + 1))
    if [ $status = 0 ]; then
        echo "ok $count - $1"
    else
        echo "not ok $count - $1"
        failures=$((failures + 1))
        [ ! -s out ] || head -n 20 out | sed 's/^/# stdout: /'
        [ ! -s err ] || head -n 20 err | sed 's/^/# stderr: /'
    fi
}

skip() {
    count=$((count + 1))
    echo "ok $count - $1 # skip $2"
}

# run STATUS WHAT ARGUMENTS...: runs the program, output in out and err, and judges its exit status.
run() {
    local wanted=$1 what=$2 status
    shift 2
    "$TFS" "$@" >out 2>err
    status=$?
    [ $status = "$wanted" ] || echo "exit status $status, not $wanted" >>err
    [ $status = "$wanted" ]
    ok "$what"
}

# says FILE PATTERN WHAT: a line of the file matches the extended pattern.
says() {
    grep -Eq -e "$2" "$1"
    ok "$3"
}

same() {
    cmp -s "$1" "$2"
    ok "$3"
}

differ() {
    ! cmp -s "$1" "$2"
    ok "$3"
}

# region FILE [OPTIONS of make_region]
region() {
    local file=$1
    shift
    "$TOOLS/make_region" "$@" "$file" || exit 3
}

# damage TABLE COPY: a copy of a region of version 0 to 3, whose first chunk has a bad palette.
damage() {
    python3 - "$@" <<'END'
import struct, sys
data = bytearray(open(sys.argv[1], 'rb').read())
first = min(o for o in struct.unpack('>4096i', data[16:16400]) if o >= 0)
data[first + 20] = 99
open(sys.argv[2], 'wb').write(data)
END
}

# judge ARGUMENTS: the checker that knows the format without our code.
judge() {
    python3 "$ROOT/tests/tools/region.py" "$@"
}

done_testing() {
    echo "1..$count"
    [ $failures = 0 ]
    exit
}
