# Everything a newcomer types. Needs Python 3.11 or newer (with venv), make and git; nothing else is assumed.
PYTHON ?= python3
BIN := .venv/bin
# A project per cloud and scheduler, such as aws-slurm; each has its own tests, type check and style check.
PROJECTS := $(subst /,-,$(foreach base,$(wildcard stacks/*/base),$(patsubst stacks/%,%,$(wildcard $(base:base=slurm) $(base:base=kubernetes)))))
STACKS_PYTHON := $(CURDIR)/.venv-stacks/bin/python
# Modules are compiled when they are first imported; most of a cloud's SDK never is.
INSTALL := -m pip install -q --disable-pip-version-check --no-compile

.DELETE_ON_ERROR:
.PHONY: demo docs reference release test test-package test-stacks test-projects engine mutants mutants-fresh-sample mutants-drawn-anew coverage check check-python check-sql check-schemas check-wheel environments schema constraints constraints-stacks clean stacks-matrix every-fault $(PROJECTS:%=test-%) $(PROJECTS:%=check-%) $(PROJECTS:%=example-%)

demo: .venv/installed ## size, price and write everything for the shipped blueprint
	$(BIN)/clusterwright build blueprints/train-gpt3-175b.yaml -o out
	@echo
	@echo "Open out/tco/report.html in a browser; out/README.md says what the rest is."

docs: .venv/installed .venv-docs/installed ## build the documentation site in build/site, and the same as build/clusterwright-docs.zip for reading offline
	$(BIN)/python -m clusterwright.documentation.site build/site-source
	NO_MKDOCS_2_WARNING=1 .venv-docs/bin/mkdocs build --strict
	cd build && rm -f clusterwright-docs.zip && $(CURDIR)/$(BIN)/python -m zipfile -c clusterwright-docs.zip site
	@echo "Open build/site/index.html in a browser."

reference: .venv/installed ## write the pages of docs/reference, which are generated from the program
	$(BIN)/python -m clusterwright.documentation

engine: ## build Pulumi and the API server of Kubernetes, which the tests drive; needs Go 1.25 or newer
	tests/engines/pulumi/build.sh
	tests/engines/kubernetes/build.sh

# Tracing by the interpreter's own monitoring (Python 3.12 and newer) costs little; the older way took 37 to 51 % of a
# test's time, so that there coverage has a target of its own.
HAS_MONITORING := $(shell $(PYTHON) -c 'import sys; print("yes" if hasattr(sys, "monitoring") else "")')

# Tests that drive an engine wait for it half of their time: four workers fill two cores.
PACKAGE_TESTS := -m pytest -q -n 4 --dist worksteal --ignore=tests/stacks

test: environments ## install what the tests need, run them all
	$(MAKE) --no-print-directory test-package
	$(MAKE) --no-print-directory test-stacks
	$(MAKE) --no-print-directory test-projects

test-package: environments ## the tests of the package, and of what it writes with the real engines
	$(if $(HAS_MONITORING),$(MAKE) --no-print-directory coverage,$(BIN)/python $(PACKAGE_TESTS))

test-stacks: environments ## the tests of the Pulumi programs; not traced, since they run in other processes
	$(BIN)/python -m pytest -q -n 2 --dist loadgroup tests/stacks

test-projects: environments ## the tests that users of generated projects run
	$(MAKE) --no-print-directory -j2 --output-sync=target $(PROJECTS:%=test-%)

# Apart from `test`: an hour and more. Outcomes stay in benchmarks/mutants.csv, and the next run goes on from there.
mutants: environments ## plant mistakes, and see which of them the tests notice (docs/evidence/mutants.md)
	$(BIN)/python benchmarks/mutants.py index
	$(BIN)/python benchmarks/mutants.py run
	$(BIN)/python benchmarks/mutants.py report

mutants-fresh-sample: .venv-mutants/installed ## sample other mutants of today's code, without outcomes
	.venv-mutants/bin/python benchmarks/mutants.py sample
mutants-drawn-anew: mutants-fresh-sample # its former name

coverage: environments ## the tests of the package once more, with the lines that none of them runs; at least 90 % must be run
	$(BIN)/coverage erase
	$(if $(HAS_MONITORING),COVERAGE_CORE=sysmon) $(BIN)/coverage run $(PACKAGE_TESTS)
	$(BIN)/coverage combine -q
	$(BIN)/coverage report --skip-covered

# The user's own tests of a generated project, in a process of their own: module names repeat between clouds.
$(PROJECTS:%=test-%): test-%: example-%
	cd build/examples/$* && $(STACKS_PYTHON) -m pytest -q

# Type check, style and shell of a generated project, with the project's own settings.
$(PROJECTS:%=check-%): check-%: example-%
	cd build/examples/$* && $(CURDIR)/.venv-stacks/bin/basedpyright --pythonpath $(STACKS_PYTHON)
	cd build/examples/$* && $(CURDIR)/.venv-stacks/bin/basedpyright --pythonpath $(CURDIR)/.venv-policy/bin/python policy/__main__.py
	cd build/examples/$* && $(CURDIR)/$(BIN)/ruff check && $(CURDIR)/$(BIN)/ruff format --check
	cd build/examples/$* && find . -name '*.sh' -exec $(CURDIR)/$(BIN)/shellcheck {} +
	$(BIN)/check-jsonschema --builtin-schema vendor.github-workflows build/examples/$*/.github/workflows/*.yml

$(PROJECTS:%=example-%): example-%: .venv/installed-dev .venv-stacks/installed .venv-policy/installed
	rm -rf build/examples/$*
	$(BIN)/python -m clusterwright.outputs.project.example $(subst -, ,$*) build/examples/$*

stacks-matrix: .venv/installed-dev .venv-stacks/installed ## prove the stacks at every size up to 2,048 nodes; takes its time
	CLUSTERWRIGHT_FULL_MATRIX=1 $(BIN)/python -m pytest -q tests/stacks/test_matrix.py tests/stacks/test_mutations.py tests/stacks/test_planted.py \
		tests/stacks/test_documented.py

every-fault: environments ## plant every fault of the lists that `make test` samples
	CLUSTERWRIGHT_FULL_MATRIX=1 $(BIN)/python -m pytest -q -n 4 --dist worksteal tests/checks

check: .venv/installed-dev .venv-stacks/installed .venv-policy/installed ## guards that need no test: style, types, layers, SQL, packaging
	$(MAKE) --no-print-directory -j2 --output-sync=target check-wheel check-sql $(PROJECTS:%=check-%) check-python check-schemas

check-python: .venv/installed-dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/mypy --config-file tests/mypy.ini
	$(BIN)/lint-imports
	$(BIN)/shellcheck --external-sources --source-path=SCRIPTDIR templates/node/*.sh templates/nvlink/*.sh templates/launch/*.sh \
		clusterwright/checks/preflight/trials/*.sh \
		tests/engines/*.sh tests/engines/*/*.sh .ci/run

check-sql: .venv/installed-dev
	$(BIN)/sqlfluff lint pricing tco

check-schemas: .venv/installed-dev
	$(BIN)/clusterwright schema | diff -u blueprints/blueprint.schema.json -
	$(BIN)/clusterwright schema plan | diff -u docs/plan.schema.json -
	$(BIN)/check-jsonschema --schemafile blueprints/blueprint.schema.json blueprints/*.yaml
	$(BIN)/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.dependabot .github/dependabot.yml

check-wheel: .venv/installed-dev
	$(BIN)/python tests/packaging/check_wheel.py

schema: .venv/installed ## write the generated JSON Schemas
	$(BIN)/clusterwright schema > blueprints/blueprint.schema.json
	$(BIN)/clusterwright schema plan > docs/plan.schema.json

constraints: .venv/installed-dev ## resolve exact versions again (review the diff)
	$(RESOLVE) pyproject.toml -o constraints.txt
	sed -i '1i # Exact versions for users (.venv), and the hashes of their files. Resolve again: make constraints' constraints.txt
	$(RESOLVE) -c constraints.txt --group dev pyproject.toml -o constraints-dev.txt
	sed -i '1i # The same with what tests and checks need.' constraints-dev.txt
	$(RESOLVE) -c constraints-dev.txt --extra web --extra mcp pyproject.toml -o constraints-web.txt
	sed -i '1i # Exact versions for the planner in the browser and for assistants (extras web and mcp), and the hashes of their files. Resolve again: make constraints' constraints-web.txt
	echo cyclonedx-bom | $(RESOLVE) - -o constraints-release.txt
	sed -i '1i # Exact versions for the environment that writes the list of components of a release (.venv-release). Resolve again: make constraints' constraints-release.txt
	echo mkdocs-material | $(RESOLVE) - -o constraints-docs.txt
	sed -i '1i # Exact versions for the environment that builds the documentation site (.venv-docs). Resolve again: make constraints' constraints-docs.txt
	echo cosmic-ray | $(RESOLVE) - -o constraints-mutants.txt
	sed -i '1i # Exact versions for the environment that draws mutants (.venv-mutants). Resolve again: make constraints' constraints-mutants.txt
	$(MAKE) --no-print-directory constraints-stacks

# The stacks' environment first; each cloud's project then gets those of its versions that it needs.
RESOLVE := $(BIN)/uv pip compile --universal --python-version 3.11 --generate-hashes --no-header --no-annotate --no-emit-index-url
STACKS_WANT = cat $(1) | grep -vE '^(-e|\#)'
constraints-stacks: .venv/installed-dev
	$(call STACKS_WANT,stacks/every_cloud/requirements*.txt stacks/kubernetes/requirements.txt stacks/*/base/requirements.txt stacks/requirements-dev.txt) \
		| $(RESOLVE) - -o constraints-stacks.txt
	sed -i '1i # Exact versions for the environment of the Pulumi stacks (.venv-stacks). Resolve again: make constraints-stacks' constraints-stacks.txt
	for cloud in aws azure gcp; do \
		want="stacks/every_cloud/requirements.txt stacks/kubernetes/requirements.txt stacks/$$cloud/base/requirements.txt"; \
		cat $$want | $(RESOLVE) -c constraints-stacks.txt - -o stacks/$$cloud/base/constraints.txt || exit 1; \
		cat $$want stacks/every_cloud/requirements-dev.txt | $(RESOLVE) -c constraints-stacks.txt - \
			-o stacks/$$cloud/base/constraints-dev.txt || exit 1; \
		sed -i '1i # Exact versions that this project was tested with, and the hashes of their files: uv pip compile --generate-hashes' \
			stacks/$$cloud/base/constraints*.txt; \
	done
	printf 'aws-parallelcluster\nskypilot\n' | $(RESOLVE) - -o constraints-exports.txt
	sed -i '1i # Exact versions for the environment of the tools that plans are exported to (.venv-exports). Resolve again: make constraints-stacks' constraints-exports.txt
	$(RESOLVE) stacks/every_cloud/policy/requirements.txt -o stacks/every_cloud/policy/constraints.txt
	sed -i '1i # Exact versions that this policy pack was tested with, and the hashes of their files.' stacks/every_cloud/policy/constraints.txt

# The distributions, what they were tested with (CycloneDX), and the hash of each file.
release: .venv/installed-dev .venv-release/installed ## build what a release consists of, in dist/
	rm -rf dist
	$(BIN)/python -m build
	.venv-release/bin/cyclonedx-py requirements --pyproject pyproject.toml --output-reproducible --validate \
		-o dist/clusterwright.cdx.json constraints.txt
	cd dist && sha256sum * > SHA256SUMS

clean: ## remove everything that these targets made
	rm -rf .venv .venv-stacks .venv-policy .venv-exports .venv-docs .venv-mutants .venv-release out dist build

environments: .venv/installed-dev .venv-stacks/installed .venv-policy/installed .venv-exports/installed .venv-docs/installed ## everything that checks and tests need

.venv/bin/python:
	$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "Clusterwright needs Python 3.11 or newer; set PYTHON=...")'
	$(PYTHON) -m venv .venv
	$(BIN)/python $(INSTALL) "pip>=25.1"

.venv/installed: pyproject.toml constraints.txt | .venv/bin/python
	$(BIN)/python $(INSTALL) --require-hashes -r constraints.txt
	$(BIN)/python $(INSTALL) --no-deps -e .
	touch $@

.venv/installed-dev: pyproject.toml constraints-dev.txt | .venv/bin/python
	$(BIN)/python $(INSTALL) --require-hashes -r constraints-dev.txt
	$(BIN)/python $(INSTALL) --no-deps -e .
	touch $@ .venv/installed

.venv-stacks/installed: constraints-stacks.txt
	$(PYTHON) -m venv .venv-stacks
	.venv-stacks/bin/python $(INSTALL) --require-hashes -r constraints-stacks.txt
	touch $@

# Cosmic Ray applies the operators; its libraries stay apart from those of the package.
.venv-mutants/installed: constraints-mutants.txt
	$(PYTHON) -m venv .venv-mutants
	.venv-mutants/bin/python $(INSTALL) --require-hashes -r constraints-mutants.txt
	touch $@

.venv-policy/installed: stacks/every_cloud/policy/constraints.txt
	$(PYTHON) -m venv .venv-policy
	.venv-policy/bin/python $(INSTALL) --require-hashes -r $<
	touch $@

.venv-release/installed: constraints-release.txt
	$(PYTHON) -m venv .venv-release
	.venv-release/bin/python $(INSTALL) --require-hashes -r constraints-release.txt
	touch $@

.venv-docs/installed: constraints-docs.txt
	$(PYTHON) -m venv .venv-docs
	.venv-docs/bin/python $(INSTALL) --require-hashes -r constraints-docs.txt
	touch $@

# AWS ParallelCluster, SkyPilot and the API schemas of Kubernetes, which read what is written for them.
.venv-exports/installed: constraints-exports.txt
	$(PYTHON) -m venv .venv-exports
	.venv-exports/bin/python $(INSTALL) --require-hashes -r constraints-exports.txt
	touch $@
