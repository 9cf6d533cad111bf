# `make` lists what there is. Everything runs from .venv, which `make setup` makes and keeps up to date.

PORT ?=
OPS_PORT ?=
DATA ?=
ARGS ?=
FILE ?=
DURATION ?=
SEED ?=
HISTORIES ?=
PYTHON ?=
export PYTHON

BIN := .venv/bin
PYTEST := $(BIN)/python -m pytest
# One worker per logical core; each brings up its own PostgreSQL and Valkey, hence the upper bound.
WORKERS ?= logical

.DEFAULT_GOAL := help
.PHONY: help setup run test test-robustness check format proto proto-baseline bench eval lock clean

help: ## List the targets
	@printf 'memory-service: make TARGET [VARIABLE=value]\n\n'
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-16s %s\n", $$1, $$2 }' Makefile
	@printf '\nPYTHON=… names the Python (3.11 or newer) that .venv is made with.\n'

setup: ## Make .venv with the locked versions (does nothing when it is up to date)
	@sh tools/setup.sh

run: setup ## Serve on 127.0.0.1:50051 with embedded PostgreSQL and Valkey in ./data  [PORT= OPS_PORT= DATA=]
	@exec env $(if $(PORT),MEMORY_SERVICE_LISTEN='127.0.0.1:$(PORT)') \
	  $(if $(OPS_PORT),MEMORY_SERVICE_OPS_LISTEN='127.0.0.1:$(OPS_PORT)') \
	  $(if $(DATA),MEMORY_SERVICE_DATA_DIR='$(DATA)') $(BIN)/memory-service serve

test: setup ## Run the tests  [ARGS="-k recall -x"]
	@$(PYTEST) --numprocesses=$(WORKERS) --maxprocesses=8 --dist=loadfile $(ARGS)

test-robustness: setup ## Kill, freeze and cut everything under many clients, then check  [DURATION=120 SEED= HISTORIES=]
	@DURATION='$(DURATION)' SEED='$(SEED)' HISTORIES='$(HISTORIES)' \
	  $(PYTEST) -m robustness --timeout=0 --capture=no tests/robustness $(ARGS)

check: setup ## Style, types, import rule, protos, generated code and docs
	@sh tools/check.sh

format: setup ## Put the code into the checked style
	@$(BIN)/ruff check --fix --quiet . ; $(BIN)/ruff format --quiet . && $(BIN)/buf format --write proto

proto: setup ## Generate memory_service/v1 from proto/
	@$(BIN)/python tools/generate_proto.py

proto-baseline: setup ## Record the API as released; `check` refuses breaking changes to it
	@$(BIN)/buf build proto --as-file-descriptor-set --exclude-source-info --output proto/baseline.binpb
	@ls -l proto/baseline.binpb

bench: setup ## Run the benchmarks  [ARGS=]
	@$(PYTEST) -m bench --timeout=1800 -p no:randomly --capture=no $(ARGS) || \
	  { code=$$?; [ $$code -eq 5 ] && echo 'bench: there is no benchmark yet' || exit $$code; }

eval: setup ## Measure recall on a set of conversations  [FILE=conversations.jsonl ARGS=]
	@[ -n '$(FILE)' ] || { echo 'eval: name the set: make eval FILE=conversations.jsonl' >&2; exit 2; }
	@$(BIN)/memory-service eval '$(FILE)' $(ARGS)

lock: ## Write requirements/*.lock anew; needs uv  [UPGRADE=1 UV=]
	@sh tools/lock.sh

clean: ## Remove .venv and every cache; ./data stays
	@rm -rf .venv .setup-lock build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
