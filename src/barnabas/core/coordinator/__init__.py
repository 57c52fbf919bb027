"""What every coordinator keeps to (contract.py), and the timers that they share."""
