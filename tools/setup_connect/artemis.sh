#!/bin/sh
# ActiveMQ Artemis, the JMS broker of the tests of connectors, from Maven into .kafka/artemis.
set -u
[ -e .kafka/artemis/.complete ] && [ ! tests/java/artemis/pom.xml -nt .kafka/artemis/.complete ] && exit 0
echo "setup_tests: fetching ActiveMQ Artemis from Maven (once)" >&2
rm -rf .kafka/artemis
if ! mvn -q -B -f tests/java/artemis/pom.xml dependency:unpack-dependencies -DoutputDirectory="$PWD/.kafka/artemis" -DmarkersDirectory="$PWD/.kafka/artemis/.markers" >&2; then
    echo "setup_tests: Maven could not fetch ActiveMQ Artemis; try: mvn -B -f tests/java/artemis/pom.xml dependency:unpack-dependencies" >&2
    exit 1
fi
touch .kafka/artemis/.complete
