import java.net.URI;
import java.util.Arrays;
import java.util.concurrent.TimeUnit;
import org.redisson.Redisson;
import org.redisson.api.RFencedLock;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.Protocol.Command;

/** Increments a counter under one of Redisson's locks, for `locklab attack`; see README.md. */
final class Worker {
    private static final long LEASE_MS = Long.parseLong(System.getenv().getOrDefault("LOCKLAB_LEASE_MS", "1000"));

    private static RedissonClient connect(String url) {
        Config config = new Config();
        config.setLockWatchdogTimeout(LEASE_MS);
        config.useSingleServer().setAddress(url).setConnectionMinimumIdleSize(2).setConnectionPoolSize(8);
        return Redisson.create(config);
    }

    /** Where its lock is in a Redis Cluster, it works for longer than a failover takes, and begins anew when all replicas know. */
    private static final boolean IN_CLUSTER = System.getenv("REDIS_CLUSTER") != null;

    private static RLock inCluster() {
        Config config = new Config();
        config.setLockWatchdogTimeout(LEASE_MS);
        String[] nodes = Arrays.stream(System.getenv("REDIS_CLUSTER").split(","))
                .map(address -> "redis://" + address).toArray(String[]::new);
        config.useClusterServers().addNodeAddress(nodes).setScanInterval(1000)
                .setMasterConnectionMinimumIdleSize(2).setMasterConnectionPoolSize(8)
                .setSlaveConnectionMinimumIdleSize(2).setSlaveConnectionPoolSize(8);
        return Redisson.create(config).getLock("lock");
    }

    private static RLock choose(String name) {
        RedissonClient[] clients = Arrays.stream(System.getenv("REDIS_URLS").split(","))
                .map(Worker::connect).toArray(RedissonClient[]::new);
        return switch (name) {
            case "fenced" -> clients[0].getFencedLock("counter-lock");
            case "fair" -> clients[0].getFairLock("counter-lock");
            case "multi" -> clients[0].getMultiLock(
                    Arrays.stream(clients).map(it -> it.getLock("counter-lock")).toArray(RLock[]::new));
            default -> clients[0].getLock("counter-lock");
        };
    }

    public static void main(String[] arguments) throws InterruptedException {
        RLock lock = IN_CLUSTER ? inCluster() : choose(arguments[0]);
        Jedis resource = new Jedis(URI.create(System.getenv("LOCKLAB_RESOURCE")));
        for (;; Thread.sleep(IN_CLUSTER ? 300 : 30)) {
            LocklabTell.tell("acquiring", "");
            Long token = null;
            try {
                if (lock instanceof RFencedLock fenced) token = fenced.tryLockAndGetToken(LEASE_MS, TimeUnit.MILLISECONDS);
                else if (lock.tryLock(LEASE_MS, TimeUnit.MILLISECONDS)) token = 0L;
            } catch (RuntimeException error) {
                // An unknown outcome is no lock.
            }
            if (token == null) {
                LocklabTell.tell("refused", "");
                continue;
            }
            // Its watchdog renews the lease, and the user is told no deadline.
            LocklabTell.tell("acquired", token > 0 ? "\"token\":" + token : "");
            try {
                increment(resource, token);
            } catch (RuntimeException error) {
                // The resource refused, or is gone.
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

    /** How long the work takes, if not the usual time. */
    private static final long WORK_MS =
            Long.parseLong(System.getenv().getOrDefault("WORK_MS", IN_CLUSTER ? "4000" : "100"));

    /** Reads, works, and writes, with the token if there is one. */
    private static void increment(Jedis resource, long token) throws InterruptedException {
        String value = resource.get("counter");
        Thread.sleep(WORK_MS);
        String next = String.valueOf(value == null ? 1 : Long.parseLong(value) + 1);
        if (token > 0) resource.sendCommand(Command.SET, "counter", next, "TOKEN", String.valueOf(token));
        else resource.set("counter", next);
    }
}
