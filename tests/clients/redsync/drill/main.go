// Does with redsync's Mutex what it is told, for `locklab score`; see README.md.
package main

import (
	"context"
	"errors"
	"time"

	drill "locklab-client/score"

	"github.com/go-redsync/redsync/v4"
	redsyncredis "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
)

func main() {
	var pools []redsyncredis.Pool
	for _, url := range drill.URLs() {
		options, err := redis.ParseURL(url)
		if err != nil {
			panic(err)
		}
		pools = append(pools, goredis.NewPool(redis.NewClient(options)))
	}
	rs := redsync.New(pools...)
	// Its own number of attempts, 32, is a limit of the wait, and `lock` has none.
	mutex := rs.NewMutex("lock", redsync.WithExpiry(drill.Lease()), redsync.WithTries(1000))
	// ErrTaken says that others have a majority. ErrFailed and what the servers answered are errors.
	told := func(err error) (drill.Answer, error) {
		var taken *redsync.ErrTaken
		if errors.As(err, &taken) {
			return drill.No, nil
		}
		return drill.Answer{"valid_ms": float64(time.Until(mutex.Until())) / 1e6}, err
	}
	done := func(ok bool, err error) (drill.Answer, error) {
		if !ok && err == nil {
			return drill.No, nil
		}
		return nil, err
	}
	lock := func(ctx context.Context, wait time.Duration) (drill.Answer, error) {
		if wait > 0 {
			limited, cancel := context.WithTimeout(ctx, wait)
			defer cancel()
			ctx = limited
		}
		return told(mutex.LockContext(ctx))
	}
	drill.Follow(drill.Drill{
		"lock":  lock,
		"again": lock,
		"try": func(ctx context.Context, _ time.Duration) (drill.Answer, error) {
			return told(mutex.TryLockContext(ctx))
		},
		"plain": func(context.Context, time.Duration) (drill.Answer, error) {
			return nil, rs.NewMutex("lock").Lock()
		},
		"extend": func(ctx context.Context, _ time.Duration) (drill.Answer, error) {
			return done(mutex.ExtendContext(ctx))
		},
		"unlock": func(ctx context.Context, _ time.Duration) (drill.Answer, error) {
			return done(mutex.UnlockContext(ctx))
		},
	}, "cancel", "limit", "quorum")
}
