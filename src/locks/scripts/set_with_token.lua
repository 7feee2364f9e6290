-- Takes a free lock and draws a fencing token in the same step, so that the order of
-- the tokens is the order of the grants.
-- KEYS[1] the lock, KEYS[2] the counter    ARGV[1] the caller's token, ARGV[2] the lease
-- returns the fencing token, or nil if somebody holds the lock
if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then
    return redis.call('INCR', KEYS[2])
end
return false
