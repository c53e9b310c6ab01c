# Everything happens in .venv; nothing is installed anywhere else. `make help` lists the targets.
#
# PYTHON   the Python (>= 3.11) to start from:  make test PYTHON=python3.13
# VENV     the folder of the virtual environment:  make test-fast PYTHON=python3.13 VENV=.venv-3.13
# ARGS     passed on:  make swarm ARGS="--agents 6", make test ARGS="tests/mailbox -x"
# SOAK_SESSIONS  schedules of whole sessions in a soak:  make soak SOAK_SESSIONS=2000
# SOAK_TEAMS     schedules of whole teams in a soak:  make soak SOAK_TEAMS=500
# SOAK_CLAIMS    schedules of claims on a board in a soak:  make soak SOAK_CLAIMS=500
# SOAK_KEEPERS   schedules of a gateway's keepers, with stand-ins for sessions, in a soak:  make soak SOAK_KEEPERS=5000
# SOAK_GATEWAYS  schedules of whole gateways in a soak:  make soak SOAK_GATEWAYS=500
# SOAK_SCRIPTS   scripts that bash runs in a soak:  make soak SOAK_SCRIPTS=5000
# SOAK_NETWORKS  schedules of nodes over simulated networks:  make soak-remote SOAK_NETWORKS=2000 SOAK_FRAMES=0
# SOAK_PAGES     made-up runs whose page is compared with the fold:  make soak-visibility SOAK_PAGES=20
# MESSAGES messages of a gateway's day:  make soak-gateway MESSAGES=5000
# OLD      an older checkout:  make inventory OLD=../before, make old-runs OLD=../before
# N        kills of a chaos run:  make chaos-letters N=20
# WORKERS  processes that run the tests side by side:  make test WORKERS=3
# MINUTES  how long a gateway process is killed under load:  make chaos-gateway MINUTES=10
# FOLDER   what the swarm surveys, this folder unless said:  make swarm FOLDER=../other

PYTHON ?= python3
ARGS ?=
FOLDER ?= .
WORKERS ?= 4
N ?= 20
MINUTES ?= 0.5
SOAK_SESSIONS ?= 100000
SOAK_TEAMS ?= 10000
SOAK_CLAIMS ?= 10000
SOAK_KEEPERS ?= 100000
SOAK_GATEWAYS ?= 5000
SOAK_SCRIPTS ?= 100000
SOAK_NETWORKS ?= 100000
SOAK_FRAMES ?= 1000000
SOAK_PAGES ?= 200
MESSAGES ?= 50000

# Many processes are started by the tests: where the shell forbids bytecode, each would compile everything anew.
unexport PYTHONDONTWRITEBYTECODE

# Tools run as `python -m`, so that a checkout that was moved still finds them.
VENV ?= .venv
BIN := $(VENV)/bin
# Only what exists: not every folder is there on day one.
CODE := $(foreach folder,greenroom tests benchmarks examples tools,$(if $(shell find $(folder) -name '*.py' -print -quit 2>/dev/null),$(folder)))

.DEFAULT_GOAL := help
.PHONY: help swarm test test-fast cover versions check check-format check-async check-types check-architecture bench bench-kernel bench-agents bench-gateway bench-remote test-browser test-channels test-ray test-redis mutants soak soak-gateway ends crowd fire house inventory old-runs format exports docs chaos-gateway chaos-hosts chaos-letters chaos-redis chaos-run chaos-store chaos-swarm lock clean python setup setup-dev soak-remote soak-visibility

help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):[^#]*## (.*)/  make \1|\2/' | column -t -s '|' 2>/dev/null \
	  || grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST)

swarm: setup ## set up, then let a team of agents survey this folder
	@$(BIN)/greenroom swarm $(FOLDER) $(ARGS)

# Each worker collects all tests: 8 s of CPU, and 20 s where no bytecode of theirs is there yet. More workers than cores fill the waits.
test: setup-dev ## set up, then run all tests but those of `make check`, with the same examples and schedules each time
	@$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal $(if $(ARGS),,--ignore tests/architecture --durations 10) $(ARGS)

# The kernel and the services that are pure, with few examples a property: what to run after each edit.
FAST := core waiting mailbox actors supervisor patterns permissions inbox tasks skills
test-fast: setup-dev ## set up, then run the tests of the kernel and of the pure services, briefly (under 20 s)
	@$(BIN)/python -m pytest -q -n 2 --dist worksteal -m "not slow" -k "in-order or not seed" --hypothesis-profile brief $(FAST:%=tests/%) $(ARGS)

