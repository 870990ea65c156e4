//go:build !unix

package prove

import "errors"

func killSelf() error { return errors.New("no signals here") }

func stopSelf() error { return errors.New("no signals here") }
