# What people do here. `make` alone lists it.

# What `make image` builds the container image of the shipped workloads with, and its name.
PROGRAM ?= docker
IMAGE ?= batchctl-workloads:latest

.PHONY: help build image test check explore buildcost bench generate golden clean

help:
	@sed -n 's/^\([a-z]*\):.*## /\1\t/p' Makefile

build: ## the two programs, static and stripped, in dist/
	CGO_ENABLED=0 go build -trimpath -tags urfave_cli_no_docs -ldflags "-s -w" -o dist/ ./cmd/batchctl ./cmd/batchctl-workloads

image: build ## the shipped workloads as a container image: make image PROGRAM=podman IMAGE=NAME
	tar -C dist -cf - batchctl-workloads | $(PROGRAM) import --change 'ENTRYPOINT ["/batchctl-workloads"]' - $(IMAGE)

test: ## the tests, as a user runs them: Go alone is enough
	go test ./...

check: ## what CI runs: format, vet, staticcheck, all tests with the real tools
	.ci/run

explore: ## properties with new seeds and more checks, and every fuzz target for a while
	.ci/explore

buildcost: ## the cold build against building the named packages alone
	.ci/buildcost

bench: ## validate against ajv-cli, the engine against xargs and parallel (needs node and npm, parallel)
	.ci/bench-validate
	.ci/bench-engine

generate: ## the files that are made from others
	go generate ./...

golden: ## rewrite the golden files from what the code does now; read the diff
	go test ./pkg/diag ./pkg/jsontree ./pkg/spec ./pkg/plan ./pkg/lint -update

clean: ## what the targets above made
	rm -rf dist
