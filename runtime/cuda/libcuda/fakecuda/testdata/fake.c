// A driver library without a GPU, for tests. Memory of the device is memory of
// this process, copies and memsets are done, launches are written down. What a
// GPU does later is done later: at the next call that waits. Its clock shows what
// it has done: a kernel takes a microsecond for each block, anything else one. The
// functions fake_* at the end say what device it plays and which calls fail. One
// thread at a time.
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef int32_t result;
typedef uint64_t dptr;

enum {
	OK, INVALID_VALUE, OUT_OF_MEMORY, NOT_INITIALIZED, NO_DEVICE = 100, INVALID_DEVICE, INVALID_CONTEXT = 201,
	INVALID_PTX = 218, UNSUPPORTED_PTX_VERSION = 222, INVALID_HANDLE = 400, NOT_FOUND = 500, NOT_READY = 600,
	CAPTURE_UNSUPPORTED = 900, CAPTURE_INVALIDATED = 901, CAPTURE_UNMATCHED = 903
};

static const struct { result code; const char *name, *text; } codes[] = {
	{INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
	{OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
	{NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
	{NO_DEVICE, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
	{INVALID_DEVICE, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
	{INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
	{INVALID_PTX, "CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed"},
	{UNSUPPORTED_PTX_VERSION, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION", "the provided PTX was compiled with an unsupported toolchain."},
	{INVALID_HANDLE, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
	{NOT_FOUND, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
	{NOT_READY, "CUDA_ERROR_NOT_READY", "device not ready"},
	{700, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
	{719, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
	{803, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH", "system has unsupported display driver / cuda driver combination"},
	{CAPTURE_UNSUPPORTED, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED", "operation not permitted when stream is capturing"},
	{CAPTURE_INVALIDATED, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED", "operation failed due to a previous error during capture"},
};

// Device addresses are not host addresses: mixing them up is to be noticed.
#define BIAS (1ull << 60)
#define MAX_RANGES 4096
#define MAX_CALLED 64 // functions

typedef struct { char *base; size_t size; } range;
typedef struct { range at[MAX_RANGES]; int n; } ranges;

typedef struct { char *ptx; } module;
typedef struct { char name[64]; size_t params; int shared; } function;
typedef struct { int ahead, passed; int64_t at; } event; // marks ahead of it, and where the clock stood at the last
typedef struct {
	enum { COPY, ZERO, LAUNCH, MARK, CALL } kind;
	char *dst; const char *src; size_t size;
	function *f; uint32_t dims[7]; unsigned char *args;
	event *mark;
	int (*call)(void *);
	void *arg;
} op;
typedef struct { op *at; int n; } ops;

static struct {
	int version, devices, major, minor, fill, moves;
	size_t memory, used;
	int initialised, contexts, live;
	int64_t clock; // microseconds
	result lost, poison;
	struct { char name[64]; result code; int after; } fails[8];
	struct { char name[64]; int times; } called[MAX_CALLED];
	ranges device, pinned;
	ops queue, done, captured;
	int capturing, invalidated;
	function *functions[256]; int nfunctions;
} fake = {.version = 12040, .devices = 1, .major = 8, .minor = 0, .fill = 0xCD, .memory = 64 << 20};

static __thread int current; // context of the thread

// What a call needs.
enum { NOTHING, INITIALISED, CONTEXT, NO_CAPTURE };

// count notes a call of a function.
static void count(const char *name) {
	int i = 0;
	while (i < MAX_CALLED && fake.called[i].name[0] && strcmp(fake.called[i].name, name)) i++;
	if (i == MAX_CALLED) abort();
	snprintf(fake.called[i].name, sizeof fake.called[i].name, "%s", name);
	fake.called[i].times++;
}

static result enter(const char *name, int needs) {
	count(name);
	for (int i = 0; i < 8; i++)
		if (!strcmp(fake.fails[i].name, name) && fake.fails[i].after-- == 0) {
			fake.fails[i].name[0] = 0;
			return fake.fails[i].code;
		}
	if (needs >= INITIALISED && !fake.initialised) return NOT_INITIALIZED;
	if (needs >= CONTEXT && fake.lost) return fake.lost;
	if (needs >= CONTEXT && (!current || !fake.contexts)) return INVALID_CONTEXT;
	if (needs >= NO_CAPTURE && fake.capturing) {
		fake.invalidated = 1;
		return CAPTURE_UNSUPPORTED;
	}
	return OK;
}

#define ENTER(needs) do { result e = enter(__func__, needs); if (e) return e; } while (0)

static char *take(ranges *r, size_t size) {
	if (r->n == MAX_RANGES) return NULL;
	char *p = aligned_alloc(256, (size + 255) / 256 * 256);
	memset(p, fake.fill, size);
	r->at[r->n++] = (range){p, size};
	fake.live++;
	return p;
}

static int give(ranges *r, const char *p) {
	for (int i = 0; i < r->n; i++)
		if (r->at[i].base == p) {
			int size = r->at[i].size;
			free(r->at[i].base);
			r->at[i] = r->at[--r->n];
			fake.live--;
			return size;
		}
	return -1;
}

static int inside(const ranges *r, const char *p, size_t size) {
	for (int i = 0; i < r->n; i++)
		if (p >= r->at[i].base && size <= r->at[i].size && (size_t)(p - r->at[i].base) <= r->at[i].size - size) return 1;
	return 0;
}

static char *onDevice(dptr p, size_t size) {
	char *h = (char *)(p - BIAS);
	return p >= BIAS && inside(&fake.device, h, size) ? h : NULL;
}

static void append(ops *o, op x) {
	o->at = realloc(o->at, (o->n + 1) * sizeof x);
	o->at[o->n++] = x;
}

static void queue(op x) { append(fake.capturing ? &fake.captured : &fake.queue, x); }

// Kernels of this name really run: each of n words at p is one more.
static void add1(const op *o) {
	dptr p;
	uint32_t n;
	memcpy(&p, o->args, 8);
	memcpy(&n, o->args + 8, 4);
	uint32_t *words = (uint32_t *)onDevice(p, 4ull * n);
	if (!words) {
		fake.lost = 700;
		return;
	}
	for (uint32_t i = 0; i < n; i++) words[i]++;
}

// Of launches, the place of replica y of an array of n words in its arguments.
static float *floats(const op *o, int at, uint32_t y, size_t n) {
	dptr p, step;
	memcpy(&p, o->args + at, 8);
	memcpy(&step, o->args + at + 8, 8);
	float *x = (float *)onDevice(p + y * step, 4 * n);
	if (!x) fake.lost = 700;
	return x;
}

static uint32_t word(const op *o, int at) {
	uint32_t n;
	return memcpy(&n, o->args + at, 4), n;
}

// tree adds places of n words, as device.Tree says.
static void tree(const op *o, uint32_t n, uint32_t places) {
	float *x[places];
	for (uint32_t i = 0; i < places; i++)
		if (!(x[i] = floats(o, 0, i, n))) return;
	for (uint32_t size = 1; size < places; size *= 2)
		for (uint32_t to = 0; to + 2 * size <= places; to += 2 * size)
			for (uint32_t i = 0; i < n; i++) x[to][i] += x[to + size][i];
	for (uint32_t last = places & (places - 1); last; last &= last - 1)
		for (uint32_t i = 0; i < n; i++) x[last & (last - 1)][i] += x[last][i];
}

// move does what the kernels of package cuda's Machine do, but settle.
static void move(const op *o) {
	const char *name = o->f->name;
	if (!strcmp(name, "sum")) tree(o, 4 * word(o, 16), word(o, 20));
	int clear = !strcmp(name, "clear"), add = !strcmp(name, "add");
	if (!clear && !add && strcmp(name, "copy")) return;
	int bytes = clear ? 24 : 40; // of a set of a clear or a copy
	for (uint32_t z = 0; z < o->dims[2]; z++) {
		int at = z * bytes;
		uint32_t n = word(o, at + bytes - 8), replicas = add ? o->dims[1] : word(o, at + bytes - 4);
		for (uint32_t y = 0; y < replicas; y++) {
			float *dst = floats(o, at, y, n), *src = clear ? dst : floats(o, at + 16, y, n);
			if (!dst || !src) return;
			if (clear) memset(dst, 0, 4ull * n);
			else if (!add) memmove(dst, src, 4ull * n);
			else for (uint32_t i = 0; i < n; i++) dst[i] += src[i];
		}
	}
}

// progress does what is queued, up to what waits for others.
static result progress(void) {
	int i = 0;
	for (; i < fake.queue.n && !fake.lost; i++) {
		op *o = &fake.queue.at[i];
		switch (o->kind) {
		case CALL:
			if (!o->call(o->arg)) goto waits;
			fake.clock++;
			break;
		case COPY: memmove(o->dst, o->src, o->size); fake.clock++; break;
		case ZERO: memset(o->dst, 0, o->size); fake.clock++; break;
		case MARK: o->mark->ahead--; o->mark->passed = 1; o->mark->at = fake.clock; break;
		case LAUNCH:
			fake.clock += (int64_t)o->dims[0] * o->dims[1] * o->dims[2];
			append(&fake.done, *o);
			if (fake.poison) fake.lost = fake.poison;
			else if (!strcmp(o->f->name, "add1")) add1(o);
			else if (fake.moves) move(o);
		}
	}
waits:
	if (fake.lost) i = fake.queue.n;
	fake.queue.n -= i;
	memmove(fake.queue.at, fake.queue.at + i, fake.queue.n * sizeof *fake.queue.at);
	return fake.lost;
}

// run waits for all that is queued, but not for ever.
static result run(void) {
	const int patience = 5000; // milliseconds
	for (int i = 0; !progress() && fake.queue.n; i++) {
		if (i == patience) return fake.lost = 702;
		usleep(1000);
	}
	return fake.lost;
}

result cuGetErrorName(result c, const char **out) {
	for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
		if (codes[i].code == c) { *out = codes[i].name; return OK; }
	*out = NULL;
	return INVALID_VALUE;
}

result cuGetErrorString(result c, const char **out) {
	for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
		if (codes[i].code == c) { *out = codes[i].text; return OK; }
	*out = NULL;
	return INVALID_VALUE;
}

result cuInit(unsigned flags) {
	ENTER(NOTHING);
	if (flags) return INVALID_VALUE;
	if (!fake.devices) return NO_DEVICE;
	fake.initialised = 1;
	return OK;
}

result cuDriverGetVersion(int *v) { ENTER(NOTHING); *v = fake.version; return OK; }
result cuDeviceGetCount(int *n) { ENTER(INITIALISED); *n = fake.devices; return OK; }

result cuDeviceGet(int *d, int ordinal) {
	ENTER(INITIALISED);
	if (ordinal < 0 || ordinal >= fake.devices) return INVALID_DEVICE;
	*d = ordinal;
	return OK;
}

result cuDeviceGetName(char *name, int n, int d) { ENTER(INITIALISED); snprintf(name, n, "Fake GPU %d", d); return OK; }
result cuDeviceTotalMem_v2(size_t *n, int d) { ENTER(INITIALISED); *n = fake.memory; return OK; }

result cuDeviceGetAttribute(int *v, int attribute, int d) {
	ENTER(INITIALISED);
	switch (attribute) {
	case 8: *v = 48 << 10; return OK;
	case 13: *v = 1410000; return OK;
	case 16: *v = 108; return OK;
	case 36: *v = 1215000; return OK;
	case 37: *v = 5120; return OK;
	case 38: *v = 40 << 20; return OK;
	case 39: *v = 2048; return OK;
	case 75: *v = fake.major; return OK;
	case 76: *v = fake.minor; return OK;
	case 81: *v = 164 << 10; return OK;
	case 82: *v = 65536; return OK;
	case 97: *v = 163 << 10; return OK;
	case 33: *v = 7; return OK;
	case 34: *v = d; return OK;
	case 50: *v = 1; return OK;
	case 106: *v = 32; return OK;
	}
	return INVALID_VALUE;
}

result cuDevicePrimaryCtxRetain(void **ctx, int d) {
	ENTER(INITIALISED);
	fake.contexts++;
	fake.live++;
	*ctx = (void *)(intptr_t)(d + 1);
	return OK;
}

result cuDevicePrimaryCtxRelease_v2(int d) {
	ENTER(INITIALISED);
	if (!fake.contexts) return INVALID_CONTEXT;
	fake.contexts--;
	fake.live--;
	return OK;
}

result cuCtxSetCurrent(void *ctx) { ENTER(INITIALISED); current = (int)(intptr_t)ctx; return OK; }

// There is one stream.
result cuStreamCreate(void **s, unsigned flags) {
	ENTER(CONTEXT);
	if (flags > 1) return INVALID_VALUE;
	fake.live++;
	*s = &fake;
	return OK;
}

result cuStreamDestroy_v2(void *s) {
	ENTER(NO_CAPTURE);
	if (s != &fake) return INVALID_HANDLE;
	fake.live--;
	return OK;
}

result cuStreamSynchronize(void *s) {
	ENTER(NO_CAPTURE);
	return s == &fake ? run() : INVALID_HANDLE;
}

result cuStreamQuery(void *s) {
	ENTER(NO_CAPTURE);
	if (s != &fake) return INVALID_HANDLE;
	int late = fake.queue.n; // it was not through when it was asked
	result e = progress();
	return e ? e : late ? NOT_READY : OK;
}

result cuMemAlloc_v2(dptr *p, size_t size) {
	ENTER(CONTEXT);
	if (!size) return INVALID_VALUE;
	if (size > fake.memory - fake.used) return OUT_OF_MEMORY;
	char *h = take(&fake.device, size);
	if (!h) return OUT_OF_MEMORY;
	fake.used += size;
	*p = (dptr)h + BIAS;
	return OK;
}

result cuMemFree_v2(dptr p) {
	ENTER(NO_CAPTURE);
	result e = run();
	int size = e ? -1 : give(&fake.device, (char *)(p - BIAS));
	if (size < 0) return e ? e : INVALID_VALUE;
	fake.used -= size;
	return OK;
}

result cuMemGetInfo_v2(size_t *available, size_t *total) {
	ENTER(CONTEXT);
	*available = fake.memory - fake.used;
	*total = fake.memory;
	return OK;
}

result cuMemHostAlloc(void **p, size_t size, unsigned flags) {
	ENTER(CONTEXT);
	if (!size) return INVALID_VALUE;
	*p = take(&fake.pinned, size);
	return *p ? OK : OUT_OF_MEMORY;
}

result cuMemFreeHost(void *p) { ENTER(NO_CAPTURE); return give(&fake.pinned, p) < 0 ? INVALID_VALUE : OK; }

// copy is as late with memory that is not pinned: nothing promises otherwise.
static result copy(char *dst, const char *src, size_t size, int pinned, void *s) {
	if (!dst || !src) return INVALID_VALUE;
	if (s != &fake) return INVALID_HANDLE;
	if (!pinned && fake.capturing) { fake.invalidated = 1; return CAPTURE_UNSUPPORTED; }
	queue((op){.kind = COPY, .dst = dst, .src = src, .size = size});
	return OK;
}

result cuMemcpyHtoDAsync_v2(dptr dst, const void *src, size_t size, void *s) {
	ENTER(CONTEXT);
	return copy(onDevice(dst, size), src, size, inside(&fake.pinned, src, size), s);
}

result cuMemcpyDtoHAsync_v2(void *dst, dptr src, size_t size, void *s) {
	ENTER(CONTEXT);
	return copy(dst, onDevice(src, size), size, inside(&fake.pinned, dst, size), s);
}

result cuMemcpyDtoDAsync_v2(dptr dst, dptr src, size_t size, void *s) {
	ENTER(CONTEXT);
	return copy(onDevice(dst, size), onDevice(src, size), size, 1, s);
}

result cuMemsetD8Async(dptr dst, unsigned char v, size_t size, void *s) {
	ENTER(CONTEXT);
	char *h = onDevice(dst, size);
	if (!h || v || s != &fake) return INVALID_VALUE;
	queue((op){.kind = ZERO, .dst = h, .size = size});
	return OK;
}

// logTo writes to the log buffer that an option of cuModuleLoadDataEx names.
static void logTo(int buffer, unsigned n, const int *options, void **values, const char *format, ...) {
	char *text = NULL;
	size_t size = 0;
	for (unsigned i = 0; i < n; i++) {
		if (options[i] == buffer) text = values[i];
		if (options[i] == buffer + 1) size = (uintptr_t)values[i];
	}
	if (!text || !size) return;
	va_list args;
	va_start(args, format);
	int used = vsnprintf(text, size, format, args);
	va_end(args);
	for (unsigned i = 0; i < n; i++)
		if (options[i] == buffer + 1) values[i] = (void *)(uintptr_t)used;
}

result cuModuleLoadDataEx(void **out, const char *ptx, unsigned n, const int *options, void **values) {
	ENTER(CONTEXT);
	int major, minor;
	const char *version = strstr(ptx, ".version");
	if (!version || sscanf(version, ".version %d.%d", &major, &minor) != 2) {
		logTo(5, n, options, values, "ptxas application ptx input, line 1; fatal   : Missing .version directive at start of file '(null)'\n");
		return INVALID_PTX;
	}
	if ((major + 4) * 1000 + minor * 10 > fake.version) {
		logTo(5, n, options, values, "ptxas application ptx input, line 1; fatal   : Unsupported .version %d.%d\n", major, minor);
		return UNSUPPORTED_PTX_VERSION;
	}
	logTo(3, n, options, values, "info: %zu bytes of PTX\n", strlen(ptx));
	module *m = malloc(sizeof *m);
	m->ptx = strdup(ptx);
	fake.live++;
	*out = m;
	return OK;
}

result cuModuleUnload(module *m) {
	ENTER(NO_CAPTURE);
	free(m->ptx);
	free(m);
	fake.live--;
	return OK;
}

// params adds up the parameters between the parentheses after an entry's name.
static size_t params(const char *list) {
	size_t size = 0;
	const char *end = strchr(list, ')');
	for (const char *p = list; (p = strstr(p, ".param")) && p < end; p++) {
		int bits = 0, align, bytes;
		if (sscanf(p, ".param .align %d .b8 %*[^[][%d]", &align, &bytes) != 2) {
			sscanf(p, ".param .%*c%d", &bits);
			align = bytes = bits / 8;
		}
		size = (size + align - 1) / align * align + bytes;
	}
	return size;
}

result cuModuleGetFunction(void **out, module *m, const char *name) {
	ENTER(CONTEXT);
	size_t n = strlen(name);
	for (const char *p = m->ptx; (p = strstr(p, ".entry ")); ) {
		p += strlen(".entry ");
		if (strncmp(p, name, n) || !strchr(" (\n{", p[n]) || n > 63) continue;
		function *f = calloc(1, sizeof *f); // kept for what is written down of launches
		strcpy(f->name, name);
		f->params = strchr(" (", p[n]) ? params(p + n) : 0;
		f->shared = 48 << 10;
		*out = f;
		return OK;
	}
	return NOT_FOUND;
}

result cuFuncGetAttribute(int *v, int attribute, function *f) {
	ENTER(CONTEXT);
	switch (attribute) {
	case 0: *v = 1024; return OK;
	case 1: *v = 256; return OK;
	case 3: *v = 16; return OK;
	case 4: *v = 32; return OK;
	case 8: *v = f->shared; return OK;
	}
	return INVALID_VALUE;
}

result cuFuncSetAttribute(function *f, int attribute, int v) {
	ENTER(CONTEXT);
	if (attribute != 8 || v < 0 || v > 163 << 10) return INVALID_VALUE;
	f->shared = v;
	return OK;
}

result cuLaunchKernel(function *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                      unsigned shared, void *s, void **kernelParams, void **extra) {
	ENTER(CONTEXT);
	if (s != &fake) return INVALID_HANDLE;
	if (!gx || !gy || !gz || !bx || !by || !bz || bx * by * bz > 1024 || shared > (unsigned)f->shared) return INVALID_VALUE;
	const void *args = NULL;
	size_t size = 0;
	for (; extra && *extra; extra += 2) {
		if (*extra == (void *)1) args = extra[1];
		if (*extra == (void *)2) size = *(size_t *)extra[1];
	}
	if (kernelParams || size != f->params) return INVALID_VALUE;
	op o = {.kind = LAUNCH, .f = f, .dims = {gx, gy, gz, bx, by, bz, shared}, .size = size, .args = malloc(size + 1)};
	memcpy(o.args, args, size);
	queue(o);
	return OK;
}

result cuStreamBeginCapture_v2(void *s, int mode) {
	ENTER(NO_CAPTURE);
	if (s != &fake || mode != 2) return INVALID_VALUE;
	fake.capturing = 1;
	fake.invalidated = 0;
	fake.captured = (ops){0};
	return OK;
}

#ifndef NO_GRAPHS
static ops *newOps(ops from) {
	ops *o = calloc(1, sizeof *o);
	for (int i = 0; i < from.n; i++) append(o, from.at[i]);
	fake.live++;
	return o;
}

static void freeOps(ops *o) {
	free(o->at);
	free(o);
	fake.live--;
}

result cuStreamEndCapture(void *s, void **graph) {
	ENTER(CONTEXT);
	if (!fake.capturing) return CAPTURE_UNMATCHED;
	fake.capturing = 0;
	*graph = NULL;
	if (fake.invalidated) return CAPTURE_INVALIDATED;
	*graph = newOps(fake.captured);
	return OK;
}

result cuGraphInstantiateWithFlags(void **exec, ops *graph, unsigned long long flags) { ENTER(CONTEXT); *exec = newOps(*graph); return OK; }
result cuGraphDestroy(ops *graph) { ENTER(CONTEXT); freeOps(graph); return OK; }
result cuGraphExecDestroy(ops *exec) { ENTER(CONTEXT); freeOps(exec); return OK; }

result cuGraphLaunch(ops *exec, void *s) {
	ENTER(CONTEXT);
	for (int i = 0; i < exec->n; i++) queue(exec->at[i]);
	return OK;
}
#endif

#ifndef NO_TENSORS
// A descriptor is 16 words: the arguments.
result cuTensorMapEncodeTiled(uint64_t *map, int type, uint32_t rank, void *address, const uint64_t *size, const uint64_t *stride,
		const uint32_t *box, const uint32_t *step, int interleave, int swizzle, int promotion, int fill) {
	ENTER(CONTEXT);
	uint64_t words[16] = {type, rank, (uint64_t)address, size[0], size[1], stride[0], box[0], box[1], step[0], step[1],
		interleave, swizzle, promotion, fill, (uint64_t)map % 64};
	memcpy(map, words, sizeof words);
	return OK;
}
#endif

result cuEventCreate(event **out, unsigned flags) {
	ENTER(CONTEXT);
	if (flags) return INVALID_VALUE;
	*out = calloc(1, sizeof **out);
	fake.live++;
	return OK;
}

result cuEventRecord(event *e, void *s) {
	ENTER(NO_CAPTURE);
	if (s != &fake) return INVALID_HANDLE;
	e->ahead++;
	queue((op){.kind = MARK, .mark = e});
	return OK;
}

result cuEventSynchronize(event *e) {
	ENTER(NO_CAPTURE);
	return e->ahead ? run() : OK;
}

result cuEventElapsedTime(float *ms, event *start, event *end) {
	ENTER(CONTEXT);
	if (start->ahead || end->ahead) return NOT_READY;
	if (!start->passed || !end->passed) return INVALID_HANDLE;
	*ms = (end->at - start->at) / 1000.f;
	return OK;
}

result cuEventDestroy_v2(event *e) {
	ENTER(NO_CAPTURE);
	result failed = e->ahead ? run() : OK;
	if (failed) return failed;
	free(e);
	fake.live--;
	return OK;
}

#ifdef GORGONIA
// What gorgonia.org/cu links to besides: it is never called.
#define F(name) result name(void) { return 801; }
#include "gorgonia.h"
#endif

// The controls.

// fake_reset makes a new device. What is recorded or alive is forgotten.
void fake_reset(void) {
	memset(&fake, 0, sizeof fake);
	fake.version = 12040;
	fake.devices = 1;
	fake.major = 8;
	fake.fill = 0xCD;
	fake.memory = 64 << 20;
}

int fake_set(const char *what, int value) {
	if (!strcmp(what, "version")) fake.version = value;
	else if (!strcmp(what, "devices")) fake.devices = value;
	else if (!strcmp(what, "major")) fake.major = value;
	else if (!strcmp(what, "minor")) fake.minor = value;
	else if (!strcmp(what, "fill")) fake.fill = value;
	else if (!strcmp(what, "moves")) fake.moves = value;
	else return -1;
	return 0;
}

// fake_fail lets a function fail once, after so many calls that do not.
int fake_fail(const char *name, int code, int after) {
	for (int i = 0; i < 8; i++)
		if (!fake.fails[i].name[0]) {
			snprintf(fake.fails[i].name, sizeof fake.fails[i].name, "%s", name);
			fake.fails[i].code = code;
			fake.fails[i].after = after;
			return 0;
		}
	return -1;
}

// fake_poison makes the next kernel that runs lose the device.
void fake_poison(int code) { fake.poison = code; }

// fake_call queues a call, which is made until it returns other than 0: what another library
// does on the stream.
void fake_call(int (*call)(void *), void *arg) { queue((op){.kind = CALL, .call = call, .arg = arg}); }

// fake_live counts what was made and not freed.
int fake_live(void) { return fake.live; }

// fake_calls counts the calls of a function.
int fake_calls(const char *name) {
	for (int i = 0; i < MAX_CALLED; i++)
		if (!strcmp(fake.called[i].name, name)) return fake.called[i].times;
	return 0;
}

// fake_launches counts the kernels that ran.
int fake_launches(void) { return fake.done.n; }

// fake_launch gives one of them: its name, dimensions and shared memory, and
// parameters, of which it returns the size.
int fake_launch(int i, char *name, uint32_t *dims, unsigned char *args, int room) {
	const op *o = &fake.done.at[i];
	strcpy(name, o->f->name);
	memcpy(dims, o->dims, sizeof o->dims);
	memcpy(args, o->args, o->size < (size_t)room ? o->size : (size_t)room);
	return o->size;
}
