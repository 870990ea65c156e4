// A cuBLASLt without a GPU, for tests: column by column, as NVIDIA's header says, it
// computes at once what it is asked for, on the memory of the fake driver (package
// fakecuda), whose addresses are those of this process and BIAS. It refuses what the real
// one would refuse, and what is claimed of addresses and is not so. Sizes of arguments are
// those of cublasLt.h.
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define BIAS (1ull << 60)

#ifndef VERSION
#define VERSION 120903
#endif

typedef int32_t status;
enum { OK = 0, NOT_INITIALIZED = 1, INVALID_VALUE = 7, NOT_SUPPORTED = 15 };
enum { R_32F = 0, R_16BF = 14, COMPUTE_32F = 68 };

typedef struct { int64_t magic; int32_t type, batch; uint64_t rows, cols; int64_t ld, step; } layout;
typedef struct { int64_t magic; int32_t trans[2]; } desc;
typedef struct { int64_t magic; uint64_t workspace; uint32_t reduction, align[4]; } preference;
typedef struct { uint32_t align[4]; uint64_t workspace, magic; uint64_t rest[4]; } algo; // 64 bytes
typedef struct { algo a; size_t workspace; status state; float waves; int reserved[4]; } result;

enum { HANDLE = 1001, LAYOUT, DESC, PREFERENCE, ALGO };

static int live, plans, calls, failing;
static int64_t *made(int64_t magic, size_t size) {
	int64_t *p = calloc(1, size);
	*p = magic;
	live++;
	return p;
}
static status ended(int64_t *p, int64_t magic) {
	if (!p || *p != magic) return INVALID_VALUE;
	*p = 0;
	free(p);
	live--;
	return OK;
}

size_t cublasLtGetVersion(void) { return VERSION; }
status cublasLtCreate(int64_t **h) {
#ifdef BROKEN
	return NOT_INITIALIZED;
#endif
	*h = made(HANDLE, 8);
	return OK;
}
status cublasLtDestroy(int64_t *h) { return ended(h, HANDLE); }

status cublasLtMatmulDescCreate(desc **d, int32_t compute, int32_t scale) {
	if (compute != COMPUTE_32F || scale != R_32F) return INVALID_VALUE;
	*d = (desc *)made(DESC, sizeof **d);
	return OK;
}
status cublasLtMatmulDescDestroy(desc *d) { return ended(&d->magic, DESC); }
status cublasLtMatmulDescSetAttribute(desc *d, int32_t attribute, const int32_t *value, size_t size) {
	if (d->magic != DESC || size != 4 || attribute < 3 || attribute > 4 || *value < 0 || *value > 1) return INVALID_VALUE;
	d->trans[attribute - 3] = *value;
	return OK;
}

status cublasLtMatrixLayoutCreate(layout **l, int32_t type, uint64_t rows, uint64_t cols, int64_t ld) {
	if (type != R_32F && type != R_16BF || !rows || !cols || ld < (int64_t)rows) return INVALID_VALUE;
	*l = (layout *)made(LAYOUT, sizeof **l);
	(*l)->type = type, (*l)->rows = rows, (*l)->cols = cols, (*l)->ld = ld, (*l)->batch = 1;
	return OK;
}
status cublasLtMatrixLayoutDestroy(layout *l) { return ended(&l->magic, LAYOUT); }
status cublasLtMatrixLayoutSetAttribute(layout *l, int32_t attribute, const void *value, size_t size) {
	if (l->magic != LAYOUT) return INVALID_VALUE;
	if (attribute == 5 && size == 4) return memcpy(&l->batch, value, 4), OK;
	if (attribute == 6 && size == 8) return memcpy(&l->step, value, 8), OK;
	return INVALID_VALUE;
}

status cublasLtMatmulPreferenceCreate(preference **p) {
	*p = (preference *)made(PREFERENCE, sizeof **p);
	return OK;
}
status cublasLtMatmulPreferenceDestroy(preference *p) { return ended(&p->magic, PREFERENCE); }
status cublasLtMatmulPreferenceSetAttribute(preference *p, int32_t attribute, const void *value, size_t size) {
	if (p->magic != PREFERENCE) return INVALID_VALUE;
	if (attribute == 1 && size == 8) return memcpy(&p->workspace, value, 8), OK;
	if (attribute == 3 && size == 4) return memcpy(&p->reduction, value, 4), OK;
	if (attribute >= 5 && attribute <= 8 && size == 4) return memcpy(&p->align[attribute - 5], value, 4), OK;
	return INVALID_VALUE;
}

