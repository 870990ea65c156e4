// An NCCL without GPUs, for tests: ranks are processes, which exchange bytes by way of a file
// that all map, on the memory of the fake driver (package fakecuda), whose addresses are those
// of the process and BIAS. What it does on the stream it does in the order of that driver's.
// It refuses what the real one would refuse, and finds a rank that has ended by its lock on
// the file. Sizes of arguments are those of nccl.h. The environment says how it behaves:
// FAKE_NCCL_VERSION; FAKE_NCCL_GPU, which GPU the rank has; FAKE_NCCL_SILENT, a rank that has
// ended is not found; FAKE_NCCL_FAIL=FUNCTION:RESULT, that function fails.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef VERSION
#define VERSION 22809
#endif

#define BIAS (1ull << 60)
#define MAX_RANKS 4
#define BOX (1 << 16) // bytes of a message between two processes, at most
#define FEW 1000       // at first: so that small transfers take several, too

typedef enum { OK, CUDA, SYSTEM, INTERNAL, ARGUMENT, USAGE, REMOTE, IN_PROGRESS } result;
typedef struct { char internal[128]; } uid;
typedef struct { size_t size; unsigned magic, version; int blocking; } config;

typedef struct { uint64_t written, read; size_t size; char data[BOX]; } box;
typedef struct {
	struct { int present, version, gpu; } rank[MAX_RANKS];
	box from[MAX_RANKS][MAX_RANKS];
} shared;

typedef struct { int send, peer; char *at; size_t size, done; } transfer;
typedef struct comm comm;
typedef struct { comm *of; int n; transfer *all; } work;
struct comm { int rank, size, joined, finalized, aborted, blocking, looks, file; result state; shared *s; work *next; };

static char last[1024];
static int live, depth;
static __thread int mine; // the thread that has begun the group
static comm *grouped;

static result warn(result r, const char *format, ...) {
	va_list args;
	va_start(args, format);
	vsnprintf(last, sizeof last, format, args);
	va_end(args);
	return r;
}

static result fails(const char *name) {
	const char *f = getenv("FAKE_NCCL_FAIL"), *colon = f ? strchr(f, ':') : NULL;
	if (!colon || strlen(name) != (size_t)(colon - f) || strncmp(f, name, colon - f)) return OK;
	return warn(atoi(colon + 1), "%s was to fail", name);
}
#define ENTER() do { result r = fails(__func__); if (r) return r; } while (0)

// driver finds a function of the fake driver.
static void *driver(const char *name) {
	void *f = dlsym(RTLD_DEFAULT, name);
	if (!f) abort();
	return f;
}

// context says whether the thread has one.
static int context(void) {
	size_t available, total;
	return ((int (*)(size_t *, size_t *))driver("cuMemGetInfo_v2"))(&available, &total) == 0;
}

static int number(const char *name, int otherwise) {
	const char *text = getenv(name);
	return text ? atoi(text) : otherwise;
}

// lock takes the byte of a rank, or asks whether another process has it.
static int lock(int file, int command, int rank) {
	struct flock l = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = rank, .l_len = 1};
	if (fcntl(file, command, &l)) abort();
	return l.l_type != F_UNLCK;
}
static int ended(comm *c, int rank) {
	return rank != c->rank && !getenv("FAKE_NCCL_SILENT") && !lock(c->file, F_GETLK, rank);
}

result ncclGetVersion(int *v) { ENTER(); *v = number("FAKE_NCCL_VERSION", VERSION); return OK; }
const char *ncclGetErrorString(result r) {
	static const char *const text[] = {"no error", "unhandled cuda error", "unhandled system error", "internal error", "invalid argument",
		"invalid usage", "remote process exited or there was a network error", "in progress"};
	return r < sizeof text / sizeof *text ? text[r] : "unknown result code";
}
const char *ncclGetLastError(comm *c) { return last; }

result ncclGetUniqueId(uid *id) {
	ENTER();
	memset(id, 0x5a, sizeof *id);
	const char *at = getenv("NCCL_COMM_ID");
	if (at) snprintf(id->internal, sizeof *id, "%s", at);
	else snprintf(id->internal, sizeof *id, "process %d, %d", getpid(), live);
	return OK;
}

