"""The console in a real browser: Debian's Chromium, driven by playwright, against real nodes."""
