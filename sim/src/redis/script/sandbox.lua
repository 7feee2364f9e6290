-- What a script can see: the globals of Redis 7.0.15's Lua, and nothing that one
-- run could leave to the next.
--
-- Redis marks tables read-only in a patched Lua. Here a script gets an empty
-- stand-in for each table that is to stay as it is; the stand-in reads through
-- to the table and refuses writes.
--
-- Called once with functions of the host; returns the environment of scripts, the
-- table to put KEYS and ARGV in, and the function that runs a script.

local sha1hex, random_unit, seed_random = ...

local error, getmetatable, next, pairs, pcall, rawget, rawset, setmetatable, tostring, type, xpcall =
  error, getmetatable, next, pairs, pcall, rawget, rawset, setmetatable, tostring, type, xpcall
local floor, format, match, select = math.floor, string.format, string.match, select

local READONLY = "Attempt to modify a readonly table"

-- Stand-in to table.
local behind = {}

local function protect(real)
  local stand_in = setmetatable({}, {
    __index = real,
    __newindex = function() error(READONLY, 2) end,
    __metatable = false,
  })
  behind[stand_in] = real
  return stand_in
end

local function unwrap(value) return value ~= nil and behind[value] or value end

-- An error as Redis raises its own: a table, which no position is added to.
local function fail(text) error({ err = "ERR " .. text }) end

---------------------------------------------------------------------------
-- redis.*

local host -- carries out a command for the script that is running

local redis = {
  LOG_DEBUG = 0, LOG_VERBOSE = 1, LOG_NOTICE = 2, LOG_WARNING = 3,
  REPL_NONE = 0, REPL_AOF = 1, REPL_SLAVE = 2, REPL_REPLICA = 2, REPL_ALL = 3,
  REDIS_VERSION = "7.0.15", REDIS_VERSION_NUM = 0x0007000f,
}

function redis.call(...)
  local reply = host(...)
  if type(reply) == "table" and reply.err then
    error(reply)
  end
  return reply
end

function redis.pcall(...)
  return (host(...))
end

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

function redis.sha1hex(...)
  if select("#", ...) ~= 1 then fail("wrong number of arguments") end
  local text = ...
  if type(text) ~= "string" and type(text) ~= "number" then text = "" end
  return sha1hex(text)
end

function redis.log(...)
  local level = ...
  if select("#", ...) < 2 then fail("redis.log() requires two arguments or more.") end
  if type(level) ~= "number" then fail("First argument must be a number (log level).") end
  if level < 0 or level > 3 then fail("Invalid debug level.") end
end

function redis.set_repl(...)
  local flags = ...
  if select("#", ...) ~= 1 then fail("redis.set_repl() requires two arguments.") end
  if type(flags) ~= "number" or flags < 0 or flags > 3 then
    fail("Invalid replication flags. Use REPL_AOF, REPL_REPLICA, REPL_ALL or REPL_NONE.")
  end
end

function redis.setresp(...)
  local version = ...
  if select("#", ...) ~= 1 then fail("redis.setresp() requires one argument.") end
  if version ~= 2 then fail("RESP version must be 2 or 3.") end
end

function redis.replicate_commands() return true end
function redis.breakpoint() return false end
function redis.debug() end

---------------------------------------------------------------------------
-- Functions of Lua that would show the interpreter's history, or its memory

local function safe_tostring(...)
  local text = tostring(...)
  -- No addresses: they differ from run to run.
  local kind = match(text, "^(%a+): 0x%x+$")
  if kind and kind == type((...)) then return kind .. ": 0x000000000000" end
  return text
end

local function random(...)
  local count, low, high = select("#", ...), 1, nil
  local r = random_unit()
  if count == 0 then return r end
  if count == 1 then
    high = ...
  elseif count == 2 then
    low, high = ...
  else
    error("wrong number of arguments", 2)
  end
  if low > high then
    error(format("bad argument #%d to 'random' (interval is empty)", count), 2)
  end
  low, high = floor(low), floor(high)
  return floor(r * (high - low + 1)) + low
end

local function pick(from, names)
  local to = {}
  for name in string.gmatch(names, "%S+") do to[name] = from[name] end
  return to
end

local strings = pick(string, [[byte char dump find format gfind gmatch gsub len lower match
  rep reverse sub upper]])
local maths = pick(math, [[abs acos asin atan atan2 ceil cos cosh deg exp floor fmod frexp huge
  ldexp log log10 max min mod modf pi pow rad sin sinh sqrt tan tanh]])
maths.random = random
maths.randomseed = function(seed) seed_random(seed) end

local globals = pick(_G, [[_VERSION assert error ipairs load loadstring pcall
  rawequal select tonumber type unpack xpcall]])
globals.redis = protect(redis)
globals.string = protect(strings)
globals.math = protect(maths)
globals.table = protect(pick(table, [[concat foreach foreachi getn insert maxn remove setn sort]]))
globals.coroutine = protect(pick(coroutine, [[create resume running status wrap yield]]))
globals.tostring = safe_tostring
globals.collectgarbage = function() return 0 end
globals.gcinfo = function() return 0 end
globals.getmetatable = getmetatable
globals.rawget = function(t, key) return rawget(unwrap(t), key) end
globals.next = function(t, key) return next(unwrap(t), key) end
globals.pairs = function(t) return next, unwrap(t), nil end
globals.rawset = function(t, key, value)
  if t ~= nil and behind[t] then error(READONLY, 0) end
  return rawset(t, key, value)
end
globals.setmetatable = function(t, meta)
  if t ~= nil and behind[t] then error(READONLY, 0) end
  return setmetatable(t, meta)
end

setmetatable(globals, {
  __index = function(_, name)
    error("Script attempted to access nonexistent global variable '" .. safe_tostring(name) .. "'", 2)
  end,
})
local environment = protect(globals)
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
  local line
  for level = 3, 8 do
    local _, position = pcall(error, "", level)
    line = match(position, "^user_script:(%d+): $")
    if line then break end
  end
  if type(err) ~= "table" then
    return { text = "ERR " .. safe_tostring(err), line = line }
  end
  local text = rawget(err, "err")
  if type(text) ~= "string" and type(text) ~= "number" then
    -- Here 7.0.15 crashes; later versions say this.
    text = "ERR unknown error"
  end
  return { text = text, line = line }
end

-- Runs a script. Returns true and its value, or false, the error's text, and the
-- line that it came from.
local function run(script, commands)
  host = commands
  local ok, value = xpcall(script, on_error)
  host = nil
  if ok then return true, value end
  if type(value) ~= "table" then return false, value end
  return false, value.text, value.line
end

-- What `load` compiles lives in the global table of the interpreter.
setfenv(0, environment)

return environment, globals, run
