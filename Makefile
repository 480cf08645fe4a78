# make                 prepare this machine (does nothing if it is prepared)
# make run             run the nightly DAG on examples/ into an embedded Qdrant
# make test            lint, type-check and test
# make test-fuzz       2,000 damaged files through the whole pipeline (ten minutes)
# make test-corpus     every file of the corpus through the whole pipeline (half an hour)
# make test-versions   50 kills of a run and of a backfill, more examples in time (an hour)
# make bench-extract   measure extraction and OCR on a corpus (two minutes with ARGS=--quick)
# make bench-nightly   measure a night in which nothing changed (a quarter of a minute)
# make bench-sources   measure listing CRM exports of growing size (two minutes)
# make bench-gate      measure the gate beside one pass, in batches and in a run (ten minutes)
# make bench-versions  count the chunks that one changed clause makes new (two minutes)
# make bench-dashboard measure each page over two years of nights (three minutes)
# make dashboard-pictures  make the pictures of docs/dashboard.md anew (needs Chromium)
# make lock            resolve the dependencies anew (needs uv)

.DEFAULT_GOAL := setup
.PHONY: setup run test test-fuzz test-corpus test-versions lint bench-extract bench-nightly bench-sources bench-gate \
	bench-versions bench-dashboard dashboard-pictures lock clean

VENV := .venv/bin

setup: .venv/ready

.venv/ready: requirements.lock pyproject.toml scripts/setup.sh
	@bash scripts/setup.sh

run: setup
	@$(VENV)/muniment run --airflow

test: lint
	@bash scripts/browser.sh
	@$(VENV)/python -m pytest -n logical --dist loadfile --no-loadscope-reorder

test-fuzz: setup
	@MUNIMENT_TEST_FUZZ_FILES=2000 $(VENV)/python -m pytest tests/fuzz

test-corpus: setup
	@MUNIMENT_TEST_WHOLE_CORPUS=1 $(VENV)/python -m pytest tests/corpus -s

test-versions: setup
	@MUNIMENT_TEST_KILLS=50 MUNIMENT_TEST_EXAMPLES=120 MUNIMENT_TEST_ROUNDS=10 \
		$(VENV)/python -m pytest tests/test_together.py tests/test_crash.py \
		tests/test_backfill_kills.py tests/test_contract_orders.py \
		tests/catalog/test_versions_machine.py

lint: setup
	@$(VENV)/ruff format --check .
	@$(VENV)/ruff check .
	@$(VENV)/mypy

bench-extract: setup
	@$(VENV)/python -m benchmarks.extract $(ARGS)

bench-nightly: setup
	@$(VENV)/python -m benchmarks.nightly $(ARGS)

bench-sources: setup
	@$(VENV)/python -m benchmarks.sources $(ARGS)

bench-gate: setup
	@$(VENV)/python -m benchmarks.gate $(ARGS)

bench-versions: setup
	@$(VENV)/python -m benchmarks.versions $(ARGS)

bench-dashboard: setup
	@$(VENV)/python -m benchmarks.dashboard $(ARGS)

dashboard-pictures: setup
	@$(VENV)/python scripts/dashboard_screenshots.py

lock:
	uv pip compile pyproject.toml --extra dev --universal --python-version 3.11 \
		--no-annotate --no-header --no-emit-index-url -o requirements.lock

clean:
	rm -rf .venv .muniment
