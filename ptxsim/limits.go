package ptxsim

// Limits are the limits of a kernel's launches.
type Limits struct {
	Static  int // bytes of static shared memory per block
	Shared  int // bytes of shared memory that a block may have, including the static ones
	Threads int // per block, at most
}

// Limits returns the kernel's limits.
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

// MemInfo returns the free and the total bytes of the device.
func (d *Device) MemInfo() (free, total int64) { return d.opt.Memory - d.used, d.opt.Memory }
