-- Gives back one hold of a reader.
-- KEYS[1] the lock, KEYS[2] the channel, KEYS[3] the prefix of the keys of the caller's
-- holds    ARGV[1] the message, ARGV[2] the caller, ARGV[3] the prefix of everybody's
-- returns nil if the caller does not read, 0 if holds remain, 1 if the lock is free; and -1
-- if it was free before, which Redisson's script does not tell from 1
local mode = redis.call('HGET', KEYS[1], 'mode')
if not mode then
    redis.call('PUBLISH', KEYS[2], ARGV[1])
    return -1
end
if redis.call('HEXISTS', KEYS[1], ARGV[2]) == 0 then
    return false
end
-- The hold that was taken last is given back.
local holds = redis.call('HINCRBY', KEYS[1], ARGV[2], -1)
if holds == 0 then
    redis.call('HDEL', KEYS[1], ARGV[2])
end
redis.call('DEL', KEYS[3] .. ':' .. holds + 1)

-- Somebody remains, reader or writer: the lock lasts as long as the longest hold of a
-- reader.
if redis.call('HLEN', KEYS[1]) > 1 then
    local longest = -3
    for _, field in ipairs(redis.call('HKEYS', KEYS[1])) do
        local count = tonumber(redis.call('HGET', KEYS[1], field))
        for hold = count or 0, 1, -1 do
            local key = ARGV[3] .. ':' .. field .. ':rwlock_timeout:' .. hold
            longest = math.max(longest, redis.call('PTTL', key))
        end
    end
    if longest > 0 then
        redis.call('PEXPIRE', KEYS[1], longest)
        return 0
    end
    if mode == 'write' then
        return 0
    end
end
redis.call('DEL', KEYS[1])
redis.call('PUBLISH', KEYS[2], ARGV[1])
return 1
