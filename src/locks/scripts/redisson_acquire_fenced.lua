-- Takes a lock that is free or the caller's own, and draws a fencing token in the same
-- step; or says when it comes free.
-- KEYS[1] the lock, KEYS[2] the counter of tokens
-- ARGV[1] the lease in milliseconds, ARGV[2] the caller
-- returns {-1, token} if it was taken, else {what is left of the other's lease, -1}

-- Somebody has it, and it is not the caller.
if redis.call('EXISTS', KEYS[1]) == 1 and redis.call('HEXISTS', KEYS[1], ARGV[2]) == 0 then
    return {redis.call('PTTL', KEYS[1]), -1}
end
-- A token for each hold, also for one hold more of the same owner.
local token = redis.call('INCR', KEYS[2])
redis.call('HINCRBY', KEYS[1], ARGV[2], 1)
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return {-1, token}
