package arm64

// Signature is the function's declaration in Go, without "func".
func (f *Func) Signature() string { return f.signature() }
