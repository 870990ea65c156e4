//go:build linux && cgo

package main

/*
#include <stdint.h>

static _Thread_local uintptr_t current;

static uintptr_t context(void) { return current; }
static void setContext(uintptr_t c) { current = c; }
*/
import "C"

// A thread of the caller has a current context, or 0.

func current() handle { return handle(C.context()) }

func setCurrent(c handle) { C.setContext(C.uintptr_t(c)) }
