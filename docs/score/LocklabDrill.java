import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Scanner;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * What a drill for `locklab score` needs beside the library: see docs/score.md. Copy this file, and override what the
 * library has a call for:
 *
 * <pre>
 * final class Drill extends LocklabDrill {
 *     boolean lock(Long waitMs) { ... }   // true, false, or an exception; what else it tells by tell("token", 7)
 *     boolean unlock() { ... }
 *
 *     public static void main(String[] arguments) { new Drill().follow(); }
 * }
 * </pre>
 *
 * Locks of Java belong to threads, so one thread does all that is ordered. `abandon` ends it, and `cancel` interrupts it.
 */
abstract class LocklabDrill {
    static final long LEASE_MS = Long.parseLong(System.getenv("LOCKLAB_LEASE_MS"));
    private static final String[] WORDS = {"lock", "tryLock", "plain", "keep", "extend", "unlock", "again", "block"};

    /** No limit to the wait if it is null. */
    boolean lock(Long waitMs) throws Exception { throw new UnsupportedOperationException(); }
    boolean tryLock() throws Exception { throw new UnsupportedOperationException(); }
    boolean plain() throws Exception { throw new UnsupportedOperationException(); }
    boolean keep() throws Exception { throw new UnsupportedOperationException(); }
    boolean extend() throws Exception { throw new UnsupportedOperationException(); }
    boolean unlock() throws Exception { throw new UnsupportedOperationException(); }
    boolean again(Long waitMs) throws Exception { throw new UnsupportedOperationException(); }
    boolean block(Long ms) throws Exception { throw new UnsupportedOperationException(); }
    /** Whether `lock` keeps its limit. */
    boolean keepsLimit() { return false; }
    /** Whether the lock is taken on a majority of the servers. */
    boolean isQuorum() { return false; }

    /** What the library tells of its answer beside yes and no: valid_ms, token. */
    final void tell(String what, double number) { told.put(what, number); }

    /** The library has told its user that the lock is lost. */
    static void lost(String how) { System.out.println("{\"event\":\"lost\",\"how\":\"" + how + "\"}"); }

    private final Map<String, Double> told = new LinkedHashMap<>();
    private ExecutorService thread = Executors.newSingleThreadExecutor();
    private volatile Thread atWork;

    /** Follows the orders on the standard input until it ends. */
    final void follow() {
        String can = Arrays.stream(WORDS).filter(this::has).map(it -> it.replace("tryLock", "try"))
                .collect(Collectors.joining("\",\""));
        String more = (keepsLimit() ? ",\"limit\"" : "") + (isQuorum() ? ",\"quorum\"" : "");
        System.out.println("{\"event\":\"ready\",\"can\":[\"" + can + "\",\"cancel\",\"abandon\"" + more + "]}");
        for (Scanner lines = new Scanner(System.in); lines.hasNextLine();) {
            String order = lines.nextLine(), word = value(order, "do");
            long id = Long.parseLong(value(order, "id"));
            if (word.equals("abandon")) {
                thread.shutdown();
                thread = Executors.newSingleThreadExecutor();
            } else if (word.equals("cancel")) {
                if (atWork != null) atWork.interrupt();
            } else {
                thread.execute(() -> answer(id, word, order));
                continue;
            }
            System.out.println("{\"id\":" + id + ",\"r\":\"ok\"}");
        }
        System.exit(0);
    }

    /** Whether a subclass overrides it. */
    private boolean has(String word) {
        for (Class<?> type = getClass(); type != LocklabDrill.class; type = type.getSuperclass()) {
            if (Arrays.stream(type.getDeclaredMethods()).anyMatch(it -> it.getName().equals(word))) return true;
        }
        return false;
    }

    private void answer(long id, String word, String order) {
        told.clear();
        String r, more = "";
        try {
            atWork = Thread.currentThread();
            r = does(word, number(order, "wait_ms"), number(order, "ms")) ? "ok" : "no";
        } catch (UnsupportedOperationException error) {
            r = "none";
        } catch (Exception error) {
            r = "error";
            more = ",\"class\":\"" + error.toString().replaceAll("[\"\\\\\\p{Cntrl}]", " ") + "\"";
        }
        atWork = null;
        for (Map.Entry<String, Double> it : told.entrySet()) more += ",\"" + it.getKey() + "\":" + it.getValue();
        System.out.println("{\"id\":" + id + ",\"r\":\"" + r + "\"" + more + "}");
    }

    private boolean does(String word, Long waitMs, Long ms) throws Exception {
        return switch (word) {
            case "lock" -> lock(waitMs);
            case "try" -> tryLock();
            case "plain" -> plain();
            case "keep" -> keep();
            case "extend" -> extend();
            case "unlock" -> unlock();
            case "again" -> again(waitMs);
            case "block" -> block(ms);
            default -> throw new UnsupportedOperationException();
        };
    }

    private static Long number(String order, String name) {
        String text = value(order, name);
        return text == null ? null : Long.valueOf(text);
    }

    /** The orders are flat objects of words and whole numbers. */
    private static String value(String order, String name) {
        Matcher matcher = Pattern.compile("\"" + name + "\":\"?(\\w+)").matcher(order);
        return matcher.find() ? matcher.group(1) : null;
    }
}
