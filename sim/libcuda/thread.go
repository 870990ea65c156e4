//go:build linux && cgo

package main

/*
#include <stdint.h>

enum { most = 64 };
static _Thread_local uintptr_t stack[most];
static _Thread_local int top;

static uintptr_t context(void) { return stack[top]; }
static void setContext(uintptr_t c) { stack[top] = c; }
static int push(void) { return top + 1 < most ? ++top, 1 : 0; }
static int pop(void) { return top > 0 ? top--, 1 : 0; }
*/
import "C"

// A thread of the caller has a stack of contexts. The last one is current, or 0.

func current() handle { return handle(C.context()) }

func setCurrent(c handle) { C.setContext(C.uintptr_t(c)) }

// push makes a context current until pop. Both report whether the stack has room, or a context.
func push(c handle) bool {
	if C.push() == 0 {
		return false
	}
	setCurrent(c)
	return true
}

func pop() bool { return C.pop() != 0 }
