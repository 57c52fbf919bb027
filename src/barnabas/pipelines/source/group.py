"""How the group of a Spark query is told from that of any other program that commits offsets without joining.

Every offset that a query commits carries this metadata, which OffsetFetch gives back.
"""

COMMITTED_BY = "spark"
