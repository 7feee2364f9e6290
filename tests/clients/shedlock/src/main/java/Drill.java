import java.net.URI;
import java.time.Duration;
import java.time.Instant;
import java.util.Optional;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.LockProvider;
import net.javacrumbs.shedlock.core.SimpleLock;
import net.javacrumbs.shedlock.provider.redis.spring.RedisLockProvider;
import net.javacrumbs.shedlock.support.KeepAliveLockProvider;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;

/** Does with ShedLock's lock in Redis what it is told, for `locklab score`; see README.md. */
class Drill extends LocklabDrill {
    final RedisLockProvider provider;
    private SimpleLock held;

    Drill(boolean isSafe) {
        URI url = URI.create(System.getenv("REDIS_URL"));
        LettuceConnectionFactory factory = new LettuceConnectionFactory(url.getHost(), url.getPort());
        factory.afterPropertiesSet();
        factory.start();
        provider = isSafe ? new RedisLockProvider.Builder(factory).safeUpdate(true).build() : new RedisLockProvider(factory);
    }

    final boolean take(LockProvider provider, Duration lease) {
        Optional<SimpleLock> lock = provider.lock(new LockConfiguration(Instant.now(), "lock", lease, Duration.ZERO));
        lock.ifPresent(it -> held = it);
        return lock.isPresent();
    }

    /** The library never waits: a job that does not get the lock is skipped. */
    @Override
    boolean lock(Long waitMs) {
        return take(provider, Duration.ofMillis(LEASE_MS));
    }

    @Override
    boolean tryLock() {
        return lock(null);
    }

    @Override
    boolean again(Long waitMs) {
        return lock(waitMs);
    }

    /** With the `defaultLockAtMostFor` of its README. */
    @Override
    boolean plain() {
        return take(provider, Duration.ofMinutes(10));
    }

    @Override
    boolean extend() {
        Optional<SimpleLock> extended = held.extend(Duration.ofMillis(LEASE_MS), Duration.ZERO);
        extended.ifPresent(it -> held = it);
        return extended.isPresent();
    }

    @Override
    boolean unlock() {
        held.unlock();
        return true;
    }

    private static final class KeepingAlive extends Drill {
        private final ScheduledExecutorService scheduler = Executors.newSingleThreadScheduledExecutor();

        KeepingAlive() {
            super(true);
        }

        @Override
        boolean keep() {
            return take(new KeepAliveLockProvider(provider, scheduler), Duration.ofMillis(LEASE_MS));
        }

        /** The scheduler's one thread. */
        @Override
        boolean block(Long ms) throws Exception {
            return scheduler.submit(() -> {
                Thread.sleep(ms);
                return true;
            }).get();
        }
    }

    public static void main(String[] arguments) {
        (arguments[0].equals("keep-alive") ? new KeepingAlive() : new Drill(arguments[0].equals("safe"))).follow();
    }
}
