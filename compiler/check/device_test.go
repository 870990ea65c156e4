package check

import "testing"

// TestIsDevice names devices of Windows, and names near them.
func TestIsDevice(t *testing.T) {
	for name, want := range map[string]bool{
		"con": true, "NUL": true, "aux.txt": true, "prn.a.b": true, "com0": true, "COM9": true, "lpt5.arith": true,
		"com": false, "com10": false, "coma": false, "com/": false, "com:": false, "lp5": false, "scon": false, "": false,
	} {
		if got := IsDevice(name); got != want {
			t.Errorf("%q: %v", name, got)
		}
	}
}
