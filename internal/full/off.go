//go:build !full

package full

// Tests reports whether all tests run.
const Tests = false
