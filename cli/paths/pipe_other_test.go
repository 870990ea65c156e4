//go:build !unix

package paths

import "errors"

func makePipe(string) error { return errors.New("pipes have no path here") }
