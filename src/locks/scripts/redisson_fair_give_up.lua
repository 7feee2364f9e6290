-- Takes the caller out of the queue; all behind it are one place nearer.
-- KEYS[1] the queue, KEYS[2] until when each in it may wait
-- ARGV[1] the caller, ARGV[2] for how many milliseconds its place was kept
local is_behind = false
for _, waiter in ipairs(redis.call('LRANGE', KEYS[1], 0, -1)) do
    if is_behind then
        redis.call('ZINCRBY', KEYS[2], -tonumber(ARGV[2]), waiter)
    end
    is_behind = is_behind or waiter == ARGV[1]
end
redis.call('ZREM', KEYS[2], ARGV[1])
redis.call('LREM', KEYS[1], 0, ARGV[1])
return 1
