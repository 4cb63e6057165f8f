# What people do here. `make` alone lists it.

# What builds the images, for which processor, and in which folder the programs for them lie.
PROGRAM ?= docker
GOARCH ?= amd64
DIST ?= dist

.PHONY: help build image image-gpu image-batchctl test check explore buildcost bench generate golden clean

help:
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile

build: ## the two programs, stripped, in dist/, and the workloads without a GPU's side for an image of nothing else
	CGO_ENABLED=0 go build -trimpath -tags urfave_cli_no_docs -ldflags "-s -w" -o dist/ ./cmd/batchctl ./cmd/batchctl-workloads
	CGO_ENABLED=0 go build -trimpath -tags static -ldflags "-s -w" -o dist/batchctl-workloads-static ./cmd/batchctl-workloads

image: IMAGE ?= batchctl-workloads:latest
image: ## the workloads as an image for CPUs: make image PROGRAM=podman IMAGE=NAME
	$(call contain,cpu,-tags static)

image-gpu: IMAGE ?= batchctl-workloads:gpu
image-gpu: ## the same for CPUs and GPUs: make image-gpu PROGRAM=podman IMAGE=NAME BASE=IMAGE
	$(call contain,gpu,,$(if $(BASE),--build-arg BASE=$(BASE)))

image-batchctl: IMAGE ?= batchctl:latest
image-batchctl: CERTIFICATES ?= /etc/ssl/certs/ca-certificates.crt
image-batchctl: ## batchctl itself, for images that lack it: make image-batchctl PROGRAM=podman IMAGE=NAME
	CGO_ENABLED=0 GOOS=linux GOARCH=$(GOARCH) go build -trimpath -tags urfave_cli_no_docs -ldflags "-s -w" -o $(DIST)/image/ ./cmd/batchctl
	cp $(CERTIFICATES) $(DIST)/image/ca-certificates.crt
	chmod 755 $(DIST)/image/batchctl
	chmod 644 $(DIST)/image/ca-certificates.crt
	$(PROGRAM) build --platform linux/$(GOARCH) -f cmd/batchctl/Dockerfile -t $(IMAGE) $(DIST)/image
	@$(PROGRAM) images --format '{{.Repository}}:{{.Tag}} {{.Size}}' $(IMAGE)

# The image of KIND.Dockerfile, and its size: KIND, flags of go build, flags of PROGRAM build.
# A container's user must be able to start the program, whatever the umask here.
define contain
	CGO_ENABLED=0 GOOS=linux GOARCH=$(GOARCH) go build -trimpath -ldflags "-s -w" $(2) -o $(DIST)/$(1)/ ./cmd/batchctl-workloads
	chmod 755 $(DIST)/$(1)/batchctl-workloads
	$(PROGRAM) build --platform linux/$(GOARCH) -f templates/images/$(1).Dockerfile -t $(IMAGE) $(3) $(DIST)/$(1)
	@$(PROGRAM) images --format '{{.Repository}}:{{.Tag}} {{.Size}}' $(IMAGE)
endef

test: ## the tests, as a user runs them: Go alone is enough; BATCHCTL_LONG_TESTS=1 make test adds those that take long
	go test ./...

check: ## what CI runs: format, vet, staticcheck, all tests with the real tools
	.ci/run

explore: ## properties with new seeds and more checks, and every fuzz target for a while
	.ci/explore

buildcost: ## what a cold build and a start cost, against their limits
	go run ./.ci/buildcost

bench: ## every benchmark against its peer, in one table; at most 40 minutes
	.ci/bench

generate: ## the files that are made from others
	go generate ./...

golden: ## rewrite the golden files from what the code does now; read the diff
	go test ./pkg/diag ./pkg/jsontree ./pkg/document ./pkg/plan -update
	go generate ./pkg/lint

clean: ## what the targets above made
	rm -rf dist
