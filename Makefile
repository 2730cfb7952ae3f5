# Everything runs in an environment of its own under .venv, made from PyPI. PYTHON picks the interpreter.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check
DEMO_OUTPUT ?= demo_output
REPORT_OUTPUT ?= report_output
VIEW ?= 0
MODULES ?=
DRILLS ?=
FAULTS ?= $(DRILLS)
SOAK ?=
NAME ?=
SWEEP ?=
SAMPLE ?= 100
SEED ?= 1
GATES ?= urdf machine document states motion number recording bag identified
FUZZ_EXAMPLES ?= 5000
FUZZ_SECONDS ?= 120
FUZZ_OUTPUT ?= fuzz_output
WORKERS ?= 2

DOCS_OUTPUT ?= docs_output

.PHONY: demo report docs size test lint style unit unit-long colcon test-browser test-long test-whole mutation fuzz faults drill soak sweep clean

demo: $(VENV)/runtime.stamp
	$(BIN)/robot_dynamics demo --output $(DEMO_OUTPUT) $(if $(filter 1,$(VIEW)),--view) $(DEMO_ARGS)

report: $(VENV)/report.stamp
	$(BIN)/robot_dynamics reproduce all -o $(REPORT_OUTPUT)

# The site, with the reference from the code. Warnings are errors; links that lead nowhere are warnings.
docs: $(VENV)/docs.stamp
	$(BIN)/python docs/tools/check_links.py
	$(BIN)/python docs/tools/words.py
	$(BIN)/sphinx-build -q -W --keep-going -b html docs $(DOCS_OUTPUT)
	@echo "$(DOCS_OUTPUT)/index.html"

# Lines of code by room: make size SINCE=<commit> compares with an earlier one.
size: $(VENV)/bin/python
	@$(BIN)/python docs/tools/size.py $(if $(SINCE),--since $(SINCE))

test: style
	@$(MAKE) --no-print-directory unit
	@$(MAKE) --no-print-directory colcon

lint: style
	$(BIN)/mypy

style: $(VENV)/development.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

unit: $(VENV)/compiled.stamp
	$(BIN)/pytest -n auto --dist worksteal -m "not browser and not whole and not long" test

# Types, and tests that take most of a second of processor time or more each: builds, sanitizers, searches,
# whole identifications. mypy runs beside the tests, which leave processors idle.
test-long: $(VENV)/development.stamp
	@$(BIN)/mypy >$(VENV)/mypy.log 2>&1 & types=$$!; \
	$(MAKE) --no-print-directory unit-long; unit=$$?; \
	wait $$types; types=$$?; cat $(VENV)/mypy.log; [ $$unit -eq 0 ] && [ $$types -eq 0 ]

unit-long: $(VENV)/development.stamp
	$(BIN)/pytest -n auto --dist worksteal -m "long and not browser" test

# A robot identified by one command, and the tutorials as a reader runs them: minutes of wall time.
test-whole: $(VENV)/development.stamp
	$(BIN)/pytest -m whole test/ros_live test/test_code_blocks.py

# Needs the system's packages chromium and chromium-driver.
test-browser: $(VENV)/development.stamp
	$(BIN)/pytest -m browser test/ros_view test/ros_demo

colcon: $(VENV)/development.stamp
	$(BIN)/python test/colcon_workspace.py

# How many small faults the fast tests notice: make mutation MODULES="control codegen/partition.py" SAMPLE=50
mutation: $(VENV)/mutation.stamp
	$(BIN)/python test/mutation/run.py --sample $(SAMPLE) --seed $(SEED) --workers $(WORKERS) $(MODULES)

# Hostile inputs for the gates, from hypothesis and by coverage (Linux): make fuzz GATES=urdf FUZZ_SECONDS=3600.
# What is found is kept in FUZZ_OUTPUT and searched on from the next time; what breaks a gate belongs into
# test/fuzz/corpus, which the tests try again.
fuzz: $(VENV)/development.stamp
	FUZZ_EXAMPLES=$(FUZZ_EXAMPLES) $(BIN)/pytest -n 2 test/fuzz
	@for gate in $(GATES); do mkdir -p $(FUZZ_OUTPUT)/$$gate && \
	  $(BIN)/python test/fuzz/guided.py $$gate -max_total_time=$(FUZZ_SECONDS) -max_len=8192 -timeout=60 \
	    -artifact_prefix=$(FUZZ_OUTPUT)/broken_$$gate- $(FUZZ_OUTPUT)/$$gate test/fuzz/corpus/$$gate || exit 1; done

