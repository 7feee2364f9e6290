// Does with go-zero's RedisLock what it is told, for `locklab score`; see README.md.
package main

import (
	"context"
	"net/url"
	"os"
	"time"

	drill "locklab-client/score"

	"github.com/zeromicro/go-zero/core/stores/redis"
)

func main() {
	server, err := url.Parse(os.Getenv("REDIS_URL"))
	if err != nil {
		panic(err)
	}
	store := redis.MustNewRedis(redis.RedisConf{Host: server.Host, Type: redis.NodeType})
	lock := redis.NewRedisLock(store, "lock")
	// In whole seconds, to which it adds half a second.
	lock.SetExpire(int(drill.Lease() / time.Second))
	told := func(ok bool, err error) (drill.Answer, error) {
		if !ok && err == nil {
			return drill.No, nil
		}
		return nil, err
	}
	// It has no call that waits, and none to renew: who has the lock acquires it once more.
	take := func(ctx context.Context, _ time.Duration) (drill.Answer, error) {
		return told(lock.AcquireCtx(ctx))
	}
	drill.Follow(drill.Drill{
		"lock":  take,
		"try":   take,
		"again": take,
		"plain": func(ctx context.Context, _ time.Duration) (drill.Answer, error) {
			return told(redis.NewRedisLock(store, "lock").AcquireCtx(ctx))
		},
		"unlock": func(ctx context.Context, _ time.Duration) (drill.Answer, error) {
			return told(lock.ReleaseCtx(ctx))
		},
	}, "cancel")
}
