# Everything here needs Go and make; npm brings the guest, the JavaScript engine of compartment/wasm. `make test` is the
# command that passes all tests.

GO ?= go
# Pinned: a new version is a change of its own, with what it newly finds.
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2

.PHONY: all check test bench demo guest format vet static tidy cross

all: check test

## test: every test that can run here; what cannot run is skipped aloud (SALLYPORT_LIVE=require forbids that).
## The second line runs the attacks once more, against each layer alone and against none.
test: guest
	$(GO) test ./...
	$(GO) test -tags sallyport_layers ./live ./shell/...

## bench: all rooms in one table, each against the same done another way in the same run: plain, bubblewrap, ripgrep, goja. BENCH_PEERS=1 adds the Node runtime,
## QuickJS and V8 on Node, which npm brings into a directory that is gone afterwards. Some minutes; progress goes to the error stream.
bench: guest
	@$(GO) run ./internal/benchtable

## demo: the guided tour
demo: guest
	$(GO) run ./cmd/demo

## guest: bring the guest, once; a file that is there already is checked and not fetched again. Where it cannot be
## brought, what needs it says so: the tests skip aloud, or fail under SALLYPORT_LIVE=require.
guest:
	@if ! command -v npm >/dev/null; then echo "the guest of compartment/wasm is not brought: there is no npm" >&2; \
	elif ! $(GO) generate ./compartment/wasm; then echo "the guest of compartment/wasm was not brought" >&2; fi

## check: what must hold before a change is offered; changes nothing
check: format vet static tidy cross

format:
	@echo "format: gofmt"
	@out="$$(gofmt -l .)" && if [ -n "$$out" ]; then echo "not formatted, run gofmt -w:"; echo "$$out"; exit 1; fi

# The tag sallyport_layers adds the switches with which tests put up one layer alone; that code is vetted too.
vet:
	@echo "vet: as released, and with the layer switches of the tests"
	@$(GO) vet ./...
	@$(GO) vet -tags sallyport_layers ./...

static:
	@echo "static: $(STATICCHECK)"
	@$(GO) run $(STATICCHECK) ./...
	@$(GO) run $(STATICCHECK) -tags sallyport_layers ./...

tidy:
	@echo "tidy: go.mod and go.sum are what the code needs"
	@$(GO) mod tidy -diff

# vet compiles the tests too, which build leaves out.
cross:
	@$(MAKE) --no-print-directory cross-build OS=linux ARCH=amd64 \
		WHY="the platform of the process boundary"
	@$(MAKE) --no-print-directory cross-build OS=linux ARCH=arm64 \
		WHY="the same, with other system call numbers and another seccomp architecture"
	@$(MAKE) --no-print-directory cross-build OS=darwin ARCH=arm64 \
		WHY="the code boundary works there; the process boundary refuses, typed"
	@$(MAKE) --no-print-directory cross-build OS=windows ARCH=amd64 \
		WHY="the same; the refusal names WSL2, and no Unix call may slip into the pure rooms"

.PHONY: cross-build
cross-build:
	@echo "cross: $(OS)/$(ARCH): $(WHY)"
	@GOOS=$(OS) GOARCH=$(ARCH) CGO_ENABLED=0 $(GO) build ./...
	@GOOS=$(OS) GOARCH=$(ARCH) CGO_ENABLED=0 $(GO) vet ./...
