# What the suites of merge share: sourced after lib.bash.
tools=$ROOT/tests/tools

# mutate FORMAT SAVE SEED
mutate() { python3 "$tools/diff_rows.py" mutate "$1" "$2" "$3" "$TFS"; }

# merge STATUS WHAT ARGUMENTS...: as run, of `merge`.
merge() {
    local status=$1 what=$2
    shift 2
    run "$status" "$what" merge "$@"
}

# holds FORMAT WHAT [PREFER]: o merged with t is what the judge says, and so are the conflicts.
holds() {
    python3 "$tools/merge_rows.py" "$1" "${base:-b}" o.before t o "${3:-ours}" o >out 2>&1
    ok "$2"
}

# take SAVE: copies of it are b, o and t.
take() {
    rm -rf b o t o.before o.conflicts*
    for copy in b o t; do
        cp -r "$1" $copy
        chmod -R u+w $copy
    done
}

# terrain A B WHAT: the same terrain.
terrain() { run 0 "$3" diff "$1" "$2"; }
