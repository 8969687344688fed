# Everything a person types. `make help` lists it; .ci/run calls the same targets.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.PHONY: help setup dev quick proxy gateway tools demo web claims test test-rust test-wasm test-arm test-web test-python test-loaded bench bench-grid agreement lint format docs campaigns dist clean

PYTHON_FILES := python tests bench scripts campaigns
# Crates that must run without an operating system; the web page is built from them.
PURE := gamelane-core gamelane-qdisc gamelane-link gamelane-stage gamelane-tcp gamelane-mux gamelane-traffic gamelane-scenario gamelane-record gamelane-sim

# Programs that need no C compiler for another processor.
ON_ROUTERS := gamelane-gateway gamelane-impair gamelane-live

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup:  ## make .venv with the gamelane command (what demo and test do first)
	@scripts/setup.sh

dev:
	@scripts/setup.sh dev

proxy: setup  ## the thin-stream proxy's program, beside the gamelane command
	cargo build --release --quiet -p gamelane-proxy
	install -m 755 "$${CARGO_TARGET_DIR:-target}/release/gamelane-proxy" .venv/bin/

gateway: setup  ## the gateway's program, beside the gamelane command
	cargo build --release --quiet -p gamelane-gateway
	install -m 755 "$${CARGO_TARGET_DIR:-target}/release/gamelane-gateway" .venv/bin/

tools: setup  ## the programs behind gamelane capture, impair, traffic, serve and measure, beside the gamelane command
	cargo build --release --quiet -p gamelane-live -p gamelane-impair -p gamelane-generator
	install -m 755 "$${CARGO_TARGET_DIR:-target}/release/gamelane-capture" .venv/bin/
	install -m 755 "$${CARGO_TARGET_DIR:-target}/release/gamelane-impair" .venv/bin/
	install -m 755 "$${CARGO_TARGET_DIR:-target}/release/gamelane-traffic" .venv/bin/

quick:
	@scripts/setup.sh quick

demo: quick  ## five queues against a game, an upload, web and video: table, report, figures in demo/
	@.venv/bin/gamelane run collom2016 --set 'gateway.*.limit=1000p' \
	    --compare 'gateway.*.queue=fifo,pie,codel,fq_pie,fq_codel' --variant 'fifo:gateway.*.limit=100p' \
	    --repeat 5 -o demo

web:  ## the playground, one page that opens from a disk: target/playground.html
	@scripts/web.sh

test: test-rust test-wasm test-arm test-web test-python  ## every test: Rust, the pure crates on wasm32, programs for ARM, the playground, Python

test-rust:
	scripts/test-rust.py

# checks TARGET for CRATES
checks = @if ! command -v rustup >/dev/null; then \
	    echo "skipped: crates on $(1), because rustup is missing" >&2; \
	    [ "$${CI:-}" != true ]; \
	elif ! rustup target add $(1) >/dev/null 2>&1; then \
	    echo "skipped: crates on $(1), because rustup cannot add the target" >&2; \
	    [ "$${CI:-}" != true ]; \
	else \
	    cargo check --quiet --target $(1) $(2:%=-p %); \
	fi

test-wasm:
	$(call checks,wasm32-unknown-unknown,$(PURE))

test-arm:
	$(call checks,aarch64-unknown-linux-musl,$(ON_ROUTERS))

test-web:
	@scripts/web.sh test

test-python: dev
	scripts/test-rust.py --build
	scripts/with-dev .venv/bin/python -m pytest -q -p tests.progress -n auto --dist loadfile --ignore tests/lab
	scripts/with-dev .venv/bin/python -m pytest -q -p tests.progress tests/lab

test-loaded:  ## every test beside four busy processes; says which failed
	scripts/loaded.sh

bench:  ## packets per CPU-second of the simulator, time per TCP segment
	cargo bench --workspace --benches

bench-grid: setup  ## the 1120 runs of collom2016's grid: wall time, CPU time, memory
	.venv/bin/python bench/grid.py

agreement: setup tools  ## the simulator beside Linux's TCP and queues, 471 cases; CASES='pie mix' for some
	.venv/bin/python -m bench.agreement $(if $(CASES),$(CASES),--page)

campaigns: proxy gateway tools  ## long searches for what breaks a program: SECONDS=600 for each, CAMPAIGN= for one
	@PATH="$$PWD/.venv/bin:$$PATH" .venv/bin/python -m campaigns --seconds $(or $(SECONDS),600) $(CAMPAIGN)

lint: dev  ## format check, clippy, ruff, mypy, licences of dependencies
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --all-features --quiet -- -D warnings
	.venv/bin/ruff format --check $(PYTHON_FILES)
	.venv/bin/ruff check $(PYTHON_FILES)
	.venv/bin/mypy
	scripts/test-rust.py --build
	MYPYPATH=python scripts/with-dev .venv/bin/python -m mypy.stubtest gamelane._native --ignore-disjoint-bases
	@if command -v cargo-deny >/dev/null; then \
	    cargo deny --log-level error check bans licenses sources; \
	else \
	    echo "skipped: licences of dependencies, because cargo-deny is missing (cargo install cargo-deny)" >&2; \
	    [ "$${CI:-}" != true ]; \
	fi

format: dev  ## format Rust and Python
	cargo fmt --all
	.venv/bin/ruff format $(PYTHON_FILES)
	.venv/bin/ruff check --fix $(PYTHON_FILES)

docs: setup  ## the Rust API pages, the scenario reference, the manual, and the figure of the README
	cargo doc --workspace --no-deps --all-features --quiet
	UPDATE=1 cargo test $(addprefix -p gamelane-,scenario record gateway live impair generator proxy) --all-features --quiet up_to_date
	.venv/bin/python -m gamelane.cli.manual packaging/wheel/data/share/man/man1
	@$(MAKE) --no-print-directory demo >/dev/null
	cp demo/figures/rtt-game.svg docs/img/five-queues.svg

claims: setup  ## judges the claims of the papers again and writes docs/claims/ledger: some five minutes
	.venv/bin/python scripts/claims.py $(PAPER)

dist:  ## what people install, in dist/: wheels and static programs; ARCH=x86_64 or aarch64 for one of them
	scripts/dist.py $(ARCH:%=--arch %)

clean:  ## remove what the targets above make
	rm -rf .venv demo dist out target .pytest_cache .mypy_cache .ruff_cache .hypothesis python/gamelane/_native*.so
