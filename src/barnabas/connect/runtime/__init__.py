"""Engine 1, a process: workers that share connectors as consumer groups do."""
