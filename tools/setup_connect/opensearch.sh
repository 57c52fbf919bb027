#!/bin/sh
# OpenSearch as a library, from Maven into .kafka/opensearch/libs, and the few lines of Java that start it into
# .kafka/opensearch/classes. It runs on the newer Java of .kafka/java. Each step is skipped when its result is there.
set -u
cd "$(dirname "$0")/../.." || exit 1

if [ ! -e .kafka/opensearch/.complete ] || [ tests/java/opensearch/pom.xml -nt .kafka/opensearch/.complete ]; then
    echo "setup_tests: fetching OpenSearch from Maven (once, 71 MB)" >&2
    rm -rf .kafka/opensearch
    if ! mvn -q -B -f tests/java/opensearch/pom.xml dependency:copy-dependencies -DoutputDirectory="$PWD/.kafka/opensearch/libs" >&2; then
        echo "setup_tests: Maven could not fetch OpenSearch; try: mvn -B -f tests/java/opensearch/pom.xml dependency:copy-dependencies" >&2
        exit 1
    fi
    touch .kafka/opensearch/.complete
fi

if [ ! -e .kafka/opensearch/classes/.complete ] || [ tests/java/opensearch/StartOpenSearch.java -nt .kafka/opensearch/classes/.complete ]; then
    rm -rf .kafka/opensearch/classes
    mkdir -p .kafka/opensearch/classes
    # Compiled for Debian's Java: OpenSearch's own classes, which are for a newer one, are found when it runs.
    javac -nowarn --release 17 -d .kafka/opensearch/classes tests/java/opensearch/StartOpenSearch.java || exit 1
    touch .kafka/opensearch/classes/.complete
fi
