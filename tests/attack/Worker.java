import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.Socket;
import java.net.URI;
import java.util.ArrayList;
import java.util.List;

/**
 * Locks on one node, right and wrong, for `locklab attack`: `java Worker NAME`. The names mean what they mean in `worker.py`.
 * Compiled with docs/attack/LocklabTell.java.
 */
final class Worker {
    private static final int LEASE_MS = 1000;
    private static final String DELETE =
            "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) else return 0 end";

    /** A connection. */
    private static final class Server {
        private final Socket socket;
        private final BufferedReader replies;

        Server(String url) throws IOException {
            URI address = URI.create(url);
            socket = new Socket(address.getHost(), address.getPort());
            replies = new BufferedReader(new InputStreamReader(socket.getInputStream()));
        }

        /** Sends a request and returns the reply, of one line. */
        String call(List<String> words) throws IOException {
            StringBuilder request = new StringBuilder("*" + words.size() + "\r\n");
            for (String word : words) request.append("$" + word.length() + "\r\n" + word + "\r\n");
            socket.getOutputStream().write(request.toString().getBytes());
            String head = replies.readLine();
            if (head.charAt(0) != '$') return head.substring(1);
            return head.equals("$-1") ? "0" : replies.readLine();
        }
    }

    private static List<String> joined(List<String> some, List<String> more) {
        List<String> all = new ArrayList<>(some);
        all.addAll(more);
        return all;
    }

    public static void main(String[] arguments) throws Exception {
        String name = arguments[0];
        Server node = new Server(System.getenv("REDIS_URL"));
        Server resource = new Server(System.getenv("LOCKLAB_RESOURCE"));
        for (; ; Thread.sleep(10)) {
            String me = System.getenv("LOCKLAB_HOST") + "-" + System.nanoTime();
            LocklabTell.tell("acquiring", "");
            long asked = System.nanoTime();
            String token = name.equals("tokens") ? node.call(List.of("INCR", "token")) : null;
            List<String> nx = name.equals("set-without-nx") ? List.of() : List.of("NX");
            List<String> px = name.equals("no-expiry") ? List.of() : List.of("PX", "" + LEASE_MS);
            String reply = node.call(joined(joined(List.of("SET", "lock", me), nx), px));
            if (!reply.equals("OK") && !name.equals("never-looks-at-the-reply")) {
                LocklabTell.tell("refused", "");
                continue;
            }
            List<String> about = new ArrayList<>();
            if (token != null) about.add("\"token\":" + token);
            long ns = System.nanoTime();
            if (!name.equals("no-expiry")) about.add("\"ttl_ms\":" + (LEASE_MS - (ns - asked) / 1e6));
            LocklabTell.tell("acquired", ns, String.join(",", about));
            List<String> show = token == null ? List.of() : List.of("TOKEN", token);
            int value = Integer.parseInt(resource.call(joined(List.of("GET", "c"), show)));
            Thread.sleep(300);
            if (!name.equals("looks-at-its-deadline") || System.nanoTime() - asked < 0.9e6 * LEASE_MS) {
                resource.call(joined(List.of("SET", "c", "" + (value + 1)), show));
            }
            LocklabTell.tell("releasing", "");
            boolean deletesAny = name.equals("deletes-any") || name.equals("never-looks-at-the-reply");
            String removed = node.call(deletesAny ? List.of("DEL", "lock") : List.of("EVAL", DELETE, "1", "lock", me));
            LocklabTell.tell("released", "\"removed\":" + removed);
        }
    }
}
