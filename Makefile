# Names for go commands, and nothing else.

.PHONY: all build vet test generate check fuzz bench

all: build vet test

build:
	go build -o bin/ .

vet:
	gofmt -l . | (! grep .)
	go vet ./...
	go run honnef.co/go/tools/cmd/staticcheck@v0.8.2 ./...

test:
	go test ./...

# Deletes generated/, so that the result proves that programs can be recreated, and writes
# all other generated files again but docs/performance.md (make bench).
generate:
	rm -rf generated
	go generate ./...

check: generate
	git diff --exit-code -- generated runtime docs

fuzz:
	go test ./dsl -run '^$$' -fuzz FuzzParse -fuzztime 10m -fuzzminimizetime 5x
	go test ./dsl -run '^$$' -fuzz FuzzFormatFile -fuzztime 10m -fuzzminimizetime 5x
	go test ./compiler/check -run '^$$' -fuzz FuzzResolve -fuzztime 10m -fuzzminimizetime 5x
	go test ./compiler/check -run '^$$' -fuzz FuzzInclude -fuzztime 10m -fuzzminimizetime 5x
	go test ./compiler/check -run '^$$' -fuzz FuzzSet -fuzztime 10m -fuzzminimizetime 5x
	go test ./compiler/lsp -run '^$$' -fuzz FuzzView -fuzztime 10m -fuzzminimizetime 5x
	go test ./compiler/lsp -run '^$$' -fuzz FuzzServe -fuzztime 10m -fuzzminimizetime 5x
	go test ./runtime/cuda/sim/ptx -run '^$$' -fuzz FuzzParse -fuzztime 10m -fuzzminimizetime 5x
	go test ./runtime/cuda/sim/num -run '^$$' -fuzz FuzzArithmetic -fuzztime 10m -fuzzminimizetime 5x

# Writes docs/performance.md. PYTHON is one that has bench/peers/requirements.txt.
PYTHON ?= python3
bench:
	go test ./runtime/cpu -run '^$$' -bench .
	go run ./bench --python $(PYTHON)
