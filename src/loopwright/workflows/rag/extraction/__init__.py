"""Facts from passages: by rules without a model, or by a chat model."""
