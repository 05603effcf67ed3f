# Dovetail's chores. `make help` lists them; .ci/run runs the ones that guard a change.

GO      ?= go
LINT    := $(GO) tool -modfile=tools/go.mod golangci-lint
# Packages in which goroutines meet: these are tested under the race detector.
RACE    := ./engine/... ./internal/backend/... ./internal/store/... ./internal/httpapi/... ./client/...
SEED    ?= 1
KILLS   ?= 1000
TRIALS  ?= 20
REPEATS ?= 6
CHECKS  ?= 20000
FUZZ    ?= 3000x

.DEFAULT_GOAL := help

.PHONY: help
help: ## list the targets
	@grep -hE '^[a-z][a-z-]*:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | awk -F'\t' '{printf "  %-12s %s\n", $$1, $$2}'

.PHONY: build
build: ## build bin/dovetail
	$(GO) build -o bin/dovetail ./cmd/dovetail

.PHONY: test
test: ## run every test once, the rules of the code base (internal/arch) included
	$(GO) test ./...

.PHONY: race
race: ## test the concurrent packages under the race detector
	$(GO) test -race $(RACE)

.PHONY: race-short
race-short: ## the same, without the long tests
	$(GO) test -race -short $(RACE)

.PHONY: lint
lint: ## run the linters (the first time builds them: about a minute)
	$(LINT) run --allow-serial-runners

.PHONY: check
check: ## formatting, vet, and a module file that lists what is imported
	@unformatted=$$(gofmt -l $$(git ls-files '*.go' | grep -v /testdata/)); \
		if [ -n "$$unformatted" ]; then echo "run gofmt -w on:"; echo "$$unformatted"; exit 1; fi
	$(GO) vet ./...
	$(GO) mod tidy -diff

.PHONY: bench
bench: ## run every benchmark, six times each, for benchstat
	$(GO) test -run='^$$' -bench=. -benchmem -count=6 -timeout=60m ./...

.PHONY: bench-short
bench-short: ## run every benchmark once, to see that they work
	$(GO) test -run='^$$' -bench=. -benchtime=1x ./...

.PHONY: fuzz-short
fuzz-short: ## fuzz every target for FUZZ (3000x: so many inputs, or 30s) each
	GO="$(GO)" .ci/fuzz $(FUZZ)

.PHONY: crash
crash: ## kill the daemon at KILLS (1000) seeded points while a workload runs, and prove that nothing is lost
	$(GO) test ./test/crash -run='^TestCrash$$' -count=1 -v -timeout=60m -args -kills=$(KILLS) -seed=$(SEED)

.PHONY: crash-short
crash-short: ## the same with 25 kills
	$(GO) test ./test/crash -run='^TestCrash$$' -count=1 -timeout=10m -args -kills=25 -seed=$(SEED)

.PHONY: target-proof
target-proof: ## run a job with a target TRIALS (20) times beside another one, with and without prediction: a quarter of an hour on two quiet processors
	@mkdir -p bin
	$(GO) test ./test/target -run='^TestTarget$$' -count=1 -v -timeout=120m -args -runs=$(TRIALS) -seed=$(SEED) -out=$(abspath bin)/target.md

.PHONY: neighbours-proof
neighbours-proof: ## let a queue of jobs that use processors, disk and memory run REPEATS (6) times in the order of the queue, shuffled, and by what was learned: half an hour on two quiet processors
	@mkdir -p bin
	$(GO) test ./test/neighbours -run='^TestNeighbours$$' -count=1 -v -timeout=240m -args -repetitions=$(REPEATS) -seed=$(SEED) -dir=$(abspath bin)/neighbours -out=$(abspath bin)/neighbours.md

.PHONY: swarm
swarm: ## run the property tests for long: CHECKS (20000) cases each
	@for pkg in $$($(GO) list -f '{{join .TestImports " "}} {{join .XTestImports " "}}|{{.ImportPath}}' ./... | grep 'pgregory.net/rapid' | cut -d'|' -f2); do \
		$(GO) test -count=1 -timeout=60m $$pkg -rapid.checks=$(CHECKS) || exit 1; done

.PHONY: cover
cover: ## write coverage of all packages to bin/cover.html
	@mkdir -p bin
	$(GO) test -coverpkg=./... -coverprofile=bin/cover.out ./...
	$(GO) tool cover -html=bin/cover.out -o bin/cover.html
	@$(GO) tool cover -func=bin/cover.out | tail -1
