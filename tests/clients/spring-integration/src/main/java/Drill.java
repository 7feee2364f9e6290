import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.URI;
import java.util.concurrent.locks.Lock;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.integration.redis.util.RedisLockRegistry;

/** Does with a lock of RedisLockRegistry what it is told, for `cargo xtask clients --ports`; see README.md. */
final class Drill {
    public static void main(String[] arguments) throws IOException {
        URI url = URI.create(System.getenv("REDIS_URL"));
        LettuceConnectionFactory factory = new LettuceConnectionFactory(url.getHost(), url.getPort());
        factory.afterPropertiesSet();
        factory.start();
        long lease = Long.parseLong(System.getenv("LOCKLAB_LEASE_MS"));
        Lock lock = new RedisLockRegistry(factory, "registry", lease).obtain("lock");
        BufferedReader orders = new BufferedReader(new InputStreamReader(System.in));
        System.out.println("ready");
        for (String order; (order = orders.readLine()) != null;) {
            System.out.println(does(lock, order));
        }
        System.exit(0);
    }

    private static String does(Lock lock, String order) {
        try {
            switch (order) {
                case "lock" -> lock.lock();
                case "try" -> {
                    if (!lock.tryLock()) return "no";
                }
                default -> lock.unlock();
            }
            return "ok";
        } catch (RuntimeException error) {
            System.err.println(error);
            return "error";
        }
    }
}
