# `make demo` and `make test` do all set-up themselves and are safe to repeat.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
CHECKED := setup.py src tests examples scripts/as_fast scripts/convert_settings scripts/cuda_kernels scripts/levels \
	scripts/moving_picture scripts/settings_page scripts/unchanged

CHECKED += scripts/commands scripts/field_comments.py scripts/hostile scripts/seal scripts/soak

.PHONY: demo test commands hostile soak check docs setup lock clean cuda-kernels

demo: setup
	$(BIN)/ssr demo

test: setup
	$(BIN)/python -m pytest -n 2 --dist loadfile

# Minutes: every command that README and docs show, shortened; says which it does not run and why.
commands: setup
	$(BIN)/python scripts/commands

hostile: setup
	$(BIN)/python scripts/hostile

soak: setup
	$(BIN)/python scripts/soak

check: setup
	$(BIN)/ruff check $(CHECKED)
	$(BIN)/ruff format --check $(CHECKED)
	$(BIN)/mypy

# The site, in out/site; strict: a broken link or a missing picture fails.
docs: setup
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

setup: $(STAMP)

$(STAMP): pyproject.toml requirements.lock scripts/setup
	@PYTHON=$(PYTHON) VENV=$(VENV) sh scripts/setup
	@touch $@

# Minutes: compiles every kernel for GPUs that need not be here, and lists them.
cuda-kernels: setup
	$(BIN)/python scripts/cuda_kernels

lock: setup
	sh scripts/lock $(BIN)/python > requirements.lock.new && mv requirements.lock.new requirements.lock

clean:
	rm -rf $(VENV) out
