"""Carries notices and cards to one destination, one step at a time."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from dlqwatch.daemon import disposable
from dlqwatch.decide.ending import is_last
from dlqwatch.decide.inputs import Answered, Edited, Looked, Probed
from dlqwatch.decide.outcomes import Answer, answer_lost
from dlqwatch.decide.sending import Edit, Job, Look, Post, Probe
from dlqwatch.edges.slack import Speaker
from dlqwatch.engine import Engine
from dlqwatch.facts import Facts, IncidentFacts, Payload, Telling
from dlqwatch.model import Clock, Destination, DestinationKind, Outcome, Reason, Severity
from dlqwatch.rows import Incident, Notice
from dlqwatch.words import slack as words
from dlqwatch.words.en_cures import cure

log = logging.getLogger("dlqwatch.courier")

GIVE_UP_S = 10.0
IDLE_S = 60.0


class Courier:
    """One destination's courier. `step` does at most one thing and never raises for Slack."""

    def __init__(
        self,
        engine: Engine,
        destination: Destination,
        speaker: Speaker,
        clock: Clock,
        *,
        dashboard_url: str = "",
        give_up_s: float = GIVE_UP_S,
    ) -> None:
        self._engine = engine
        self._destination = destination
        self._speaker = speaker
        self._clock = clock
        self._dashboard_url = dashboard_url
        self._give_up_s = give_up_s
        self._wake = threading.Event()
        self._trouble = ""

    def step(self) -> bool:
        """Do what is due now; False if nothing was."""
        job = self._engine.begin(self._destination.name)
        if job is None:
            return False
        if isinstance(job, Post):
            self._post(job)
        elif isinstance(job, Look):
            self._look(job)
        elif isinstance(job, Probe):
            self._probe(job)
        else:
            self._edit(job)
        return True

    def run(self, stop: threading.Event) -> None:
        """Step whenever something is due, until told to stop."""
        while not stop.is_set():
            self._wake.clear()
            try:
                if self.step():
                    continue
                due = self._engine.due_in_ms(self._destination.name)
            except Exception:
                log.exception("the courier of %s stumbled; it goes on", self._destination.name)
                due = 1000
            self._wake.wait(IDLE_S if due is None else min(IDLE_S, due / 1000))

    def wake(self) -> None:
        """Something may be due."""
        self._wake.set()

    def _post(self, job: Post) -> None:
        payload = self._words(job)
        bot = self._destination.kind is DestinationKind.BOT
        notice = job.notice
        thread_ts = job.card.ts if job.card is not None else None
        # a resolve at warning stays in the thread: nobody must act
        quiet = notice.reason is Reason.RESOLVED and notice.severity is Severity.WARNING
        looked_for = bot and not job.delivery.blind
        receipt = words.receipt(notice.key, notice.incident) if looked_for else None
        answer = self._bounded(
            lambda: self._speaker.post(
                payload,
                thread_ts=thread_ts,
                broadcast=thread_ts is not None and not quiet,
                receipt=receipt,
            )
        )
        last = is_last(notice)
        name = self._destination.name
        self._engine.submit(Answered(notice.id, name, answer, notice.incident, last))
        self._note(job, answer)

    def _look(self, job: Look) -> None:
        thread_ts = job.card.ts if job.card is not None and not job.card.gone else None
        answer = self._bounded(
            lambda: self._speaker.look(job.notice.key, since=job.since, thread_ts=thread_ts)
        )
        self._engine.submit(Looked(job.notice.id, self._destination.name, answer))
        self._note(job, answer)

    def _probe(self, job: Probe) -> None:
        answer = self._bounded(lambda: self._speaker.probe().answer)
        self._engine.submit(Probed(self._destination.name, answer))
        if answer.outcome in (Outcome.DELIVERED, Outcome.NEEDS_PERSON):
            self._note(job, answer)

    def _edit(self, job: Edit) -> None:
        payload = self._card(job)
        card = job.card
        answer = self._bounded(lambda: self._speaker.edit(card.channel, card.ts, payload))
        self._engine.submit(
            Edited(job.incident.id, self._destination.name, job.incident.rev, answer)
        )
        self._note(job, answer)

    def _words(self, job: Post) -> Payload:
        """The words are made now, for this destination. What can't be rendered is said plainly."""
        telling = self._telling(job.notice.facts, job.incident, job)
        if job.delivery.plain:
            return words.render_plain(telling)
        try:
            return words.render(telling)
        except Exception:
            log.exception("notice %d could not be rendered; sent as plain text", job.notice.id)
            return words.render_plain(telling)

    def _card(self, job: Edit) -> Payload:
        """A card that can't be rendered must not keep the notice that waits behind it."""
        telling = self._telling(job.incident.facts, job.incident)
        try:
            return words.render_card(telling)
        except Exception:
            log.exception("card of #%d could not be rendered; sent as plain text", job.incident.id)
            return words.render_plain(telling)

    def _telling(self, facts: Facts, incident: Incident | None, job: Post | None = None) -> Telling:
        notice: Notice | None = job.notice if job is not None else None
        now = self._clock.now()
        return Telling(
            reason=notice.reason if notice is not None else Reason.FIRST,
            subject=incident.subject if incident is not None else "dlqwatch",
            incident=incident.id if incident is not None else None,
            facts=facts,
            created_at=notice.created_at if notice is not None else now,
            sent_at=now,
            kind=self._destination.kind,
            in_thread=job is not None and job.card is not None,
            repeat=job is not None and (job.delivery.lost_answers > 0 or _told_before(facts)),
            mentions=self._destination.mentions if notice is not None and notice.mention else (),
            dashboard_url=self._dashboard_url,
        )

    def _bounded(self, function: Callable[[], Answer]) -> Answer:
        try:
            return disposable.call(function, self._give_up_s)
        except disposable.GivenUp:
            return answer_lost(f"no answer within {self._give_up_s:g} s")
        except Exception as error:
            # its text may hold an address that is a secret
            log.error("sending to %s failed: %s", self._destination.name, type(error).__name__)
            return answer_lost(f"no answer ({type(error).__name__})")

    def _note(self, job: Job, answer: Answer) -> None:
        """Trouble with a destination is logged when it begins, changes or ends."""
        name = self._destination.name
        if isinstance(job, Look) and answer.outcome is Outcome.TARGET_GONE:
            return
        if answer.outcome is Outcome.DELIVERED:
            if isinstance(job, Post | Look):
                log.info("%s: told %s (%s)", name, _subject(job), job.notice.reason)
            if self._trouble:
                log.warning("%s works again", name)
            self._trouble = ""
        elif answer.error != self._trouble:
            self._trouble = answer.error
            if answer.outcome is Outcome.NEEDS_PERSON and not isinstance(job, Look):
                do = cure(answer.error, destination=name)
                log.error("%s refuses: %s. %s", name, answer.error, do)
            else:
                log.warning("%s: %s: %s", name, answer.outcome, answer.error)


def _told_before(facts: Facts) -> bool:
    return isinstance(facts, IncidentFacts) and facts.perhaps_told


def _subject(job: Post | Look) -> str:
    incident = job.notice.incident
    return f"incident #{incident}" if incident is not None else "of itself"
