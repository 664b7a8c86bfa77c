#!/usr/bin/env bash
# A hundred kills of the daemon, spread over every kind of save, while writers edit; 28 under a sanitizer. What a
# kill must not do is said in tests/torture/storm.py, which `make torture` runs for thousands.
. "$(dirname "$0")/lib.sh"

many_kills() {
    local wanted=100 kills kinds torn
    [ -z "${TFS_TEST_SANITIZED:-}" ] || wanted=28
    "$PYTHON" -S "$ROOT/tests/torture/storm.py" --kills $wanted --jobs 2 --where "$D" >"$D/out" 2>&1 ||
        note "$(grep -v ' kills, ' "$D/out")"
    read -r kills kinds torn < <(sed -n \
        's/^seed [0-9]*: \([0-9]*\) kills of \([0-9]*\) kinds of saves, \([0-9]*\) in .* 0 kinds failed$/\1 \2 \3/p' \
        "$D/out")
    same 'kills and kinds of saves' "${kills:-} ${kinds:-}" "$wanted 15"
    # That some came while a rewrite was under way says that this tests something.
    want [ "${torn:-0}" -gt 0 ]
    sed 's/^/# /' "$D/out" >&9
}

try 'kills lose no acknowledged edit' many_kills
finish
