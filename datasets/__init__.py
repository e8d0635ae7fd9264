"""What is judged: batches of queries, their readers, and their texts. Knows no rater."""
