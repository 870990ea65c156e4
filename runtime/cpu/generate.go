package cpu

//go:generate go run ../../codegen/cpu/dotgen -out kernels_amd64.s -stubs stubs_amd64.go -pkg cpu
//go:generate go run ../../codegen/cpu/dotgen -kernels bf16 -out bf16/kernels_amd64.s -stubs bf16/stubs_amd64.go -pkg bf16
//go:generate go run ../../codegen/cpu/dotgen -kernels split -out split/kernels_amd64.s -stubs split/stubs_amd64.go -pkg split
//go:generate go run ../../codegen/cpu/dotgen/arm -dir . -docs ../../docs
