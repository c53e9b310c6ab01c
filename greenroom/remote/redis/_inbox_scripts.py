"""Scripts of the boxes: each is one step of the server, so nobody sees a half of it.

Keys of a box, behind its own name: `stream` (what is to be read; the number of an item is the id of its entry), `ids` (number,
bytes, letter, time and put of each item that is there), `aside` (texts of the items that are held, poisoned or refused), `held`,
`poisoned` and `refused` (their ids by number), `attempts`, `expires` and `created` (ids by time), `left` and `numbers` (ids that
are still known), `totals`, `fence`, and `lease` (there as long as the lease holds).
"""

from __future__ import annotations

from typing import Final

_COMMON: Final = """
local function at(name) return KEYS[1] .. ':' .. name end
local function place(id)
  for _, name in ipairs({'held', 'poisoned', 'refused'}) do
    if redis.call('ZSCORE', at(name), id) then return name end
  end
  return 'stream'
end
local function unpacked(record)
  local seq, bytes, letter, created = record:match('^(%d+) (%d+) (%d) (%S+)')
  return seq, tonumber(bytes), tonumber(letter), created
end
local function count(sign, bytes, letter)
  redis.call('HINCRBY', at('totals'), 'bytes', sign * bytes + 0)
  redis.call('HINCRBY', at('totals'), 'letters', sign * letter + 0)
end
local function text_of(id, seq, where)
  if where ~= 'stream' then return redis.call('HGET', at('aside'), id) end
  local found = redis.call('XRANGE', at('stream'), seq .. '-0', seq .. '-0')
  return found[1] and found[1][2][4]
end
local function unplace(id, record, where)
  local seq, bytes, letter = unpacked(record)
  if where == 'stream' then
    redis.call('XDEL', at('stream'), seq .. '-0')
    redis.call('ZREM', at('created'), id)
    count(-1, bytes, letter)
  else
    redis.call('ZREM', at(where), id)
    redis.call('HDEL', at('aside'), id)
  end
end
local function leave(boxes, box, id, now)
  local record = redis.call('HGET', at('ids'), id)
  if not record then return 0 end
  unplace(id, record, place(id))
  redis.call('HDEL', at('ids'), id)
  redis.call('HDEL', at('attempts'), id)
  redis.call('ZREM', at('expires'), id)
  redis.call('ZADD', at('left'), now, id)
  redis.call('HSET', at('numbers'), id, (unpacked(record)))
  if redis.call('HLEN', at('ids')) == 0 then redis.call('SREM', boxes, box) end
  return 1
end
local function set_aside(id, record, text, where)
  unplace(id, record, 'stream')
  redis.call('HSET', at('aside'), id, text)
  redis.call('ZADD', at(where), (unpacked(record)), id)
  redis.call('ZREM', at('expires'), id)
end
"""
_FENCE: Final = """
local has = redis.call('GET', at('fence'))
if has ~= ARGV[1] then return {'fenced', has or ''} end
"""

READ_LEASE: Final = f"""{_COMMON}
return {{redis.call('GET', at('fence')), redis.call('PTTL', at('lease'))}}
"""
"""KEYS: box. Returns the fence and the milliseconds that the lease still holds."""

CLAIM_BOX: Final = f"""{_COMMON}
local has = redis.call('GET', at('fence')) or ''
if has ~= ARGV[1] then return 0 end
if ARGV[3] == '1' and redis.call('EXISTS', at('lease')) == 1 then return 0 end
redis.call('SET', at('fence'), ARGV[2])
redis.call('SET', at('lease'), '1', 'PX', ARGV[4])
return 1
"""
"""KEYS: box. ARGV: the fence that was read, the new one, 1 to fail where the lease holds, milliseconds. Returns 1 if it was put."""

RENEW_BOXES: Final = """
local lost = {}
for number, base in ipairs(KEYS) do
  local has = redis.call('GET', base .. ':fence')
  if has == ARGV[number + 1] then redis.call('SET', base .. ':lease', '1', 'PX', ARGV[1])
  else lost[#lost + 1] = {number, has or ''} end
end
return lost
"""
"""KEYS: boxes. ARGV: milliseconds, the fence of each. Returns the place and the fence of each that somebody else has."""

FREE_BOXES: Final = """
for number, base in ipairs(KEYS) do
  if redis.call('GET', base .. ':fence') == ARGV[number] then redis.call('DEL', base .. ':lease') end
end
return 1
"""
"""KEYS: boxes. ARGV: the fence of each."""

