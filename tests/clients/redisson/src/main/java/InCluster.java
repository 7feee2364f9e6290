import java.net.URI;
import java.util.Arrays;
import java.util.concurrent.TimeUnit;
import org.redisson.Redisson;
import org.redisson.api.RLock;
import org.redisson.config.Config;
import redis.clients.jedis.Jedis;

/** Increments a counter under Redisson's RLock in a Redis Cluster, for `locklab attack --cluster`; see README.md. */
final class InCluster {
    private static final long LEASE_MS = Long.parseLong(System.getenv().getOrDefault("LOCKLAB_LEASE_MS", "10000"));
    /** Longer than a failover takes. */
    private static final long WORK_MS = 4000;

    private static RLock lock() {
        Config config = new Config();
        config.setLockWatchdogTimeout(LEASE_MS);
        String[] nodes = Arrays.stream(System.getenv("REDIS_CLUSTER").split(","))
                .map(address -> "redis://" + address).toArray(String[]::new);
        config.useClusterServers().addNodeAddress(nodes).setScanInterval(1000)
                .setMasterConnectionMinimumIdleSize(2).setMasterConnectionPoolSize(8)
                .setSlaveConnectionMinimumIdleSize(2).setSlaveConnectionPoolSize(8);
        return Redisson.create(config).getLock("lock");
    }

    public static void main(String[] arguments) throws InterruptedException {
        RLock lock = lock();
        Jedis resource = new Jedis(URI.create(System.getenv("LOCKLAB_RESOURCE")));
        // What was given back must have reached the replica before the next grant.
        for (;; Thread.sleep(300)) {
            LocklabTell.tell("acquiring", "");
            boolean hasIt = false;
            try {
                hasIt = lock.tryLock(LEASE_MS, TimeUnit.MILLISECONDS);
            } catch (RuntimeException error) {
                // An unknown outcome is no lock.
            }
            if (!hasIt) {
                LocklabTell.tell("refused", "");
                continue;
            }
            // Its watchdog renews the lease, and the user is told no deadline.
            LocklabTell.tell("acquired", "");
            try {
                String value = resource.get("counter");
                Thread.sleep(WORK_MS);
                resource.set("counter", String.valueOf(value == null ? 1 : Long.parseLong(value) + 1));
            } catch (RuntimeException error) {
                // The resource is gone.
            }
            LocklabTell.tell("releasing", "");
            try {
                lock.unlock();
            } catch (RuntimeException error) {
                // It was lost.
            }
            LocklabTell.tell("released", "");
        }
    }
}