static int fit(const desc *d, const layout *a, const layout *b, const layout *c, const layout *o) {
	uint64_t m = d->trans[0] ? a->cols : a->rows, k = d->trans[0] ? a->rows : a->cols;
	uint64_t k2 = d->trans[1] ? b->cols : b->rows, n = d->trans[1] ? b->rows : b->cols;
	return k == k2 && o->rows == m && o->cols == n && c->rows == m && c->cols == n && a->type == b->type && c->type == o->type &&
		(a->type == R_16BF || o->type == R_32F) && a->batch == o->batch && b->batch == o->batch && c->batch == o->batch;
}

status cublasLtMatmulAlgoGetHeuristic(int64_t *h, desc *d, layout *a, layout *b, layout *c, layout *o, preference *p, int32_t asked, result *r, int32_t *n) {
	if (*h != HANDLE || d->magic != DESC || p->magic != PREFERENCE || asked != 1 || !fit(d, a, b, c, o)) return INVALID_VALUE;
	if (p->reduction != 2) return INVALID_VALUE;
	plans++;
	*n = 0;
	if (failing == 1) return OK; // no algorithm
	memset(r, 0, sizeof *r);
	r->state = failing == 2 ? NOT_SUPPORTED : OK;
	r->workspace = r->a.workspace = p->workspace;
	r->a.magic = ALGO;
	memcpy(r->a.align, p->align, sizeof p->align);
	*n = 1;
	return OK;
}

static float *at(const void *p) { return (float *)((uint64_t)p - BIAS); }
static float get(const layout *l, const void *p, int64_t i) {
	if (l->type == R_32F) return at(p)[i];
	uint32_t bits = (uint32_t)((uint16_t *)at(p))[i] << 16;
	float x;
	return memcpy(&x, &bits, 4), x;
}
static void set(const layout *l, void *p, int64_t i, float x) {
	if (l->type == R_32F) { at(p)[i] = x; return; }
	uint32_t bits;
	memcpy(&bits, &x, 4);
	((uint16_t *)at(p))[i] = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}
static int misplaced(const layout *l, const void *p, uint32_t align) {
	uint64_t bytes = (uint64_t)l->step * (l->type == R_32F ? 4 : 2);
	return !align || align > 256 || (uint64_t)p < BIAS || (uint64_t)p % align || l->batch > 1 && bytes % align;
}

status cublasLtMatmul(int64_t *h, desc *d, const float *alpha, const void *pa, layout *a, const void *pb, layout *b, const float *beta,
		const void *pc, layout *c, void *po, layout *o, const algo *x, void *workspace, size_t size, void *stream) {
	calls++;
	if (failing == 3) return failing = 0, 13;
	if (*h != HANDLE || x->magic != ALGO || !stream || *alpha != 1 || !fit(d, a, b, c, o)) return INVALID_VALUE;
	if (size < x->workspace || (uint64_t)workspace < BIAS || (uint64_t)workspace % 16) return INVALID_VALUE;
	if (misplaced(a, pa, x->align[0]) || misplaced(b, pb, x->align[1]) || misplaced(c, pc, x->align[2]) || misplaced(o, po, x->align[3])) return INVALID_VALUE;
	uint64_t depth = d->trans[0] ? a->rows : a->cols;
	for (int32_t n = 0; n < o->batch; n++)
		for (uint64_t j = 0; j < o->cols; j++)
			for (uint64_t i = 0; i < o->rows; i++) {
				double sum = *beta ? *beta * get(c, pc, n * c->step + j * c->ld + i) : 0;
				for (uint64_t k = 0; k < depth; k++)
					sum += (double)get(a, pa, n * a->step + (d->trans[0] ? i * a->ld + k : k * a->ld + i)) *
						get(b, pb, n * b->step + (d->trans[1] ? k * b->ld + j : j * b->ld + k));
				set(o, po, n * o->step + j * o->ld + i, sum);
			}
	return OK;
}

int fake_live(void) { return live; }
int fake_plans(void) { return plans; }
int fake_calls(void) { return calls; }
void fake_fail(int how) { failing = how; }
