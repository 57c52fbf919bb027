"""Rules (ACLs), users, delegation tokens and quotas that are changed: what the controller accepts, and its records.

What rules and quotas decide about a request is in core/access.
"""
