// Does with redsync's Mutex what it is told, for `cargo xtask clients --ports`; see README.md.
package main

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/go-redsync/redsync/v4"
	redsyncredis "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
)

func main() {
	lease, err := strconv.Atoi(os.Getenv("LOCKLAB_LEASE_MS"))
	if err != nil {
		panic(err)
	}
	var pools []redsyncredis.Pool
	for _, url := range strings.Split(os.Getenv("REDIS_URLS"), ",") {
		options, err := redis.ParseURL(url)
		if err != nil {
			panic(err)
		}
		pools = append(pools, goredis.NewPool(redis.NewClient(options)))
	}
	expiry := redsync.WithExpiry(time.Duration(lease) * time.Millisecond)
	mutex := redsync.New(pools...).NewMutex("lock", expiry, redsync.WithTries(1000))
	word := func(ok bool, otherwise string) string {
		if ok {
			return "ok"
		}
		return otherwise
	}
	fmt.Println("ready")
	for orders := bufio.NewScanner(os.Stdin); orders.Scan(); {
		switch orders.Text() {
		case "lock":
			fmt.Println(word(mutex.Lock() == nil, "no"))
		case "try":
			fmt.Println(word(mutex.TryLock() == nil, "no"))
		case "extend":
			ok, err := mutex.Extend()
			fmt.Println(word(ok && err == nil, "error"))
		case "unlock":
			ok, err := mutex.Unlock()
			fmt.Println(word(ok && err == nil, "error"))
		}
	}
}
