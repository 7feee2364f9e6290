-- Prolongs a lease if the lock is still the caller's.
-- KEYS[1] the lock    ARGV[1] the caller's token, ARGV[2] the new lease in milliseconds
-- returns 1 if the lease was set, else 0
if redis.call('GET', KEYS[1]) == ARGV[1] then
    return redis.call('PEXPIRE', KEYS[1], ARGV[2])
end
return 0
