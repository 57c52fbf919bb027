"""What is changed in records on their way: a table of steps, pure but for functions of the user's own."""
