#!/bin/sh
# mosquitto, the MQTT broker of the tests of connectors, from Debian.
set -u
[ -x /usr/sbin/mosquitto ] && command -v mosquitto_passwd >/dev/null 2>&1 && exit 0
as_root=""
[ "$(id -u)" = 0 ] || as_root="sudo -n"
echo "setup_tests: installing mosquitto (Debian package, once)" >&2
install="$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends -o DPkg::Lock::Timeout=300 mosquitto"
if ! { $install >/dev/null 2>&1 || { $as_root apt-get update -q >/dev/null && $install >/dev/null; }; }; then
    echo "setup_tests: cannot install mosquitto; as root: apt-get install mosquitto" >&2
    exit 1
fi