# The kernel is small, and every branch of it has a reason: its own tests have to reach nearly all of them.
COVERED := waiting mailbox actors supervisor
cover: setup-dev ## set up, then measure how much of the kernel its own tests reach, branches counted (98 % at least)
	@$(BIN)/python -m pytest -q -n 2 --dist worksteal $(COVERED:%=tests/%) tests/core tests/otp tests/patterns \
	  $(COVERED:%=--cov=greenroom/%) --cov-branch --cov-report=term-missing:skip-covered --cov-fail-under=98 $(ARGS)

# Other versions of Python: the quick tests, the examples, and the types as that version sees them. pyenv's need not be active.
VERSIONS := 3.12 3.13 3.14
versions: setup-dev ## run the quick tests, the examples and the types under other versions of Python, where they are installed
	@$(MAKE) --no-print-directory --jobs 2 $(if $(filter output-sync,$(.FEATURES)),--output-sync) $(VERSIONS:%=version-%)

# Two at a time: much of each, such as its set-up and its types, takes one core.
version-%:
	@for python in python$* "$$HOME"/.pyenv/versions/$**/bin/python$* none; do "$$python" -c '' 2>/dev/null && break; done; \
	if test "$$python" = none; then echo "Python $*: skipped, because it is not installed"; exit 0; fi; \
	echo "Python $*: quick tests, examples, types"; \
	$(MAKE) --no-print-directory test-fast PYTHON="$$python" VENV=.venv-$* \
	  && .venv-$*/bin/python -m pytest -q tests/docs/test_documents.py -k example \
	  && $(BIN)/python -m mypy --python-version $* --cache-dir .mypy_cache/$* greenroom

# Side by side, each with its own output: the async rules and the types take nearly all the time.
check: setup-dev ## format, lint, types, architecture
	@$(MAKE) --no-print-directory --jobs $(if $(filter output-sync,$(.FEATURES)),--output-sync) check-format check-async check-types check-architecture

check-format:
	@$(BIN)/python -m ruff format --check --quiet $(CODE) || { echo 'check: run `make format`'; exit 1; }
	@$(BIN)/python -m ruff check --quiet $(CODE)

# flake8 reads only what can hold an async mistake, and was changed since the last clean run: its parser is by far the slowest
# part of the check. A new rule or a new version of a tool has it read all again.
ASYNC_CLEAN := $(VENV)/.async-clean
check-async:
	@touch $(ASYNC_CLEAN).now; \
	newer=$$(test -e $(ASYNC_CLEAN) && test -z "$$(find .flake8 requirements-dev.lock Makefile tools/check_async.py -newer $(ASYNC_CLEAN))" && echo "-newer $(ASYNC_CLEAN)"); \
	files=$$(find $(CODE) -name '*.py' $$newer -exec grep -lE 'async|trio|ExceptionGroup' {} +); \
	{ test -z "$$files" || $(BIN)/python -m tools.check_async $$files; } && mv $(ASYNC_CLEAN).now $(ASYNC_CLEAN)

check-types:
	@$(BIN)/python -m mypy $(CODE)

check-architecture:
	@$(BIN)/python -m pytest -q tests/architecture

bench: setup-dev ## run the benchmarks
	@$(BIN)/python -m benchmarks $(ARGS)

bench-kernel: setup-dev ## run the benchmarks of the kernel
	@$(BIN)/python -m benchmarks.kernel $(ARGS)

bench-agents: setup-dev ## run the benchmarks of agents, beside other frameworks (ARGS="--agents 100")
	@$(BIN)/python -m benchmarks.agents $(ARGS)

bench-remote: setup-dev ## run the benchmarks of links between processes (ARGS="--only tell")
	@$(BIN)/python -m benchmarks.links $(ARGS)

bench-gateway: setup-dev ## run the benchmarks of the gateway (ARGS="--only spawn,calls")
	@$(BIN)/python -m benchmarks.gateway $(ARGS)

# Chat servers: ngircd from the system's packages, Synapse in an environment of its own (242 MB). Elsewhere these tests are skipped.
SYNAPSE := .venv-synapse
NGIRCD := PATH="$$PATH:/usr/sbin" command -v ngircd >/dev/null
test-channels: setup-dev ## install ngircd and Synapse, then run the tests of channels against them, with 50 and 10 kills (3 min)
	@$(NGIRCD) || apt-get install -y --no-install-recommends ngircd || { echo 'test-channels needs ngircd: run `sudo apt-get install ngircd`'; exit 1; }
	@test -x $(SYNAPSE)/bin/python || $(PYTHON) -m venv $(SYNAPSE)
	@$(SYNAPSE)/bin/python -c 'import synapse' 2>/dev/null || $(SYNAPSE)/bin/python -m pip install --quiet 'matrix-synapse>=1.163,<2'
	@CHANNEL_SERVERS=demanded SYNAPSE_PYTHON=$(CURDIR)/$(SYNAPSE)/bin/python $(BIN)/python -m pytest -q tests/gateway/channels --durations 5 $(ARGS)

