// Does with redislock's Lock what it is told, for `locklab score`; see README.md.
package main

import (
	"context"
	"errors"
	"os"
	"time"

	drill "locklab-client/score"

	"github.com/bsm/redislock"
	"github.com/redis/go-redis/v9"
)

func main() {
	options, err := redis.ParseURL(os.Getenv("REDIS_URL"))
	if err != nil {
		panic(err)
	}
	locker := redislock.New(redis.NewClient(options))
	var held *redislock.Lock
	take := func(ctx context.Context, lease time.Duration, options *redislock.Options) (drill.Answer, error) {
		lock, err := locker.Obtain(ctx, "lock", lease, options)
		if errors.Is(err, redislock.ErrNotObtained) {
			return drill.No, nil
		}
		if err == nil {
			held = lock
		}
		return nil, err
	}
	lock := func(ctx context.Context, wait time.Duration) (drill.Answer, error) {
		// Its limit is that of the context. Without one it would try for no longer than a lease.
		if wait == 0 {
			wait = time.Minute
		}
		ctx, cancel := context.WithTimeout(ctx, wait)
		defer cancel()
		// It waits only with a strategy; this is that of its example.
		strategy := redislock.LinearBackoff(100 * time.Millisecond)
		return take(ctx, drill.Lease(), &redislock.Options{RetryStrategy: strategy})
	}
	drill.Follow(drill.Drill{
		"lock":  lock,
		"again": lock,
		"try": func(ctx context.Context, _ time.Duration) (drill.Answer, error) {
			return take(ctx, drill.Lease(), nil)
		},
		"plain": func(ctx context.Context, _ time.Duration) (drill.Answer, error) {
			return take(ctx, 100*time.Millisecond, nil)
		},
		"extend": func(ctx context.Context, _ time.Duration) (drill.Answer, error) {
			return nil, held.Refresh(ctx, drill.Lease(), nil)
		},
		"unlock": func(ctx context.Context, _ time.Duration) (drill.Answer, error) {
			return nil, held.Release(ctx)
		},
	}, "cancel", "limit")
}
