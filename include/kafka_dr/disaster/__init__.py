"""Whether a cluster is down: probed by this installation and by its vantages, judged by the topology's rule."""
