#!/bin/sh
# PostgreSQL 15 from Debian, for the tests of the connector postgres and of what else needs a database. The tests start servers of their own
# as user postgres: no cluster of Debian's is made or started. PostgreSQL 17 from Maven into .kafka/postgres, for failovers. Each step is skipped
# when its result is there.
set -u
cd "$(dirname "$0")/../.." || exit 1

install() {
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "$@" >/dev/null 2>&1
}

if [ ! -x /usr/lib/postgresql/15/bin/postgres ]; then
    as_root=""
    [ "$(id -u)" = 0 ] || as_root="sudo -n"
    if ! command -v apt-get >/dev/null 2>&1; then
        echo "setup_tests: PostgreSQL 15 is missing; no apt-get here, install it by hand" >&2
        exit 1
    fi
    echo "setup_tests: installing postgresql-15 (Debian packages, once)" >&2
    if ! { install postgresql-common || { $as_root apt-get update -q >/dev/null && install postgresql-common; }; } ||
        ! $as_root sed -i "s/^#\?create_main_cluster *=.*/create_main_cluster = false/" /etc/postgresql-common/createcluster.conf ||
        ! install postgresql-15; then
        echo "setup_tests: cannot install PostgreSQL; as root: apt-get install postgresql-15" >&2
        exit 1
    fi
fi

if [ ! -e .kafka/postgres/.complete ] || [ tests/java/postgres/pom.xml -nt .kafka/postgres/.complete ]; then
    echo "setup_tests: fetching PostgreSQL 17 from Maven (once, 15 MB)" >&2
    rm -rf .kafka/postgres
    if ! mvn -q -B -f tests/java/postgres/pom.xml dependency:unpack-dependencies -DoutputDirectory="$PWD/.kafka/postgres" -DmarkersDirectory="$PWD/.kafka/postgres/.markers" >&2; then
        echo "setup_tests: Maven could not fetch PostgreSQL 17; try: mvn -B -f tests/java/postgres/pom.xml dependency:unpack-dependencies" >&2
        exit 1
    fi
    if ! python3 -c 'import sys, tarfile; tarfile.open(sys.argv[1]).extractall(sys.argv[2])' .kafka/postgres/postgres-linux-*.txz .kafka/postgres; then
        echo "setup_tests: .kafka/postgres could not be unpacked; remove it and try again" >&2
        exit 1
    fi
    rm -f .kafka/postgres/*.txz
    chmod -R a+rX .kafka/postgres
    touch .kafka/postgres/.complete
fi
