"""The database's tables. Runs on SQLite 3.40 and later.

All times are integer ms since 1970 UTC. Every id is handed out by the engine, never by SQLite:
a row can then be written twice without harm, which makes recovery after a failed COMMIT simple.
"""

from __future__ import annotations

VERSION = 1

# One list of statements a version; each runs in one transaction together with user_version.
MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        """CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID""",
        """CREATE TABLE queues (
            id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, first_seen_at INTEGER NOT NULL,
            cloudflare_id TEXT, retention_ms INTEGER, audited_at INTEGER,
            nearest TEXT NOT NULL, retentions TEXT NOT NULL, deviations TEXT NOT NULL,
            good_at INTEGER, good_depth INTEGER) STRICT""",
        """CREATE TABLE spans (
            id INTEGER PRIMARY KEY, queue INTEGER NOT NULL REFERENCES queues,
            first_at INTEGER NOT NULL, last_at INTEGER NOT NULL, polls INTEGER NOT NULL,
            every_ms INTEGER NOT NULL,
            kind TEXT NOT NULL CHECK (kind IN ('complete', 'partial', 'failed')),
            depth INTEGER, bytes INTEGER, oldest_at INTEGER, reason TEXT, detail TEXT NOT NULL,
            CHECK ((kind = 'failed') = (depth IS NULL)), CHECK (polls >= 1)) STRICT""",
        "CREATE INDEX spans_by_time ON spans (queue, last_at)",
        """CREATE TABLE hours (
            queue INTEGER NOT NULL REFERENCES queues, hour INTEGER NOT NULL,
            polls INTEGER NOT NULL, failed INTEGER NOT NULL, covered_ms INTEGER NOT NULL,
            low INTEGER, high INTEGER, oldest_ms INTEGER,
            PRIMARY KEY (queue, hour)) STRICT, WITHOUT ROWID""",
        """CREATE TABLE incidents (
            id INTEGER PRIMARY KEY, rule TEXT NOT NULL, subject TEXT NOT NULL,
            opened_at INTEGER NOT NULL,
            severity TEXT NOT NULL CHECK (severity IN ('warning', 'critical')),
            facts TEXT NOT NULL, rev INTEGER NOT NULL, resolved_at INTEGER,
            resolution TEXT CHECK (resolution IN ('handled', 'removed', 'expired', 'deleted',
                'unknown', 'cleared', 'drill', 'unwatched')),
            peak_depth INTEGER, lost INTEGER NOT NULL, first_told_at INTEGER, told_at INTEGER,
            told_by TEXT NOT NULL, told_depth INTEGER, told_severity TEXT, told_mark_ms INTEGER,
            told_lost INTEGER NOT NULL, told_low INTEGER, low INTEGER,
            told_topics TEXT NOT NULL, noted_topics TEXT NOT NULL,
            ledger TEXT NOT NULL,
            held INTEGER NOT NULL, acked_at INTEGER, acked_depth INTEGER,
            CHECK ((resolved_at IS NULL) = (resolution IS NULL))) STRICT""",
        """CREATE UNIQUE INDEX one_open_incident ON incidents (rule, subject)
            WHERE resolved_at IS NULL""",
        "CREATE INDEX incidents_by_time ON incidents (opened_at)",
        """CREATE TABLE alerts (
            rule TEXT NOT NULL, subject TEXT NOT NULL,
            state TEXT NOT NULL CHECK (state IN ('unknown', 'inactive', 'pending', 'firing')),
            since INTEGER NOT NULL, clear_since INTEGER, incident INTEGER REFERENCES incidents,
            hushed INTEGER NOT NULL,
            PRIMARY KEY (rule, subject),
            CHECK ((state = 'firing') = (incident IS NOT NULL))) STRICT, WITHOUT ROWID""",
        """CREATE TABLE transitions (
            id INTEGER PRIMARY KEY, rule TEXT NOT NULL, subject TEXT NOT NULL, at INTEGER NOT NULL,
            old TEXT NOT NULL, new TEXT NOT NULL, because TEXT NOT NULL,
            incident INTEGER) STRICT""",
        """CREATE TABLE falls (
            id INTEGER PRIMARY KEY, incident INTEGER NOT NULL REFERENCES incidents,
            at INTEGER NOT NULL, before INTEGER NOT NULL, after INTEGER NOT NULL,
            left INTEGER NOT NULL, removed INTEGER NOT NULL, lost INTEGER NOT NULL,
            perhaps INTEGER NOT NULL, unknown INTEGER NOT NULL) STRICT""",
        """CREATE TABLE notices (
            id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE,
            incident INTEGER REFERENCES incidents, reason TEXT NOT NULL, severity TEXT NOT NULL,
            facts TEXT NOT NULL, created_at INTEGER NOT NULL, mention INTEGER NOT NULL,
            status TEXT NOT NULL CHECK (status IN ('pending', 'delivered', 'superseded',
                'silenced', 'dead')),
            delivered_at INTEGER, delivered_by TEXT,
            CHECK ((status = 'delivered') = (delivered_at IS NOT NULL))) STRICT""",
        "CREATE INDEX notices_open ON notices (id) WHERE status = 'pending'",
        "CREATE INDEX notices_of ON notices (incident)",
        # posting_since is set and committed before the POST: not null = it may be in Slack
        """CREATE TABLE deliveries (
            notice INTEGER NOT NULL REFERENCES notices, destination TEXT NOT NULL,
            next_at INTEGER NOT NULL, attempts INTEGER NOT NULL, posting_since INTEGER,
            lost_answers INTEGER NOT NULL, blind INTEGER NOT NULL, plain INTEGER NOT NULL,
            outcome TEXT, error TEXT NOT NULL,
            PRIMARY KEY (notice, destination)) STRICT, WITHOUT ROWID""",
        """CREATE TABLE cards (
            incident INTEGER NOT NULL REFERENCES incidents, destination TEXT NOT NULL,
            channel TEXT NOT NULL, ts TEXT NOT NULL, shown_rev INTEGER NOT NULL,
            next_at INTEGER NOT NULL, failures INTEGER NOT NULL, frozen INTEGER NOT NULL,
            gone INTEGER NOT NULL, PRIMARY KEY (incident, destination)) STRICT, WITHOUT ROWID""",
        """CREATE TABLE destinations (
            name TEXT PRIMARY KEY, fingerprint TEXT NOT NULL,
            state TEXT NOT NULL CHECK (state IN ('ok', 'failing', 'needs_person')),
            since INTEGER NOT NULL, reason TEXT NOT NULL, last_ok_at INTEGER,
            free_at INTEGER NOT NULL, failures INTEGER NOT NULL,
            probe_at INTEGER NOT NULL) STRICT, WITHOUT ROWID""",
        # the commands write these two, the daemon only reads them
        """CREATE TABLE silences (
            id INTEGER PRIMARY KEY, rule TEXT NOT NULL, subject TEXT NOT NULL,
            starts_at INTEGER NOT NULL, ends_at INTEGER NOT NULL, by TEXT NOT NULL,
            reason TEXT NOT NULL, lifted_at INTEGER, lifted_by TEXT) STRICT""",
        """CREATE TABLE acks (
            incident INTEGER NOT NULL, at INTEGER NOT NULL, by TEXT NOT NULL, note TEXT NOT NULL,
            PRIMARY KEY (incident, at)) STRICT, WITHOUT ROWID""",
    ),
)
