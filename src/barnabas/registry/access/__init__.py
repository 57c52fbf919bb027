"""Who asks, and what they may: users and rules are the cluster's own. Only where the cluster has logins.

people.py   a password or a token is right if the cluster takes it
rights.py   subjects as topics: the cluster's rules, by the code that a node decides with
"""
