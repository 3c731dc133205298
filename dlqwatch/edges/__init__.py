"""What other services answer: Cloudflare, Slack, SQLite, the lock file."""
