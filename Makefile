# One word a job. `make run` serves Revelio on http://127.0.0.1:8000; `make test` checks it.
.PHONY: help run install test test-stack test-hostile test-foreign check gate audit sbom docs release image installs stack bench model reference recording screenshots strings lock
APP ?= shop
STACK ?= stack
WORKERS ?= 2
BIN := .venv/bin

help: ## these lines
	@sed -n 's/^\([a-z-]*\):.*## /make \1\t/p' Makefile

run: .venv/.run ## the web page and API with the recorded incidents on http://127.0.0.1:8000
	$(BIN)/revelio serve --demo

install: .venv/.dev ## everything for development, torch included

test: .venv/.dev ## every test that needs no Docker engine, on WORKERS processors (by default 2)
	$(BIN)/pytest -m "not stack" -n $(WORKERS) --dist loadfile

test-stack: .venv/.dev ## the tests against the real stack
	$(BIN)/pytest -m "$(STACK)"

test-hostile: .venv/.dev ## attack real servers on loopback for half an hour, and print what came of it
	$(BIN)/pytest tests/tools/test_injection.py
	$(BIN)/pytest -m hostile tests/hostile
	$(BIN)/python -m tests.hostile.page

test-foreign: .venv/.dev ## applications by others with their own exporters, read with no settings; FOREIGN=whole breaks them too, for hours
	$(BIN)/pytest -m foreign -s tests/foreign tests/test_kubernetes.py

check: .venv/.dev ## format, lint, types, import contracts
	$(BIN)/ruff format --check . && $(BIN)/ruff check . && $(BIN)/mypy && $(BIN)/lint-imports
	cd testbed && ../$(BIN)/mypy --config-file ../pyproject.toml --explicit-package-bases kit apps

audit: .venv/.dev ## ask the advisory service, or an archive of it (ADVISORIES=all.zip), about every locked dependency; says so where there is none
	$(BIN)/python .ci/audit.py requirements/dev.txt

sbom: .venv/.dev ## write var/sbom.json: what a release is made of, in CycloneDX, from the lock file
	mkdir -p var && $(BIN)/python .ci/bill_of_materials.py requirements/run.txt > var/sbom.json

docs: .venv/.dev ## the documentation site in var/site, with warnings as errors
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet

release: .venv/.dev ## dist/: wheel, source distribution, Kubernetes manifests, documentation, bill of materials and checksums
	NO_MKDOCS_2_WARNING=1 $(BIN)/python .ci/release.py

image: .venv/.stack ## the product's container image, revelio:dev, also where no image registry can be reached
	$(BIN)/python -m testbed.images
	docker build --build-arg PYTHON=python:3.11-slim --tag revelio:dev .

installs: .venv/.dev ## install along every path into empty environments, and print the time to a first answer
	$(BIN)/python .ci/install_paths.py

stack: .venv/.stack ## one application (APP=shop) with every backend, in Docker
	$(BIN)/revelio testbed up $(APP)

bench: .venv/.run ## speed and memory beside their limits
	$(BIN)/revelio bench

model: .venv/.dev ## train the bundled model again on the dataset of the repository, and measure it (an hour on two cores)
	$(BIN)/revelio train --dataset data/three_apps --out var/model --encoder revelio/bundled/model
	cd var/model && cp *.json *.md *.onnx *.safetensors ../../revelio/bundled/model
	$(BIN)/revelio models replay-set --dataset data/three_apps --out revelio/bundled/replay_set
	$(BIN)/revelio eval --model revelio/bundled/model --baselines --ablations --runs --json > var/evaluation.json
	$(BIN)/python -c "import json; found = json.load(open('var/evaluation.json')) | {'missed': []}; \
	  json.dump(found, open('revelio/bundled/model/evaluation.json', 'w'), separators=(',', ':'))"
	$(BIN)/revelio eval --model revelio/bundled/model --listening --json > revelio/bundled/model/listening.json
	$(MAKE) reference recording

gate: .venv/.dev ## score the bundled model again, and fail where a figure fell by more than .02
	$(BIN)/revelio eval --gate revelio/bundled/model/evaluation.json
	$(BIN)/revelio eval --listening --gate revelio/bundled/model/listening.json

reference: .venv/.run ## write docs/reference from the program itself
	$(BIN)/python -m revelio.cli.reference

recording: .venv/.run ## type the session of docs/terminal again, with the model and incidents that are there now
	$(BIN)/python -m revelio.cli.recording

screenshots: .venv/.dev ## take the README's pictures again, and all pages to var/screenshots
	$(BIN)/python -m revelio.cli.screenshots
	$(BIN)/python .ci/decision_picture.py

strings: .venv/.run ## collect the page's messages into webui/translations/messages.pot, and merge them into every catalog
	$(BIN)/pybabel --quiet extract --mapping babel.cfg --keyword gettext_noop --add-location file --omit-header --no-wrap \
	  --sort-output --output webui/translations/messages.pot .
	for catalog in webui/translations/*/LC_MESSAGES/messages.po; do [ ! -f "$$catalog" ] || \
	  $(BIN)/pybabel update --no-wrap --input-file webui/translations/messages.pot --output-file "$$catalog" \
	  --locale "$$(basename "$$(dirname "$$(dirname "$$catalog")")")"; done

lock: .venv/.run ## resolve the locked requirements again
	.ci/lock

.venv/.run: requirements/build.txt requirements/run.txt pyproject.toml
	.ci/setup run

.venv/.stack: requirements/build.txt requirements/stack.txt pyproject.toml
	.ci/setup stack

.venv/.dev: requirements/build.txt requirements/dev.txt pyproject.toml
	.ci/setup dev
