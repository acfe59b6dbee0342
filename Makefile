# SPDX-License-Identifier: Apache-2.0
# `make run` and `make test` are the goals for newcomers. Other goals serve these two. `make help` lists the goals.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

BIN := build/release/bin/penumbra
BENCH := build/release/bin/penumbra-bench
VENV := build/venv
REPORT := $(VENV)/bin/python tools/report
JOBS ?= $(shell nproc)
# Each fuzzer runs for this number of seconds.
FUZZ_SECONDS ?= 60
# All measurements together may take this time. Existing results of this build are not measured again.
BENCH_BUDGET ?= 14m
CTEST := ctest --output-on-failure --no-tests=error
# A unit test that fails runs once more, and passes if it failed because of the load. With ThreadSanitizer nothing runs
# again, because a race does not show in each run.
CTEST_UNIT := $(CTEST) --repeat until-pass:2 -j $(JOBS) -L unit
# The number of concurrent system tests exceeds the number of cores by two, because most tests wait.
PYTEST = $(VENV)/bin/python -m pytest tests -q
PYTEST_ABREAST = $(PYTEST) -n $$(( $(JOBS) + 2 )) --dist worksteal --durations 15 --durations-min 5
# The system tests of a sanitizer's build run this program.
PENUMBRA_ASAN := build/asan/bin/penumbra
PENUMBRA_TSAN := build/tsan/bin/penumbra

.PHONY: help
help: ## this list; times are rough, for 2 cores; sanitizers, fuzz and lint build first
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: setup-build setup-test setup-lint setup-bench setup-deb setup-ovs
setup-build setup-test setup-lint setup-bench setup-deb setup-service setup-ovs: setup-%:
	@tools/setup $(sort build $*)

# $(call build,PRESET,TARGETS) configures once, and again when CUDA's compiler was installed or removed. Then it builds
# the targets that have changed.
define build
	@{ test -f build/$(1)/build.ninja && \
	  grep -Fqx "PENUMBRA_NVCC:INTERNAL=$$(tools/find-nvcc 2>/dev/null)" build/$(1)/CMakeCache.txt; } || \
	  cmake --preset $(1) >build/$(1).log 2>&1 || { cat build/$(1).log; exit 1; }
	@cmake --build build/$(1) -j $(JOBS) --target $(2)
endef

# $(call test_system,PROGRAM,OPTIONS) runs system tests with a program. Failed tests run again, one by one. A test that
# passes then has failed because of the load.
define test_system
	@export PENUMBRA_BIN=$(1); $(PYTEST_ABREAST) $(2) || { status=$$?; [ $$status = 1 ] || exit $$status; \
	  echo "== The tests that failed run again, one by one"; \
	  $(PYTEST) --last-failed --last-failed-no-failures none --maxfail 3 $(2); }
endef

build/.exists:
	@mkdir -p build && touch $@

.PHONY: build
build: setup-build build/.exists ## the programs, in build/release/bin (4 minutes the first time, then seconds)
	$(call build,release,programs)

# The following goal runs the main job.

RUN := build/run
.PHONY: run
run: build ## the main job: a full IPv4 table, traffic from capture to capture, all checked (15 seconds)
	@tools/main-job $(BIN) $(RUN)

# The following goals run tests.

# pip installs the packages of the system tests and of reports, and a clang-tidy that skips system headers and is twice as
# fast as Debian's.
$(VENV)/.ready: tests/requirements.txt tools/report/requirements.txt
$(VENV)/.report: tools/report/requirements.txt
$(VENV)/.tidy: tools/requirements.txt
$(VENV)/.ovs: integrations/openvswitch/requirements.txt
$(VENV)/.ready $(VENV)/.report $(VENV)/.tidy $(VENV)/.ovs:
	@echo "Installing the Python packages of $< into $(VENV)"
	@/usr/bin/python3 -m venv $(VENV)
	@$(VENV)/bin/pip install -q --disable-pip-version-check -r $<
	@touch $@
# faucet needs another version of os-ken.
$(VENV)-faucet/.ready: integrations/openvswitch/faucet-requirements.txt
	@echo "Installing faucet and the Python packages of $< into $(VENV)-faucet"
	@/usr/bin/python3 -m venv $(VENV)-faucet
	@$(VENV)-faucet/bin/pip install -q --disable-pip-version-check -r $<
	@$(VENV)-faucet/bin/pip install -q --disable-pip-version-check --no-deps faucet==1.10.12
	@touch $@

.PHONY: test
test: setup-test build/.exists $(VENV)/.ready ## all tests: unit tests, then system tests (6 minutes and the build)
	$(call build,release,all)
	@cd build/release && $(CTEST_UNIT)
	$(call test_system,$(BIN))

