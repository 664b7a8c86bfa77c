#!/usr/bin/env bash
# Item 2 of docs/reliability.md; TORTURE=full for all of it.
export PYTHONDONTWRITEBYTECODE=1
exec python3 -S "$(dirname "$0")/faults.py" "$@"
