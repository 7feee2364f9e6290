-- Gives back one hold, once for each request: the answer is kept for a while, and a
-- request that is sent again gets it again.
-- KEYS[1] the lock, KEYS[2] the channel, KEYS[3] the answer to this request
-- ARGV[1] the message, ARGV[2] the lease in milliseconds, ARGV[3] the caller,
-- ARGV[4] for how many milliseconds the answer is kept
-- returns nil if the caller does not have the lock, 0 if a hold remains, 1 if it is free

-- This request was answered before.
local answered = redis.call('GET', KEYS[3])
if answered then
    return tonumber(answered)
end
if redis.call('HEXISTS', KEYS[1], ARGV[3]) == 0 then
    return false
end
-- A hold remains: it gets a full lease.
if redis.call('HINCRBY', KEYS[1], ARGV[3], -1) > 0 then
    redis.call('PEXPIRE', KEYS[1], ARGV[2])
    redis.call('SET', KEYS[3], 0, 'PX', ARGV[4])
    return 0
end
-- That was the last.
redis.call('DEL', KEYS[1])
redis.call('PUBLISH', KEYS[2], ARGV[1])
redis.call('SET', KEYS[3], 1, 'PX', ARGV[4])
return 1
