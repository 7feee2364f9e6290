-- Gives the lock a full lease, and with it every hold of every reader.
-- KEYS[1] the lock    ARGV[1] the lease in milliseconds, ARGV[2] the caller, ARGV[3] the
-- prefix of the keys of everybody's holds
-- returns 1 if the leases were set, 0 if the caller does not read
if redis.call('HEXISTS', KEYS[1], ARGV[2]) == 0 then
    return 0
end
redis.call('PEXPIRE', KEYS[1], ARGV[1])
for _, field in ipairs(redis.call('HKEYS', KEYS[1])) do
    local count = tonumber(redis.call('HGET', KEYS[1], field))
    for hold = count or 0, 1, -1 do
        redis.call('PEXPIRE', ARGV[3] .. ':' .. field .. ':rwlock_timeout:' .. hold, ARGV[1])
    end
end
return 1
