"""Who is asked what, and what they answer: people and judges alike."""
