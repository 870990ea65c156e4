//go:build !nogpu && (linux || windows) && (amd64 || arm64)

package libcuda

import (
	"cmp"
	"fmt"
	"os"
	"runtime"

	"github.com/arithlang/mlc/runtime/cuda"
)

// Open starts the driver and opens a device. Without a driver or a device, the error wraps
// cuda.ErrUnavailable.
func Open(o Options) (cuda.Driver, error) {
	t, err := openTable(cmp.Or(o.Library, os.Getenv("MLC_LIBCUDA"), systemLibrary))
	if err != nil {
		return nil, err
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	d := &driver{api: api{t}, allocated: map[cuda.Ptr]bool{}, modules: map[*module]bool{},
		graphs: map[*graph]bool{}, events: map[*event]bool{}}
	if err := d.start(); err != nil {
		return nil, err
	}
	dev, err := d.choose(o.Device)
	if err != nil {
		return nil, err
	}
	if err := d.enlist(dev); err != nil {
		return nil, err
	}
	return d, nil
}

// start initialises the driver and checks that it is new enough.
func (d *driver) start() error {
	version, c := d.version()
	if c != 0 {
		return d.failure(c, "ask for the version of NVIDIA's driver")
	}
	d.info.Version = version
	if version < oldestCUDA {
		return fmt.Errorf("NVIDIA's driver is too old: it implements CUDA %s, and the kernels need CUDA %s or later; update the driver",
			versionText(version), versionText(oldestCUDA))
	}
	if err := d.find(numEarly, numNeeded); err != nil {
		return err
	}
	if c := d.initialise(); c != 0 {
		return unavailable(d.failure(c, "start NVIDIA's driver"))
	}
	return nil
}

// choose finds the device and fills in its Info.
func (d *driver) choose(ordinal int) (device, error) {
	count, c := d.deviceCount()
	if c == 0 && count == 0 {
		c = cuda.NoDevice
	}
	if c != 0 {
		return 0, unavailable(d.failure(c, "look for a GPU"))
	}
	if ordinal < 0 || ordinal >= count {
		return 0, fmt.Errorf("%w: GPU %d was asked for, but there are %d, counted from 0", cuda.ErrUnavailable, ordinal, count)
	}
	dev, c := d.device(ordinal)
	if c != 0 {
		return 0, d.failure(c, "open GPU %d", ordinal)
	}
	i := &d.info
	i.Name, c = d.deviceName(dev)
	if c == 0 {
		i.Memory, c = d.deviceMemory(dev)
	}
	for _, a := range []struct {
		number int
		value  *int
	}{
		{deviceMajor, &i.Major}, {deviceMinor, &i.Minor}, {deviceSMs, &i.SMs},
		{deviceShared, &i.Shared}, {deviceSharedOptIn, &i.SharedOptIn},
	} {
		if c == 0 {
			*a.value, c = d.deviceAttribute(dev, a.number)
		}
	}
	if c == 0 {
		c = d.facts(dev)
	}
	if c != 0 {
		return 0, d.failure(c, "ask what GPU %d is", ordinal)
	}
	if i.Major*10+i.Minor < oldestCapable {
		return 0, fmt.Errorf("%w: %s has compute capability %d.%d, and the kernels need %d.%d (Ampere) or later",
			cuda.ErrUnavailable, i.Name, i.Major, i.Minor, oldestCapable/10, oldestCapable%10)
	}
	return dev, nil
}

// facts asks for the attributes that only reports and bounds need. The driver need not know them.
func (d *driver) facts(dev device) cuda.Code {
	i := &d.info
	bus, slot, domain := -1, 0, 0
	defer func() {
		if bus >= 0 {
			i.Place = (domain<<8|bus)<<8 | slot + 1
		}
	}()
	for _, a := range []struct {
		number int
		value  *int
	}{
		{deviceClock, &i.Clock}, {deviceMemoryClock, &i.MemoryClock}, {deviceBusWidth, &i.BusWidth}, {deviceL2, &i.L2},
		{deviceSMShared, &i.SMShared}, {deviceSMRegisters, &i.SMRegisters}, {deviceSMThreads, &i.SMThreads}, {deviceSMBlocks, &i.SMBlocks},
		{devicePCIBus, &bus}, {devicePCIDevice, &slot}, {devicePCIDomain, &domain},
	} {
		v, c := d.deviceAttribute(dev, a.number)
		switch c {
		case 0:
			*a.value = v
		case invalidValue:
		default:
			return c
		}
	}
	return 0
}

// enlist takes the device's primary context and makes the stream.
func (d *driver) enlist(dev device) error {
	d.launch.pin(&d.pinner)
	ctx, c := d.retain(dev)
	if c != 0 {
		return d.failure(c, "open a context on %s", d.info.Name)
	}
	d.dev, d.ctx = dev, ctx
	if c = d.setCurrent(ctx); c == 0 {
		d.stream, c = d.streamCreate()
	}
	if c != 0 {
		d.release(dev)
		return d.failure(c, "make a stream on %s", d.info.Name)
	}
	return nil
}

func unavailable(err error) error { return fmt.Errorf("%w: %w", cuda.ErrUnavailable, err) }

// versionText prints 12040 as 12.4.
func versionText(v int) string { return fmt.Sprintf("%d.%d", v/1000, v%1000/10) }
