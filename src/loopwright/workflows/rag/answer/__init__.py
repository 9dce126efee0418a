"""From passages to an answer, by rules alone: reading, citing and grading."""
