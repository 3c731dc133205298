"""`advance(world, input, now) → rows`: the one place where a decision becomes memory.

It only reads the world. The engine applies the rows to memory and to the journal alike.
"""

from __future__ import annotations

import json
from dataclasses import replace

from dlqwatch.decide import blinding, delivering, depth, publishing, retention, storing, wiring
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
    PublishCounted,
    QueueFound,
    QueueMissing,
    RateLimited,
    Reading,
    Rejoined,
    RetentionRead,
    Started,
    StoreLooked,
    TimePassed,
)
from dlqwatch.decide.joining import rejoined
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
            wiring.time_passed(draft, rules)
            blinding.looked(draft)
        case TimePassed():
            queue, rules = _queue(draft, event.queue)
            depth.time_passed(draft, queue, rules)
            wiring.time_passed(draft, rules)
            blinding.looked(draft)
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
        case PublishCounted():
            publishing.counted(draft, event)
        case QueueFound():
            queue, rules = _queue(draft, event.queue)
            if queue.cloudflare_id not in (None, event.cloudflare_id):
                # made anew under the same name: what lay in it went with it
                depth.deleted(draft, queue, rules)
            draft.put(replace(queue, cloudflare_id=event.cloudflare_id, nearest=""))
            wiring.found(draft, *_queue(draft, event.queue))
        case QueueMissing():
            queue, rules = _queue(draft, event.queue)
            nearest = json.dumps(event.nearest)
            draft.put(replace(queue, cloudflare_id=None, nearest=nearest))
            depth.deleted(draft, queue, rules)
            wiring.missing(draft, _queue(draft, event.queue)[0], rules, event.nearest)
        case Audited():
            wiring.audited(draft, *_queue(draft, event.queue), event.audit)
        case RetentionRead():
            queue, _ = _queue(draft, event.queue)
            log = retention.noted(queue, event.retention_ms, now)
            known = event.retention_ms or queue.retention_ms  # what isn't said changes nothing
            draft.put(replace(queue, retention_ms=known, retentions=log, audited_at=now))
        case RateLimited():
            draft.put(Meta(RETRY_AT, str(min(event.until, now + HOUR))))
        case ClockStepped():
            stepped_back(draft, event.by_ms)
        case Started():
            started(draft, event)
        case Rejoined():
            rejoined(draft, event)
    route(draft)
    return draft.changes()


def cloudflare_retry_at(world: World, now: int) -> int:
    """No call to Cloudflare before this time (ms); in the past: call."""
    meta = world.get(Meta, RETRY_AT)
    return min(int(meta.value), now + HOUR) if meta is not None else 0


def _queue(draft: Draft, name: str) -> tuple[Queue, QueueRules]:
    queue = next(q for q in draft.all(Queue) if q.name == name)
    return queue, draft.plan.queues[name]
