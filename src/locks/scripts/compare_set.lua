-- Replaces a value that the caller has read, if the key still has it.
-- KEYS[1] the lock    ARGV[1] the value read, ARGV[2] the new value
-- returns 1 if the value was replaced, else 0
if redis.call('GET', KEYS[1]) == ARGV[1] then
    redis.call('SET', KEYS[1], ARGV[2])
    return 1
end
return 0
