"""Scripts of a queue of jobs: each is one step of the server, so nobody sees a half of it.

Keys, behind the name of the queue: `jobs` (a stream with one group, `consumers`), `dead` (a stream), `ids` (ids that are known, by
time), `entries` (the entry of each id that waits or is in work) and `scan` (where the next look for jobs of the dead begins). A job is its consumer's as long as the group's list of pending
entries names it, with the number of deliveries that it was given with.
"""

from __future__ import annotations

from typing import Final

_COMMON: Final = """
local jobs, dead, ids, entries = KEYS[1] .. ':jobs', KEYS[1] .. ':dead', KEYS[1] .. ':ids', KEYS[1] .. ':entries'
local function pending(entry)
  local found = redis.call('XPENDING', jobs, 'consumers', entry, entry, 1)
  return found[1]
end
local function own(id)
  local entry = redis.call('HGET', entries, id)
  local found = entry and pending(entry)
  if found and found[2] == ARGV[1] and found[4] == tonumber(ARGV[3]) then return entry end
end
local function leave(entry, id)
  redis.call('XACK', jobs, 'consumers', entry)
  redis.call('XDEL', jobs, entry)
  redis.call('HDEL', entries, id)
end
local function bury(entry, id, body, attempt, why)
  leave(entry, id)
  redis.call('XADD', dead, '*', 'id', id, 'body', body, 'attempt', attempt, 'why', why)
end
"""

OPEN_JOBS: Final = """
local found = redis.pcall('XGROUP', 'CREATE', KEYS[1] .. ':jobs', 'consumers', '0', 'MKSTREAM')
if found.err and not found.err:match('BUSYGROUP') then return found end
return 1
"""
"""KEYS: queue."""

PUT_JOB: Final = f"""{_COMMON}
local id, body, now, known_s = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
redis.call('ZREMRANGEBYSCORE', ids, '-inf', string.format('(%.6f', now - known_s))
if redis.call('ZSCORE', ids, id) or redis.call('HEXISTS', entries, id) == 1 then return 0 end
if redis.call('XLEN', jobs) + redis.call('XLEN', dead) >= tonumber(ARGV[5]) then return -1 end
redis.call('HSET', entries, id, redis.call('XADD', jobs, '*', 'id', id, 'body', body))
redis.call('ZADD', ids, now, id)
return 1
"""
"""KEYS: queue. ARGV: id, body, now, seconds for which an id is known, capacity. Returns 1, 0 if the id is known, -1 if it is full."""

TAKE_JOBS: Final = f"""{_COMMON}
local limit, lease_ms, max_attempts, result = tonumber(ARGV[2]), ARGV[3], tonumber(ARGV[4]), {{}}
local from = redis.call('GET', KEYS[1] .. ':scan') or '0-0'
local found = redis.call('XAUTOCLAIM', jobs, 'consumers', ARGV[1], lease_ms, from, 'COUNT', limit)
redis.call('SET', KEYS[1] .. ':scan', found[1])
for _, entry in ipairs(found[2]) do
  if entry and entry[2] then
    local id, body, attempt = entry[2][2], entry[2][4], pending(entry[1])[4]
    if attempt > max_attempts then bury(entry[1], id, body, attempt - 1, 'its consumers ended without a word')
    else result[#result + 1] = {{id, body, attempt}} end
  end
end
if #result < limit then
  local new = redis.call('XREADGROUP', 'GROUP', 'consumers', ARGV[1], 'COUNT', limit - #result, 'STREAMS', jobs, '>')
  for _, entry in ipairs(new and new[1][2] or {{}}) do result[#result + 1] = {{entry[2][2], entry[2][4], 1}} end
end
return result
"""
"""KEYS: queue. ARGV: consumer, limit, milliseconds of a lease, MAX_JOB_ATTEMPTS. Returns id, body and attempt of each."""

ACKNOWLEDGE_JOB: Final = f"""{_COMMON}
local entry = own(ARGV[2])
if not entry then return 0 end
leave(entry, ARGV[2])
return 1
"""
"""KEYS: queue. ARGV: consumer, id, attempt. Returns 1, or 0 if it is not the consumer's with this attempt."""

GIVE_BACK_JOB: Final = f"""{_COMMON}
local entry = own(ARGV[2])
if not entry then return 0 end
if tonumber(ARGV[3]) >= tonumber(ARGV[5]) then bury(entry, ARGV[2], ARGV[7], ARGV[3], ARGV[6])
else redis.call('XCLAIM', jobs, 'consumers', 'nobody', 0, entry, 'IDLE', ARGV[4], 'JUSTID') end
return 1
"""
"""KEYS: queue. ARGV: consumer, id, attempt, milliseconds of a lease, MAX_JOB_ATTEMPTS, reason, body. Returns as `ACKNOWLEDGE_JOB`."""

RENEW_JOBS: Final = f"""{_COMMON}
for number = 2, #ARGV, 2 do
  local entry = redis.call('HGET', entries, ARGV[number])
  local found = entry and pending(entry)
  if found and found[2] == ARGV[1] and found[4] == tonumber(ARGV[number + 1]) then
    redis.call('XCLAIM', jobs, 'consumers', ARGV[1], 0, entry, 'IDLE', 0, 'JUSTID')
  end
end
return 1
"""
"""KEYS: queue. ARGV: consumer, then id and attempt of each job in work."""

COUNT_JOBS: Final = f"""{_COMMON}
local found = redis.call('XPENDING', jobs, 'consumers')
return {{redis.call('XLEN', jobs) - found[1], found[1], redis.call('XLEN', dead)}}
"""
"""KEYS: queue. Returns the number of jobs that wait, are in work, and are dead letters."""

READ_DEAD: Final = f"""{_COMMON}
local found = {{}}
for _, entry in ipairs(redis.call('XRANGE', dead, '-', '+', 'COUNT', ARGV[1])) do
  found[#found + 1] = {{entry[2][2], entry[2][4], tonumber(entry[2][6]), entry[2][8]}}
end
return found
"""
"""KEYS: queue. ARGV: limit. Returns id, body, attempt and reason of each dead letter."""

REMOVE_DEAD: Final = f"""{_COMMON}
local removed = 0
for _, entry in ipairs(redis.call('XRANGE', dead, '-', '+')) do
  for _, id in ipairs(ARGV) do
    if entry[2][2] == id then removed = removed + redis.call('XDEL', dead, entry[1]) end
  end
end
return removed
"""
"""KEYS: queue. ARGV: ids. Returns the number of dead letters that were removed."""
