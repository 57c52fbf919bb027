#!/bin/sh
# s3proxy, the S3 server of the tests, from Maven into .kafka/s3proxy. Skipped when it is there.
set -u
cd "$(dirname "$0")/../.." || exit 1

if [ ! -e .kafka/s3proxy/.complete ] || [ tests/java/s3proxy/pom.xml -nt .kafka/s3proxy/.complete ]; then
    echo "setup_tests: fetching s3proxy from Maven (once)" >&2
    rm -rf .kafka/s3proxy
    if ! mvn -q -B -f tests/java/s3proxy/pom.xml dependency:copy-dependencies -DoutputDirectory="$PWD/.kafka/s3proxy" >&2; then
        echo "setup_tests: Maven could not fetch s3proxy; try: mvn -B -f tests/java/s3proxy/pom.xml dependency:copy-dependencies" >&2
        exit 1
    fi
    touch .kafka/s3proxy/.complete
fi
