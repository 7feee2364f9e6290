-- Takes a lock that is free, if the caller is at the head of the queue or nobody is in it,
-- or that is the caller's own. Else the caller joins the queue's end, or stays in it.
-- KEYS[1] the lock, KEYS[2] the queue: a list of callers, KEYS[3] until when each of them
-- may wait: a sorted set, in milliseconds of the callers' wall clocks
-- ARGV[1] the lease in milliseconds, ARGV[2] the caller, ARGV[3] for how many milliseconds
-- a place in the queue is kept, ARGV[4] what the caller's wall clock says
-- ARGV[5] 'once': do not join the queue; else what one who is in it is told: 'place', how
-- long those before it may still wait, or 'lease', what is left of the holder's lease
-- returns nil if it was taken, else for how many milliseconds to wait

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

-- It is free, and it is the caller's turn: out of the queue with it. All the others are
-- one place nearer.
if redis.call('EXISTS', KEYS[1]) == 0 then
    local head = redis.call('LINDEX', KEYS[2], 0)
    if not head or head == ARGV[2] then
        redis.call('LPOP', KEYS[2])
        redis.call('ZREM', KEYS[3], ARGV[2])
        for _, waiter in ipairs(redis.call('ZRANGE', KEYS[3], 0, -1)) do
            redis.call('ZINCRBY', KEYS[3], -tonumber(ARGV[3]), waiter)
        end
        redis.call('HSET', KEYS[1], ARGV[2], 1)
        redis.call('PEXPIRE', KEYS[1], ARGV[1])
        return false
    end
end

-- The caller has it: one hold more, and a full lease.
if redis.call('HEXISTS', KEYS[1], ARGV[2]) == 1 then
    redis.call('HINCRBY', KEYS[1], ARGV[2], 1)
    redis.call('PEXPIRE', KEYS[1], ARGV[1])
    return false
end

if ARGV[5] == 'once' then
    return 1
end

-- The caller is in the queue.
local deadline = redis.call('ZSCORE', KEYS[3], ARGV[2])
if deadline then
    if ARGV[5] == 'lease' then
        return math.max(0, redis.call('PTTL', KEYS[1]))
    end
    return tonumber(deadline) - tonumber(ARGV[3]) - tonumber(ARGV[4])
end

-- It joins: its turn comes when the last in the queue may wait no longer, or with an empty
-- queue when the lease is over; from then on its place is kept.
local last = redis.call('LINDEX', KEYS[2], -1)
local turn
if last and last ~= ARGV[2] then
    turn = tonumber(redis.call('ZSCORE', KEYS[3], last)) - tonumber(ARGV[4])
else
    turn = redis.call('PTTL', KEYS[1])
end
redis.call('ZADD', KEYS[3], turn + tonumber(ARGV[3]) + tonumber(ARGV[4]), ARGV[2])
redis.call('RPUSH', KEYS[2], ARGV[2])
return turn
