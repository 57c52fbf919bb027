#!/bin/sh
# How much of src is run by the unit and client tests: `make coverage`. Its own word, and not a part of make test: Python 3.11 has no
# sys.monitoring, so every line that runs calls the tracer, also in the nodes that tests start, and tests with a limit of time would fail.
# Those are left out here (tests/limits). Leaves build/coverage/index.html, and the figures for the documentation in docs/figures/coverage.json.
set -u
cd "$(dirname "$0")/.." || exit 1
folder=$PWD/build/coverage
rm -rf "$folder"
mkdir -p "$folder"
export COVERAGE_FILE="$folder/data"
code=0
for part in ${*:-tests/unit tests/clients}; do
    .venv/bin/python -m coverage run -m pytest -p no:cacheprovider "$part" -m "not long" || code=1
done
.venv/bin/python -m coverage combine -q "$folder"
.venv/bin/python -m coverage html -q -d "$folder"
.venv/bin/python -m coverage json -q -o "$folder/report.json"
.venv/bin/python -m coverage report | tail -n 40
[ $# -gt 0 ] || .venv/bin/python tools/coverage_figures.py "$folder/report.json"  # only what was measured as a whole is a figure
exit $code
