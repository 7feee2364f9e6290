import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.util.Arrays;
import org.redisson.Redisson;
import org.redisson.RedissonRedLock;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

/** Does with one of Redisson's locks what it is told, for `cargo xtask clients --ports`; see README.md. */
final class Drill {
    private static final long LEASE_MS = Long.parseLong(System.getenv("LOCKLAB_LEASE_MS"));

    private static RedissonClient connect(String url) {
        Config config = new Config();
        config.setLockWatchdogTimeout(LEASE_MS);
        config.useSingleServer().setAddress(url).setConnectionMinimumIdleSize(2).setConnectionPoolSize(8);
        return Redisson.create(config);
    }

    private static RLock choose(String name) {
        RedissonClient[] clients = Arrays.stream(System.getenv("REDIS_URLS").split(","))
                .map(Drill::connect).toArray(RedissonClient[]::new);
        RLock[] each = Arrays.stream(clients).map(it -> it.getLock("lock")).toArray(RLock[]::new);
        return switch (name) {
            case "fenced" -> clients[0].getFencedLock("lock");
            case "fair" -> clients[0].getFairLock("lock");
            case "spin" -> clients[0].getSpinLock("lock");
            case "read" -> clients[0].getReadWriteLock("lock").readLock();
            case "write" -> clients[0].getReadWriteLock("lock").writeLock();
            case "multi" -> clients[0].getMultiLock(each);
            case "redlock" -> new RedissonRedLock(each);
            default -> each[0];
        };
    }

    public static void main(String[] arguments) throws IOException {
        RLock lock = choose(arguments[0]);
        BufferedReader orders = new BufferedReader(new InputStreamReader(System.in));
        System.out.println("ready");
        for (String order; (order = orders.readLine()) != null;) {
            System.out.println(does(lock, order));
        }
        System.exit(0);
    }

    private static String does(RLock lock, String order) {
        try {
            switch (order) {
                case "lock" -> lock.lock();
                case "try" -> {
                    if (!lock.tryLock()) return "no";
                }
                case "unlock" -> lock.unlock();
                default -> throw new IllegalArgumentException(order);
            }
            return "ok";
        } catch (RuntimeException error) {
            System.err.println(error);
            return "error";
        }
    }
}