static result init(comm **out, int size, const uid *id, int rank, const config *g) {
	if (!g || g->magic != 0xcafebeef || g->size < 20 || g->version < 21400) return warn(ARGUMENT, "config is not initialized");
	if (size < 1 || size > MAX_RANKS || rank < 0 || rank >= size) return warn(ARGUMENT, "Invalid rank requested : %d/%d", rank, size);
	if (!context()) return warn(CUDA, "there is no context");
	uint64_t hash = 14695981039346656037u;
	for (size_t i = 0; i < sizeof *id; i++) hash = (hash ^ (unsigned char)id->internal[i]) * 1099511628211u;
	char path[4096];
	snprintf(path, sizeof path, "%s/fakenccl.%016llx", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp", (unsigned long long)hash);
	comm *c = calloc(1, sizeof *c);
	c->rank = rank, c->size = size, c->blocking = g->blocking != 0, c->state = IN_PROGRESS;
	if ((c->file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600)) < 0 || ftruncate(c->file, sizeof *c->s)) return warn(SYSTEM, "cannot open %s", path);
	c->s = mmap(NULL, sizeof *c->s, PROT_READ | PROT_WRITE, MAP_SHARED, c->file, 0);
	lock(c->file, F_SETLK, rank);
	c->s->rank[rank].version = number("FAKE_NCCL_VERSION", VERSION);
	c->s->rank[rank].gpu = number("FAKE_NCCL_GPU", rank);
	__atomic_store_n(&c->s->rank[rank].present, 1, __ATOMIC_SEQ_CST);
	live++;
	*out = c;
	if (c->blocking) abort(); // nobody asks for that
	return IN_PROGRESS;
}

#ifndef NO_SCALABLE
result ncclCommInitRankScalable(comm **out, int size, int rank, int ids, const uid *id, const config *g) {
	ENTER();
	return ids == 1 ? init(out, size, id, rank, g) : ARGUMENT;
}
#endif
result ncclCommInitRankConfig(comm **out, int size, uid id, int rank, const config *g) { ENTER(); return init(out, size, &id, rank, g); }

// several says whether ranks may share a GPU.
static int several(comm *c) {
	const char *enabled = getenv("NCCL_MULTI_RANK_GPU_ENABLE");
	return enabled && atoi(enabled) == 1 && c->s->rank[0].version >= 23000;
}

// join sees whether all are there, and fit.
static result join(comm *c) {
	for (int r = 0; r < c->size; r++)
		if (!__atomic_load_n(&c->s->rank[r].present, __ATOMIC_SEQ_CST)) return IN_PROGRESS;
	for (int r = 0; r < c->size; r++) {
		if (c->s->rank[r].version != c->s->rank[0].version) return warn(USAGE, "Mismatched NCCL version detected : rank %d", r);
		for (int q = 0; q < r; q++)
			if (c->s->rank[q].gpu == c->s->rank[r].gpu && !several(c))
				return warn(USAGE, "Duplicate GPU detected : rank %d and rank %d both on CUDA device 1000", r, q);
	}
	c->joined = 1;
	return OK;
}

// move takes a transfer as far as it goes, and says whether that is to its end.
static int move(comm *c, transfer *t) {
	box *b = t->send ? &c->s->from[c->rank][t->peer] : &c->s->from[t->peer][c->rank];
	while (t->done < t->size) {
		uint64_t written = __atomic_load_n(&b->written, __ATOMIC_ACQUIRE), read = __atomic_load_n(&b->read, __ATOMIC_ACQUIRE);
		if ((written == read) != t->send) {
			if (ended(c, t->peer)) c->state = warn(REMOTE, "socketPollConnect: rank %d", t->peer);
			return 0;
		}
		if (t->send) {
			size_t left = t->size - t->done, most = t->done < 4 * FEW ? FEW : BOX;
			b->size = left < most ? left : most;
			memcpy(b->data, t->at + t->done, b->size);
			t->done += b->size;
			__atomic_store_n(&b->written, written + 1, __ATOMIC_RELEASE);
		} else {
			if (b->size > t->size - t->done) abort(); // the ranks do not agree
			memcpy(t->at + t->done, b->data, b->size);
			t->done += b->size;
			__atomic_store_n(&b->read, read + 1, __ATOMIC_RELEASE);
		}
	}
	return 1;
}

