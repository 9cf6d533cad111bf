"""Working memory as Lua: each script is one step, with the time to live of all it touched (F4).

Keys are those of `keys.session_keys`. The first two arguments are always: now (milliseconds), the session's id. What
does not change from call to call (`Bounds`) is part of the text, so that it is not sent each time.

facts   hash  f facts (JSON), v version, n turns ever, e "1" once ended, q sequence of the newest block, a last use,
              l "1" while it is active, as far as is known
fields  hash  path to 16 digits of version and JSON; `_b` counts the bytes of turns, and is there while it is active
turns   list  JSON, oldest first
ids     zset  id of a turn to twice its number, one more when it is an answer
blocks  list  10 digits of sequence and JSON, oldest first
sessions, expiries  zset  the owner's sessions by id, and by when they expire

A server that is full may evict any of these keys alone. What must be there is known from the others: fields and, when
these count bytes of turns, turns and ids while the session is active; blocks once q is not 0. Without one of the
former it is released as a whole, without blocks or facts there is no such session any more.
"""

from __future__ import annotations

from dataclasses import dataclass
from string import Template


@dataclass(frozen=True, slots=True)
class Bounds:
    """What stands for `$name` in the scripts: times in milliseconds, and how much there may be."""

    idle: int
    keep: int
    request: int
    turns: int
    bytes: int
    ids: int
    fields: int
    blocks: int
    sessions: int
    recent: int

    def put_into(self, script: str) -> str:
        """A script with these bounds."""
        return Template(script).substitute({name: getattr(self, name) for name in self.__dataclass_fields__})


_COMMON = """
local FACTS, FIELDS, TURNS, IDS, BLOCKS, SESSIONS, EXPIRIES =
  KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7]
local now, sid = ARGV[1], ARGV[2]
local idle, keep = $idle, $keep
local call = redis.call
local function touch(ended)
  call('HSET', FACTS, 'a', now, 'l', ended and 0 or 1)
  call('PEXPIRE', FACTS, keep)
  if not ended then
    call('HSETNX', FIELDS, '_b', 0)
    call('PEXPIRE', FIELDS, idle)
    call('PEXPIRE', TURNS, idle)
    call('PEXPIRE', IDS, idle)
  end
  call('PEXPIRE', BLOCKS, keep)
  call('ZADD', SESSIONS, 0, sid)
  call('ZADD', EXPIRIES, string.format('%.0f', now + keep), sid)
  call('PEXPIRE', SESSIONS, keep)
  call('PEXPIRE', EXPIRIES, keep)
end
-- The facts, the version among them as it is after what was lost since, and whether turns or fields were.
local function found()
  local facts = call('HMGET', FACTS, 'f', 'v', 'n', 'e', 'q', 'a', 'l')
  if not facts[1] or (facts[5] ~= '0' and call('EXISTS', BLOCKS) == 0) then return nil end
  local lost = false
  if facts[4] ~= '1' and facts[7] ~= '0' then
    local bytes = call('HGET', FIELDS, '_b')
    lost = not bytes or (bytes ~= '0' and call('EXISTS', TURNS, IDS) < 2)
    if lost then facts[2] = string.format('%.0f', facts[2] + 1) end
  end
  return facts, lost
end
local function opened()
  local facts, lost = found()
  if not facts then return nil, {'unknown'} end
  if facts[4] == '1' then return nil, {'ended'} end
  if lost then
    call('DEL', FIELDS, TURNS, IDS)
    call('HSET', FACTS, 'v', facts[2], 'l', 0)
  end
  return facts
end
"""

CREATE = (
    _COMMON
    + """
local request, facts, began_as = KEYS[8], ARGV[3], sid .. ' ' .. ARGV[4]
if request then
  local began = call('GET', request)
  if began then return {'ok', began} end
end
for _, old in ipairs(call('ZRANGEBYSCORE', EXPIRIES, '-inf', now, 'LIMIT', 0, 1000)) do
  call('ZREM', EXPIRIES, old)
  call('ZREM', SESSIONS, old)
end
if call('ZCARD', SESSIONS) >= $sessions then return {'full'} end
call('HSET', FACTS, 'f', facts, 'v', 1, 'n', 0, 'e', 0, 'q', 0)
touch()
if request then call('SET', request, began_as, 'PX', $request) end
return {'ok', began_as}
"""
)
"""ARGV: facts, digest of the request. KEYS[8]: the request, when it has an id."""

APPEND = (
    _COMMON
    + """
local base_block, base_turns, sequence, block = ARGV[3], ARGV[4], ARGV[5], ARGV[6]
local count = (#ARGV - 6) / 3
local facts, refusal = opened()
if not facts then return refusal end
local known = {}
for i = 0, count - 1 do
  if call('ZSCORE', IDS, ARGV[7 + 3 * i]) then known[#known + 1] = i end
end
if #known > 0 or (base_block ~= '' and (base_block ~= facts[5] or base_turns ~= facts[3])) then
  return {'behind', facts[1], facts[3], call('LINDEX', BLOCKS, -1), call('LRANGE', TURNS, -$recent, -1), known}
end
local number = tonumber(facts[3])
local bytes = tonumber(call('HGET', FIELDS, '_b') or 0)
for i = 0, count - 1 do
  local id, answers, turn = ARGV[7 + 3 * i], tonumber(ARGV[8 + 3 * i]), ARGV[9 + 3 * i]
  number = number + 1
  call('RPUSH', TURNS, turn)
  call('ZADD', IDS, 2 * number + answers, id)
  bytes = bytes + #turn
end
local kept = call('LLEN', TURNS)
while kept > 1 and (kept > $turns or bytes > $bytes) do
  bytes = bytes - #call('LPOP', TURNS)
  kept = kept - 1
end
if count > 0 then
  call('ZREMRANGEBYRANK', IDS, 0, -$ids - 1)
  call('HSET', FIELDS, '_b', bytes)
  call('HSET', FACTS, 'n', number)
end
if block ~= '' then
  call('RPUSH', BLOCKS, block)
  call('LTRIM', BLOCKS, -$blocks, -1)
  call('HSET', FACTS, 'q', sequence)
end
touch()
return {'ok', number, call('LLEN', BLOCKS)}
"""
)
"""ARGV: the basis ("" for any); sequence and JSON of the block ("" for none); then id, answer flag, JSON of turns."""

