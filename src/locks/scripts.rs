//! The locks' Lua scripts, named after their files.

use locklab_env::redis::Script;

macro_rules! scripts {
    ($($name:ident = $text:expr;)*) => {
        $(pub(super) static $name: Script = Script::new(|| $text);)*
    };
}

scripts! {
    COMPARE_DELETE = include_str!("scripts/compare_delete.lua");
    COMPARE_EXPIRE = include_str!("scripts/compare_expire.lua");
    COMPARE_SET = include_str!("scripts/compare_set.lua");
    RAISE_COUNTER = include_str!("scripts/raise_counter.lua");
    REDISSON_ACQUIRE = include_str!("scripts/redisson_acquire.lua");
    REDISSON_ACQUIRE_FENCED = include_str!("scripts/redisson_acquire_fenced.lua");
    REDISSON_FAIR_ACQUIRE = include_str!("scripts/redisson_fair_acquire.lua");
    REDISSON_FAIR_GIVE_UP = include_str!("scripts/redisson_fair_give_up.lua");
    REDISSON_FAIR_RELEASE = include_str!("scripts/redisson_fair_release.lua");
    REDISSON_READ_ACQUIRE = include_str!("scripts/redisson_read_acquire.lua");
    REDISSON_READ_RELEASE = include_str!("scripts/redisson_read_release.lua");
    REDISSON_READ_RENEW = include_str!("scripts/redisson_read_renew.lua");
    REDISSON_RELEASE = include_str!("scripts/redisson_release.lua");
    REDISSON_RELEASE_LATCHED = include_str!("scripts/redisson_release_latched.lua");
    REDISSON_RELEASE_SILENT = include_str!("scripts/redisson_release_silent.lua");
    REDISSON_RENEW = include_str!("scripts/redisson_renew.lua");
    REDISSON_WRITE_ACQUIRE = include_str!("scripts/redisson_write_acquire.lua");
    REDISSON_WRITE_RELEASE = include_str!("scripts/redisson_write_release.lua");
    SET_WITH_TOKEN = include_str!("scripts/set_with_token.lua");
    SETNX_EXPIRE = include_str!("scripts/setnx_expire.lua");
}
