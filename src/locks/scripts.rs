//! The locks' Lua scripts, named after their files.

use locklab_env::redis::Script;

macro_rules! scripts {
    ($($name:ident = $file:literal;)*) => {
        $(pub(super) static $name: Script =
            Script::new(|| planted($file, include_str!(concat!("scripts/", $file))));)*
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

/// The text of a script to send.
#[cfg(not(feature = "plants"))]
fn planted(_file: &str, text: &'static str) -> &'static str {
    text
}

#[cfg(feature = "plants")]
use mistakes::planted;

/// Scripts with a mistake, which the feature `plants` builds in.
#[cfg(feature = "plants")]
mod mistakes {
    use std::sync::OnceLock;

    use locklab_plant::plant;

    /// The text of a script to send, with the chosen mistake if that is in this file.
    pub(super) fn planted(file: &str, text: &'static str) -> &'static str {
        // One mistake is chosen for the whole process, and it is in one file.
        static WRONG: OnceLock<String> = OnceLock::new();
        let chosen = |mistake: &&Mistake| mistake.file == file && plant(mistake.plant);
        MISTAKES.iter().find(chosen).map_or(text, |mistake| {
            assert!(
                text.contains(mistake.right),
                "{} is out of date",
                mistake.plant
            );
            WRONG.get_or_init(|| text.replacen(mistake.right, mistake.wrong, 1))
        })
    }

    /// What one mistake changes in a script.
    struct Mistake {
        plant: &'static str,
        file: &'static str,
        right: &'static str,
        wrong: &'static str,
    }

    const MISTAKES: &[Mistake] = &[
        Mistake {
            plant: "compare-delete-without-comparing",
            file: "compare_delete.lua",
            right: "redis.call('GET', KEYS[1]) == ARGV[1]",
            wrong: "true",
        },
        Mistake {
            plant: "compare-expire-without-comparing",
            file: "compare_expire.lua",
            right: "redis.call('GET', KEYS[1]) == ARGV[1]",
            wrong: "true",
        },
        Mistake {
            plant: "compare-expire-does-nothing",
            file: "compare_expire.lua",
            right: "redis.call('PEXPIRE', KEYS[1], ARGV[2])",
            wrong: "1",
        },
        Mistake {
            plant: "raise-counter-does-not",
            file: "raise_counter.lua",
            right: "redis.call('SET', KEYS[1], ARGV[1])",
            wrong: "",
        },
        Mistake {
            plant: "set-with-token-constant",
            file: "set_with_token.lua",
            right: "redis.call('INCR', KEYS[2])",
            wrong: "7",
        },
        Mistake {
            plant: "set-with-token-without-px",
            file: "set_with_token.lua",
            right: ", 'PX', ARGV[2]",
            wrong: "",
        },
        Mistake {
            plant: "setnx-expire-lua-without-lease",
            file: "setnx_expire.lua",
            right: "redis.call('PEXPIRE', KEYS[1], ARGV[2])",
            wrong: "",
        },
        Mistake {
            plant: "redisson-takes-what-is-anothers",
            file: "redisson_acquire.lua",
            right: "redis.call('HEXISTS', KEYS[1], ARGV[2]) == 0",
            wrong: "false",
        },
        Mistake {
            plant: "redisson-is-not-reentrant",
            file: "redisson_acquire.lua",
            right: " and redis.call('HEXISTS', KEYS[1], ARGV[2]) == 0",
            wrong: "",
        },
        Mistake {
            plant: "redisson-without-lease",
            file: "redisson_acquire.lua",
            right: "redis.call('PEXPIRE', KEYS[1], ARGV[1])",
            wrong: "",
        },
        Mistake {
            plant: "redisson-fenced-token-constant",
            file: "redisson_acquire_fenced.lua",
            right: "redis.call('INCR', KEYS[2])",
            wrong: "7",
        },
        Mistake {
            plant: "redisson-fenced-takes-what-is-anothers",
            file: "redisson_acquire_fenced.lua",
            right: "redis.call('HEXISTS', KEYS[1], ARGV[2]) == 0",
            wrong: "false",
        },
        Mistake {
            plant: "redisson-releases-what-is-anothers",
            file: "redisson_release.lua",
            right: "redis.call('HEXISTS', KEYS[1], ARGV[3]) == 0",
            wrong: "false",
        },
        Mistake {
            plant: "redisson-release-does-not-count",
            file: "redisson_release.lua",
            right: "redis.call('HINCRBY', KEYS[1], ARGV[3], -1) > 0",
            wrong: "false",
        },
        Mistake {
            plant: "redisson-release-is-not-published",
            file: "redisson_release.lua",
            right: "redis.call('PUBLISH', KEYS[2], ARGV[1])",
            wrong: "",
        },
        Mistake {
            plant: "redisson-release-keeps-the-lock",
            file: "redisson_release.lua",
            right: "redis.call('DEL', KEYS[1])",
            wrong: "",
        },
        Mistake {
            plant: "redisson-latch-is-not-read",
            file: "redisson_release_latched.lua",
            right: "if answered then",
            wrong: "if false then",
        },
        Mistake {
            plant: "redisson-latch-is-not-kept",
            file: "redisson_release_latched.lua",
            right: "redis.call('SET', KEYS[3], 1, 'PX', ARGV[4])",
            wrong: "",
        },
        Mistake {
            plant: "redisson-silent-releases-what-is-anothers",
            file: "redisson_release_silent.lua",
            right: "redis.call('HEXISTS', KEYS[1], ARGV[2]) == 0",
            wrong: "false",
        },
        Mistake {
            plant: "redisson-silent-release-does-not-count",
            file: "redisson_release_silent.lua",
            right: "redis.call('HINCRBY', KEYS[1], ARGV[2], -1) > 0",
            wrong: "false",
        },
        Mistake {
            plant: "redisson-renews-what-is-anothers",
            file: "redisson_renew.lua",
            right: "HEXISTS",
            wrong: "EXISTS",
        },
        Mistake {
            plant: "redisson-renewal-does-nothing",
            file: "redisson_renew.lua",
            right: "redis.call('PEXPIRE', KEYS[1], ARGV[1])",
            wrong: "",
        },
        Mistake {
            plant: "write-beside-readers",
            file: "redisson_write_acquire.lua",
            right: "if not mode then",
            wrong: "if mode ~= 'write' then",
        },
        Mistake {
            plant: "write-is-not-reentrant",
            file: "redisson_write_acquire.lua",
            right: "mode == 'write' and ",
            wrong: "false and ",
        },
        Mistake {
            plant: "read-beside-a-writer",
            file: "redisson_read_acquire.lua",
            right: "mode == 'read' or ",
            wrong: "true or ",
        },
        Mistake {
            plant: "read-shortens-the-lease",
            file: "redisson_read_acquire.lua",
            right: "math.max(left, tonumber(ARGV[1]))",
            wrong: "1",
        },
        Mistake {
            plant: "read-release-is-not-published",
            file: "redisson_read_release.lua",
            right: "redis.call('DEL', KEYS[1])\nredis.call('PUBLISH', KEYS[2], ARGV[1])",
            wrong: "redis.call('DEL', KEYS[1])",
        },
        Mistake {
            plant: "read-release-frees-for-all",
            file: "redisson_read_release.lua",
            right: "if redis.call('HLEN', KEYS[1]) > 1 then",
            wrong: "if false then",
        },
        Mistake {
            plant: "read-renews-the-key-alone",
            file: "redisson_read_renew.lua",
            right: "for hold = count or 0, 1, -1 do",
            wrong: "for hold = 0, 1, -1 do",
        },
        Mistake {
            plant: "write-releases-what-is-anothers",
            file: "redisson_write_release.lua",
            right: "redis.call('HEXISTS', KEYS[1], ARGV[3]) == 0",
            wrong: "false",
        },
        Mistake {
            plant: "write-release-is-not-published",
            file: "redisson_write_release.lua",
            right: "redis.call('DEL', KEYS[1])\n    redis.call('PUBLISH', KEYS[2], ARGV[1])",
            wrong: "redis.call('DEL', KEYS[1])",
        },
        Mistake {
            plant: "fair-serves-the-tail",
            file: "redisson_fair_acquire.lua",
            right: "local head = redis.call('LINDEX', KEYS[2], 0)\n    if not head or head == ARGV[2] then",
            wrong: "local head = redis.call('LINDEX', KEYS[2], -1)\n    if not head or head == ARGV[2] then",
        },
        Mistake {
            plant: "fair-ignores-the-queue",
            file: "redisson_fair_acquire.lua",
            right: "if not head or head == ARGV[2] then",
            wrong: "if true then",
        },
        Mistake {
            plant: "fair-keeps-the-stale",
            file: "redisson_fair_acquire.lua",
            right: "if not deadline or tonumber(deadline) > tonumber(ARGV[4]) then",
            wrong: "if true then",
        },
        Mistake {
            plant: "fair-without-lease",
            file: "redisson_fair_acquire.lua",
            right: "redis.call('HSET', KEYS[1], ARGV[2], 1)\n        redis.call('PEXPIRE', KEYS[1], ARGV[1])",
            wrong: "redis.call('HSET', KEYS[1], ARGV[2], 1)",
        },
        Mistake {
            plant: "fair-wakes-nobody",
            file: "redisson_fair_release.lua",
            right: "redis.call('PUBLISH', KEYS[4] .. ':' .. head, ARGV[1])",
            wrong: "",
        },
        Mistake {
            plant: "fair-releases-what-is-anothers",
            file: "redisson_fair_release.lua",
            right: "redis.call('HEXISTS', KEYS[1], ARGV[3]) == 0",
            wrong: "false",
        },
        Mistake {
            plant: "fair-stays-in-the-queue",
            file: "redisson_fair_give_up.lua",
            right: "redis.call('LREM', KEYS[1], 0, ARGV[1])",
            wrong: "",
        },
    ];
}
