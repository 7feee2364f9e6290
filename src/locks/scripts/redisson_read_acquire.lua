-- Takes a lock to read: if it is free, others read, or the caller itself writes.
-- KEYS[1] the lock, KEYS[2] the prefix of the keys of the caller's holds
-- ARGV[1] the lease in milliseconds, ARGV[2] the caller, ARGV[3] the caller as a writer
-- returns nil if it was taken, else what is left of the other's lease
local mode = redis.call('HGET', KEYS[1], 'mode')
-- It is free. Each hold of a reader has a key of its own, which tells how long it lasts.
if not mode then
    redis.call('HSET', KEYS[1], 'mode', 'read')
    redis.call('HSET', KEYS[1], ARGV[2], 1)
    redis.call('SET', KEYS[2] .. ':1', 1)
    redis.call('PEXPIRE', KEYS[2] .. ':1', ARGV[1])
    redis.call('PEXPIRE', KEYS[1], ARGV[1])
    return false
end
-- One reader more, or one hold more of the same. The lock lasts as long as the longest.
if mode == 'read' or redis.call('HEXISTS', KEYS[1], ARGV[3]) == 1 then
    local hold = KEYS[2] .. ':' .. redis.call('HINCRBY', KEYS[1], ARGV[2], 1)
    redis.call('SET', hold, 1)
    redis.call('PEXPIRE', hold, ARGV[1])
    local left = redis.call('PTTL', KEYS[1])
    redis.call('PEXPIRE', KEYS[1], math.max(left, tonumber(ARGV[1])))
    return false
end
return redis.call('PTTL', KEYS[1])
