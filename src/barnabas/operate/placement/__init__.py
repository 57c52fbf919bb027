"""Where partitions should lie: nodes and partitions, the plan, the spread of leaders."""
