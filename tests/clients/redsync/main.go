// Increments a counter under redsync's Mutex, for `locklab attack`; see README.md.
package main

import (
	"context"
	"os"
	"strconv"
	"strings"
	"time"

	locklab "locklab-client/tell"

	"github.com/go-redsync/redsync/v4"
	redsyncredis "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
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
	var pools []redsyncredis.Pool
	for _, url := range strings.Split(os.Getenv("REDIS_URLS"), ",") {
		pools = append(pools, goredis.NewPool(connect(url)))
	}
	expiry := redsync.WithExpiry(time.Duration(lease) * time.Millisecond)
	mutex := redsync.New(pools...).NewMutex("counter-lock", expiry)
	for ; ; time.Sleep(30 * time.Millisecond) {
		locklab.Tell("acquiring", nil)
		if mutex.TryLock() != nil {
			locklab.Tell("refused", nil)
			continue
		}
		// The library says until when.
		left := time.Until(mutex.Until())
		locklab.Tell("acquired", map[string]any{"ttl_ms": float64(left) / 1e6})
		value, err := resource.Get(ctx, "counter").Int()
		if err == nil || err == redis.Nil {
			time.Sleep(100 * time.Millisecond)
			resource.Set(ctx, "counter", value+1, 0)
		}
		locklab.Tell("releasing", nil)
		mutex.Unlock()
		locklab.Tell("released", nil)
	}
}
