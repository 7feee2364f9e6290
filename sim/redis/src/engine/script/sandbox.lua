-- What a script can see: the globals of Redis 7.0.15's Lua, and nothing that one
-- run could leave to the next.
--
-- Redis marks tables read-only in a patched Lua. Here a script gets an empty
-- stand-in for each table that is to stay as it is; the stand-in reads through
-- to the table and refuses writes. What gets past that (`table.insert` does not ask)
-- lands in the stand-in, and is gone after the run.
--
-- Called once with what the host provides; returns the environment of scripts, and what runs one.

local native = ...
local own, counted, compiles = native.own, native.counted, native.compiles

local error, getmetatable, next, pairs, pcall, rawget, rawset, setmetatable, tostring, type, xpcall =
  error, getmetatable, next, pairs, pcall, rawget, rawset, setmetatable, tostring, type, xpcall
local loadstring, match, select, string, table = loadstring, own.string.match, select, string, table

local READONLY = "Attempt to modify a readonly table"

-- Stand-in to table, all stand-ins, and the metatables that scripts see: in Redis only global
-- tables have one.
local behind, stand_ins, shown_meta = {}, {}, {}

local function protect(real)
  local meta = {
    __index = real,
    __newindex = function() error(READONLY, 2) end,
    __metatable = false, -- nothing to write to, should anything get past `getmetatable` below
  }
  local stand_in = setmetatable({}, meta)
  behind[stand_in] = real
  stand_ins[#stand_ins + 1] = stand_in
  return stand_in, meta
end

local function is_stand_in(value) return value ~= nil and behind[value] ~= nil end

-- Whether a run had a function that can get past a stand-in.
local had_table_functions = false

local function unwrap(value)
  if not is_stand_in(value) then return value end
  had_table_functions = true
  return behind[value]
end

local function empty_stand_ins()
  if not had_table_functions then return end
  had_table_functions = false
  for index = 1, #stand_ins do
    local stand_in = stand_ins[index]
    if next(stand_in) ~= nil then
      for key in pairs(stand_in) do rawset(stand_in, key, nil) end
    end
  end
end

---------------------------------------------------------------------------
-- redis.*

-- What raises errors is native: for Lua forgets the line of a `return redis.call(…)` if
-- it calls a Lua function.
local redis = native.redis
redis.LOG_DEBUG, redis.LOG_VERBOSE, redis.LOG_NOTICE, redis.LOG_WARNING = 0, 1, 2, 3
redis.REPL_NONE, redis.REPL_AOF, redis.REPL_SLAVE, redis.REPL_REPLICA, redis.REPL_ALL = 0, 1, 2, 2, 3
redis.REDIS_VERSION, redis.REDIS_VERSION_NUM = "7.0.15", 0x0007000f

local function single_field(field, ...)
  local text = ...
  if select("#", ...) ~= 1 or type(text) ~= "string" then
    return { err = "ERR wrong number or type of arguments" }
  end
  return { [field] = text }
end

function redis.status_reply(...) return single_field("ok", ...) end

function redis.error_reply(...)
  local reply = single_field("err", ...)
  local text = match(reply.err, "^%-?(.*)$")
  -- Without a code, the code is ERR.
  reply.err = match(text, " ") and text or "ERR " .. text
  return reply
end

function redis.replicate_commands() return true end
function redis.breakpoint() return false end
function redis.debug() end

---------------------------------------------------------------------------
-- Errors

-- `luaRedisPcall`: of an error that is a table, `pcall` returns the text.
local function text_result(ok, ...)
  if ok then return ok, ... end
  local err = ...
  local text = type(err) == "table" and err.err
  if type(text) == "string" or type(text) == "number" then return ok, text end
  return ok, err
end

---------------------------------------------------------------------------
-- Functions of Lua that would show the interpreter's history, or its memory

local function safe_tostring(...)
  local text = tostring(...)
  -- No addresses: they differ from run to run.
  local kind = match(text, "^(%a+): 0x%x+$")
  if kind and kind == type((...)) then return kind .. ": 0x000000000000" end
  return text
end

local function pick(from, names, instead)
  local to = {}
  for name in own.string.gmatch(names, "%S+") do
    local value = instead and instead[name] or from[name]
    if type(value) == "function" and value == from[name] then value = counted(value) end
    to[name] = value
  end
  return to
end

local coroutine = coroutine
local strings = pick(string, [[byte char dump find format gfind gmatch gsub len lower match
  rep reverse sub upper]], own.string)
local maths = pick(math, [[abs acos asin atan atan2 ceil cos cosh deg exp floor fmod frexp huge
  ldexp log log10 max min mod modf pi pow rad sin sinh sqrt tan tanh]])
maths.random = native.random
maths.randomseed = native.random_seed

local globals = {
  _VERSION = _VERSION, assert = assert, error = error, ipairs = ipairs, rawequal = rawequal, select = select,
  tonumber = tonumber, type = type, unpack = own.unpack, xpcall = xpcall,
}
globals.pcall = function(...) return text_result(pcall(...)) end
globals.redis = protect(redis)
globals.string = protect(strings)
globals.math = protect(maths)
local tables = pick(table, [[concat foreach foreachi getn insert maxn remove setn sort]], own.table)
local tables_meta
globals.table, tables_meta = protect(tables)
tables_meta.__index = function(_, name)
  had_table_functions = true
  return tables[name]
end
globals.coroutine = protect({
  create = own.coroutine.create, resume = coroutine.resume, running = coroutine.running,
  status = coroutine.status, wrap = own.coroutine.wrap, yield = coroutine.yield,
})
globals.tostring = safe_tostring
globals.collectgarbage = function() return 0 end
globals.gcinfo = function() return 0 end
-- Bytecode would have to be trusted: Lua 5.1 does not check it. Text only.
globals.loadstring = function(text, name)
  if type(text) == "string" and string.byte(text) == 27 then
    return nil, "bytecode is not loaded here"
  end
  compiles(text)
  return loadstring(text, name)
end
globals.load = function(piece_of, name)
  compiles()
  local pieces = {}
  for piece in piece_of do
    if piece == "" then break end
    pieces[#pieces + 1] = piece
  end
  return globals.loadstring(own.table.concat(pieces), name or "=(load)")
end
globals.rawget = function(t, key) return rawget(unwrap(t), key) end
globals.next = function(t, key) return next(unwrap(t), key) end
globals.pairs = function(t)
  -- Not the table behind: whoever has it can write to it.
  if is_stand_in(t) then return globals.next, t, nil end
  return pairs(t)
end
globals.rawset = function(t, key, value)
  if is_stand_in(t) then error(READONLY, 0) end
  return rawset(t, key, value)
end
globals.getmetatable = function(...)
  if select("#", ...) == 0 then error("bad argument #1 to 'getmetatable' (value expected)", 2) end
  local t = ...
  if is_stand_in(t) then return shown_meta[t] end
  return getmetatable(t)
end
globals.setmetatable = function(t, meta)
  if is_stand_in(t) then error(READONLY, 0) end
  return setmetatable(t, meta)
end

local no_such_global = { __index = native.no_such_name }
local shown_no_such_global = protect({ __index = no_such_global.__index })
setmetatable(globals, no_such_global)
local environment = protect(globals)
shown_meta[environment] = shown_no_such_global
globals._G = environment

-- Methods of strings are looked up in the metatable that all strings share.
local string_meta = getmetatable("")
string_meta.__index = strings
string_meta.__metatable = protect({ __index = globals.string })

---------------------------------------------------------------------------
-- Running

-- `__redis__err__handler`: adds the line that the error came from. Without the
-- debug library `error` itself says what the line at a level is.
local function on_error(err)
  local position
  for level = 3, 8 do
    local _, where = pcall(error, "", level)
    local chunk, line = match(where, "^(.*):(%d+): $")
    if chunk and chunk ~= "redis" then
      -- `load` names a chunk by its source.
      local source = match(chunk, '^%[string "(.*)"%]$') or "@" .. chunk
      position = source .. ":" .. line
      break
    end
  end
  if type(err) ~= "table" then
    return { text = "ERR " .. safe_tostring(err), position = position }
  end
  local text = rawget(err, "err")
  if type(text) ~= "string" and type(text) ~= "number" then
    -- Here 7.0.15 crashes; later versions say this.
    text = "ERR unknown error"
  end
  return { text = text, position = position }
end

local function result(ok, value)
  empty_stand_ins()
  if ok then return true, value end
  -- Lua failed as it handled an error.
  if type(value) ~= "table" then return false, "ERR Error running script, " .. tostring(value) end
  return false, value.text, value.position
end

-- Runs a script. Returns true and its value, or false, the error's text, and the
-- source and line that it came from.
local function run(script, keys, arguments)
  globals.KEYS, globals.ARGV = keys, arguments
  return result(xpcall(script, on_error))
end

-- What `load` compiles lives in the global table of the interpreter.
setfenv(0, environment)

return run
