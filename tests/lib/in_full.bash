# shellcheck shell=bash
# For suites that `make check` runs a part of, and tests/torture/long.sh all of.

in_full() {
    [ "${TORTURE:-short}" = full ]
}

# few MOST FILE...: a line for each of the files in full, else for MOST of them, evenly chosen.
few() {
    local step=1 i
    in_full || step=$((($# + $1 - 2) / $1))
    shift
    for ((i = 1; i <= $#; i += step)); do
        echo "${!i}"
    done
}
