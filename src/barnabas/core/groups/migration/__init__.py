"""Moving a live group between the classic and the consumer protocol (KIP-848), one member at a time.

A classic group becomes a consumer group when the first member of the new protocol joins; its classic members stay in it
and are served by `classic_members.py`. It becomes a classic group again when the last member of the new protocol has
gone.
"""
