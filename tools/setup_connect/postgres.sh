#!/bin/sh
# PostgreSQL 15 from Debian, for the tests of the connector postgres and of what else needs a database. The tests start servers of their own
# as user postgres: no cluster of Debian's is made or started. A second run costs nothing.
set -u
[ -x /usr/lib/postgresql/15/bin/postgres ] && exit 0

as_root=""
[ "$(id -u)" = 0 ] || as_root="sudo -n"
if ! command -v apt-get >/dev/null 2>&1; then
    echo "setup_connect: PostgreSQL 15 is missing; no apt-get here, install it by hand" >&2
    exit 1
fi

install() {
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "$@" >/dev/null 2>&1
}
echo "setup_connect: installing postgresql-15 (Debian packages, once)" >&2
if ! { install postgresql-common || { $as_root apt-get update -q >/dev/null && install postgresql-common; }; } ||
    ! $as_root sed -i "s/^#\?create_main_cluster *=.*/create_main_cluster = false/" /etc/postgresql-common/createcluster.conf ||
    ! install postgresql-15; then
    echo "setup_connect: cannot install PostgreSQL; as root: apt-get install postgresql-15" >&2
    exit 1
fi
