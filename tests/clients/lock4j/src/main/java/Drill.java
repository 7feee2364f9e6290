import com.baomidou.lock.LockInfo;
import com.baomidou.lock.LockTemplate;
import com.baomidou.lock.executor.RedisTemplateLockExecutor;
import com.baomidou.lock.spring.boot.autoconfigure.Lock4jProperties;
import java.net.URI;
import java.util.List;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.data.redis.core.StringRedisTemplate;

/** Does with lock4j's lock what it is told, for `locklab score`; see README.md. */
final class Drill extends LocklabDrill {
    private final LettuceConnectionFactory factory;
    private final LockTemplate template;
    private LockInfo held;

    private Drill() throws Exception {
        URI url = URI.create(System.getenv("REDIS_URL"));
        factory = new LettuceConnectionFactory(url.getHost(), url.getPort());
        factory.afterPropertiesSet();
        template = template(LEASE_MS);
    }

    /** What its starter makes of the property `lock4j.expire`. */
    private LockTemplate template(Long expire) throws Exception {
        Lock4jProperties properties = new Lock4jProperties();
        if (expire != null) properties.setExpire(expire);
        LockTemplate template = new LockTemplate();
        template.setProperties(properties);
        template.setExecutors(List.of(new RedisTemplateLockExecutor(new StringRedisTemplate(factory), properties)));
        template.afterPropertiesSet();
        return template;
    }

    private boolean took(LockInfo lock) {
        if (lock != null) held = lock;
        return lock != null;
    }

    @Override
    boolean lock(Long waitMs) {
        return took(template.lock("lock", LEASE_MS, waitMs == null ? Long.MAX_VALUE : waitMs));
    }

    @Override
    boolean keepsLimit() {
        return true;
    }

    @Override
    boolean tryLock() {
        return lock(0L);
    }

    @Override
    boolean again(Long waitMs) {
        return lock(waitMs);
    }

    /** What an annotation without arguments does: it takes the lock for 30 seconds, and renews it. */
    @Override
    boolean plain() throws Exception {
        return took(template(null).lock("lock", -1, -1));
    }

    @Override
    boolean keep() {
        return took(template.lock("lock", -1, -1));
    }

    @Override
    boolean unlock() {
        return template.releaseLock(held);
    }

    public static void main(String[] arguments) throws Exception {
        new Drill().follow();
    }
}
