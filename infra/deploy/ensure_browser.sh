#!/usr/bin/env bash
# Makes sure that there is a Chromium for the tests of pages; changes nothing where there is one.
set -euo pipefail

say() { printf 'browser: %s\n' "$*"; }
fail() { printf 'browser: %s\n' "$@" >&2; exit 1; }

if ! command -v chromium >/dev/null && ! command -v chromium-browser >/dev/null; then
    [[ $(id -u) == 0 && -f /etc/debian_version ]] && command -v apt-get >/dev/null \
        || fail "there is no Chromium, and one is installed only on Debian as root." \
            "Install the package chromium of your distribution, then run this again."
    say "installing from Debian: chromium, fonts-dejavu-core"
    apt-get update -qq && DEBIAN_FRONTEND=noninteractive \
        apt-get install -qq -y --no-install-recommends chromium fonts-dejavu-core >/dev/null \
        || fail "apt-get could not install chromium. Check the machine's package sources, then run this again."
fi
say "ready: $(command -v chromium || command -v chromium-browser)"
