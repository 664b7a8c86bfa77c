#!/usr/bin/env bash
# Item 3 of RELIABILITY.md, below a file system; TORTURE=full for all of it.
export PYTHONDONTWRITEBYTECODE=1
exec python3 -S "$(dirname "$0")/blocks.py" "$@"
