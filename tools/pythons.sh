#!/bin/sh
# The unit tests on every Python from 3.11 to 3.14 that this machine has: `make pythons`, or tools/pythons.sh 3.12 for one of them. Where they
# are looked for: tools/venv_for.sh. Those that are not there are named at the end, and are no failure.
set -u
cd "$(dirname "$0")/.." || exit 1
failed=""
missing=""
passed=""
arguments=${PYTEST_ARGUMENTS:-"-n 2 tests/unit -m 'not long'"}

for version in ${*:-3.11 3.12 3.13 3.14}; do
    venv=$(tools/venv_for.sh "$version")
    case $? in
        0) ;;
        3) missing="$missing $version"; continue ;;
        *) failed="$failed $version(set-up)"; continue ;;
    esac
    echo "=== $version: $("$venv/bin/python" -V)"
    if eval "$venv/bin/pytest -p no:cacheprovider $arguments"; then passed="$passed $version"; else failed="$failed $version"; fi
done
echo "=== passed:${passed:- none}; failed:${failed:- none}; not on this machine:${missing:- none}"
[ -z "$failed" ]
