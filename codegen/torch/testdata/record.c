// A driver library that records: each call is a line of the file that RECORD names. Device
// addresses are those of the process. RECORD_FAIL=NAME makes a call fail with RECORD_STATUS,
// RECORD_ARCH is the compute capability, RECORD_SHARED the shared memory of a block.
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static __thread void *now; // the current context
static int initialised;
static const char *entries[4096];
static int known;

static int number(const char *name, int otherwise) {
	const char *s = getenv(name);
	return s ? atoi(s) : otherwise;
}

static void say(const char *format, ...) {
	const char *path = getenv("RECORD");
	if (!path) return;
	pthread_mutex_lock(&lock);
	FILE *f = fopen(path, "a");
	va_list args;
	va_start(args, format);
	vfprintf(f, format, args);
	va_end(args);
	fclose(f);
	pthread_mutex_unlock(&lock);
}

static int status(const char *call) {
	const char *fail = getenv("RECORD_FAIL");
	if (fail && strcmp(fail, call) == 0) return number("RECORD_STATUS", 1);
	return strcmp(call, "cuInit") && !initialised ? 3 : 0;
}

int cuInit(unsigned flags) {
	say("cuInit\n");
	int s = status("cuInit");
	if (!s) initialised = 1;
	return s;
}
int cuGetErrorName(int error, const char **text) {
	*text = error == 900 ? "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED" : "CUDA_ERROR_RECORDED";
	return 0;
}
int cuGetErrorString(int error, const char **text) {
	*text = "a recorded error";
	return 0;
}
int cuDeviceGet(int *device, int ordinal) {
	*device = ordinal + 70;
	return status("cuDeviceGet");
}
int cuDeviceGetAttribute(int *value, int which, int device) {
	int arch = number("RECORD_ARCH", 90);
	switch (which) {
	case 16: *value = 3; break;
	case 75: *value = arch / 10; break;
	case 76: *value = arch % 10; break;
	case 97: *value = number("RECORD_SHARED", 101376); break;
	default: return 1;
	}
	return status("cuDeviceGetAttribute");
}
int cuDevicePrimaryCtxRetain(void **context, int device) {
	say("retain %d\n", device);
	*context = (void *)(uintptr_t)(0x1000 + device);
	return status("cuDevicePrimaryCtxRetain");
}
int cuCtxGetCurrent(void **context) {
	*context = now;
	return status("cuCtxGetCurrent");
}
int cuCtxSetCurrent(void *context) {
	now = context;
	return status("cuCtxSetCurrent");
}
int cuModuleLoadDataEx(void **module, const char *image, unsigned count, int *options, void **values) {
	say("load %.20s\n", image);
	*module = (void *)image;
	int s = status("cuModuleLoadDataEx");
	if (s && count == 2 && options[0] == 5) snprintf(values[0], (size_t)values[1], "line 3: a log");
	return now ? s : 201;
}
int cuModuleGetFunction(void **function, void *module, const char *name) {
	entries[known] = strdup(name);
	*function = (void *)(uintptr_t)(0x100000000ull + known++); // more than 32 bits
	return status("cuModuleGetFunction");
}
int cuFuncSetAttribute(void *function, int attribute, int value) {
	say("attribute %s %d %d\n", entries[(uintptr_t)function & 4095], attribute, value);
	return status("cuFuncSetAttribute");
}
int cuLaunchKernel(void *function, unsigned x, unsigned y, unsigned z, unsigned bx, unsigned by, unsigned bz,
                   unsigned shared, void *stream, void **parameters, void **extra) {
	if (!now) return 201;
	if (parameters || (uintptr_t)extra[0] != 1 || (uintptr_t)extra[2] != 2 || extra[4]) return 1;
	const unsigned char *bytes = extra[1];
	size_t size = *(size_t *)extra[3];
	char text[8193] = "";
	if (!getenv("RECORD")) return status("cuLaunchKernel");
	for (size_t i = 0; i < size; i++) sprintf(text + 2 * i, "%02x", bytes[i]);
	say("launch %s %u %u %u %u %u %u %u %p %p %s\n", entries[(uintptr_t)function & 4095], x, y, z, bx, by, bz, shared, stream,
	    now, text);
	return status("cuLaunchKernel");
}
