# `make help` lists the targets. Everything is installed into .venv; nothing else on the machine is touched.

PYTHON ?= python3
LOCK ?= cpu
STUDY ?= mini
MINUTES ?= 5

BIN := .venv/bin
STAMP := .venv/.installed-$(LOCK)
SHELL := /bin/bash

.DEFAULT_GOAL := help
.PHONY: help env reproduce figures reference test lint fast fuzz survive lock clean

help:  ## this list
	@sed -nE 's/^([a-z]+):.*## (.*)/  make \1|\2/p' $(MAKEFILE_LIST) | column -t -s '|'

env: $(STAMP)  ## the environment, exactly as locked (LOCK=gpu for CUDA, LOCK=evidence without torch, PYTHON=...)

$(STAMP): requirements/$(LOCK).lock pyproject.toml
	@command -v $(PYTHON) > /dev/null || { echo "$(PYTHON) is not to be found; name a Python: make env PYTHON=..."; exit 1; }
	@$(PYTHON) -c 'import sys; v = sys.version_info[:2]; sys.exit(0 if (3, 11) <= v < (3, 15) else \
	    f"Python 3.11 to 3.14 is needed and $(PYTHON) is {v[0]}.{v[1]}; name another: make env PYTHON=...")'
	@if ls .venv/.installed-* > /dev/null 2>&1 && [ ! -e $(STAMP) ]; then rm -rf .venv; fi  # the other lock's
	test -x $(BIN)/pip || $(PYTHON) -m venv --clear .venv
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps -r requirements/$(LOCK).lock
	@[ $(LOCK) = evidence ] || $(BIN)/python -c 'import torch' || { printf '%s\n' \
	    "torch does not import (above). If it is a CUDA build without CUDA's libraries, let pip find PyTorch's CPU wheels," \
	    "for example by the address of their index in PIP_EXTRA_INDEX_URL, and repeat: rm -rf .venv; make env"; exit 1; }
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

reproduce: env  ## run the study in miniature; prints where tables, figures and report are
	PATH="$(CURDIR)/$(BIN):$$PATH" snakemake --cores all
	PATH="$(CURDIR)/$(BIN):$$PATH" snakemake --report results/mini/report.html

figures: env  ## a stored run's tables, figures, claims, notebook anew without training (STUDY=mini, LOCK=evidence will do)
	PATH="$(CURDIR)/$(BIN):$$PATH" snakemake --cores all --snakefile workflow/reference.smk \
	    --config stored=results/reference/$(STUDY) results=results/rebuilt/$(STUDY)

reference:  ## store the finished run in results/mini (STUDY=mini), for `make figures` and its test
	rm -rf results/reference/$(STUDY) && mkdir -p results/reference/$(STUDY)/tables
	cp results/$(STUDY)/{*.parquet,manifest.json,study.json,claims.json,claims.md} results/reference/$(STUDY)/
	cp results/$(STUDY)/tables/*.{csv,md,tex} results/reference/$(STUDY)/tables/

test: env lint  ## all checks and all tests (in three processes, as some tests only wait; hundreds of jobs share bytecode)
	PATH="$(CURDIR)/$(BIN):$$PATH" OMP_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE= pytest -n 3 --dist loadfile --no-loadscope-reorder

lint: env  ## formatting, types, the workflow's own checks
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/snakefmt --check Snakefile workflow
	PATH="$(CURDIR)/$(BIN):$$PATH" snakemake --lint

fast: env  ## the tests of a few seconds
	PATH="$(CURDIR)/$(BIN):$$PATH" OMP_NUM_THREADS=1 pytest -m "not slow"

fuzz: env  ## hostile configurations and answers for MINUTES=5, with new random examples
	OMP_NUM_THREADS=1 $(BIN)/python tests/fuzz.py --minutes $(MINUTES)

survive: env  ## kill the study (STUDY=mini) at 30 random moments and compare with an uninterrupted run
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python tests/workflow/killing.py --study $(STUDY) --kills 30 \
	    --reference results/uninterrupted/$(STUDY)

lock:  ## write requirements/*.lock anew (UPGRADE=1 takes the newest versions)
	PYTHON=$(PYTHON) UPGRADE=$(UPGRADE) scripts/lock.sh

clean:  ## remove one study's results (STUDY=mini)
	test -e configs/studies/$(STUDY).yaml
	rm -rf results/$(STUDY)
