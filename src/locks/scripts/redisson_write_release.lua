-- Gives back one hold of the writer; with the last one the lock, unless it also reads.
-- KEYS[1] the lock, KEYS[2] the channel
-- ARGV[1] the message, ARGV[2] the lease in milliseconds, ARGV[3] the caller as a writer
-- returns nil if the caller does not write, 0 if it still does or goes on reading, 1 if the
-- lock is free; and -1 if it was free before. Redisson's script does not tell these from 1
-- except for a hold that remains
local mode = redis.call('HGET', KEYS[1], 'mode')
if not mode then
    redis.call('PUBLISH', KEYS[2], ARGV[1])
    return -1
end
if mode ~= 'write' or redis.call('HEXISTS', KEYS[1], ARGV[3]) == 0 then
    return false
end
-- A hold remains: it gets a full lease.
if redis.call('HINCRBY', KEYS[1], ARGV[3], -1) > 0 then
    redis.call('PEXPIRE', KEYS[1], ARGV[2])
    return 0
end
redis.call('HDEL', KEYS[1], ARGV[3])
-- Only the mode is left.
if redis.call('HLEN', KEYS[1]) == 1 then
    redis.call('DEL', KEYS[1])
    redis.call('PUBLISH', KEYS[2], ARGV[1])
    return 1
end
-- The writer goes on as a reader. Others may read too now, and are not told.
redis.call('HSET', KEYS[1], 'mode', 'read')
return 0
