-- Takes a lock to write, if it is free or the caller writes already.
-- KEYS[1] the lock    ARGV[1] the lease in milliseconds, ARGV[2] the caller as a writer
-- returns nil if it was taken, else what is left of the other's lease
local mode = redis.call('HGET', KEYS[1], 'mode')
if not mode then
    redis.call('HSET', KEYS[1], 'mode', 'write')
    redis.call('HSET', KEYS[1], ARGV[2], 1)
    redis.call('PEXPIRE', KEYS[1], ARGV[1])
    return false
end
-- One hold more: its lease is added to what is left.
if mode == 'write' and redis.call('HEXISTS', KEYS[1], ARGV[2]) == 1 then
    redis.call('HINCRBY', KEYS[1], ARGV[2], 1)
    redis.call('PEXPIRE', KEYS[1], redis.call('PTTL', KEYS[1]) + tonumber(ARGV[1]))
    return false
end
return redis.call('PTTL', KEYS[1])
