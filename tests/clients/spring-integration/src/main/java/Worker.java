import java.net.URI;
import java.util.concurrent.locks.Lock;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.integration.redis.util.RedisLockRegistry;
import redis.clients.jedis.Jedis;

/**
 * Increments a counter under a lock of Spring Integration's RedisLockRegistry, for `locklab attack` (docs/attack.md).
 *
 * <p>To attack a lock of yours, put it in the place of `lock`: where it is made, locked and unlocked.
 */
final class Worker {
    private static final long LEASE_MS = Long.parseLong(System.getenv().getOrDefault("LOCKLAB_LEASE_MS", "1000"));

    public static void main(String[] arguments) throws InterruptedException {
        URI url = URI.create(System.getenv("REDIS_URL"));
        LettuceConnectionFactory factory = new LettuceConnectionFactory(url.getHost(), url.getPort());
        factory.afterPropertiesSet();
        factory.start();
        RedisLockRegistry locks = new RedisLockRegistry(factory, "registry", LEASE_MS);
        Lock lock = locks.obtain("counter");
        // What the first call loads may take longer than a lease.
        if (locks.obtain("first").tryLock()) release(locks.obtain("first"));
        Jedis resource = new Jedis(URI.create(System.getenv("LOCKLAB_RESOURCE")));
        for (;; Thread.sleep(30)) {
            LocklabTell.tell("acquiring", "");
            long asked = System.nanoTime();
            boolean hasIt = false;
            try {
                hasIt = lock.tryLock();
            } catch (RuntimeException error) {
                // An unknown outcome is no lock.
            }
            // The library says no deadline: the lease counts from before the request.
            double left = LEASE_MS - (System.nanoTime() - asked) / 1e6;
            if (hasIt && left <= 0) {
                release(lock);
                hasIt = false;
            }
            if (!hasIt) {
                LocklabTell.tell("refused", "");
                continue;
            }
            LocklabTell.tell("acquired", "\"ttl_ms\":" + left);
            try {
                increment(resource);
            } catch (RuntimeException error) {
                // The resource is gone.
            }
            LocklabTell.tell("releasing", "");
            release(lock);
            LocklabTell.tell("released", "");
        }
    }

    static void release(Lock lock) {
        try {
            lock.unlock();
        } catch (RuntimeException error) {
            // It was lost.
        }
    }

    /** Reads, works, and writes. */
    static void increment(Jedis resource) throws InterruptedException {
        String value = resource.get("counter");
        Thread.sleep(100);
        resource.set("counter", String.valueOf(value == null ? 1 : Long.parseLong(value) + 1));
    }
}
