import com.alicp.jetcache.AutoReleaseLock;
import com.alicp.jetcache.Cache;
import com.alicp.jetcache.redis.RedisCacheBuilder;
import com.alicp.jetcache.support.Fastjson2KeyConvertor;
import com.alicp.jetcache.support.JavaValueDecoder;
import com.alicp.jetcache.support.JavaValueEncoder;
import java.net.URI;
import java.util.concurrent.TimeUnit;
import redis.clients.jedis.JedisPool;

/** Does with the lock of JetCache what it is told, for `locklab score`; see README.md. */
final class Drill extends LocklabDrill {
    private final Cache<String, Object> cache = RedisCacheBuilder.createRedisCacheBuilder()
            .keyConvertor(Fastjson2KeyConvertor.INSTANCE)
            .valueEncoder(JavaValueEncoder.INSTANCE)
            .valueDecoder(JavaValueDecoder.INSTANCE)
            .jedisPool(new JedisPool(URI.create(System.getenv("REDIS_URL"))))
            .keyPrefix("job:")
            .buildCache();
    private AutoReleaseLock held;

    private boolean take(long lease, TimeUnit unit) {
        AutoReleaseLock lock = cache.tryLock("lock", lease, unit);
        // Null as well if the server does not answer: the library says the same of both.
        if (lock != null) held = lock;
        return lock != null;
    }

    /** The library never waits. */
    @Override
    boolean lock(Long waitMs) {
        return take(LEASE_MS, TimeUnit.MILLISECONDS);
    }

    @Override
    boolean tryLock() {
        return lock(null);
    }

    @Override
    boolean again(Long waitMs) {
        return lock(waitMs);
    }

    @Override
    boolean plain() {
        return take(100, TimeUnit.SECONDS);
    }

    @Override
    boolean unlock() {
        held.close();
        return true;
    }

    public static void main(String[] arguments) {
        new Drill().follow();
    }
}
