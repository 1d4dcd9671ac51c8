# `make demo` and `make test` set everything up on a fresh machine with Python 3.11 or later.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
CORES ?= auto

.PHONY: demo test test-all lint types setup toolchains clean

setup: $(VENV)/.installed

$(VENV)/.installed: requirements.lock pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Placewise needs Python 3.11 or later")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --editable .
	touch $@

# The compilers of CUDA 12.9 and 11.8, beside the one that is always there, and 12.3, which compiled
# what the recorded counters were measured on.
toolchains: setup
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps -r requirements-toolchains.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --upgrade --target $(VENV)/toolchains/12.3 nvidia-cuda-nvrtc-cu12==12.3.107

demo: setup
	$(BIN)/placewise advise spmv --machine K20c --out out/demo

test: setup
	$(BIN)/python -m pytest -n $(CORES) -m "not slow and not gpu"

test-all: setup
	$(BIN)/python -m pytest -n $(CORES) -m "not gpu"

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: setup
	$(BIN)/mypy

bench-%: setup
	$(BIN)/python -m benchmarks.$* $(ARGS)

clean:
	rm -rf $(VENV) out
