// Does with the lock component of Dapr what it is told, for `locklab score`; see README.md.
package main

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"time"

	drill "locklab-client/score"

	"github.com/dapr/components-contrib/lock"
	lockredis "github.com/dapr/components-contrib/lock/redis"
	"github.com/dapr/components-contrib/metadata"
	"github.com/dapr/kit/logger"
)

func main() {
	server, err := url.Parse(os.Getenv("REDIS_URL"))
	if err != nil {
		panic(err)
	}
	log := logger.NewLogger("drill")
	log.SetOutputLevel(logger.FatalLevel)
	store := lockredis.NewStandaloneRedisLock(log)
	properties := map[string]string{"redisHost": server.Host}
	settings := lock.Metadata{Base: metadata.Base{Properties: properties}}
	if err := store.InitLockStore(context.Background(), settings); err != nil {
		panic(err)
	}
	owner := fmt.Sprintf("process-%d", os.Getpid())
	take := func(ctx context.Context, lease time.Duration) (drill.Answer, error) {
		request := lock.TryLockRequest{ResourceID: "lock", LockOwner: owner, ExpiryInSeconds: int32(lease / time.Second)}
		told, err := store.TryLock(ctx, &request)
		if err == nil && !told.Success {
			return drill.No, nil
		}
		return nil, err
	}
	// It has no call that waits, and none to renew.
	try := func(ctx context.Context, _ time.Duration) (drill.Answer, error) {
		return take(ctx, drill.Lease())
	}
	drill.Follow(drill.Drill{
		"lock":  try,
		"try":   try,
		"again": try,
		// Each request says a lease; this is that of its how-to.
		"plain": func(ctx context.Context, _ time.Duration) (drill.Answer, error) {
			return take(ctx, time.Minute)
		},
		"unlock": func(ctx context.Context, _ time.Duration) (drill.Answer, error) {
			told, err := store.Unlock(ctx, &lock.UnlockRequest{ResourceID: "lock", LockOwner: owner})
			if err == nil && told.Status != lock.Success {
				return drill.No, nil
			}
			return nil, err
		},
	}, "cancel")
}
