#!/usr/bin/env bash
# Item 13 of docs/reliability.md; TORTURE=full for all of it.
export PYTHONDONTWRITEBYTECODE=1
exec python3 -S "$(dirname "$0")/bursts.py" "$@"
