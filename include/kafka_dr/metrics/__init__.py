"""What people watch with Prometheus or StatsD: one table of names, and their values from kept results alone."""
