#!/bin/sh
# Prints the folder of a venv with this version of Python (tools/venv_for.sh 3.12), which it makes from the pinned requirements when there is
# none (once, in .venvs/VERSION; by uv where it is there, which takes seconds instead of minutes). Python is looked for on the path, among
# pyenv's and among uv's. Exit code 3: this machine does not have it; 1: the venv cannot be made.
set -u
cd "$(dirname "$0")/.." || exit 1
pyenv=${PYENV_ROOT:-$(pyenv root 2>/dev/null || echo "$HOME/.pyenv")}
uv --version >/dev/null 2>&1 && has_uv=yes || has_uv=""

is_whole() {  # is_whole /usr/bin/python3.12: a shim of pyenv's, or a Python built without ssl, is none
    [ -x "$1" ] && "$1" -c 'import venv, ensurepip, ssl' 2>/dev/null
}

find_python() {  # find_python 3.12
    for place in "$(command -v "python$1")" "$pyenv/versions/$1".*/bin/"python$1" "$pyenv/versions/$1/bin/python$1"; do
        is_whole "$place" && echo "$place" && return 0
    done
    [ -n "$has_uv" ] && place=$(uv python find -q --no-project --no-python-downloads "$1" 2>/dev/null) && is_whole "$place" && echo "$place"
}

set_up() {  # set_up PYTHON VENV
    rm -rf "$2"
    if [ -n "$has_uv" ]; then
        uv venv -q -p "$1" "$2" && uv pip install -q -p "$2/bin/python" --require-hashes -r requirements/dev.txt &&
            uv pip install -q -p "$2/bin/python" --no-deps --no-build-isolation -e .
    else
        "$1" -m venv "$2" && "$2/bin/pip" install -q --disable-pip-version-check --require-hashes -r requirements/dev.txt &&
            "$2/bin/pip" install -q --disable-pip-version-check --no-deps --no-build-isolation -e .
    fi && touch "$2/.complete"
}

venv=".venvs/$1"
python=$(find_python "$1") || exit 3
if [ ! -e "$venv/.complete" ] || [ requirements/dev.txt -nt "$venv/.complete" ]; then
    echo "=== $1: setting up $venv from $python (once)" >&2
    set_up "$python" "$venv" >&2 || exit 1
fi
echo "$venv"
