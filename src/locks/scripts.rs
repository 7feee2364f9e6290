//! The locks' Lua scripts, each by the name of its file.

use crate::redis::Script;

macro_rules! scripts {
    ($($name:ident = $file:literal;)*) => {
        $(pub(super) static $name: Script = Script::new(include_str!(concat!("scripts/", $file)));)*
    };
}

scripts! {
    COMPARE_DELETE = "compare_delete.lua";
    COMPARE_EXPIRE = "compare_expire.lua";
    RAISE_COUNTER = "raise_counter.lua";
    REDISSON_ACQUIRE = "redisson_acquire.lua";
    REDISSON_ACQUIRE_FENCED = "redisson_acquire_fenced.lua";
    REDISSON_FAIR_ACQUIRE = "redisson_fair_acquire.lua";
    REDISSON_FAIR_GIVE_UP = "redisson_fair_give_up.lua";
    REDISSON_FAIR_RELEASE = "redisson_fair_release.lua";
    REDISSON_READ_ACQUIRE = "redisson_read_acquire.lua";
    REDISSON_READ_RELEASE = "redisson_read_release.lua";
    REDISSON_READ_RENEW = "redisson_read_renew.lua";
    REDISSON_RELEASE = "redisson_release.lua";
    REDISSON_RELEASE_LATCHED = "redisson_release_latched.lua";
    REDISSON_RELEASE_SILENT = "redisson_release_silent.lua";
    REDISSON_RENEW = "redisson_renew.lua";
    REDISSON_WRITE_ACQUIRE = "redisson_write_acquire.lua";
    REDISSON_WRITE_RELEASE = "redisson_write_release.lua";
    SET_WITH_TOKEN = "set_with_token.lua";
    SETNX_EXPIRE = "setnx_expire.lua";
}