# Fault-injection tests: every fault of the table in every node over DDS, judged by an observer; a table at the end.
# The network's in a process of its own: Fast DDS keeps the interfaces that a process has seen first.
faults drill: $(VENV)/development.stamp
	@for part in "-n $(WORKERS) --dist loadgroup test/drills/drill_all.py test/drills/drill_policies.py" \
	  test/drills/drill_network.py; do \
	  $(BIN)/pytest -v $$part $(if $(FAULTS),-k "$(FAULTS)"); code=$$?; \
	  [ $$code -eq 0 ] || [ $$code -eq 5 ] || failed=1; \
	done; [ -z "$$failed" ]

# An hour of simulated time, compressed, and ten minutes at 1 kHz: memory, and lost cycles beside a bare relay's.
soak: $(VENV)/development.stamp
	PYTHONPATH=test/harness $(BIN)/python test/drills/soak.py $(SOAK)

# A search or a measurement that takes minutes to hours: make sweep NAME=transports SWEEP="--seconds 600"
# One thread of linear algebra: several wait actively for each other, which takes most of the time on a busy computer.
sweep: $(VENV)/development.stamp
	@[ -f test/sweeps/$(NAME).py ] || { echo "make sweep NAME=... SWEEP=\"options\", with NAME one of:"; \
	  grep -l "^if __name__" test/sweeps/*.py | sed 's/.*\//  /; s/\.py$$//'; exit 2; }
	OPENBLAS_NUM_THREADS=1 PYTHONPATH=test/harness:test/drills $(BIN)/python test/sweeps/$(NAME).py $(SWEEP)

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || \
	  { echo "Python 3.10 or later is needed; choose one with: make PYTHON=python3.12"; exit 1; }
	@$(PYTHON) -m venv $(VENV) || $(PYTHON) -m virtualenv $(VENV) || \
	  { rm -rf $(VENV); echo "cannot make an environment: install the package python3-venv"; exit 1; }

$(VENV)/runtime.stamp: setup.py $(VENV)/bin/python
	@echo "installing into $(VENV): ROS 2, MuJoCo and plots, from PyPI (one to five minutes)"
	@command -v cc >/dev/null || command -v gcc >/dev/null || command -v clang >/dev/null || \
	  { echo "no C compiler on the PATH: installing ziglang from PyPI"; $(PIP) install ziglang; }
	@$(PIP) install -e '.[ros,simulation,plots,view,identification]'
	@$(BIN)/robot_dynamics build
	@touch $@

$(VENV)/report.stamp: setup.py $(VENV)/bin/python
	@echo "installing into $(VENV): what the report needs, from PyPI"
	@$(PIP) install -e '.[report]'
	@touch $@

$(VENV)/development.stamp: setup.py $(VENV)/runtime.stamp
	@$(PIP) install -e '.[test]'
	@touch $@

# Tests that have changed are compiled once, in two processes: each of the workers of a run would.
$(VENV)/compiled.stamp: $(VENV)/development.stamp $(shell find test -name '*.py')
	@$(BIN)/pytest --collect-only -q test/control >/dev/null & \
	$(BIN)/pytest --collect-only -q $(filter-out test/control,$(wildcard test/*/ test/test_*.py)) >/dev/null; wait
	@touch $@

$(VENV)/mutation.stamp: setup.py $(VENV)/development.stamp
	@$(PIP) install -e '.[mutation]'
	@touch $@

$(VENV)/docs.stamp: setup.py $(VENV)/runtime.stamp
	@$(PIP) install -e '.[docs]'
	@touch $@

clean:
	rm -rf $(VENV) build install log $(DEMO_OUTPUT) $(FUZZ_OUTPUT) $(REPORT_OUTPUT) $(DOCS_OUTPUT)
