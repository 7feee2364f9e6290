-- Gives the caller's holds a full lease.
-- KEYS[1] the lock    ARGV[1] the lease in milliseconds, ARGV[2] the caller
-- returns 1 if the lease was set, 0 if the caller does not have the lock
if redis.call('HEXISTS', KEYS[1], ARGV[2]) == 0 then
    return 0
end
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return 1