# Without a GPU, the folder is created too, for a machine that has one.
.PHONY: test-gpu
test-gpu: setup-test build ## the engines' tests on this machine's GPU; without one: a folder of them for a machine that has one
	$(call build,release,shader_tests)
	@tools/pack-gpu-tests build/release build/gpu
	@if compgen -G '/dev/nvidia[0-9]*' >/dev/null; then \
	  bash build/gpu/run build/gpu-logs; \
	else \
	  echo "There is no GPU here (/dev/nvidia0). Copy build/gpu to a machine that has one, with NVIDIA's driver 580 or newer"; \
	  echo "and glibc 2.36 or newer, and run there: bash gpu/run LOG_FOLDER"; \
	fi

# The following builds use the gopt compiler of the release build.
.PHONY: asan asan-all
asan: setup-test build $(VENV)/.ready ## with AddressSanitizer and UndefinedBehaviorSanitizer: unit tests, system tests without peers
	$(call build,asan,all)
	@cd build/asan && $(CTEST_UNIT)
	$(call test_system,$(PENUMBRA_ASAN),-m "not peers and not release_only")

asan-all: asan ## as asan, and the system tests with peers
	$(call test_system,$(PENUMBRA_ASAN),-m "peers and not release_only")

.PHONY: tsan tsan-threads
tsan-threads: setup-test build ## the unit tests in which threads share data, with ThreadSanitizer
	$(call build,tsan,threaded_tests)
	@cd build/tsan && $(CTEST) -j $$(( $(JOBS) + 1 )) -L threads

tsan: setup-test build $(VENV)/.ready ## all tests with ThreadSanitizer
	$(call build,tsan,unit_tests penumbra_cli)
	@cd build/tsan && $(CTEST) -j $(JOBS) -L unit
	$(call test_system,$(PENUMBRA_TSAN),-m "not release_only")

# Three fuzzers run on each core at a time, because the clock ends each of them.
.PHONY: fuzz
fuzz: setup-test build ## each fuzzer for FUZZ_SECONDS (60)
	$(call build,asan,fuzzers)
	@cmake -DPENUMBRA_FUZZ_SECONDS=$(FUZZ_SECONDS) build/asan >/dev/null
	@cd build/asan && $(CTEST) -j $$(( 3 * $(JOBS) )) -L fuzz

# The following goals measure, package and check.

.PHONY: bench
bench: setup-bench build $(VENV)/.report ## every measurement of this machine and a report of them in build/bench (15 minutes)
	@mkdir -p build/bench
	@status=0; results=build/bench/$$($(BIN) --version | cksum | cut -d ' ' -f 1).json; \
	$(BENCH) all --budget $(BENCH_BUDGET) -o $$results || status=$$?; \
	$(REPORT) $$results -o build/bench/report.html; \
	if [ $$status = 4 ]; then echo "Some bars are missed here: the report says which."; else exit $$status; fi

.PHONY: bench-gpu
bench-gpu: build ## this machine's GPU and the engines on it (9 minutes); without one: a folder to measure with elsewhere
	@tools/pack-gpu-bench build/release build/gpu-bench
	@if compgen -G '/dev/nvidia[0-9]*' >/dev/null; then bash build/gpu-bench/run --budget 9m -o build/gpu-bench/results.json; fi

# These are documents, or folders of them.
RESULTS ?= bench/results
.PHONY: report
report: setup-bench $(VENV)/.report ## docs/report of the kept results; RESULTS="FOLDER FOLDER" compares two in build/report.html
ifeq ($(RESULTS),bench/results)
	@rm -rf docs/report/plots
	@$(REPORT) $(RESULTS) -o docs/report/index.html --plots docs/report/plots
else
	@$(REPORT) $(RESULTS) -o build/report.html $(if $(word 2,$(RESULTS)),--agreement)
endif

.PHONY: bundle
bundle: build ## a stripped, relocatable tarball in build/bundle
	@tools/bundle build/release build/bundle

