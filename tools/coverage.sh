#!/bin/sh
# How much of src is run by the unit and client tests: `make coverage` (PARTS=tests/unit for one of them). With Python 3.12 or later, where the
# machine has one, a line costs only the first time it runs (sys.monitoring). Python 3.11 calls the tracer at every line, also in the nodes
# that tests start: that takes two to three times as long, and tests with a limit of time fail (tests/limits is left out). Leaves
# build/coverage/index.html; what was measured goes to docs/figures/coverage.json and from there into CONTRIBUTING.md.
set -u
cd "$(dirname "$0")/.." || exit 1
folder=$PWD/build/coverage
rm -rf "$folder"
mkdir -p "$folder"
export COVERAGE_FILE="$folder/data"
venv=$(tools/venv_for.sh 3.13 || tools/venv_for.sh 3.12) && export COVERAGE_CORE=sysmon || venv=.venv
parts=${*:-tests/unit tests/clients}
code=0
for part in $parts; do
    "$venv/bin/python" -m coverage run -m pytest -p no:cacheprovider -n 2 --dist loadfile "$part" -m "not long" || code=1
done
tools/coverage_report.sh "$venv"
# shellcheck disable=SC2086  # one word for each part
"$venv/bin/python" tools/coverage_figures.py "$folder/report.json" $parts && "$venv/bin/python" tools/figures_page.py
exit $code
