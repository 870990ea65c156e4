package card

// The architectures follow the table of technical specifications in NVIDIA's CUDA C++ Programming
// Guide (appendix "Compute Capabilities") and libcudacxx's arch_traits.h in NVIDIA's repository
// cccl. Both agree.
var (
	sm80  = Arch{Major: 8, Minor: 0, Shared: 164 << 10, Threads: 2048, Blocks: 32}
	sm86  = Arch{Major: 8, Minor: 6, Shared: 100 << 10, Threads: 1536, Blocks: 16}
	sm89  = Arch{Major: 8, Minor: 9, Shared: 100 << 10, Threads: 1536, Blocks: 24}
	sm90  = Arch{Major: 9, Minor: 0, Shared: 228 << 10, Threads: 2048, Blocks: 32}
	sm100 = Arch{Major: 10, Minor: 0, Shared: 228 << 10, Threads: 2048, Blocks: 32}
)

const (
	mib  = 1 << 20
	giga = 1e9
	tera = 1e12
)

// All returns the table, in the order of the architectures.
//
// For the A100s, H100s, H200 and B200, multiprocessors, clocks, L2 caches, bytes of memory and
// bandwidths are the values that CUDA reports, as recorded by the files in XLA's folder
// xla/backends/gpu/target_config/specs. They agree with NVIDIA's documents. The peaks, and all
// values of the other cards, come from these documents:
//
//   - A100: "NVIDIA A100 Tensor Core GPU" data sheet, and the Ampere architecture
//     whitepaper.
//   - H100: "NVIDIA H100 Tensor Core GPU Architecture" whitepaper, table of SXM5 and PCIe;
//     the data sheet gives tensor peaks with sparsity, which are twice as large.
//   - H200: "NVIDIA H200 Tensor Core GPU" data sheet: the H100's chip, other memory.
//   - B200: "NVIDIA Blackwell Architecture Technical Brief", HGX B200, one of its eight.
//   - RTX 3090: "NVIDIA Ampere GA102 GPU Architecture" whitepaper; products with sums in
//     fp32.
//   - RTX 4090: "NVIDIA Ada GPU Architecture" whitepaper; products with sums in fp32.
//   - L40S: "NVIDIA L40S" data sheet; the L2 cache is taken from the L40, which has the same
//     chip, in the Ada whitepaper.
//
// The last three cards have the memory that their data sheets advertise, in units of 10⁹ bytes; a
// driver reports a little more.
//
// Links are half of the bandwidth that these documents give for both directions together: NVLink
// for the SXM cards and the B200, PCIe x16 for the others (version 5.0 for the H100, 4.0 for the
// rest). Bridges that join two cards are left out.
func All() []Card {
	return []Card{
		{Name: "A100 SXM 40GB", Arch: sm80, SMs: 108, Clock: 1410e3, L2: 40 * mib, Memory: 42298834944,
			FP32: 19.5 * tera, TF32: 156 * tera, BF16: 312 * tera, Bandwidth: 1555.2 * giga, Link: 300 * giga, NVLink: true},
		{Name: "A100 SXM 80GB", Arch: sm80, SMs: 108, Clock: 1410e3, L2: 40 * mib, Memory: 85100068864,
			FP32: 19.5 * tera, TF32: 156 * tera, BF16: 312 * tera, Bandwidth: 2039.04 * giga, Link: 300 * giga, NVLink: true},
		{Name: "RTX 3090", Arch: sm86, SMs: 82, Clock: 1695e3, L2: 6 * mib, Memory: 24 * giga,
			FP32: 35.6 * tera, TF32: 35.6 * tera, BF16: 71.2 * tera, Bandwidth: 936 * giga, Link: 32 * giga},
		{Name: "RTX 4090", Arch: sm89, SMs: 128, Clock: 2520e3, L2: 72 * mib, Memory: 24 * giga,
			FP32: 82.6 * tera, TF32: 82.6 * tera, BF16: 165.2 * tera, Bandwidth: 1008 * giga, Link: 32 * giga},
		{Name: "L40S", Arch: sm89, SMs: 142, Clock: 2520e3, L2: 96 * mib, Memory: 48 * giga,
			FP32: 91.6 * tera, TF32: 183 * tera, BF16: 362.05 * tera, Bandwidth: 864 * giga, Link: 32 * giga},
		{Name: "H100 SXM", Arch: sm90, SMs: 132, Clock: 1980e3, L2: 50 * mib, Memory: 84942979072,
			FP32: 66.9 * tera, TF32: 494.7 * tera, BF16: 989.4 * tera, Bandwidth: 3352.32 * giga, Link: 450 * giga, NVLink: true},
		{Name: "H100 PCIe", Arch: sm90, SMs: 114, Clock: 1755e3, L2: 50 * mib, Memory: 84942979072,
			FP32: 51.2 * tera, TF32: 378 * tera, BF16: 756 * tera, Bandwidth: 2039.04 * giga, Link: 64 * giga},
		{Name: "H200", Arch: sm90, SMs: 132, Clock: 1980e3, L2: 50 * mib, Memory: 151397597184,
			FP32: 66.9 * tera, TF32: 494.7 * tera, BF16: 989.4 * tera, Bandwidth: 4800 * giga, Link: 450 * giga, NVLink: true},
		{Name: "B200", Arch: sm100, SMs: 148, Clock: 1965e3, L2: 132644864, Memory: 191514411008,
			FP32: 80 * tera, TF32: 1100 * tera, BF16: 2250 * tera, Bandwidth: 7672.32 * giga, Link: 900 * giga, NVLink: true},
	}
}
