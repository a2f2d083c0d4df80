"""One input: its averages, its kernel map near zero and everywhere, its susceptibilities, and its flow in depth."""