# Ray in an environment of its own, since it is 290 MB. Elsewhere these tests are skipped.
RAY := .venv-ray
test-ray: python ## install Ray into an environment of its own, then run the tests of hosts on it, with kills (5 min)
	@$(PYTHON) tools/setup_venv.py dev $(RAY)
	@$(RAY)/bin/python -c 'import ray' 2>/dev/null || if command -v uv >/dev/null; \
	  then uv pip install --quiet --python $(RAY)/bin/python --no-build-isolation -e '.[ray]'; \
	  else $(RAY)/bin/python -m pip install --quiet --no-build-isolation -e '.[ray]'; fi
	@RAY_CLUSTER=demanded $(RAY)/bin/python -m pytest -q tests/remote/ray --durations 5 $(ARGS)

# A redis server from the system's packages. Without it these tests are skipped; `make test` has none of those that kill it.
test-redis: setup-dev ## install redis-server, then run the tests of boxes on it, with kills (1 min)
	@command -v redis-server >/dev/null || apt-get install -y --no-install-recommends redis-server || { echo 'test-redis needs redis-server: run `sudo apt-get install redis-server`'; exit 1; }
	@REDIS_SERVER=demanded $(BIN)/python -m pytest -q tests/remote/redis tests/docs/test_redis.py --durations 5 $(ARGS)

# Chromium from the system's packages. Without it these tests are skipped, and with it `make test` runs some of them.
CHROMIUM := command -v chromium || command -v chromium-browser || command -v google-chrome
test-browser: setup-dev ## install chromium, then run the tests of pages in it (1 min)
	@{ $(CHROMIUM); } >/dev/null || apt-get install -y --no-install-recommends chromium || { echo 'test-browser needs chromium: run `sudo apt-get install chromium`'; exit 1; }
	@BROWSER_TESTS=demanded $(BIN)/python -m pytest -q tests/web --durations 5 $(ARGS)

mutants: setup-dev ## break the kernel in many small ways, and show which test notices each
	@$(BIN)/python -m tools.mutants $(ARGS)

soak: setup-dev ## run as many schedules with faults as fit in 10 minutes (ARGS="--minutes 2"), then SOAK_SESSIONS of sessions, SOAK_TEAMS of teams, SOAK_CLAIMS of claims, SOAK_KEEPERS of keepers, SOAK_GATEWAYS of gateways, SOAK_SCRIPTS scripts in bash, and what ends does
	@$(BIN)/python -m tools.soak $(ARGS)
	@$(BIN)/python -m pytest -q -p tests.waiting.other_trio -p no:cacheprovider tests/waiting tests/mailbox tests/actors tests/supervisor --deselect tests/waiting/test_parking.py
	@$(BIN)/python -m pytest -q --hypothesis-profile soak tests/tools/builtin/test_patterns.py tests/session/test_damaged_journals.py
	@SOAK_SESSIONS=$(SOAK_SESSIONS) $(BIN)/python -m tools.soak.sessions
	@SOAK_TEAMS=$(SOAK_TEAMS) $(BIN)/python -m tools.soak.teams
	@SOAK_CLAIMS=$(SOAK_CLAIMS) $(BIN)/python -m tools.soak.claims
	@SOAK_KEEPERS=$(SOAK_KEEPERS) $(BIN)/python -m tools.soak.keepers
	@SOAK_GATEWAYS=$(SOAK_GATEWAYS) $(BIN)/python -m tools.soak.gateways
	@SOAK_SCRIPTS=$(SOAK_SCRIPTS) $(BIN)/python -m tools.soak.shell
	@$(BIN)/python -m tools.soak.ends

soak-gateway: setup-dev ## a day of MESSAGES through a gateway, in virtual time; then memory, tasks and descriptors have to be as before (50,000; 15 min)
	@$(BIN)/python -m tools.soak.gateway $(MESSAGES)

soak-remote: setup-dev ## run SOAK_NETWORKS schedules of 2 and 3 nodes over simulated networks, and at least SOAK_FRAMES frames (100,000 and 1,000,000; hours), ARGS="--minutes 30" stops earlier
	@SOAK_NETWORKS=$(SOAK_NETWORKS) SOAK_FRAMES=$(SOAK_FRAMES) $(BIN)/python -m tools.soak.remote $(ARGS)

soak-visibility: setup-dev ## compare the page of SOAK_PAGES made-up runs with the fold, in a real browser (200; 20 min), then continue 300 branches of three runs (4 min)
	@SOAK_PAGES=$(SOAK_PAGES) $(BIN)/python -m tools.soak.visibility
	@$(BIN)/python -m tools.soak.branching $(ARGS)

