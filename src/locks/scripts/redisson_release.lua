-- Gives back one hold; with the last one the lock, and wakes those who wait for it.
-- KEYS[1] the lock, KEYS[2] the channel
-- ARGV[1] the message, ARGV[2] the lease in milliseconds, ARGV[3] the caller
-- returns nil if the caller does not have the lock, 0 if a hold remains, 1 if it is free
if redis.call('HEXISTS', KEYS[1], ARGV[3]) == 0 then
    return false
end
-- A hold remains: it gets a full lease.
if redis.call('HINCRBY', KEYS[1], ARGV[3], -1) > 0 then
    redis.call('PEXPIRE', KEYS[1], ARGV[2])
    return 0
end
-- That was the last.
redis.call('DEL', KEYS[1])
redis.call('PUBLISH', KEYS[2], ARGV[1])
return 1
