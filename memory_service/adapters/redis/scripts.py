"""The two writes that must be atomic, as Lua; both touch the one key of an owner.

The hash has for each model the fields `r<model>` (revision) and `d<model>` (packed snapshot), and `least`: no
snapshot older than it may be stored. Revisions are digits of one width and compare as text.
"""

PUT_SNAPSHOT = """
local key, model, revision = KEYS[1], ARGV[1], ARGV[2]
local least = redis.call('HGET', key, 'least')
if least and revision < least then return 0 end
local kept = redis.call('HGET', key, 'r' .. model)
if kept and kept > revision then return 0 end
-- The hash has one time to live; an older snapshot of another model must not live on by this write.
for _, field in ipairs(redis.call('HKEYS', key)) do
  local other = string.sub(field, 2)
  if string.sub(field, 1, 1) == 'r' and redis.call('HGET', key, field) < revision then
    redis.call('HDEL', key, field, 'd' .. other)
  end
end
redis.call('HSET', key, 'r' .. model, revision, 'd' .. model, ARGV[3])
redis.call('PEXPIRE', key, ARGV[4])
return 1
"""

DROP_OWNER = """
local key, least = KEYS[1], ARGV[1]
local before = redis.call('HGET', key, 'least')
if before and before > least then least = before end
redis.call('DEL', key)
redis.call('HSET', key, 'least', least)
redis.call('PEXPIRE', key, ARGV[2])
return 1
"""
