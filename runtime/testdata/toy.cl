// The kernels of the toy (toy_gpu_test.go) for a GPU: one block of 32 threads each,
// thread v for the digit v. toy.ptx is made from this file by
//
//	clang -x cl --target=nvptx64-nvidia-cuda -march=sm_80 -S -O2 -fno-unroll-loops -ffp-contract=off -o toy.ptx toy.cl

typedef unsigned int u32;
typedef unsigned long u64;
typedef __global float *floats;
typedef __global int *ints;

#define V 17
#define TABLE (V * V)
#define KERNEL __kernel __attribute__((reqd_work_group_size(32, 1, 1)))

static int lane(void) { return __nvvm_read_ptx_sreg_tid_x(); }
static u64 replica(void) { return (u32)__nvvm_read_ptx_sreg_ctaid_y(); }

struct step { u32 step, seed0, seed1; float scale, lr, bias_correction1, bias_correction2, clip; };

// word0 is the first word of a Philox4x32-10 block.
static u32 word0(u32 k0, u32 k1, u32 c0, u32 c1, u32 c2, u32 c3) {
	for (int i = 0; i < 10; i++) {
		u64 a = (u64)0xd2511f53 * c0, b = (u64)0xcd9e8d57 * c2;
		c0 = (u32)(b >> 32) ^ c1 ^ k0;
		c1 = (u32)b;
		c2 = (u32)(a >> 32) ^ c3 ^ k1;
		c3 = (u32)a;
		k0 += 0x9e3779b9;
		k1 += 0xbb67ae85;
	}
	return c0;
}

static int at(ints source, int i) { return source[i > 0 ? i : 0]; }

static float logit(floats params, ints source, int s, int input, int row, int skip, int v) {
	int here = at(source, s - 2 - row) * V + (row == 0 ? TABLE : 0);
	float x = 0;
	if (!skip)
		x += params[here + v];
	x += params[2 * TABLE + at(source, s - 1 - row) * V + v];
	x += params[3 * TABLE + input * V + v];
	return x + params[4 * TABLE + v];
}

KERNEL void gradients(u64 source, u64 source1, u64 target, u64 target1, u64 labels, u64 labels1, u64 loss, u64 loss1, u64 pred, u64 pred1,
	u64 params, u64 params1, u64 grads, u64 grads1, int B, int T, int S, u32 example, u32 example1, u64 scalars) {
	u64 r = replica();
	ints src = (ints)(source + r * source1), tgt = (ints)(target + r * target1), lab = (ints)(labels + r * labels1);
	floats p = (floats)(params + r * params1), g = (floats)(grads + r * grads1);
	__global struct step *e = (__global struct step *)scalars;
	int v = lane();
	for (int i = 0; i < B * T; i++) {
		int b = i / T, row = i % T;
		int skip = word0(e->seed0, e->seed1, row, example + (u32)r * example1 + b, e->step, 0) < 1u << 29;
		ints s = src + b * S;
		if (v == 0) {
			int best = 0;
			float sum = 0, top = 0;
			for (int u = 0; u < V; u++) {
				float x = logit(p, s, S, tgt[i], row, skip, u);
				if (u == 0 || x > top) {
					best = u;
					top = x;
				}
				float d = x - (u == lab[i] ? 1.0f : 0.0f);
				sum += d * d;
			}
			((floats)(loss + r * loss1))[i] = sum;
			((ints)(pred + r * pred1))[i] = best;
		}
		if (v < V) {
			float d = (logit(p, s, S, tgt[i], row, skip, v) - (v == lab[i] ? 1.0f : 0.0f)) * e->scale;
			int here = at(s, S - 2 - row) * V + (row == 0 ? TABLE : 0);
			if (!skip)
				g[here + v] += d;
			g[2 * TABLE + at(s, S - 1 - row) * V + v] += d;
			g[3 * TABLE + tgt[i] * V + v] += d;
			g[4 * TABLE + v] += d;
		}
	}
}

KERNEL void predict(u64 source, u64 source1, u64 target, u64 target1, u64 pred, u64 pred1, u64 params, u64 params1, int B, int T, int S, int P) {
	u64 r = replica();
	ints src = (ints)(source + r * source1), tgt = (ints)(target + r * target1);
	floats p = (floats)(params + r * params1);
	for (int i = lane(); i < B * T; i += 32) {
		int best = 0;
		float top = 0;
		for (int u = 0; u < V; u++) {
			float x = logit(p, src + i / T * S, S, tgt[i], P + i % T, 0, u);
			if (u == 0 || x > top) {
				best = u;
				top = x;
			}
		}
		((ints)(pred + r * pred1))[i] = best;
	}
}

KERNEL void encode(u64 source, u64 source1, u64 cache, u64 cache1, int B, int S) {
	u64 r = replica();
	for (int i = lane(); i < B * S; i += 32) {
		((ints)(cache + r * cache1))[i] = ((ints)(source + r * source1))[i];
		((ints)(source + r * source1))[i] = 0;
	}
}

KERNEL void sum_squares(u64 grads, u64 grads1, u64 sum, u64 sum1, int N) {
	if (lane() != 0)
		return;
	float total = 0;
	for (int i = 0; i < N; i++) {
		float g = ((floats)grads)[i];
		total += g * g;
	}
	*(floats)sum = total;
}

KERNEL void update(u64 grads, u64 grads1, u64 moment1, u64 moment1_1, u64 moment2, u64 moment2_1, u64 params, u64 params1, int P, int N, float decay,
	float bound, u64 scalars) {
	__global struct step *e = (__global struct step *)scalars;
	floats m1 = (floats)moment1, m2 = (floats)moment2, p = (floats)params;
	if (!(e->clip >= 0.0f))
		return;
	for (int i = P + lane(); i < P + N; i += 32) {
		float g = ((floats)grads)[i] * e->clip;
		m1[i] = 0.9f * m1[i] + 0.1f * g;
		m2[i] = 0.98f * m2[i] + 0.02f * g * g;
		p[i] -= e->lr * (m1[i] * e->bias_correction1 / (__nvvm_sqrt_rn_f(m2[i] * e->bias_correction2) + 1e-9f) + decay * p[i]);
		p[i] = p[i] < bound ? bound : p[i];
	}
}
