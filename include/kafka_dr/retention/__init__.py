"""What is kept about people and their records, and for how long: erased when asked for, and by the topology's rules."""
