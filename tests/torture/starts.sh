#!/usr/bin/env bash
# Item 10 of docs/reliability.md; TORTURE=full for all kinds of saves.
export PYTHONDONTWRITEBYTECODE=1
exec python3 -S "$(dirname "$0")/starts.py" "$@"
