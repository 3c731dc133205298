"""A short story told by the real daemon, a simulated Cloudflare and a simulated Slack."""
