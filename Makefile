# `make demo` and `make test` do all set-up themselves and are safe to repeat.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
CHECKED := setup.py src tests examples scripts/convert_settings scripts/levels scripts/unchanged \
	scripts/cuda_kernels

.PHONY: demo test check setup lock clean cuda-kernels

demo: setup
	$(BIN)/ssr demo

test: setup
	$(BIN)/python -m pytest -n 2 --dist loadfile

check: setup
	$(BIN)/ruff check $(CHECKED)
	$(BIN)/ruff format --check $(CHECKED)
	$(BIN)/mypy

setup: $(STAMP)

$(STAMP): pyproject.toml requirements.lock scripts/setup
	PYTHON=$(PYTHON) VENV=$(VENV) sh scripts/setup
	@touch $@

# Minutes: compiles every kernel for GPUs that need not be here, and lists them.
cuda-kernels: setup
	$(BIN)/python scripts/cuda_kernels

lock: setup
	sh scripts/lock $(BIN)/python > requirements.lock.new && mv requirements.lock.new requirements.lock

clean:
	rm -rf $(VENV) out
