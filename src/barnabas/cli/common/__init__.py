"""What several commands share: options, output, errors, connections."""
