"""Increments a counter under redis-py's own Lock in a Redis Cluster, for `locklab attack --cluster`; see README.md.

It works for longer than a failover takes.
"""

import os
import time

import redis
from redis.cluster import ClusterNode, RedisCluster
from redis.exceptions import LockError, RedisError

from locklab_tell import tell

LEASE_S = int(os.environ.get("LOCKLAB_LEASE_MS", "10000")) / 1000
addresses = (address.rsplit(":", 1) for address in os.environ["REDIS_CLUSTER"].split(","))
nodes = [ClusterNode(host, int(port)) for host, port in addresses]
servers = RedisCluster(startup_nodes=nodes, socket_timeout=1, socket_connect_timeout=1)
resource = redis.Redis.from_url(os.environ["LOCKLAB_RESOURCE"])
lock = servers.lock("lock", timeout=LEASE_S)


def attempt():
    """Tries once to take the lock; the lease counts from before the request."""
    tell("acquiring")
    asked = time.monotonic()
    try:
        has_it = lock.acquire(blocking=False)
    except RedisError:
        has_it = False
    if has_it:
        tell("acquired", ttl_ms=1000 * (LEASE_S - (time.monotonic() - asked)))
    else:
        tell("refused")
    return has_it


while True:
    if attempt():
        try:
            value = int(resource.get("counter") or 0)
            time.sleep(4)
            resource.set("counter", value + 1)
        except RedisError:
            pass
        tell("releasing")
        try:
            lock.release()
            tell("released", removed=1)
        except (LockError, RedisError):
            tell("released")
    # What was given back must have reached the replica before the next grant.
    time.sleep(0.3)
