# Every target sets up what it needs, on a fresh x86-64 Linux machine with Python 3.11 or later.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
CORES ?= auto
# Python keeps the modules that it has compiled, so that no process compiles them anew. It compiles
# those that something imports; pip would compile all.
export PYTHONDONTWRITEBYTECODE :=
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-compile

.PHONY: demo test test-all slow-tests test-browser web lint types docs setup develop wheel locks clean

# What the program needs to run.
setup: $(VENV)/.installed

$(VENV)/.installed: requirements.lock pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Placewise needs Python 3.11 or later")'
	$(PYTHON) -m venv $(VENV)
	$(PIP) --require-hashes -r requirements.lock
	$(PIP) --editable .
	$(BIN)/python -m placewise.compile_ahead
	touch $@

# What tests, benchmarks, linter, type checker and docs need besides: among them the compilers of
# CUDA 12.9 and 11.8, and 12.3, which compiled what the recorded counters were measured on.
develop: $(VENV)/.developing

$(VENV)/.developing: $(VENV)/.installed requirements-dev.lock requirements-nvrtc-12.3.lock
	$(PIP) --require-hashes -r requirements-dev.lock
	$(PIP) --require-hashes --upgrade --target $(VENV)/toolchains/12.3 -r requirements-nvrtc-12.3.lock
	touch $@

demo: setup
	$(BIN)/placewise advise docs/examples/multiply.toml --machine H100 --out out/demo

test: develop
	$(BIN)/python -m pytest -n $(CORES) -m "not slow and not gpu"

test-all: develop
	$(BIN)/python -m pytest -n $(CORES) -m "not gpu"

# Writes anew which tests are left to test-all because of their length; best on an idle machine.
slow-tests: develop
	$(BIN)/python -m pytest -n $(CORES) -m "not gpu" --write-slow

# The tests of reports and studio in a headless Chromium, which must be installed. Needs Node 20.
test-browser: develop
	npm ci --prefix web
	$(BIN)/python -m pytest -n 0 -m browser tests/report/html tests/studio

# The tests under another Python, such as `make test-python-3.13`, in an environment of its own.
test-python-%:
	$(MAKE) test PYTHON=python$* VENV=.venv-$*

lint: develop
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: develop
	$(BIN)/mypy

docs: develop
	$(BIN)/sphinx-build --fail-on-warning --keep-going --quiet -b html docs out/docs

bench-%: develop
	$(BIN)/python -m benchmarks.$* $(ARGS)

# The script and style of reports and studio, which the repository holds as built. Needs Node 20.
web:
	npm ci --prefix web
	npm run --prefix web types
	npm run --prefix web build

wheel: develop
	$(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir out/dist .

# Newest versions that fit, with the hashes of their files.
LOCK := $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate --no-header
locks: develop
	$(BIN)/python -m pip install --quiet uv
	$(LOCK) --upgrade -o requirements.lock pyproject.toml
	$(LOCK) --upgrade --constraints requirements.lock --extra dev --extra docs --extra cuda12 --extra cuda11 -o requirements-dev.lock pyproject.toml

clean:
	rm -rf $(VENV) .venv-3.* out
