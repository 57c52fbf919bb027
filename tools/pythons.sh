#!/bin/sh
# The unit tests on every Python from 3.11 to 3.14 that this machine has: `make pythons`, or tools/pythons.sh 3.12 for one of them.
# Looked for on the path and among pyenv's. Each gets a venv of its own in .venvs/VERSION, from the pinned requirements (once). Pythons that
# are not there are named at the end, and are no failure.
set -u
cd "$(dirname "$0")/.." || exit 1
failed=""
missing=""
passed=""
arguments=${PYTEST_ARGUMENTS:-"-n 2 tests/unit -m 'not long'"}

find_python() {  # find_python 3.12
    for place in "${PYENV_ROOT:-$HOME/.pyenv}/versions/$1".*/bin "${PYENV_ROOT:-$HOME/.pyenv}/versions/$1"/bin /usr/local/bin /usr/bin; do
        [ -x "$place/python$1" ] && "$place/python$1" -c 'import venv, ssl' 2>/dev/null && echo "$place/python$1" && return 0
    done
    found=$(command -v "python$1") && "$found" -c 'import venv, ssl' 2>/dev/null && echo "$found"
}

for version in ${*:-3.11 3.12 3.13 3.14}; do
    python=$(find_python "$version") || { missing="$missing $version"; continue; }
    venv=".venvs/$version"
    if [ ! -e "$venv/.complete" ] || [ requirements/dev.txt -nt "$venv/.complete" ]; then
        echo "=== $version: setting up $venv from $python (once)"
        rm -rf "$venv"
        if ! { "$python" -m venv "$venv" && "$venv/bin/pip" install -q --disable-pip-version-check --require-hashes -r requirements/dev.txt &&
            "$venv/bin/pip" install -q --disable-pip-version-check --no-deps --no-build-isolation -e .; }; then
            failed="$failed $version(set-up)"
            continue
        fi
        touch "$venv/.complete"
    fi
    echo "=== $version: $("$venv/bin/python" -V)"
    if eval "$venv/bin/pytest -p no:cacheprovider $arguments"; then passed="$passed $version"; else failed="$failed $version"; fi
done
echo "=== passed:${passed:- none}; failed:${failed:- none}; not on this machine:${missing:- none}"
[ -z "$failed" ]
