<?php
// Does with the lock of Laravel's cache what it is told, for `locklab score`; see README.md.

require __DIR__ . '/locklab_drill.php';
require 'Illuminate/Cache/autoload.php';
require 'Illuminate/Redis/autoload.php';

use Illuminate\Cache\PhpRedisLock;
use Illuminate\Contracts\Cache\LockTimeoutException;
use Illuminate\Redis\Connections\PhpRedisConnection;

$redis = new Redis();
$redis->connect(...servers()[0]);
// What `Cache::lock($name, $seconds)` makes.
$make = fn(int $seconds) => new PhpRedisLock(new PhpRedisConnection($redis), 'lock', $seconds);
$lock = $make(LEASE_MS / 1000);

$waits = function (?int $wait_ms) use ($lock) {
    try {
        // Its limit is in whole seconds, and there has to be one.
        return $lock->block($wait_ms === null ? PHP_INT_MAX : (int) ceil($wait_ms / 1000));
    } catch (LockTimeoutException) {
        // It says this of a lock that another has, and passes on what the client throws.
        return false;
    }
};

follow([
    'lock' => $waits,
    'try' => fn() => $lock->get(),
    'plain' => fn() => $make(10)->get(),
    'again' => $waits,
    'unlock' => fn() => $lock->release(),
]);
