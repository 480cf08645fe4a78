#!/usr/bin/env bash
# Installs Chromium for the tests of pages, if we may. Without it they are skipped, with the reason.
set -uo pipefail
for name in chromium chromium-browser google-chrome; do
    command -v "$name" >/dev/null && exit 0
done
if [ "$(id -u)" = 0 ]; then
    run=()
elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
    run=(sudo)
else
    exit 0
fi
printf 'Installing chromium for the tests of pages\n' >&2
"${run[@]}" apt-get update -qq &&
    DEBIAN_FRONTEND=noninteractive "${run[@]}" apt-get install -y -qq chromium >/dev/null ||
    printf 'Chromium could not be installed; the tests that need it are skipped.\n' >&2
