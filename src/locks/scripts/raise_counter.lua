-- Raises a counter to at least a number that another node has come to.
-- KEYS[1] the counter    ARGV[1] the number    returns what the counter is now
local own = tonumber(redis.call('GET', KEYS[1]) or 0)
if own < tonumber(ARGV[1]) then
    redis.call('SET', KEYS[1], ARGV[1])
    return tonumber(ARGV[1])
end
return own
