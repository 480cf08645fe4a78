#!/usr/bin/env bash
# Prepares a Debian or Ubuntu machine: checks Python and Tesseract, makes the virtual environment,
# installs the locked dependencies. Called by make, which skips it when nothing has changed.
set -euo pipefail
cd "$(dirname "$0")/.."

say() { printf '%s\n' "$*" >&2; }

# Installs Debian packages if we may, and otherwise names the one command to type.
need_packages() {
    if [ "$(id -u)" = 0 ]; then
        run=()
    elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
        run=(sudo)
    else
        say "Missing: $*. Install with:"
        say "    sudo apt-get update && sudo apt-get install -y $*"
        say "then run make again."
        exit 1
    fi
    say "Installing $*"
    "${run[@]}" apt-get update -qq
    DEBIAN_FRONTEND=noninteractive "${run[@]}" apt-get install -y -qq "$@" >/dev/null
}

suitable() {
    "$1" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] < (3, 14))' 2>/dev/null
}

python=""
for candidate in "${PYTHON:-python3}" python3.11 python3.12 python3.13; do
    if command -v "$candidate" >/dev/null && suitable "$candidate"; then
        python=$candidate
        break
    fi
done
if [ -z "$python" ]; then
    say "Muniment needs Python 3.11, 3.12 or 3.13, and found $(python3 --version 2>&1 || echo none)."
    say "Install one, or name it: make PYTHON=/path/to/python3.12"
    exit 1
fi
"$python" -c 'import ensurepip' 2>/dev/null || need_packages python3-venv
command -v tesseract >/dev/null || need_packages tesseract-ocr

[ -x .venv/bin/python ] || "$python" -m venv .venv
say "Installing the locked dependencies into .venv (some minutes on a new machine)"
.venv/bin/python -m pip install --quiet --disable-pip-version-check -r requirements.lock
.venv/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --editable .
touch .venv/ready
say "Ready: $(.venv/bin/python --version), $(tesseract --version 2>&1 | head -n 1)"
