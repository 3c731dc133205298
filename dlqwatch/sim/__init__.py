"""A scripted Cloudflare and a scripted Slack on loopback."""
