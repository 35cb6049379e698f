# Every target installs into .venv the extra of pyproject.toml that it needs, where that is
# missing or older than pyproject.toml. That of the demo is part of that of the tests.
PYTHON ?= python3
BIN := .venv/bin
WORKERS ?= 2
MINUTES ?= 10
# a checkout of github.com/data-apis/array-api-tests, with its submodule
SUITE ?= ../array-api-tests
# What changes most, and one law over the operations that most programs are made of.
QUICK := tests/core tests/transforms tests/tree tests/budgets.py tests/operations/test_laws.py
QUICK_ROWS := arithmetic or broadcasting or contraction or reductions or selection \
	or slicing or transcendental or transposing
QUICK_LAW := jit_changes_nothing and not window and not c128 and ($(QUICK_ROWS))
# Not what starts a process that searches all of its objects, or a notebook, nor what
# imports a peer.
QUICK_WITHOUT := --ignore=tests/core/test_leaks.py --ignore=tests/core/html/test_notebooks.py
QUICK_PEERS := that_of_jax or as_in_the_field or those_of_the_field

.PHONY: demo test quick fuzz mutation ecosystem array-api check format bench docs docs-look clean

demo: .venv/ready-demo   ## train a classifier and write report.html
	$(BIN)/covector demo

test: .venv/ready-dev    ## every test, warnings are errors
	$(BIN)/pytest -q -n $(WORKERS) --dist worksteal

quick: .venv/ready-dev   ## the core, transformations, trees, budgets, one law in float32
	$(BIN)/pytest -q -n $(WORKERS) --dist worksteal $(QUICK) $(QUICK_WITHOUT) \
		-k '(not test_laws or $(QUICK_LAW)) and not ($(QUICK_PEERS))'

fuzz: .venv/ready-dev    ## random samples of every public function, and random programs, MINUTES long
	$(BIN)/python -m tests.public --minutes $(MINUTES)

mutation: .venv/ready-dev ## plant faults, one by one, and see whether tests notice
	$(BIN)/python -m tests.mutation

ecosystem: .venv/ready-dev ## suites and programs of packages that import jax: the fast part
	$(BIN)/python -m tests.ecosystem.run --fast

array-api:               ## the suite of the array API standard, from a checkout, SUITE
	test -e .venv-array-api || $(PYTHON) -m venv .venv-array-api
	.venv-array-api/bin/pip install -q -e . pytest-xdist -r $(SUITE)/requirements.txt
	cd $(SUITE) && COVECTOR_ENABLE_X64=1 ARRAY_API_TESTS_MODULE=covector.numpy \
		$(CURDIR)/.venv-array-api/bin/pytest -q -n $(WORKERS) array_api_tests \
		--disable-deadline --xfails-file $(CURDIR)/tests/numpy/array_api_xfails.txt

check: .venv/ready-dev   ## format, lint, types, imports
	$(BIN)/ruff format --check . && $(BIN)/ruff check . && $(BIN)/pyright && $(BIN)/lint-imports

format: .venv/ready-dev  ## rewrite the code in the house format
	$(BIN)/ruff format . && $(BIN)/ruff check --fix .

bench: .venv/ready-bench ## covector beside its peers; writes benchmarks/results.md
	$(BIN)/python -m benchmarks

docs: .venv/ready-docs   ## the documentation as a site in dist/site
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

docs-look: docs          ## … read in chromium, at 400 and 1280 pixels: is a line cut?
	$(BIN)/python -m website.look

clean:                   ## forget everything that was built
	rm -rf .venv .venv-array-api dist report.html report-step.html .hypothesis .pytest_cache .ruff_cache .import_linter_cache

.venv/ready-%: pyproject.toml | .venv/pyvenv.cfg
	$(BIN)/pip install -q -e '.[$*]' && touch $@

.venv/pyvenv.cfg:
	$(PYTHON) -m venv .venv
