"""A scripted Cloudflare and Slack on loopback, shared by the demo, tests and benchmarks."""
