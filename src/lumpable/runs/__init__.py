"""What happens when plans and learners meet a world: executors, and what they leave behind."""
