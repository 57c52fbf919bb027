"""Barnabas beside Apache Kafka: the same measurements on both, in turns, on this machine.

`python -m bench` (or `make bench`) brings up both servers, runs every row of the table of promises on each in
turns (A, B, A, B, ...), and writes docs/performance.md and its chart. A row is one file in bench/workloads/.
"""
