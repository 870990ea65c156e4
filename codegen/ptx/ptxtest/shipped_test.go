package ptxtest

import "testing"

func TestShipped(t *testing.T) {
	all, err := Shipped("../../../specs")
	if err != nil {
		t.Fatal(err)
	}
	n, distinct := 0, 0
	for _, s := range all {
		n += len(s.Kernels)
	}
	for _, s := range Distinct(all) {
		t.Logf("%s: %d", s.Path, len(s.Kernels))
		distinct += len(s.Kernels)
	}
	if len(all) < 4 || distinct < 30 || distinct >= n {
		t.Errorf("%d specs with %d kernels, %d of them distinct", len(all), n, distinct)
	}
	t.Logf("%d specs with %d kernels, %d of them distinct", len(all), n, distinct)
}
