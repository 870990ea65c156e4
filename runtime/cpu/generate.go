package cpu

//go:generate go run ./asm -out kernels_amd64.s -stubs stubs_amd64.go -pkg cpu
//go:generate go run ./asm/arm -dir . -docs ../../docs
