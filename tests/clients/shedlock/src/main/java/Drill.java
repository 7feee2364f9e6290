import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.net.URI;
import java.time.Duration;
import java.time.Instant;
import java.util.Optional;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.SimpleLock;
import net.javacrumbs.shedlock.provider.redis.spring.RedisLockProvider;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;

/** Does with ShedLock's lock in Redis what it is told, for `cargo xtask clients --ports`; see README.md. */
final class Drill {
    private static final Duration LEASE = Duration.ofMillis(Long.parseLong(System.getenv("LOCKLAB_LEASE_MS")));
    private static SimpleLock held;

    public static void main(String[] arguments) throws Exception {
        URI url = URI.create(System.getenv("REDIS_URL"));
        LettuceConnectionFactory factory = new LettuceConnectionFactory(url.getHost(), url.getPort());
        factory.afterPropertiesSet();
        factory.start();
        RedisLockProvider provider = new RedisLockProvider(factory);
        BufferedReader orders = new BufferedReader(new InputStreamReader(System.in));
        System.out.println("ready");
        for (String order; (order = orders.readLine()) != null;) {
            System.out.println(does(provider, order));
        }
        System.exit(0);
    }

    private static String does(RedisLockProvider provider, String order) throws InterruptedException {
        try {
            switch (order) {
                case "lock" -> {
                    // The library never waits: a job that does not get the lock is skipped.
                    while (!take(provider)) Thread.sleep(100);
                }
                case "try" -> {
                    if (!take(provider)) return "no";
                }
                case "extend" -> {
                    Optional<SimpleLock> extended = held.extend(LEASE, Duration.ZERO);
                    if (extended.isEmpty()) return "error";
                    held = extended.get();
                }
                default -> held.unlock();
            }
            return "ok";
        } catch (RuntimeException error) {
            System.err.println(error);
            return "error";
        }
    }

    private static boolean take(RedisLockProvider provider) {
        Optional<SimpleLock> lock = provider.lock(new LockConfiguration(Instant.now(), "lock", LEASE, Duration.ZERO));
        lock.ifPresent(it -> held = it);
        return lock.isPresent();
    }
}
