package cpu

//go:generate go run ../../codegen/cpu/dotgen -out kernels_amd64.s -stubs stubs_amd64.go -pkg cpu
//go:generate go run ../../codegen/cpu/dotgen/arm -dir . -docs ../../docs
