-- Gives back one hold; with the last one the lock, and wakes the head of the queue.
-- KEYS[1] the lock, KEYS[2] the queue, KEYS[3] until when each in it may wait, KEYS[4] the
-- channel, to whose name that of a waiter is added
-- ARGV[1] the message, ARGV[2] the lease in milliseconds, ARGV[3] the caller, ARGV[4] what
-- its wall clock says in milliseconds
-- returns nil if somebody else has the lock, 0 if a hold remains, 1 if it is free; and -1
-- if it was free before, which Redisson's script does not tell from 1

-- Whoever is at the head and has waited too long loses its place.
while true do
    local head = redis.call('LINDEX', KEYS[2], 0)
    if not head then
        break
    end
    local deadline = redis.call('ZSCORE', KEYS[3], head)
    if not deadline or tonumber(deadline) > tonumber(ARGV[4]) then
        break
    end
    redis.call('ZREM', KEYS[3], head)
    redis.call('LPOP', KEYS[2])
end

local function wake_the_head()
    local head = redis.call('LINDEX', KEYS[2], 0)
    if head then
        redis.call('PUBLISH', KEYS[4] .. ':' .. head, ARGV[1])
    end
end

-- The lease was over.
if redis.call('EXISTS', KEYS[1]) == 0 then
    wake_the_head()
    return -1
end
if redis.call('HEXISTS', KEYS[1], ARGV[3]) == 0 then
    return false
end
-- A hold remains: it gets a full lease.
if redis.call('HINCRBY', KEYS[1], ARGV[3], -1) > 0 then
    redis.call('PEXPIRE', KEYS[1], ARGV[2])
    return 0
end
-- That was the last.
redis.call('DEL', KEYS[1])
wake_the_head()
return 1
