import java.util.Arrays;
import java.util.concurrent.TimeUnit;
import org.redisson.Redisson;
import org.redisson.RedissonRedLock;
import org.redisson.api.RFencedLock;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

/** Does with one of Redisson's locks what it is told, for `locklab score`; see README.md. */
class Drill extends LocklabDrill {
    private static final String[] URLS = System.getenv("REDIS_URLS").split(",");
    private final String name;
    final RLock lock;

    Drill(String name) {
        this.name = name;
        lock = choose(name, LEASE_MS);
    }

    private static RedissonClient connect(String url, Long watchdogMs) {
        Config config = new Config();
        if (watchdogMs != null) config.setLockWatchdogTimeout(watchdogMs);
        // With its 24 connections, it takes a second to start.
        config.useSingleServer().setAddress(url).setConnectionMinimumIdleSize(2).setConnectionPoolSize(8);
        return Redisson.create(config);
    }

    private static RLock choose(String name, Long watchdogMs) {
        boolean isMulti = name.equals("multi") || name.equals("redlock");
        RedissonClient[] clients = Arrays.stream(URLS).limit(isMulti ? URLS.length : 1)
                .map(it -> connect(it, watchdogMs)).toArray(RedissonClient[]::new);
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

    @Override
    boolean lock(Long waitMs) throws InterruptedException {
        if (waitMs != null) return lock.tryLock(waitMs, LEASE_MS, TimeUnit.MILLISECONDS);
        lock.lockInterruptibly(LEASE_MS, TimeUnit.MILLISECONDS);
        return true;
    }

    @Override
    boolean keepsLimit() {
        return true;
    }

    @Override
    boolean tryLock() throws InterruptedException {
        return lock.tryLock(0, LEASE_MS, TimeUnit.MILLISECONDS);
    }

    @Override
    boolean again(Long waitMs) throws InterruptedException {
        return lock(waitMs);
    }

    /** With the watchdog's own lease. */
    @Override
    boolean plain() {
        choose(name, null).lock();
        return true;
    }

    @Override
    boolean keep() {
        lock.lock();
        return true;
    }

    @Override
    boolean unlock() {
        lock.unlock();
        return true;
    }

    @Override
    boolean isQuorum() {
        return name.equals("redlock");
    }

    /** With its calls that return the token. */
    private static final class Fenced extends Drill {
        private final RFencedLock fenced = (RFencedLock) lock;

        Fenced() {
            super("fenced");
        }

        private boolean told(Long token) {
            if (token != null) tell("token", token);
            return token != null;
        }

        @Override
        boolean lock(Long waitMs) {
            return told(waitMs == null ? fenced.lockAndGetToken(LEASE_MS, TimeUnit.MILLISECONDS)
                    : fenced.tryLockAndGetToken(waitMs, LEASE_MS, TimeUnit.MILLISECONDS));
        }

        @Override
        boolean tryLock() {
            return told(fenced.tryLockAndGetToken(0, LEASE_MS, TimeUnit.MILLISECONDS));
        }

        @Override
        boolean keep() {
            return told(fenced.lockAndGetToken());
        }
    }

    public static void main(String[] arguments) {
        (arguments[0].equals("fenced") ? new Fenced() : new Drill(arguments[0])).follow();
    }
}
