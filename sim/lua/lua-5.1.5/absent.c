/*
** locklab few-libraries: the libraries that no script has, for callers that are
** linked with all of them. Not part of Lua.
*/

#include "lua.h"

#include "lauxlib.h"
#include "lualib.h"

static int absent (lua_State *L) {
  return luaL_error(L, "this library of Lua is not built");
}

LUALIB_API int luaopen_io (lua_State *L) { return absent(L); }
LUALIB_API int luaopen_os (lua_State *L) { return absent(L); }
LUALIB_API int luaopen_debug (lua_State *L) { return absent(L); }
LUALIB_API int luaopen_package (lua_State *L) { return absent(L); }
LUALIB_API void luaL_openlibs (lua_State *L) { absent(L); }
