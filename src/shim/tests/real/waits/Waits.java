// Every wait that Java offers, each in a thread of its own, all at the same time: 200 ms by the clock that it goes by. For
// each a line: its name, that clock, and how long it took by the monotonic clock, in milliseconds.
import java.io.IOException;
import java.net.*;
import java.nio.channels.*;
import java.util.*;
import java.util.concurrent.*;
import java.util.concurrent.locks.*;

public class Waits {
    static volatile long LENGTH = 1;

    interface Wait {
        void run() throws Exception;
    }

    static void isTrue(boolean holds) {
        if (!holds) {
            throw new AssertionError("the wait ended without its time being over");
        }
    }

    static void timesOut(Wait wait, Class<?> error) throws Exception {
        try {
            wait.run();
        } catch (Exception thrown) {
            isTrue(error.isInstance(thrown));
            return;
        }
        isTrue(false);
    }

    static Thread sleeper() {
        var thread = new Thread(() -> LockSupport.park());
        thread.setDaemon(true);
        thread.start();
        return thread;
    }

    static void onObject() throws Exception {
        var monitor = new Object();
        synchronized (monitor) {
            monitor.wait(LENGTH);
        }
    }

    static void onCondition() throws Exception {
        var lock = new ReentrantLock();
        lock.lock();
        isTrue(!lock.newCondition().await(LENGTH, TimeUnit.MILLISECONDS));
    }

    static void untilOnCondition() throws Exception {
        var lock = new ReentrantLock();
        lock.lock();
        isTrue(!lock.newCondition().awaitUntil(new Date(System.currentTimeMillis() + LENGTH)));
    }

    static void onLock() throws Exception {
        var lock = new ReentrantLock();
        var holder = new Thread(lock::lock);
        holder.start();
        holder.join();
        isTrue(!lock.tryLock(LENGTH, TimeUnit.MILLISECONDS));
    }

    static void onSocket() throws Exception {
        try (var server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
                var socket = new Socket(server.getInetAddress(), server.getLocalPort())) {
            socket.setSoTimeout((int) LENGTH);
            timesOut(() -> socket.getInputStream().read(), SocketTimeoutException.class);
        }
    }

    static void onServerSocket() throws Exception {
        try (var server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            server.setSoTimeout((int) LENGTH);
            timesOut(server::accept, SocketTimeoutException.class);
        }
    }

    static void scheduled() throws Exception {
        var pool = Executors.newScheduledThreadPool(1);
        pool.schedule(() -> {}, LENGTH, TimeUnit.MILLISECONDS).get();
    }

    static void timer() throws Exception {
        var done = new CountDownLatch(1);
        new Timer(true).schedule(new TimerTask() {
            public void run() {
                done.countDown();
            }
        }, LENGTH);
        done.await();
    }

    static void process() throws Exception {
        var child = new ProcessBuilder("sleep", "60").start();
        isTrue(!child.waitFor(LENGTH, TimeUnit.MILLISECONDS));
        child.destroyForcibly();
    }

    /* Loads the classes, which would count as waiting. */
    static void warmUp(Wait wait) {
        try {
            wait.run();
        } catch (Throwable error) {
            throw new AssertionError(error);
        }
    }

    static void measure(String name, String clock, Wait wait) {
        try {
            long begin = System.nanoTime();
            wait.run();
            String took = String.format(Locale.ROOT, "%.3f", (System.nanoTime() - begin) / 1e6);
            System.out.println(name + " " + clock + " " + took);
        } catch (Throwable error) {
            System.out.println("wrong " + name + ": " + error);
            Runtime.getRuntime().halt(1);
        }
    }

    public static void main(String[] arguments) throws Exception {
        var waits = new TreeMap<String, Wait>();
        waits.put("Thread.sleep", () -> Thread.sleep(LENGTH));
        waits.put("TimeUnit.sleep", () -> TimeUnit.MILLISECONDS.sleep(LENGTH));
        waits.put("Object.wait", Waits::onObject);
        waits.put("LockSupport.parkNanos", () -> LockSupport.parkNanos(LENGTH * 1_000_000));
        waits.put("LockSupport.parkUntil", () -> LockSupport.parkUntil(System.currentTimeMillis() + LENGTH));
        waits.put("Condition.await", Waits::onCondition);
        waits.put("Condition.awaitUntil", Waits::untilOnCondition);
        waits.put("Lock.tryLock", Waits::onLock);
        waits.put("Semaphore.tryAcquire", () -> isTrue(!new Semaphore(0).tryAcquire(LENGTH, TimeUnit.MILLISECONDS)));
        waits.put("CountDownLatch.await", () -> isTrue(!new CountDownLatch(1).await(LENGTH, TimeUnit.MILLISECONDS)));
        waits.put("BlockingQueue.poll", () -> isTrue(new LinkedBlockingQueue<>().poll(LENGTH, TimeUnit.MILLISECONDS) == null));
        waits.put("CompletableFuture.get", () -> timesOut(() -> new CompletableFuture<>().get(LENGTH, TimeUnit.MILLISECONDS), TimeoutException.class));
        waits.put("CompletableFuture.orTimeout", () -> timesOut(() -> new CompletableFuture<>().orTimeout(LENGTH, TimeUnit.MILLISECONDS).get(), ExecutionException.class));
        waits.put("Thread.join", () -> sleeper().join(LENGTH));
        waits.put("ScheduledExecutor", Waits::scheduled);
        waits.put("Timer", Waits::timer);
        waits.put("Selector.select", () -> isTrue(Selector.open().select(LENGTH) == 0));
        waits.put("Socket.setSoTimeout", Waits::onSocket);
        waits.put("ServerSocket.setSoTimeout", Waits::onServerSocket);
        waits.put("Process.waitFor", Waits::process);
        // Waits until a time of day. Timer waits for a length of time, and then compares times of day.
        var clocks = Map.of("LockSupport.parkUntil", "wall", "Condition.awaitUntil", "wall", "Timer", "both");
        var threads = new ArrayList<Thread>();
        waits.values().forEach(Waits::warmUp);
        LENGTH = 200;
        System.out.println("begin");
        waits.forEach((name, wait) -> {
            var clock = clocks.getOrDefault(name, "mono");
            var thread = new Thread(() -> measure(name, clock, wait));
            threads.add(thread);
            thread.start();
        });
        for (var thread : threads) {
            thread.join();
        }
        Runtime.getRuntime().halt(0);
    }
}