ends: setup-dev ## cut agents at every event, by every verb, with 1 to 3 calls in flight (ARGS="--kinds look --calls 2")
	@$(BIN)/python -m tools.soak.ends $(ARGS)

crowd: setup-dev ## 1,000 agents at once, 10 rounds each, over real sockets; then nothing may be left (ARGS="--agents 200")
	@$(BIN)/python -m tools.crowd $(ARGS)

fire: setup-dev ## every kind of work, everything that can happen to it: what came of it, beside what was expected
	@$(BIN)/python -m tools.fire $(ARGS)

house: setup-dev ## figures of the source tree (structure, size, language, tests) beside those of an earlier commit (ARGS="--places")
	@$(BIN)/python -m tools.house $(ARGS)

inventory: setup-dev ## what users could name in an older checkout and cannot name now (OLD=../before)
	@$(BIN)/python -m tools.inventory $(OLD) $(ARGS)

old-runs: setup-dev ## record 20 runs with an older checkout; replay, check and resume them with this one (OLD=../before)
	@$(BIN)/python -m tools.old_runs $(OLD) $(ARGS)

format: setup-dev ## format, and fix what can be fixed safely
	@$(BIN)/python -m ruff check --quiet --fix-only $(CODE)
	@$(BIN)/python -m ruff format --quiet $(CODE)

exports: setup-dev ## write the list of public names that a test compares with
	@$(BIN)/python -m tests.architecture.test_exports

chaos-store: N = 100
chaos-store: setup-dev ## kill writers and the taker of a store, and account for each item (N=100)
	@$(BIN)/python -m tools.chaos.store $(N) $(ARGS)

chaos-redis: setup-dev ## kill and stop processes that share a box on a redis server, and the server, and account for each item (N=20)
	@$(BIN)/python -m tools.chaos.redis_boxes $(N) $(ARGS)

chaos-swarm: setup-dev ## kill and stop swarms at random events, resume them, and compare their reports (N=20)
	@$(BIN)/python -m tools.chaos.swarm $(N) $(ARGS)

chaos-letters: setup-dev ## kill sessions that were written to, resume them, and look for each letter (N=20)
	@$(BIN)/python -m tools.chaos.letters $(N) $(ARGS)

chaos-run: setup-dev ## kill headless runs with agents in the background at random events, resume them, and look at what they leave (N=20)
	@$(BIN)/python -m tools.chaos.run $(N) $(ARGS)

chaos-hosts: N = 20
chaos-hosts: setup-dev ## kill runs and hosts of remote agents at each moment, lose their links, and compare with the expected table (N=20)
	@$(BIN)/python -m tools.chaos.hosts $(N) $(ARGS)

chaos-gateway: setup-dev ## kill a gateway after events of a scripted day (N=20, N=all) and a process under load (MINUTES=0.5), and account for what people saw
	@$(BIN)/python -m tools.chaos.gateway $(N) $(ARGS)
	@$(BIN)/python -m tools.chaos.gateway_load --minutes $(MINUTES)

docs: setup-dev ## write the pages and tables of docs/ that are made from the code
	@$(BIN)/python -m tests.docs

lock: ## resolve the dependencies anew and write both locks (needs uv)
	uv pip compile --quiet --upgrade pyproject.toml --extra mcp --extra redis --group build --universal --no-strip-extras --generate-hashes \
	  --no-header --no-emit-index-url --no-emit-find-links -o requirements.lock
	uv pip compile --quiet --upgrade pyproject.toml --extra mcp --extra redis --group dev --constraint requirements.lock --universal --no-strip-extras --generate-hashes \
	  --no-header --no-emit-index-url --no-emit-find-links -o requirements-dev.lock

clean: ## remove .venv, caches and build results (run folders stay)
	rm -rf .venv .venv-3.* .venv-ray .venv-synapse .venv-tools .venv.lock .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage htmlcov build dist
	find $(CODE) -name __pycache__ -type d -prune -exec rm -rf {} +

# --- set-up: skipped when .venv already holds what the locks say ------------------------------------------------------

python:
	@command -v $(PYTHON) >/dev/null || { echo 'greenroom needs Python 3.11 or newer; $(PYTHON) was not found (say PYTHON=...)'; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(None if sys.version_info >= (3, 11) else "greenroom needs Python 3.11 or newer; $(PYTHON) is %d.%d (say PYTHON=...)" % sys.version_info[:2])'

setup: python
	@$(PYTHON) tools/setup_venv.py runtime $(VENV)

setup-dev: python
	@$(PYTHON) tools/setup_venv.py dev $(VENV)
