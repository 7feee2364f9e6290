// Locks on one node, right and wrong, for `locklab attack`: `worker NAME`. The names mean what they mean in `worker.py`.
// Built with docs/attack/locklab_tell.go, which has Tell.
package main

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"time"
)

const leaseMs = 1000
const compareAndDelete = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) else return 0 end"

// server connects: the function sends a request and returns the reply, of one line.
func server(url string) func(words ...any) string {
	socket, err := net.Dial("tcp", strings.TrimPrefix(url, "redis://"))
	if err != nil {
		panic(err)
	}
	replies := bufio.NewReader(socket)
	line := func() string {
		text, err := replies.ReadString('\n')
		if err != nil {
			panic(err)
		}
		return strings.TrimSpace(text)
	}
	return func(words ...any) string {
		request := fmt.Sprintf("*%d\r\n", len(words))
		for _, word := range words {
			text := fmt.Sprint(word)
			request += fmt.Sprintf("$%d\r\n%s\r\n", len(text), text)
		}
		socket.Write([]byte(request))
		head := line()
		if head[0] != '$' {
			return head[1:]
		}
		if head == "$-1" {
			return ""
		}
		return line()
	}
}

func main() {
	name := os.Args[1]
	node, resource := server(os.Getenv("REDIS_URL")), server(os.Getenv("LOCKLAB_RESOURCE"))
	for ; ; time.Sleep(10 * time.Millisecond) {
		me := fmt.Sprintf("%s-%d", os.Getenv("LOCKLAB_HOST"), time.Now().UnixNano())
		Tell("acquiring", nil)
		asked := Now()
		about, show := map[string]any{}, []any{}
		if name == "tokens" {
			token, _ := strconv.Atoi(node("INCR", "token"))
			about["token"], show = token, []any{"TOKEN", token}
		}
		words := []any{"SET", "lock", me}
		if name != "set-without-nx" {
			words = append(words, "NX")
		}
		if name != "no-expiry" {
			words = append(words, "PX", leaseMs)
		}
		if node(words...) != "OK" && name != "never-looks-at-the-reply" {
			Tell("refused", nil)
			continue
		}
		about["ns"] = Now()
		if name != "no-expiry" {
			about["ttl_ms"] = leaseMs - float64(about["ns"].(int64)-asked)/1e6
		}
		Tell("acquired", about)
		value, _ := strconv.Atoi(resource(append([]any{"GET", "c"}, show...)...))
		time.Sleep(300 * time.Millisecond)
		if name != "looks-at-its-deadline" || float64(Now()-asked) < 0.9e6*leaseMs {
			resource(append([]any{"SET", "c", value + 1}, show...)...)
		}
		Tell("releasing", nil)
		release := []any{"EVAL", compareAndDelete, 1, "lock", me}
		if name == "deletes-any" || name == "never-looks-at-the-reply" {
			release = []any{"DEL", "lock"}
		}
		removed, _ := strconv.Atoi(node(release...))
		Tell("released", map[string]any{"removed": removed})
	}
}
