package libcuda

// Options say which driver and which device it is.
type Options struct {
	// Library is the path of the driver's library. If it is empty the environment
	// variable MLC_LIBCUDA names it, and if that is empty too it is the one that the
	// system has.
	Library string
	// Device counts the GPUs that CUDA_VISIBLE_DEVICES leaves, from 0.
	Device int
}

// What generated PTX is written for.
const (
	oldestCUDA    = 11080 // PTX 7.8
	oldestCapable = 80    // sm_80
)
