#!/bin/sh
# Apache Kafka Connect and MirrorMaker 2 from Maven into .kafka/connect/libs, Debezium's PostgreSQL source and JDBC sink into .kafka/connect/plugins.
# A folder of its own: Connect's class path has a web server that Kafka's own tools do not need. Skipped when it is there.
set -u
cd "$(dirname "$0")/../.." || exit 1

[ -e .kafka/connect/.complete ] && [ ! tests/java/connect/pom.xml -nt .kafka/connect/.complete ] && exit 0
echo "setup_tests: fetching Kafka Connect and Debezium from Maven (once, 100 MB)" >&2
[ -e .kafka/connect/.complete ] || rm -rf .kafka/connect  # what is whole and only lacks a new jar stays
if ! { mvn -q -B -f tests/java/connect/pom.xml dependency:copy-dependencies -DoutputDirectory="$PWD/.kafka/connect/libs" >&2 &&
    mvn -q -B -f tests/java/connect/pom.xml dependency:unpack -DoutputDirectory="$PWD/.kafka/connect/plugins" >&2; }; then
    echo "setup_tests: Maven could not fetch Kafka Connect; try: mvn -B -f tests/java/connect/pom.xml dependency:copy-dependencies dependency:unpack" >&2
    exit 1
fi
rm -rf .kafka/connect/plugins/PaxHeaders*  # the archives' extended headers, which Maven unpacks as files and Connect would take for plugins
touch .kafka/connect/.complete
