package libcuda

// Options select the driver and the device.
type Options struct {
	// Library is the path of the driver's library. If it is empty, the environment variable
	// MLC_LIBCUDA names the library. If that is empty too, it is the system's.
	Library string
	// Device is the GPU's number among those left by CUDA_VISIBLE_DEVICES, from 0.
	Device int
}

// Generated PTX needs at least these.
const (
	oldestCUDA    = 11080 // PTX 7.8
	oldestCapable = 80    // sm_80
)
