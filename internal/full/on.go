//go:build full

package full

// Tests says whether all tests run.
const Tests = true
