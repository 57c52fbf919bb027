"""What a person does with connectors that exist: change their state, begin anew, send dead letters again."""
