-- Takes a free lock and gives it its lease, both or neither.
-- KEYS[1] the lock    ARGV[1] the caller's value, ARGV[2] the lease in milliseconds
-- returns 1 if the lock is the caller's now, else 0
if redis.call('SETNX', KEYS[1], ARGV[1]) == 1 then
    redis.call('PEXPIRE', KEYS[1], ARGV[2])
    return 1
end
return 0
