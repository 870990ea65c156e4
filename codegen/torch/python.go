// Package torch writes attention for PyTorch: a folder that Python imports, with kernels as PTX
// and a table of their launches.
package torch

import "embed"

// static holds the files that are the same in all packages. kernels.json and _reference.py, which
// they read, and the PTX differ.
//
//go:embed python/__init__.py python/_driver.py python/_op.py python/py.typed
var static embed.FS
