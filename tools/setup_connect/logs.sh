#!/bin/sh
# What writes and rotates logs in the tests of the logs source, from Debian: logrotate, nginx (into which the tests of the
# HTTP sink write, too), logger, a writer of journals.
set -u
missing=""
[ -x /usr/sbin/logrotate ] || missing="$missing logrotate"
[ -x /usr/sbin/nginx ] || missing="$missing nginx-light"
command -v logger >/dev/null 2>&1 || missing="$missing bsdutils"
[ -x /lib/systemd/systemd-journal-remote ] || missing="$missing systemd-journal-remote"
[ -n "$missing" ] || exit 0
as_root=""
[ "$(id -u)" = 0 ] || as_root="sudo -n"
echo "setup_tests: installing$missing (Debian packages, once)" >&2
install="$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends -o DPkg::Lock::Timeout=300$missing"
if ! { $install >/dev/null 2>&1 || { $as_root apt-get update -q >/dev/null && $install >/dev/null; }; }; then
    echo "setup_tests: cannot install$missing; as root: apt-get install$missing" >&2
    exit 1
fi
