"""Client quotas: who is limited by which rule, the windows in which use is measured, and how long to throttle."""
