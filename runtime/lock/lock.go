// Package lock keeps processes out of each other's directories. A lock ends with the
// process that has it. Where there are no locks everybody gets one.
package lock

import "errors"

// ErrTaken is returned by Try when another process has the lock.
var ErrTaken = errors.New("locked by another process")
