# Names for go commands, and nothing else.

.PHONY: all build vet test nightly generate check fuzz torture gate bench bundle wheels

all: build vet test

build:
	go build -o bin/ .

vet:
	gofmt -l . | (! grep .)
	go vet ./...
	go run honnef.co/go/tools/cmd/staticcheck@v0.8.2 ./...

test:
	go test ./...

# All tests, with all programs that they compare with. Writes docs/tests.md.
nightly:
	eval "$$(tools/programs)" && go run ./internal/full/run -nightly

# One folder, bin/bundle, that proves the GPU of another machine (docs/gpu.md).
bundle:
	tools/bundle

# Wheels of the Python package mlc for all platforms, in bin/wheels (python/README.md).
wheels:
	go run ./python

# Deletes generated/, so that the result proves that programs can be recreated, and writes
# all other generated files again but docs/performance.md (make bench).
generate:
	rm -rf generated
	go generate ./...

check: generate
	git diff --exit-code -- generated runtime docs

# All fuzz tests, each for so long.
FUZZ ?= 10m
fuzz:
	go run ./torture --fuzz $(FUZZ)

# Hours of kills, failing system calls, damaged files and random inputs. Writes docs/reliability.md.
SEED ?= 1
torture:
	go run ./torture --kills 10000 --failures 10000 --damages 100000 --crowds 1000 --fuzz $(FUZZ) --seed $(SEED) --write

# For every night: one in PART of the wrong kernels of every spec, other ones each day, so that
# all are tried in PART nights. PART=100 takes six minutes of two cores, so PART=1 ten hours at
# most. Writes docs/mutation.md.
PART ?= 2
TURN ?= $(shell expr $$(date +%s) / 86400 % $(PART))
gate:
	go test -tags full ./codegen/ptx/mutate -run Gate -v -timeout 0 -all -part $(PART) -turn $(TURN) -page ../../../docs/mutation.md

# Writes docs/performance.md. PYTHON is one that has bench/peers/requirements.txt.
PYTHON ?= python3
bench:
	go test ./runtime/cpu -run '^$$' -bench .
	go run ./bench --python $(PYTHON)
