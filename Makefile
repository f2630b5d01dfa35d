# `make help` lists the targets. Python's packages are installed into .venv, those of another LOCK into .venv-gpu or
# .venv-evidence; `make system` alone touches the machine.

PYTHON ?= python3
LOCK ?= cpu
STUDY ?= mini
MINUTES ?= 5
export STUDY  # which recipes write as "$$STUDY", so that no shell takes it apart

VENV := .venv$(if $(filter-out cpu,$(LOCK)),-$(LOCK))
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed-$(LOCK)
UNHASHED := $(wildcard requirements/$(LOCK)-unhashed.txt)
INSTALL = pip install --quiet --disable-pip-version-check --no-deps
SUDO = $(if $(filter-out 0,$(shell id -u)),sudo -n)
SHELL := /bin/bash
WITH = PATH="$$PWD/$(BIN):$$PATH"
# fails where STUDY is no name that a study can have, or the study lacks the file that is named
named = $(PYTHON) -c 'import os, runpy, sys; name, file = os.environ["STUDY"], sys.argv[1]; \
    allowed = runpy.run_path("ict_core/store/layout.py")["allowed_instead"](name); \
    allowed = allowed or (None if os.path.exists(file) else f"the name of a study with the file {file}"); \
    sys.exit(allowed and f"make: STUDY: {name!r} is not allowed; allowed: {allowed}")'

.DEFAULT_GOAL := help
.PHONY: help env system reproduce same quick figures tokens reference test everything lint fast fuzz mutants mutation survive gpu-check versions logs site release publish lock clean

help:  ## this list
	@sed -nE 's/^([a-z-]+):.*## (.*)/\1 \2/p' $(MAKEFILE_LIST) | while read -r name text; do \
	    printf '  make %-10s %s\n' "$$name" "$$text"; done

env: $(STAMP)  ## .venv, exactly as locked (LOCK=gpu: .venv-gpu, for CUDA; LOCK=evidence: .venv-evidence, without torch)

