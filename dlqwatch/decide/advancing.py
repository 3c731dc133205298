"""`advance(world, input, now) → rows`: the one place where a decision becomes memory.

It only reads the world. The engine applies the rows to memory and to the journal alike.
"""

from __future__ import annotations

import json
from dataclasses import replace

from dlqwatch.decide import delivering, depth, storing
from dlqwatch.decide.fallback import route
from dlqwatch.decide.inputs import (
    Answered,
    Audited,
    ClockStepped,
    Edited,
    Input,
    Looked,
    Posting,
    Probed,
    QueueFound,
    QueueMissing,
    RateLimited,
    Reading,
    Started,
    StoreLooked,
    TimePassed,
)
from dlqwatch.decide.recording import record
from dlqwatch.decide.starting import started
from dlqwatch.decide.stepping import stepped_back
from dlqwatch.decide.world import RETRY_AT, Draft, World
from dlqwatch.model import HOUR, QueueRules
from dlqwatch.rows import Change, Meta, Queue


def advance(world: World, event: Input, now: int) -> tuple[Change, ...]:
    """Every row that this input changes, in an order the journal can write them."""
    draft = Draft(world, now, world.last_ids)
    match event:
        case Reading():
            queue, rules = _queue(draft, event.queue)
            record(draft, queue, rules, event.sample)
            depth.sampled(draft, queue, rules, event.sample)
        case TimePassed():
            depth.time_passed(draft, *_queue(draft, event.queue))
        case Posting():
            delivering.posting(draft, event)
        case Answered():
            delivering.answered(draft, event)
        case Looked():
            delivering.looked(draft, event)
        case Edited():
            delivering.edited(draft, event)
        case Probed():
            delivering.probed(draft, event)
        case StoreLooked():
            storing.looked(draft, event)
        case QueueFound():
            queue, _ = _queue(draft, event.queue)
            draft.put(replace(queue, cloudflare_id=event.cloudflare_id, nearest=""))
        case QueueMissing():
            queue, _ = _queue(draft, event.queue)
            nearest = json.dumps(event.nearest)
            draft.put(replace(queue, cloudflare_id=None, nearest=nearest))
        case Audited():
            queue, _ = _queue(draft, event.queue)
            draft.put(replace(queue, retention_ms=event.retention_ms, audited_at=now))
        case RateLimited():
            draft.put(Meta(RETRY_AT, str(min(event.until, now + HOUR))))
        case ClockStepped():
            stepped_back(draft, event.by_ms)
        case Started():
            started(draft, event)
    route(draft)
    return draft.changes()


def cloudflare_retry_at(world: World, now: int) -> int:
    """No call to Cloudflare before this time (ms); in the past: call."""
    meta = world.get(Meta, RETRY_AT)
    return min(int(meta.value), now + HOUR) if meta is not None else 0


def _queue(draft: Draft, name: str) -> tuple[Queue, QueueRules]:
    queue = next(q for q in draft.all(Queue) if q.name == name)
    return queue, draft.plan.queues[name]
