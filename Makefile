# Names for go commands, and nothing else.

.PHONY: all build vet test nightly generate check fuzz torture gate bench tables bundle wheels

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

# Tables 1 and 3 of arXiv:2310.11984 with three seeds. Trains what is missing, for so long a
# table, and prints the results so far; the next call goes on there.
FOR ?= 1h
CALIBRATED = $(foreach task,successor addition nx1,--point row=$(task)_abc)
tables: build
	for table in table1.arith "table3.arith $(CALIBRATED)"; do \
		timeout --signal INT $(FOR) bin/mlc train specs/bias/$$table --set 'sweep.train.seed=[0, 1, 2]' \
			--resume --jobs 2 --out runs/tables || test $$? = 124 || exit; \
	done
	-bin/mlc plot --kind table --format markdown --digits 6,10,15,20,60 runs/tables/*
