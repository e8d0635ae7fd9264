#!/bin/sh
# Sees to a Chromium for the browser tests: the system's, else Debian's packages, else Playwright's
# own. Without any the browser tests are skipped and say so. The shell without a window comes first:
# it is the same engine, and takes a sixth less of the processor.
set -u

if command -v chromium-headless-shell >/dev/null || command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null; then
    exit 0
fi
limit=""
command -v timeout >/dev/null && limit="timeout 900" # a download that hangs would hold up everything
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    apt-get -o Acquire::http::Timeout=60 update -qq
    for package in chromium-headless-shell chromium; do
        DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 -o Acquire::http::Timeout=60 \
            install -y -qq --no-install-recommends $package >/dev/null && exit 0
    done
fi
$limit "$BIN/playwright" install chromium && exit 0
echo "No Chromium can be had here: the browser tests will be skipped."
