"""The settings, which all may read: `settings.load` is the way in.

`file` finds and reads the TOML without the settings' library: `health` uses nothing else.
"""
