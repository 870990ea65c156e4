// Ordinary kernels for clang's PTX back end. It needs no CUDA toolkit:
//
//	for o in 0 2; do
//	  clang -x cuda --cuda-device-only --cuda-gpu-arch=sm_80 -nocudainc -nocudalib \
//	    -Xclang -target-feature -Xclang +ptx75 -O$o -S -o clang-O$o.ptx clang.cu
//	done
//
// The files here are by Debian clang 14.0.6.

#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
#define NOINLINE __attribute__((noinline))

extern "C" {

__device__ inline int tid() { return __nvvm_read_ptx_sreg_tid_x(); }
__device__ inline int bid() { return __nvvm_read_ptx_sreg_ctaid_x(); }
__device__ inline int bdim() { return __nvvm_read_ptx_sreg_ntid_x(); }
__device__ inline int gdim() { return __nvvm_read_ptx_sreg_nctaid_x(); }

// 64-bit indices.
__global__ void saxpy(const float *x, float *y, float a, long n) {
  long i = (long)bid() * bdim() + tid();
  if (i < n) y[i] = a * x[i] + y[i];
}

// A function that is called, in a loop of different lengths.
__device__ NOINLINE float horner(float x, int n) {
  float y = 1;
  for (int i = 0; i < n; i++) y = y * x + 0.5f;
  return y;
}
__global__ void poly(const float *x, float *y, int n) {
  int i = bid() * bdim() + tid();
  if (i < n) y[i] = horner(x[i], i & 7);
}

// Structures as arguments and results, in registers, memory and parameters.
struct pair { float value; int index; };
__device__ NOINLINE struct pair larger(struct pair a, struct pair b) { return a.value >= b.value ? a : b; }
__global__ void argmax(const float *x, int *out, int n) {
  __shared__ struct pair best[128];
  struct pair p = {x[0], 0};
  for (int i = tid(); i < n; i += bdim()) {
    struct pair q = {x[i], i};
    p = larger(p, q);
  }
  best[tid()] = p;
  __syncthreads();
  for (int s = bdim() / 2; s > 0; s /= 2) {
    if (tid() < s) best[tid()] = larger(best[tid()], best[tid() + s]);
    __syncthreads();
  }
  if (tid() == 0) out[0] = best[0].index;
}

struct padded { float a[5]; long n; };
__device__ NOINLINE float total(struct padded b) {
  float s = 0;
  for (int i = 0; i < 5; i++) s += b.a[i] * b.n;
  return s;
}
__device__ NOINLINE void increment(float *p) { *p += 1; }
__global__ void structures(struct padded b, float *y) {
  b.n += tid();
  b.a[tid() % 5] = 2;
  float v = total(b);
  increment(&v);
  y[tid()] = v;
}

// A switch, division.
__device__ NOINLINE int classify(int c) {
  switch (c & 15) {
  case 0: return 17;
  case 1: return c * 3;
  case 2: return c ^ 21;
  case 3: return c - 9;
  case 4: return c / 3;
  case 5: return 2;
  case 6: return c % 7;
  case 7: return ~c;
  case 9: return 5;
  case 10: return c << 3;
  default: return -1;
  }
}
__global__ void cases(const int *x, int *y, int n) {
  int i = bid() * bdim() + tid();
  if (i < n) y[i] = classify(x[i]);
}

// Dynamic shared memory, shuffles, approximate functions.
extern __shared__ float row[];
__global__ void softmax(const float *x, float *y, int n) {
  x += (long)bid() * n;
  float m = -1e30f, sum = 0;
  for (int i = tid(); i < n; i += 32) {
    row[i] = x[i];
    m = row[i] > m ? row[i] : m;
  }
  for (int s = 16; s; s /= 2) {
    float o = __nvvm_shfl_sync_bfly_f32(-1, m, s, 31);
    m = o > m ? o : m;
  }
  for (int i = tid(); i < n; i += 32) {
    row[i] = __nvvm_ex2_approx_f((row[i] - m) * 1.44269504f);
    sum += row[i];
  }
  for (int s = 16; s; s /= 2) sum += __nvvm_shfl_sync_bfly_f32(-1, sum, s, 31);
  for (int i = tid(); i < n; i += 32) y[(long)bid() * n + i] = row[i] / sum;
}

// Atomic operations through generic addresses.
__global__ void histogram(const unsigned char *x, int *bins, int n) {
  __shared__ int local[256];
  for (int i = tid(); i < 256; i += bdim()) local[i] = 0;
  __syncthreads();
  for (int i = bid() * bdim() + tid(); i < n; i += bdim() * gdim()) __nvvm_atom_add_gen_i(&local[x[i]], 1);
  __syncthreads();
  for (int i = tid(); i < 256; i += bdim())
    if (local[i]) __nvvm_atom_add_gen_i(&bins[i], local[i]);
}

// An array of each thread's own, with indices that depend on data.
__global__ void sort16(const int *x, int *y, int n) {
  int a[16], i = bid() * bdim() + tid();
  if (i >= n) return;
  for (int j = 0; j < 16; j++) a[j] = x[16 * i + j];
  for (int j = 1; j < 16; j++) {
    int v = a[j], k = j;
    for (; k > 0 && a[k - 1] > v; k--) a[k] = a[k - 1];
    a[k] = v;
  }
  for (int j = 0; j < 16; j++) y[16 * i + j] = a[j];
}

// Tiles in shared memory, blocks of two dimensions.
__global__ void matmul(const float *a, const float *b, float *c, int n) {
  __shared__ float as[16][17], bs[16][17];
  int tx = tid(), ty = __nvvm_read_ptx_sreg_tid_y();
  int i = __nvvm_read_ptx_sreg_ctaid_y() * 16 + ty, j = bid() * 16 + tx;
  float s = 0;
  for (int t = 0; t < n; t += 16) {
    as[ty][tx] = i < n && t + tx < n ? a[i * n + t + tx] : 0;
    bs[ty][tx] = t + ty < n && j < n ? b[(t + ty) * n + j] : 0;
    __syncthreads();
    for (int k = 0; k < 16; k++) s += as[ty][k] * bs[k][tx];
    __syncthreads();
  }
  if (i < n && j < n) c[i * n + j] = s;
}

// Tensor cores: one warp, rows of 16 of A times columns of 16 of B.
__global__ void tensor(const int *a, const int *b, float *c, int n) {
  int fa[8], fb[8];
  float acc[8] = {0};
  for (int k = 0; k < n; k += 16) {
    __hmma_m16n16k16_ld_a(fa, a + (bid() * 16 * n + k) / 2, n, 0);
    __hmma_m16n16k16_ld_b(fb, b + k / 2, n, 1);
    __hmma_m16n16k16_mma_f32f32(acc, fa, fb, acc, 1, 0);
  }
  __hmma_m16n16k16_st_c_f32(c + bid() * 256, acc, 16, 0);
}

// Double precision.
__global__ void moments(const float *x, double *out, int n) {
  __shared__ double part[2][128];
  double s = 0, q = 0;
  for (int i = tid(); i < n; i += bdim()) {
    double v = x[(long)bid() * n + i];
    s += v;
    q += v * v;
  }
  part[0][tid()] = s;
  part[1][tid()] = q;
  __syncthreads();
  if (tid() < 2) {
    double sum = 0;
    for (int i = 0; i < bdim(); i++) sum += part[tid()][i];
    out[2 * bid() + tid()] = sum / n;
  }
}

// Half precision.
__global__ void half(const __fp16 *x, __fp16 *y, int n) {
  int i = bid() * bdim() + tid();
  if (i < n) y[i] = (__fp16)((float)x[i] * 2.5f + 1.0f);
}

// Loops that last differently long in each lane.
__global__ void collatz(const unsigned long *x, int *steps, int n) {
  int i = bid() * bdim() + tid();
  if (i >= n) return;
  unsigned long v = x[i];
  int k = 0;
  for (; v != 1; k++) v = v & 1 ? 3 * v + 1 : v / 2;
  steps[i] = k;
}
}
