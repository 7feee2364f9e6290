-- Takes a lock that is free or the caller's own, or says when it comes free.
-- KEYS[1] the lock    ARGV[1] the lease in milliseconds, ARGV[2] the caller
-- returns nil if it was taken, else what is left of the other's lease (-1: it has none)

-- Somebody has it, and it is not the caller.
if redis.call('EXISTS', KEYS[1]) == 1 and redis.call('HEXISTS', KEYS[1], ARGV[2]) == 0 then
    return redis.call('PTTL', KEYS[1])
end
-- One hold more, and a full lease for all of them.
redis.call('HINCRBY', KEYS[1], ARGV[2], 1)
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return false