PUT: Final = """
local now, known_s, max_items, max_bytes, max_letters, max_held, token, n =
  tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6]), ARGV[7], tonumber(ARGV[8])
local items, rooms, answers = {}, {}, {}
local function known(base, id)
  local record = redis.call('HGET', base .. ':ids', id)
  if record then
    return {tonumber(record:match('^(%d+)')), record:match('(%S+)$') == token and 1 or 0}
  end
  local left = redis.call('ZSCORE', base .. ':left', id)
  if left and now - tonumber(left) <= known_s then return {tonumber(redis.call('HGET', base .. ':numbers', id)), 0} end
end
for i = 1, n do
  local p = 8 + (i - 1) * 9
  local it = {base = KEYS[tonumber(ARGV[p + 1])], box = ARGV[p + 2], id = ARGV[p + 3], text = ARGV[p + 4], bytes = tonumber(ARGV[p + 5]),
    letter = tonumber(ARGV[p + 6]), held = ARGV[p + 7] == '1', created = ARGV[p + 8], expires = ARGV[p + 9]}
  items[i] = it
  local room = rooms[it.base]
  if not room then
    local totals = redis.call('HMGET', it.base .. ':totals', 'bytes', 'letters')
    room = {waiting = redis.call('XLEN', it.base .. ':stream'), bytes = tonumber(totals[1] or 0), letters = tonumber(totals[2] or 0), new = {}, done = {}}
    rooms[it.base] = room
  end
  if not room.new[it.id] and not known(it.base, it.id) then
    if not it.held then
      if room.waiting >= max_items or room.bytes + it.bytes > max_bytes or (it.letter == 1 and room.letters >= max_letters) then
        return {'full', i, room.waiting, room.bytes, room.letters}
      end
      room.waiting, room.bytes, room.letters = room.waiting + 1, room.bytes + it.bytes, room.letters + it.letter
    end
    room.new[it.id] = true
  end
end
for i, it in ipairs(items) do
  local function at(name) return it.base .. ':' .. name end
  local found
  if rooms[it.base].new[it.id] then
    found = {redis.call('INCR', KEYS[1]), 1}
    rooms[it.base].new[it.id] = nil
    rooms[it.base].done[it.id] = true
    local seq = found[1]
    redis.call('ZREM', at('left'), it.id)
    redis.call('HDEL', at('numbers'), it.id)
    redis.call('HSET', at('ids'), it.id, string.format('%.0f %.0f %d %s %s', seq, it.bytes, it.letter, it.created, token))
    if it.expires ~= '' then redis.call('ZADD', at('expires'), it.expires, it.id) end
    if it.held then
      redis.call('HSET', at('aside'), it.id, it.text)
      redis.call('ZADD', at('held'), seq, it.id)
      local over = redis.call('ZCARD', at('held')) - max_held
      if over > 0 then
        for _, old in ipairs(redis.call('ZRANGE', at('held'), 0, over - 1)) do
          redis.call('ZADD', at('refused'), redis.call('ZSCORE', at('held'), old), old)
          redis.call('ZREM', at('held'), old)
          redis.call('ZREM', at('expires'), old)
        end
      end
    else
      redis.call('XADD', at('stream'), string.format('%.0f-0', seq), 'id', it.id, 'item', it.text)
      redis.call('ZADD', at('created'), it.created, it.id)
      redis.call('HINCRBY', at('totals'), 'bytes', it.bytes)
      redis.call('HINCRBY', at('totals'), 'letters', it.letter)
    end
    redis.call('SADD', KEYS[2], it.box)
    for _, old in ipairs(redis.call('ZRANGEBYSCORE', at('left'), '-inf', string.format('(%.6f', now - known_s), 'LIMIT', 0, 100)) do
      redis.call('ZREM', at('left'), old)
      redis.call('HDEL', at('numbers'), old)
    end
  else
    found = known(it.base, it.id)
    if rooms[it.base].done[it.id] then found[2] = 0 end
  end
  answers[i] = found
end
return {'put', answers}
"""
"""KEYS: counter, names of boxes, then each box. ARGV: now, KNOWN_S, four limits, the id of this put, the number of items, and for
each: the place of its box in KEYS, box, id, text, bytes, 1 for a letter, 1 for held, created, expires or nothing. Returns `put` with
number and newness of each, or `full` with the place of the item and what waits."""