# Setuptools goes first and builds what has no wheel: pip's isolated builds would install one of their own without a hash.
$(STAMP): requirements/$(LOCK).lock $(UNHASHED) pyproject.toml
	@case "$$PWD" in *[\"\`\$$\\]*) printf '%s %s\n' "make: $$PWD is not allowed as the checkout's folder; allowed: a path without" \
	    "\", \`, \$$ and \\, which the programs that pip installs would hand to a shell" >&2; exit 1; esac
	@command -v $(PYTHON) > /dev/null || { echo "$(PYTHON) is not to be found; name a Python: make env PYTHON=..."; exit 1; }
	@$(PYTHON) -c 'import sys; v = sys.version_info[:2]; sys.exit(0 if (3, 11) <= v < (3, 15) else \
	    f"Python 3.11 to 3.14 is needed and $(PYTHON) is {v[0]}.{v[1]}; name another: make env PYTHON=...")'
	test -x $(BIN)/pip || $(PYTHON) -m venv --clear $(VENV)
	$(BIN)/$(INSTALL) --require-hashes -r <(sed -n '/^setuptools==/,/[^\\]$$/p' requirements/$(LOCK).lock)
	PIP_USE_PEP517=1 $(BIN)/$(INSTALL) --require-hashes --no-build-isolation -r requirements/$(LOCK).lock
	$(UNHASHED:%=$(BIN)/$(INSTALL) -r %)
	@[ $(LOCK) = evidence ] || $(BIN)/python -c 'import torch' || { printf '%s\n' \
	    "torch does not import (above). If it is a CUDA build without CUDA's libraries, let pip find PyTorch's CPU wheels," \
	    "for example by the address of their index in PIP_EXTRA_INDEX_URL, and repeat: rm -rf $(VENV); make env LOCK=$(LOCK)"; exit 1; }
	$(BIN)/$(INSTALL) --no-build-isolation -e .
	@touch $@

system:  ## what the tests need of Debian and is missing (requirements/system.txt), as root or by sudo
	@missing=$$($(PYTHON) tests/system.py) && if [ -n "$$missing" ]; then set -ex; $(SUDO) apt-get update; \
	    $(SUDO) env DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends $$missing; fi

reproduce: env  ## run the study in miniature, say where tables, figures and report are, compare with the stored run
	$(WITH) snakemake --cores all
	$(WITH) snakemake --report results/mini/report.html
	@$(WITH) ict verify --against results/reference/mini || \
	    { status=$$?; [ $$status = 1 ] && echo "This run and the stored one are not the same bytes, as listed above."; }

same: env  ## run the study in miniature, and fail where a byte is not the stored one, as CI does at night
	$(WITH) snakemake --cores all
	$(WITH) ict verify --against results/reference/mini

quick: env  ## a first look: a study that decides nothing, from pretraining to its report
	$(WITH) snakemake --cores all --config=study=smoke
	@head -n 3 results/smoke/answer.md; echo "results/smoke/report.md has the tables and figures."

figures: env  ## a stored run's tables, figures, claims, notebook anew without training (STUDY=mini, LOCK=evidence will do)
	@$(named) "results/reference/$$STUDY/study.json"
	$(WITH) snakemake --cores all --snakefile workflow/reference.smk \
	    --config stored="results/reference/$$STUDY" results="results/rebuilt/$$STUDY"

tokens: STUDY = smollm2-tokens
tokens: env  ## a stored study of a real model's tokens: its tables, figures and claims anew (STUDY=smollm2-tokens)
	@$(named) "results/reference/$$STUDY/study.json"
	$(WITH) ict token-pages --stored "results/reference/$$STUDY" \
	    --results "results/rebuilt/$$STUDY" --claims configs/claims.yaml

reference:  ## store the finished run in results/mini, for `make figures` and its test (STUDY=mini), or rates (STUDY=mini-rates)
	@[ -e "results/$$STUDY/answer.md" ] || [ ! -e "results/$$STUDY/rates/rates.json" ] || FILE=rates/rates.json; \
	    $(named) "results/$$STUDY/$${FILE:-answer.md}"
	rm -rf "results/reference/$$STUDY"
	cd results && if [ ! -e "$$STUDY/answer.md" ]; then cp -r "$$STUDY/rates" "reference/$$STUDY"; else \
	    mkdir -p "reference/$$STUDY"/{tables,figures} && cp "$$STUDY"/{*.parquet,manifest.json,study.json} "reference/$$STUDY/"; fi
	[ ! -e "results/$$STUDY/answer.md" ] || { $(WITH) python scripts/fewer_tokens.py "results/reference/$$STUDY" && \
	    $(MAKE) figures && cd results && cp "rebuilt/$$STUDY"/{claims.json,claims.md,answer.md} "reference/$$STUDY/" && \
	    cp "rebuilt/$$STUDY"/figures/{forest,bench,batches}.png "reference/$$STUDY/figures/" && \
	    cp "rebuilt/$$STUDY"/tables/*.{csv,md,tex} "reference/$$STUDY/tables/"; }

# in three processes, as some tests only wait; hundreds of jobs share bytecode
PYTEST = $(WITH) OMP_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE= \
    pytest -n 3 --dist loadfile --no-loadscope-reorder
test: env lint  ## all checks, and all tests but the long ones (kills, ranks, clusters, other processors, benchmarks)
	$(PYTEST) -m "not long"

everything: env lint  ## all checks and all tests, as CI runs them
	MUTANTS=20 $(PYTEST)

lint: env  ## formatting, types, the workflow's own checks; the project's size
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/snakefmt --check Snakefile workflow
	$(WITH) snakemake --lint
	@$(BIN)/python scripts/size.py

FAST := config statistics store selection theory tokens evidence grading problems tables contamination
fast: env  ## in a minute: the quick tests of what computes and decides, without trainings, vLLM and Snakemake
	$(WITH) OMP_NUM_THREADS=1 pytest -m "not slow" -n 2 -q $(FAST:%=tests/%)

fuzz: env  ## hostile answers through the grader for MINUTES=5, with new random examples
	OMP_NUM_THREADS=1 $(BIN)/python tests/fuzz.py --minutes $(MINUTES)

mutants: env  ## 500 damaged copies of every configuration: each is accepted and plans, or is refused in clear lines
	OMP_NUM_THREADS=1 $(BIN)/python tests/config/test_fuzz.py --mutants 500 --plan 20

MUTMUT := mutmut==3.8.1 libcst==1.9.0 coverage==7.17.4 setproctitle==1.3.8 textual==8.2.8 rich==15.0.0 \
    markdown-it-py==4.3.0 mdit-py-plugins==0.7.0 mdurl==0.1.2 linkify-it-py==2.2.0 platformdirs==4.14.8
mutation: env  ## how many of 400 small faults in rules, statistics and graders the tests find; goes on where it was stopped
	$(BIN)/pip install --quiet --no-deps --upgrade --target .venv-mutation $(MUTMUT)
	PYTHONPATH=.venv-mutation:$$PWD OMP_NUM_THREADS=1 $(BIN)/python scripts/mutation.py

survive: env  ## kill the study (STUDY=mini) at 30 random moments and compare with an uninterrupted run
	@$(named) "configs/studies/$$STUDY.yaml"
	$(WITH) python tests/workflow/killing.py --study "$$STUDY" --kills 30 --reference "results/uninterrupted/$$STUDY"

gpu-check: env  ## check on a GPU what needs one (LOCK=gpu), or some of it (STAGES="devices repeat"); QUICK=--quick: dry
	$(BIN)/python benchmarks/gpu_check.py $(if $(STAGES),--stages $(STAGES)) $(QUICK)

versions: env  ## a script of one's own with the oldest and the newest TRL and transformers that pyproject.toml allows
	set -e; for version in trl==1.14.0 transformers==5.16.0 'transformers>=5.24,<5.25'; do \
	    rm -rf .venv-versions; $(BIN)/pip install --quiet --no-deps --target .venv-versions "$$version"; \
	    case $$version in trl*) those='not packed';; *) those=;; esac; \
	    PYTHONPATH=.venv-versions $(BIN)/python -m pytest -q -k "$$those" tests/training/test_own_script.py; done

logs: env  ## let today's lm-evaluation-harness, lighteval and Inspect write logs, and compare these
	set -e; for tool in lm_eval='lm-eval transformers accelerate' inspect=inspect-ai \
	    lighteval='lighteval==0.13.0 transformers<5 huggingface_hub<1 datasets<4.5 xxhash<3.6'; do \
	    $(PYTHON) -m venv --clear .venv-logs/$${tool%%=*}; \
	    .venv-logs/$${tool%%=*}/bin/pip install --quiet torch==2.13.0 $${tool#*=}; \
	    .venv-logs/$${tool%%=*}/bin/python tests/comparison/make_logs.py $${tool%%=*} .venv-logs/made/$${tool%%=*}; done
	LOGS=.venv-logs/made $(BIN)/python -m pytest -q tests/comparison/test_logs.py

site: .venv-docs/.installed  ## the documentation as a site in site/, with a search and a reference
	NO_MKDOCS_2_WARNING=1 .venv-docs/bin/mkdocs build --strict --quiet
	@echo "site/index.html; with the search: python -m http.server --directory site"

.venv-docs/.installed: requirements/docs.lock
	$(PYTHON) -m venv --clear .venv-docs
	.venv-docs/bin/$(INSTALL) --require-hashes --only-binary :all: -r requirements/docs.lock
	@touch $@

TWINE := twine==6.2.0
release: env  ## build and check sdist and wheel of this version in dist/, and say what publishing needs
	$(PYTHON) -m venv --clear .venv-release
	.venv-release/bin/pip install --quiet --disable-pip-version-check $(TWINE)
	$(BIN)/python scripts/release.py .venv-release/bin/twine $(PUBLISH)

publish: PUBLISH = --publish
publish: release  ## the same, then tag this version, push the tag and upload to PyPI

lock:  ## write requirements/*.lock anew (UPGRADE=1 takes the newest versions)
	PYTHON=$(PYTHON) UPGRADE=$(UPGRADE) scripts/lock.sh

clean:  ## remove one study's results (STUDY=mini)
	@$(named) "configs/studies/$$STUDY.yaml" && tracked=$$([ ! -e .git ] || git ls-files -- "results/$$STUDY") && if [ -n "$$tracked" ]; \
	    then echo "make: STUDY: '$$STUDY' is not allowed; allowed: a study of whose results git tracks no file" >&2; exit 1; \
	    else rm -rf "results/$$STUDY"; fi
