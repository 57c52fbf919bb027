"""Two clusters and a link between them: the scenario, what a person does to the link, and what is known of it."""
