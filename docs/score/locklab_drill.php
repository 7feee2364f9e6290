<?php
// What a drill for `locklab score` needs beside the library: see docs/score.md. Copy this file, or require it.
//
//     follow([
//         'lock' => fn(?int $wait_ms) => $lock->acquire(true),   // true, false, or an exception; what else it tells as an array
//         'unlock' => fn() => $lock->release(),
//     ]);
//
// What is not in the array, the library has no call for.

define('LEASE_MS', (int) getenv('LOCKLAB_LEASE_MS'));

function say(array $line): void
{
    fwrite(STDOUT, json_encode($line, JSON_INVALID_UTF8_SUBSTITUTE) . "\n");
}

/** The servers, each as its host and its port. */
function servers(): array
{
    $server = fn(string $url) => [parse_url($url, PHP_URL_HOST), parse_url($url, PHP_URL_PORT)];
    return array_map($server, explode(',', getenv('REDIS_URLS')));
}

/** Follows the orders on the standard input until it ends. */
function follow(array $calls, bool $isQuorum = false): void
{
    say(['event' => 'ready', 'can' => [...array_keys($calls), ...($isQuorum ? ['quorum'] : [])]]);
    while (($line = fgets(STDIN)) !== false) {
        $order = json_decode($line, true);
        try {
            $result = $calls[$order['do']]($order['wait_ms'] ?? null);
            $answer = ['r' => $result === false ? 'no' : 'ok', ...(is_array($result) ? $result : [])];
        } catch (Throwable $error) {
            $class = get_class($error) . ': ' . ($error->getPrevious() ?? $error)->getMessage();
            $answer = ['r' => 'error', 'class' => substr($class, 0, 200)];
        }
        say(['id' => $order['id'], ...$answer]);
    }
}
