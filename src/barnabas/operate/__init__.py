"""What an operator's tools decide on the client's side, for the command line and for the console alike.

placement/   where partitions should lie: the plan behind balance and drain
access/      rules as people write them, and what the rules of a cluster decide

Pure: whoever asks a cluster, and how, is the caller's business.
"""
