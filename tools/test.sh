#!/bin/sh
# Every test, quick ones first, each part with its time. `make test` calls this; a part can be run alone: tools/test.sh unit crash
set -u
cd "$(dirname "$0")/.." || exit 1
tools/setup_tests.sh || exit 1
begun=$(date +%s)
parts=${*:-"check unit sim fuzz clients differential limits faults spark"}
total=$(echo "$parts" | wc -w)
number=0
for part in $parts; do
    number=$((number + 1))
    started=$(date +%s)
    echo "=== $number/$total $part"
    case $part in
        check) make -s check || exit 1 ;;
        unit | sim) .venv/bin/pytest -n 2 "tests/$part" -m "not long" || exit 1 ;;
        clients) .venv/bin/pytest -n 2 --dist loadfile tests/clients -W ignore::DeprecationWarning || exit 1 ;;
        faults) .venv/bin/pytest -n 2 --dist loadfile tests/transactions tests/crash tests/cluster -W ignore::DeprecationWarning --durations 3 || exit 1 ;;
        spark) .venv/bin/pytest tests/spark -m "not long" -W ignore::DeprecationWarning --durations 5 || exit 1 ;;
        *) .venv/bin/pytest "tests/$part" -W ignore::DeprecationWarning --durations 3 || exit 1 ;;
    esac
    echo "=== $part took $(($(date +%s) - started)) s"
done
echo "=== all of it took $(($(date +%s) - begun)) s"
