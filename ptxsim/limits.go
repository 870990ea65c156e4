package ptxsim

// Limits are what launches of a kernel are bound by.
type Limits struct {
	Static  int // bytes of shared memory that every block takes
	Shared  int // bytes that a block may take, the static ones among them
	Threads int // of a block, at most
}

// Limits tells them.
func (k *Kernel) Limits() Limits {
	l := Limits{Static: int(k.src.StaticSize), Shared: sharedLimit[k.m.d.opt.Arch], Threads: 1024}
	if m := k.src.MaxThreads; m[0] > 0 {
		l.Threads = min(l.Threads, max(m[0], 1)*max(m[1], 1)*max(m[2], 1))
	}
	if r := k.src.RequiredThreads; r[0] > 0 {
		l.Threads = max(r[0], 1) * max(r[1], 1) * max(r[2], 1)
	}
	return l
}

// MemInfo gives the bytes of the device that are free, and all.
func (d *Device) MemInfo() (free, total int64) { return d.opt.Memory - d.used, d.opt.Memory }