TAKE: Final = f"""{_COMMON}{_FENCE}
local now, after, limit, max_attempts, box = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5]), ARGV[6]
local items, poisoned, expired, refused = {{}}, {{}}, {{}}, {{}}
local function told(list, id, seq, text)
  list[#list + 1] = {{tonumber(seq), tonumber(redis.call('HGET', at('attempts'), id) or 0), text}}
end
for _, id in ipairs(redis.call('ZRANGEBYSCORE', at('expires'), '-inf', ARGV[2])) do
  local seq, where = unpacked(redis.call('HGET', at('ids'), id)), place(id)
  if where == 'held' or tonumber(seq) > after then
    told(expired, id, seq, text_of(id, seq, where))
    leave(KEYS[2], box, id, ARGV[2])
  end
end
for _, id in ipairs(redis.call('ZRANGE', at('refused'), 0, -1)) do
  told(refused, id, (unpacked(redis.call('HGET', at('ids'), id))), text_of(id, '', 'refused'))
  leave(KEYS[2], box, id, ARGV[2])
end
local from, more = after + 1, true
while more and #items < limit do
  local found = redis.call('XRANGE', at('stream'), string.format('%.0f-0', from), '+', 'COUNT', 64)
  more = #found == 64
  for _, entry in ipairs(found) do
    local seq, id, text = entry[1]:match('^(%d+)'), entry[2][2], entry[2][4]
    from = tonumber(seq) + 1
    if tonumber(redis.call('HGET', at('attempts'), id) or 0) >= max_attempts then
      told(poisoned, id, seq, text)
      set_aside(id, redis.call('HGET', at('ids'), id), text, 'poisoned')
    elseif #items < limit then told(items, id, seq, text) end
  end
end
return {{'taken', tonumber(redis.call('GET', KEYS[3]) or 0), items, poisoned, expired, refused}}
"""
"""KEYS: box, names of boxes, counter. ARGV: fence, now, the number behind which to begin, limit, MAX_ATTEMPTS, name of the box.
Returns `taken`, the counter, and lists of number, attempts and text; or `fenced` with the fence of the box."""

BEGIN: Final = f"""{_COMMON}{_FENCE}
for number = 2, #ARGV do
  if redis.call('HEXISTS', at('ids'), ARGV[number]) == 1 and place(ARGV[number]) == 'stream' then
    redis.call('HINCRBY', at('attempts'), ARGV[number], 1)
  end
end
return {{'done'}}
"""
"""KEYS: box. ARGV: fence, ids. Returns `done`, or `fenced` with the fence of the box."""

ACKNOWLEDGE: Final = f"""{_COMMON}{_FENCE}
for number = 4, #ARGV do leave(KEYS[2], ARGV[3], ARGV[number], ARGV[2]) end
return {{'done'}}
"""
"""KEYS: box, names of boxes. ARGV: fence, now, name of the box, ids. Returns as `BEGIN` does."""

WITHDRAW: Final = f"""{_COMMON}
return leave(KEYS[2], ARGV[2], ARGV[3], ARGV[1])
"""
"""KEYS: box, names of boxes. ARGV: now, name of the box, id. Returns 1 if it was there."""

RELEASE: Final = f"""{_COMMON}
for _, id in ipairs(ARGV) do
  if redis.call('ZSCORE', at('held'), id) then
    local record, text = redis.call('HGET', at('ids'), id), redis.call('HGET', at('aside'), id)
    local _, bytes, letter, created = unpacked(record)
    unplace(id, record, 'held')
    local seq = redis.call('INCR', KEYS[2])
    redis.call('XADD', at('stream'), string.format('%.0f-0', seq), 'id', id, 'item', text)
    redis.call('HSET', at('ids'), id, (record:gsub('^%d+', string.format('%.0f', seq), 1)))
    redis.call('ZADD', at('created'), created, id)
    count(1, bytes, letter)
  end
end
return 1
"""
"""KEYS: box, counter. ARGV: ids."""

HELD: Final = f"""{_COMMON}
local found = {{}}
for _, id in ipairs(redis.call('ZRANGE', at('held'), 0, -1)) do
  found[#found + 1] = {{tonumber((unpacked(redis.call('HGET', at('ids'), id)))), 0, redis.call('HGET', at('aside'), id)}}
end
return found
"""
"""KEYS: box. Returns number, attempts and text of each."""

COUNT: Final = f"""{_COMMON}
local totals = redis.call('HMGET', at('totals'), 'bytes', 'letters')
local oldest = redis.call('ZRANGE', at('created'), 0, 0, 'WITHSCORES')
return {{redis.call('XLEN', at('stream')), tonumber(totals[1] or 0), tonumber(totals[2] or 0), redis.call('ZCARD', at('held')),
  redis.call('ZCARD', at('poisoned')), oldest[2] or ''}}
"""
"""KEYS: box. Returns waiting, bytes, letters, held, poisoned, and the time of the oldest or nothing."""

READ_COUNTER: Final = "return tonumber(redis.call('GET', KEYS[1]) or 0)"
"""KEYS: counter. Returns the number of the latest item."""

READ_BOXES: Final = "return redis.call('SMEMBERS', KEYS[1])"
"""KEYS: names of boxes."""

READ_POLICY: Final = "return redis.call('GET', KEYS[1] .. ':policy')"
"""KEYS: box."""

SET_POLICY: Final = "return redis.call('SET', KEYS[1] .. ':policy', ARGV[1])"
"""KEYS: box. ARGV: policy."""
