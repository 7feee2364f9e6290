// Package locklab tells `locklab attack` when this process holds its lock; elsewhere it does nothing.
package locklab

import (
	"encoding/json"
	"fmt"
	"os"
	"syscall"
	"unsafe"
)

// Now reads CLOCK_MONOTONIC, of which package time shows only differences, in nanoseconds.
func Now() int64 {
	var now syscall.Timespec
	syscall.Syscall(syscall.SYS_CLOCK_GETTIME, 1, uintptr(unsafe.Pointer(&now)), 0)
	return now.Nano()
}

// Tell tells that something happened now: Tell("acquired", map[string]any{"ttl_ms": 900, "token": 7}).
// "ns": the reading of Now from which ttl_ms counts, if it was taken before.
func Tell(word string, more map[string]any) {
	file, err := os.OpenFile(os.Getenv("LOCKLAB_FILE"), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return
	}
	defer file.Close()
	line := fmt.Sprintf(`{"locklab":%q`, word)
	if _, given := more["ns"]; !given {
		line += fmt.Sprintf(`,"ns":%d`, Now())
	}
	for key, value := range more {
		text, _ := json.Marshal(value)
		line += fmt.Sprintf(",%q:%s", key, text)
	}
	file.WriteString(line + "}\n")
}
