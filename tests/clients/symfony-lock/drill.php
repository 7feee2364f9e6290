<?php
// Does with Symfony's Lock what it is told, for `locklab score`; see README.md.

require __DIR__ . '/locklab_drill.php';
require 'Symfony/Component/Lock/autoload.php';

use Symfony\Component\Lock\LockFactory;
use Symfony\Component\Lock\Store\CombinedStore;
use Symfony\Component\Lock\Store\RedisStore;
use Symfony\Component\Lock\Strategy\ConsensusStrategy;

$stores = array_map(function (array $server) {
    $redis = new Redis();
    $redis->connect(...$server);
    return new RedisStore($redis);
}, servers());
$isCombined = ($argv[1] ?? '') === 'combined';
$factory = new LockFactory($isCombined ? new CombinedStore($stores, new ConsensusStrategy()) : $stores[0]);
$lock = $factory->createLock('lock', LEASE_MS / 1000);

$told = fn(bool $isTaken) => $isTaken ? ['valid_ms' => $lock->getRemainingLifetime() * 1000] : false;
$waits = fn(?int $wait_ms) => $told($lock->acquire($wait_ms === null));

follow([
    // It waits for ever, or not at all.
    'lock' => $waits,
    'try' => fn() => $told($lock->acquire()),
    'plain' => function () use ($factory, &$plain) {
        $plain = $factory->createLock('lock');
        return $plain->acquire();
    },
    'again' => $waits,
    'extend' => fn() => $lock->refresh(),
    'unlock' => fn() => $lock->release(),
], $isCombined);
