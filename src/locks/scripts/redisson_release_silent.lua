-- Gives back one hold; with the last one the lock, and tells nobody.
-- KEYS[1] the lock    ARGV[1] the lease in milliseconds, ARGV[2] the caller
-- returns nil if the caller does not have the lock, 0 if a hold remains, 1 if it is free
if redis.call('HEXISTS', KEYS[1], ARGV[2]) == 0 then
    return false
end
-- A hold remains: it gets a full lease.
if redis.call('HINCRBY', KEYS[1], ARGV[2], -1) > 0 then
    redis.call('PEXPIRE', KEYS[1], ARGV[1])
    return 0
end
-- That was the last.
redis.call('DEL', KEYS[1])
return 1
