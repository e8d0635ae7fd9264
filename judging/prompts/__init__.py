"""From an assignment to the messages that a judge gets: template, masking, perturbation, repair."""