.PHONY: deb
deb: setup-deb build ## a Debian package in build/deb, with a service of systemd
	@cd build/release && cpack --config CPackConfig.cmake >build.log 2>&1 || { cat build.log; exit 1; }
	@ls build/deb/*.deb

.PHONY: test-upgrade
test-upgrade: deb ## upgrades from a package with the scripts and files of the commit before, in a throw-away copy of this machine (root; seconds)
	@tools/test-upgrade $$(ls -t build/deb/*.deb | head -n 1)

.PHONY: test-full-table
test-full-table: setup-test build $(VENV)/.ready ## a full BGP table through FRR while traffic flows, by the kernel and by FPM (3 minutes)
	@PENUMBRA_FULL_TABLE=1 $(VENV)/bin/pytest -q -rs tests/test_full_table.py

# Open vSwitch is built in this folder.
OVS_FOLDER ?= /var/tmp/penumbra-ovs
OVS_TESTS := $(wildcard tests/test_openvswitch*.py) tests/test_openflow_cases.py
.PHONY: test-ovs
test-ovs: setup-test setup-ovs build $(VENV)/.ready $(VENV)/.ovs $(VENV)-faucet/.ready ## Open vSwitch on Penumbra, built with the provider: its tests and os-ken's (root; 40 minutes)
	@integrations/openvswitch/build $(OVS_FOLDER)
	@PENUMBRA_OVS=$(OVS_FOLDER) PENUMBRA_FAUCET=$(VENV)-faucet $(VENV)/bin/pytest -q -rs $(OVS_TESTS)

.PHONY: test-service
test-service: deb setup-service ## installs the package in a virtual machine and tries its service, with Linux's ESP as peer (root; reaches Debian's archive)
	@tools/test-service $$(ls -t build/deb/*.deb | head -n 1)

# The long tier (docs/testing.md) is run before an issue ends. docs/testing.md keeps its result.
.PHONY: test-long
test-long: ## what .ci/run leaves out: full table, every test under the sanitizers, long fuzzing, 10,000 gopt programs (hours)
	@$(MAKE) test-full-table
	@PENUMBRA_LONG=1 $(VENV)/bin/pytest -q -rs tests/test_pages.py tests/test_veth_transfer.py tests/test_ipsec_lengths.py \
	  tests/test_ipsec_thousand.py tests/test_gpu_rsa_secrets.py tests/test_tls_scanners.py tests/test_tls_timing.py
	@$(MAKE) asan-all
	@$(MAKE) tsan
	@$(MAKE) fuzz FUZZ_SECONDS=1200
	@$(MAKE) test-ids
	@$(MAKE) test-openssl
	@$(MAKE) test-libreswan
	@$(MAKE) test-secgw
	@$(MAKE) test-gopt
	@$(MAKE) test-service

# Suricata is unpacked in this folder.
SURICATA_FOLDER ?= build/suricata
.PHONY: test-ids
test-ids: build $(VENV)/.ready ## the alerts of 2,178 captures compared with Suricata's (reaches Debian's archive; 4 minutes)
	@tools/unpack-suricata $(SURICATA_FOLDER)
	@PENUMBRA_LONG=1 PENUMBRA_SURICATA=$(abspath $(SURICATA_FOLDER)) $(VENV)/bin/pytest -q -rs tests/test_ids_suricata.py

# OpenSSL 3.5 is unpacked in this folder.
OPENSSL_FOLDER ?= build/openssl
.PHONY: test-openssl
test-openssl: setup-test build $(VENV)/.ready ## the provider with OpenSSL 3.5 of Debian 13 (reaches Debian's archive; 5 minutes)
	$(call build,release,all)
	@tools/unpack-openssl $(OPENSSL_FOLDER)
	@PENUMBRA_OPENSSL=$(abspath $(OPENSSL_FOLDER)) $(VENV)/bin/pytest -q -rs tests/test_tls_other_openssl.py tests/test_rsa_vectors.py \
	  tests/test_tls_certificates.py tests/test_tls.py tests/test_tls_references.py -k "not haproxy"

# libreswan is unpacked in this folder.
LIBRESWAN_FOLDER ?= build/libreswan
.PHONY: test-libreswan
test-libreswan: setup-test build $(VENV)/.ready ## libreswan's pluto as IKE daemon of an IPsec gateway (root; reaches Debian's archive; 1 minute)
	@tools/unpack-libreswan $(LIBRESWAN_FOLDER)
	@PENUMBRA_LIBRESWAN=$(abspath $(LIBRESWAN_FOLDER)) $(VENV)/bin/pytest -q -rs tests/test_ipsec_pluto.py

# DPDK's example ipsec-secgw is built in this folder.
SECGW_FOLDER ?= build/secgw
.PHONY: test-secgw
test-secgw: setup-test build $(VENV)/.ready ## DPDK's ipsec-secgw as peer of the IPsec gateway (reaches Debian's archive; 1 minute)
	@tools/build-secgw $(SECGW_FOLDER)
	@PENUMBRA_SECGW=$(abspath $(SECGW_FOLDER)) $(VENV)/bin/pytest -q -rs tests/test_ipsec_secgw.py

# The fuzzer of the gopt compiler runs for this number of seconds.
GOPT_FUZZ_SECONDS ?= 3600
.PHONY: test-gopt
test-gopt: build $(VENV)/.ready ## 10,000 generated gopt programs in all language modes, and the compiler's fuzzer (2 hours)
	@GOPT_PROGRAMS=10000 $(VENV)/bin/pytest -q -rs tests/test_gopt.py -k random_programs
	@$(VENV)/bin/python tests/gopt_fuzz.py $(GOPT_FUZZ_SECONDS)

SOURCES = $(shell git ls-files '*.h' '*.cc' '*.c' '*.cu' '*.cuh')
.PHONY: format
format: setup-lint ## clang-format over all sources
	@clang-format-19 -i $(SOURCES)

.PHONY: check-format
check-format: setup-lint
	@clang-format-19 --dry-run -Werror $(SOURCES)

.PHONY: prose
prose: ## the check of comments and documentation (docs/style.md)
	@tools/prose

.PHONY: lint
lint: setup-test check-format prose build $(VENV)/.tidy ## clang-format, clang-tidy and the prose check, without changing anything
	$(call build,release,all)
	@tools/tidy $(VENV)/bin/clang-tidy build/release $(JOBS)

.PHONY: clean
clean: ## removes build/
	@rm -rf build