UPDATE = (
    _COMMON
    + """
local etag, seen, count = ARGV[3], ARGV[4], (#ARGV - 4) / 3
local facts, refusal = opened()
if not facts then return refusal end
if etag ~= '' and etag ~= facts[2] then return {'etag', facts[2]} end
if seen ~= '' and tonumber(seen) > tonumber(facts[2]) then return {'unseen', facts[2]} end
local overwritten, total = {}, math.max(0, call('HLEN', FIELDS) - 1)
for i = 0, count - 1 do
  local path, answered, value = ARGV[5 + 3 * i], ARGV[6 + 3 * i], ARGV[7 + 3 * i]
  if answered ~= '' then
    local score = call('ZSCORE', IDS, answered)
    if not score or score % 2 == 0 then return {'unanswered', path} end
  end
  local present = call('HGET', FIELDS, path)
  if present and seen ~= '' and tonumber(string.sub(present, 1, 16)) > tonumber(seen) then
    overwritten[#overwritten + 1] = path
    overwritten[#overwritten + 1] = present
  end
  if value ~= '' and not present then total = total + 1 end
  if value == '' and present then total = total - 1 end
end
if total > $fields then return {'full'} end
local version = tonumber(facts[2]) + 1
for i = 0, count - 1 do
  local path, value = ARGV[5 + 3 * i], ARGV[7 + 3 * i]
  if value == '' then call('HDEL', FIELDS, path)
  else call('HSET', FIELDS, path, string.format('%016d', version) .. value) end
end
call('HSET', FACTS, 'v', version)
touch()
return {'ok', version, overwritten}
"""
)
"""ARGV: etag and seen version ("" for any); then path, answering turn and JSON of each change."""

READ = (
    _COMMON
    + """
local newest, touches = ARGV[3], ARGV[4]
local facts, lost = found()
if not facts then return {'unknown'} end
local fields, turns = {}, ''
if facts[4] ~= '1' then
  if touches == '1' then
    opened()
    touch()
    facts[6] = now
  end
  if touches == '1' or not lost then fields = call('HGETALL', FIELDS) end
  if #fields > 0 and newest ~= '0' then turns = table.concat(call('LRANGE', TURNS, '-' .. newest, -1), ',') end
end
return {'ok', facts[1], facts[2], facts[3], facts[4], facts[6], fields, turns, call('LINDEX', BLOCKS, -1),
        call('LLEN', BLOCKS)}
"""
)
"""ARGV: how many turns, "1" to touch."""

END = (
    _COMMON
    + """
local facts, refusal = opened()
if not facts then return refusal end
-- First what frees memory: a server that is full refuses a script's first write only.
call('DEL', FIELDS, TURNS, IDS)
call('HSET', FACTS, 'e', 1, 'v', facts[2] + 1)
touch(true)
return {'ok'}
"""
)

DROP_BLOCKS = (
    _COMMON
    + """
local upto = tonumber(ARGV[3])
while call('LLEN', BLOCKS) > 1 and tonumber(string.sub(call('LINDEX', BLOCKS, 0), 1, 10)) <= upto do
  call('LPOP', BLOCKS)
end
return {'ok'}
"""
)
"""ARGV: the last sequence to drop. An old step, so it does not touch."""

FORGET_TURNS = (
    _COMMON
    + """
local block, version, count, fields, ids = ARGV[3], ARGV[4], ARGV[5], tonumber(ARGV[6]), tonumber(ARGV[7])
local facts, lost = found()
if not facts then return {'ok'} end
if call('HGET', FACTS, 'v') ~= version or facts[3] ~= count then return {'behind'} end
local sequence = string.format('%.0f', facts[5] + 1)
call('DEL', BLOCKS)
if not lost and facts[4] ~= '1' and call('EXISTS', FIELDS) == 1 then
  local gone = 0
  for i = 8, 7 + fields do gone = gone + call('HDEL', FIELDS, ARGV[i]) end
  if gone > 0 then call('HINCRBY', FACTS, 'v', 1) end
  for i = 8 + fields, 7 + fields + ids do
    local score = call('ZSCORE', IDS, ARGV[i])
    if score and score % 2 == 1 then call('ZADD', IDS, 'XX', score - 1, ARGV[i]) end
  end
  for i = 8 + fields + ids, #ARGV - 1, 2 do
    local old, new = ARGV[i], ARGV[i + 1]
    local place = call('LPOS', TURNS, old)
    if place then
      call('LSET', TURNS, place, new)
      call('HINCRBY', FIELDS, '_b', #new - #old)
    end
  end
end
call('RPUSH', BLOCKS, string.format('%010d', sequence) .. block)
call('HSET', FACTS, 'q', sequence)
call('PEXPIRE', BLOCKS, call('PTTL', FACTS))
return {'ok'}
"""
)
"""ARGV: JSON of an empty block; version and turns ever as they were read, "behind" when they moved on; how many
fields to remove, how many turns are forgotten; their paths, their ids; then of each turn what it was and is to be.

It frees memory before it takes any, so that a full server does it. It does not touch.
"""
