#!/bin/sh
# From what `coverage run` left in build/coverage: index.html, report.json, and the files that are run least (tools/coverage_report.sh VENV).
set -u
cd "$(dirname "$0")/.." || exit 1
folder=$PWD/build/coverage
export COVERAGE_FILE="$folder/data"
"$1/bin/python" -m coverage combine -q "$folder" || exit 1
"$1/bin/python" -m coverage html -q -d "$folder"
"$1/bin/python" -m coverage json -q -o "$folder/report.json"
"$1/bin/python" -m coverage report | tail -n "${2:-40}"
