"""Faults of Redis as a server: it may keep less than it holds, or a client's command keeps it busy."""

from __future__ import annotations

import time
from typing import ClassVar

from fault_injection.apps import App
from fault_injection.engine import Engine
from fault_injection.mechanisms import redis_server
from fault_injection.mechanisms.probe import longest_wait, must_run
from fault_injection.spec import Category, Change, Effect, Fault, FaultKind, Step
from fault_injection.steps import redis_step

REDIS = "redis"
LOOKS_S = 3.0
"""So long is looked for an answer that waits."""


class OfRedis(FaultKind):
    """What happens in Redis; its place is the store."""

    mechanism = "redis_session"
    mechanism = "redis_session"

    def places(self, app: App) -> tuple[str, ...]:
        """Redis, where the application has it."""
        return tuple(store for store in app.stores if store == REDIS)


class StoreMemoryTooSmall(OfRedis):
    """Less memory is allowed than is in use."""

    name = "store_memory_too_small"
    category: ClassVar[Category] = "configuration"
    explanation = "Redis was set to use less memory than it holds already, so it refuses writes or throws keys away."
    strengths: ClassVar = {
        "refuses": {"share_of_use": 0.5, "policy": "noeviction"},
        "evicts": {"share_of_use": 0.6, "policy": "volatile-lru"},
    }
    settle_s = 12.0

    def change(self, app: App, fault: Fault, engine: Engine) -> Change:
        """Another limit, and what to do at it; then those that were set before."""
        must_run(fault.place, engine)
        strength = self.strengths[fault.strength]
        before = redis_server.settings(app, "maxmemory", "maxmemory-policy")
        used = redis_server.figures(app, "memory")["used_memory"]
        after = {"maxmemory": str(int(used * float(strength["share_of_use"]))), "maxmemory-policy": str(strength["policy"])}
        return Change(
            do=(redis_step(after),),
            undo=(redis_step(before),),
            parameters=(("used_before_bytes", int(used)), *sorted(after.items())),
        )

    def active(self, app: App, fault: Fault, engine: Engine) -> Effect:
        """It refuses a write, or has thrown keys away lately."""
        before = redis_server.figures(app, "stats")["evicted_keys"]
        refused = redis_server.refusal(app, engine)
        if not refused:
            time.sleep(1.0)
        evicted = redis_server.figures(app, "stats")["evicted_keys"] - before
        memory = redis_server.figures(app, "memory")
        share = memory["used_memory"] / max(1.0, memory["maxmemory"])
        words = f"uses {share:.0%} of the memory that it may, threw {evicted:.0f} keys away; {refused or 'it takes writes'}"
        return Effect(memory["maxmemory"] > 0 and (bool(refused) or evicted > 0), words)

    def cleared(self, app: App, fault: Fault, engine: Engine) -> Effect:
        """It takes writes again."""
        refused = redis_server.refusal(app, engine)
        return Effect(not refused, refused or "it takes writes")


class SlowCommand(OfRedis):
    """A client's long command, again and again."""

    name = "slow_command"
    category: ClassVar[Category] = "database"
    explanation = "A client's script goes through all keys of Redis again and again, and other clients of Redis wait."
    strengths: ClassVar = {
        "hard": {"busy_s": 2.0, "every_s": 2.3, "least_s": 0.8},
        "moderate": {"busy_s": 1.6, "every_s": 2.2, "least_s": 0.6},
    }
    settle_s = 16.0
    SCRIPT = """
    local sum, began = 0, redis.call('TIME')
    repeat
      for _, key in ipairs(redis.call('KEYS', '*')) do
        sum = sum + (redis.call('MEMORY', 'USAGE', key) or 0)
      end
      local now = redis.call('TIME')
    until (now[1] - began[1]) * 1000 + (now[2] - began[2]) / 1000 >= tonumber(ARGV[1])
    return sum
    """

    def change(self, app: App, fault: Fault, engine: Engine) -> Change:
        """A background process runs it."""
        must_run(fault.place, engine)
        strength = self.strengths[fault.strength]
        container = engine.container_id(REDIS)
        asked = (
            ("script", self.SCRIPT),
            ("argument", f"{float(strength['busy_s']) * 1000:.0f}"),
            ("every_s", strength["every_s"]),
        )
        start = Step("start_background", REDIS, container, (("act", "evaluate"), *asked))
        return Change(
            do=(start,),
            undo=(Step("stop_background", REDIS, container),),
            parameters=(("busy_s", strength["busy_s"]), ("every_s", strength["every_s"])),
        )

    def active(self, app: App, fault: Fault, engine: Engine) -> Effect:
        """The longest wait for an answer in a few seconds."""
        longest = longest_wait(app, REDIS, engine, patience=3.0, looks_s=LOOKS_S)
        return Effect(longest >= float(self.strengths[fault.strength]["least_s"]), f"it took up to {longest:.2f} s to answer")

    def cleared(self, app: App, fault: Fault, engine: Engine) -> Effect:
        """It answers at once."""
        longest = longest_wait(app, REDIS, engine, patience=3.0, looks_s=LOOKS_S)
        return Effect(longest < 0.15, f"it took up to {longest:.2f} s to answer")
