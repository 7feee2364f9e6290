import java.net.URI;
import java.time.Instant;
import java.util.concurrent.Callable;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Lock;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.integration.redis.util.RedisLockRegistry;
import org.springframework.integration.redis.util.RedisLockRegistry.RedisLockType;
import org.springframework.scheduling.concurrent.ThreadPoolTaskScheduler;

/** Does with a lock of RedisLockRegistry what it is told, for `locklab score`; see README.md. */
class Drill extends LocklabDrill {
    final LettuceConnectionFactory factory;
    final RedisLockRegistry registry;

    Drill() {
        URI url = URI.create(System.getenv("REDIS_URL"));
        factory = new LettuceConnectionFactory(url.getHost(), url.getPort());
        factory.afterPropertiesSet();
        factory.start();
        registry = new RedisLockRegistry(factory, "registry", LEASE_MS);
    }

    private Lock lock() {
        return registry.obtain("lock");
    }

    @Override
    boolean lock(Long waitMs) throws InterruptedException {
        if (waitMs != null) return lock().tryLock(waitMs, TimeUnit.MILLISECONDS);
        lock().lockInterruptibly();
        return true;
    }

    @Override
    boolean keepsLimit() {
        return true;
    }

    @Override
    boolean tryLock() {
        return lock().tryLock();
    }

    @Override
    boolean again(Long waitMs) throws InterruptedException {
        return lock(waitMs);
    }

    /** With the lease of the constructor that has none. */
    @Override
    boolean plain() {
        new RedisLockRegistry(factory, "registry").obtain("lock").lock();
        return true;
    }

    @Override
    boolean extend() {
        registry.renewLock("lock");
        return true;
    }

    @Override
    boolean unlock() {
        lock().unlock();
        return true;
    }

    /** With its other type of lock, and with the option by which it renews every lock that it has taken. */
    private static final class Renewing extends Drill {
        private final ThreadPoolTaskScheduler scheduler = new ThreadPoolTaskScheduler();

        Renewing() {
            scheduler.initialize();
            registry.setRedisLockType(RedisLockType.PUB_SUB_LOCK);
            registry.setRenewalTaskScheduler(scheduler);
        }

        @Override
        boolean keep() throws InterruptedException {
            return lock(null);
        }

        /** The scheduler's one thread. */
        @Override
        boolean block(Long ms) throws Exception {
            Callable<Boolean> sleep = () -> {
                Thread.sleep(ms);
                return true;
            };
            FutureTask<Boolean> task = new FutureTask<>(sleep);
            scheduler.schedule(task, Instant.now());
            return task.get();
        }
    }

    public static void main(String[] arguments) {
        (arguments.length > 0 ? new Renewing() : new Drill()).follow();
    }
}