// step is what the stream calls until it says that it is through. Of the transfers between
// two ranks in one direction the first goes first.
static int step(void *arg) {
	work *w = arg;
	int waits[2][MAX_RANKS] = {0}, left = 0;
	for (int i = 0; i < w->n && !w->of->aborted; i++) {
		transfer *t = &w->all[i];
		if (waits[t->send][t->peer] || !move(w->of, t)) waits[t->send][t->peer] = left = 1;
	}
	if (left && !w->of->aborted) return 0;
	free(w->all);
	free(w);
	return 1;
}

result ncclCommGetAsyncError(comm *c, result *state) {
	ENTER();
	if (c->state == IN_PROGRESS && ++c->looks % 3 == 0) { // a while later
		if (!c->joined) {
			c->state = join(c);
		} else {
			if (c->next) ((void (*)(int (*)(void *), void *))driver("fake_call"))(step, c->next);
			c->next = NULL;
			c->state = OK;
		}
	}
	*state = c->state;
	return OK;
}

result ncclGroupStart(void) { ENTER(); depth++; mine = 1; return OK; }

// add adds a transfer to the group.
static result add(comm *c, int send, int peer, const void *at, size_t size, int type, void *stream) {
	if (!depth || !mine) return warn(INTERNAL, "the fake one wants a group");
	if (c->state != OK || !c->joined || c->finalized || grouped && grouped != c) return warn(USAGE, "the communicator is not ready");
	if (!context() || !stream || type != 1 || (uint64_t)at < BIAS || peer < 0 || peer >= c->size || peer == c->rank) return ARGUMENT;
	work *w = c->next;
	if (!w) w = c->next = calloc(1, sizeof *w), w->of = c;
	w->all = realloc(w->all, (w->n + 1) * sizeof *w->all);
	w->all[w->n++] = (transfer){.send = send, .peer = peer, .at = (char *)((uint64_t)at - BIAS), .size = size};
	grouped = c;
	return OK;
}

result ncclSend(const void *at, size_t n, int type, int peer, comm *c, void *stream) { ENTER(); return add(c, 1, peer, at, n, type, stream); }
result ncclRecv(void *at, size_t n, int type, int peer, comm *c, void *stream) { ENTER(); return add(c, 0, peer, at, n, type, stream); }

result ncclGroupEnd(void) {
	ENTER();
	if (!depth || !mine) return warn(USAGE, "ncclGroupEnd: not in a group call.");
	depth--, mine = 0;
	comm *c = grouped;
	grouped = NULL;
	if (!c) return OK;
	return c->state = IN_PROGRESS;
}

result ncclAllGather(const void *own, void *all, size_t n, int type, comm *c, void *stream) {
	ENTER();
	if ((char *)own != (char *)all + c->rank * n) return warn(ARGUMENT, "the fake one gathers in place");
	ncclGroupStart();
	result r = OK;
	for (int peer = 0; peer < c->size; peer++)
		if (peer != c->rank && (r = r ? r : add(c, 1, peer, own, n, type, stream)) == OK) r = add(c, 0, peer, (char *)all + peer * n, n, type, stream);
	result end = ncclGroupEnd();
	return r ? r : end;
}

result ncclBroadcast(const void *from, void *to, size_t n, int type, int root, comm *c, void *stream) {
	ENTER();
	if (from != to) return warn(ARGUMENT, "the fake one broadcasts in place");
	ncclGroupStart();
	result r = OK;
	for (int peer = 0; peer < c->size; peer++)
		if (peer != c->rank && (c->rank == root || peer == root)) r = r ? r : add(c, c->rank == root, peer, from, n, type, stream);
	result end = ncclGroupEnd();
	return r ? r : end;
}

result ncclCommFinalize(comm *c) {
	ENTER();
	if (c->state != OK || c->finalized++) return USAGE;
	return c->state = IN_PROGRESS;
}

static result done(comm *c) {
	live--;
	c->aborted = 1;
	close(c->file); // with the lock
	munmap(c->s, sizeof *c->s);
	return OK; // c is kept: the stream may have it
}
result ncclCommDestroy(comm *c) {
	ENTER();
	if (!c->finalized || c->state != OK) return USAGE;
	return done(c);
}
result ncclCommAbort(comm *c) { ENTER(); return done(c); }

int fake_nccl_live(void) { return live; }
