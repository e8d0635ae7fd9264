"""Long2RAG: which key points of the documents an answer makes (Qi and others 2024)."""
