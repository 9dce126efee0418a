"""What a chat model is shown of an image, and what it is asked to see in it."""
