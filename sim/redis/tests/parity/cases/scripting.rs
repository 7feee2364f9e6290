//! EVAL, EVALSHA and SCRIPT as commands; the behaviour of scripts is in `scripts.rs`.

use super::check;

#[test]
fn scripts_as_commands() {
    check(&[
        "EVAL return(1) 0
         EVAL
         EVAL x
         EVAL x y
         EVAL x 1
         EVAL x -1
         EVAL x 99999999999999999999
         EVAL return(KEYS[1]) 1 a
         EVAL return(ARGV[1]) 1 a b
         EVAL return(#ARGV) 0 a b c
         EVAL ( x
         EVAL ( 0",
        "EVALSHA e0e1f9fabfc9d4800c877a703b823ac0578ff8db 0
         SCRIPT LOAD return(1)
         SCRIPT LOAD return(1)
         SCRIPT EXISTS 0bac911f6b0bb9cd7efa3fbdbaaf5c1bc20ad0ba x
         EVALSHA x 0
         EVALSHA x y
         EVALSHA e0e1f9fabfc9d4800c877a703b823ac0578ff8db y
         EVALSHA e0e1f9fabfc9d4800c877a703b823ac0578ff8db 5
         EVALSHA
         EVALSHA x",
        "EVAL return(2) 0
         SCRIPT EXISTS 7f923f79fe76194c868d7e1d0820de36700eb649 7F923F79FE76194C868D7E1D0820DE36700EB649
         EVALSHA 7f923f79fe76194c868d7e1d0820de36700eb649 0
         EVALSHA 7F923F79FE76194C868D7E1D0820DE36700EB649 0
         SCRIPT FLUSH
         EVALSHA 7f923f79fe76194c868d7e1d0820de36700eb649 0
         SCRIPT FLUSH ASYNC
         SCRIPT FLUSH SYNC
         SCRIPT FLUSH NOW
         SCRIPT FLUSH SYNC SYNC
         SCRIPT
         SCRIPT NOPE
         SCRIPT LOAD
         SCRIPT LOAD (
         SCRIPT EXISTS
         SCRIPT KILL",
        "EVAL_RO return(redis.call('get','a')) 0
         EVAL_RO return(redis.call('set','a','1')) 0
         EVALSHA_RO x 0",
        "MULTI
         EVAL return(redis.call('incr','a')) 0
         EVAL return(redis.call('incr','a')) 0
         EVAL error('x') 0
         EXEC",
    ]);
}
