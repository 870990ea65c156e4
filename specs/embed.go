package specs

import "embed"

// Files are the specs of models, by their paths from here.
//
//go:embed *.arith base bias abacus small adders/*.arith
var Files embed.FS
