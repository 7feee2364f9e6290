// Does with redislock's Lock what it is told, for `cargo xtask clients --ports`; see README.md.
package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/bsm/redislock"
	"github.com/redis/go-redis/v9"
)

func main() {
	milliseconds, err := strconv.Atoi(os.Getenv("LOCKLAB_LEASE_MS"))
	if err != nil {
		panic(err)
	}
	options, err := redis.ParseURL(os.Getenv("REDIS_URL"))
	if err != nil {
		panic(err)
	}
	lease := time.Duration(milliseconds) * time.Millisecond
	locker := redislock.New(redis.NewClient(options))
	var held *redislock.Lock
	word := func(err error, otherwise string) string {
		if err == nil {
			return "ok"
		}
		return otherwise
	}
	obtain := func(options *redislock.Options) string {
		// Without a deadline it would try for no longer than a lease.
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		lock, err := locker.Obtain(ctx, "lock", lease, options)
		if err == nil {
			held = lock
		}
		return word(err, "no")
	}
	fmt.Println("ready")
	for orders := bufio.NewScanner(os.Stdin); orders.Scan(); {
		switch orders.Text() {
		case "lock":
			// The library has no strategy by default.
			strategy := redislock.LinearBackoff(100 * time.Millisecond)
			fmt.Println(obtain(&redislock.Options{RetryStrategy: strategy}))
		case "try":
			fmt.Println(obtain(nil))
		case "extend":
			fmt.Println(word(held.Refresh(context.Background(), lease, nil), "error"))
		case "unlock":
			fmt.Println(word(held.Release(context.Background()), "error"))
		}
	}
}
