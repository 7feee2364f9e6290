import java.io.FileOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;

/** Tells `locklab attack` when this process holds its lock; elsewhere it does nothing. */
final class LocklabTell {
    private static final String FILE = System.getenv("LOCKLAB_FILE");

    /** Tells that something happened now: tell("acquired", "\"ttl_ms\":900,\"token\":7"). */
    static void tell(String word, String more) {
        tell(word, System.nanoTime(), more);
    }

    /** The same; `ns`: the reading of System.nanoTime(), on Linux CLOCK_MONOTONIC, from which ttl_ms counts. */
    static void tell(String word, long ns, String more) {
        if (FILE == null) return;
        String rest = more.isEmpty() ? "" : "," + more;
        String line = "{\"locklab\":\"" + word + "\",\"ns\":" + ns + rest + "}\n";
        try (FileOutputStream out = new FileOutputStream(FILE, true)) {
            out.write(line.getBytes(StandardCharsets.UTF_8));
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }
}
