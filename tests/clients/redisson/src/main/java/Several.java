import java.util.concurrent.TimeUnit;
import java.util.concurrent.ThreadLocalRandom;
import org.redisson.Redisson;
import org.redisson.api.RLock;
import org.redisson.api.RPermitExpirableSemaphore;
import org.redisson.api.RReadWriteLock;
import org.redisson.api.RSemaphore;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

/** Takes one of Redisson's locks that several clients may have, for `locklab attack`; see README.md. */
final class Several {
    private static final long LEASE_MS = Long.parseLong(System.getenv().getOrDefault("LOCKLAB_LEASE_MS", "1000"));
    private static final int PERMITS = 2;

    /** One round's lock: what is told of it, how it is taken, and how it is given back. */
    private record Taken(String told, Release release) {}

    private interface Take {
        /** Null if it is refused. */
        Taken take() throws InterruptedException;
    }

    private interface Release {
        void run();
    }

    private static Take choose(String name, RedissonClient client) {
        String permits = "\"permits\":" + PERMITS;
        switch (name) {
            case "semaphore" -> {
                RSemaphore lock = client.getSemaphore("counter-lock");
                lock.trySetPermits(PERMITS);
                return () -> lock.tryAcquire(LEASE_MS, TimeUnit.MILLISECONDS) ? new Taken(permits, lock::release) : null;
            }
            case "expirable-semaphore" -> {
                RPermitExpirableSemaphore lock = client.getPermitExpirableSemaphore("counter-lock");
                lock.trySetPermits(PERMITS);
                return () -> {
                    long asked = System.nanoTime();
                    String id = lock.tryAcquire(0, LEASE_MS, TimeUnit.MILLISECONDS);
                    if (id == null) return null;
                    long left = LEASE_MS - (System.nanoTime() - asked) / 1_000_000;
                    return new Taken(permits + ",\"ttl_ms\":" + left, () -> lock.release(id));
                };
            }
            default -> {
                RReadWriteLock lock = client.getReadWriteLock("counter-lock");
                return () -> {
                    boolean reads = ThreadLocalRandom.current().nextInt(10) < 7;
                    RLock half = reads ? lock.readLock() : lock.writeLock();
                    boolean has = half.tryLock(LEASE_MS, TimeUnit.MILLISECONDS);
                    return has ? new Taken("\"shared\":" + reads, half::unlock) : null;
                };
            }
        }
    }

    public static void main(String[] arguments) throws InterruptedException {
        Config config = new Config();
        config.setLockWatchdogTimeout(LEASE_MS);
        String url = System.getenv("REDIS_URL");
        config.useSingleServer().setAddress(url).setConnectionMinimumIdleSize(2).setConnectionPoolSize(8);
        Take lock = choose(arguments[0], Redisson.create(config));
        for (;; Thread.sleep(30)) {
            LocklabTell.tell("acquiring", "");
            Taken taken = null;
            try {
                taken = lock.take();
            } catch (RuntimeException error) {
                // An unknown outcome is no lock.
            }
            if (taken == null) {
                LocklabTell.tell("refused", "");
                continue;
            }
            LocklabTell.tell("acquired", taken.told());
            Thread.sleep(150);
            LocklabTell.tell("releasing", "");
            try {
                taken.release().run();
            } catch (RuntimeException error) {
                // It was lost.
            }
            LocklabTell.tell("released", "");
        }
    }
}
