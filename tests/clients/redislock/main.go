// Increments a counter under redislock's Lock, for `locklab attack` (docs/attack.md).
//
// To attack a lock of yours, put it in the place of `locker` and `lock`: where it is made, obtained and released.
package main

import (
	"context"
	"os"
	"strconv"
	"time"

	locklab "locklab-client/tell"

	"github.com/bsm/redislock"
	"github.com/redis/go-redis/v9"
)

func connect(url string) *redis.Client {
	options, err := redis.ParseURL(url)
	if err != nil {
		panic(err)
	}
	return redis.NewClient(options)
}

func main() {
	ctx := context.Background()
	lease, err := strconv.Atoi(os.Getenv("LOCKLAB_LEASE_MS"))
	if err != nil {
		lease = 1000
	}
	resource := connect(os.Getenv("LOCKLAB_RESOURCE"))
	locker := redislock.New(connect(os.Getenv("REDIS_URL")))
	for ; ; time.Sleep(30 * time.Millisecond) {
		locklab.Tell("acquiring", nil)
		asked := time.Now()
		lock, err := locker.Obtain(ctx, "counter-lock", time.Duration(lease)*time.Millisecond, nil)
		if err != nil {
			locklab.Tell("refused", nil)
			continue
		}
		// The library says no deadline: the lease counts from before the request.
		left := float64(lease) - float64(time.Since(asked))/1e6
		locklab.Tell("acquired", map[string]any{"ttl_ms": left})
		value, err := resource.Get(ctx, "counter").Int()
		if err == nil || err == redis.Nil {
			time.Sleep(100 * time.Millisecond)
			resource.Set(ctx, "counter", value+1, 0)
		}
		locklab.Tell("releasing", nil)
		lock.Release(ctx)
		locklab.Tell("released", nil)
	}
}
