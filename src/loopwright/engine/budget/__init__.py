"""What a run or a loop may spend on model calls, tokens, money and time, and the meter that counts it."""
