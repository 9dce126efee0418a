"""What happens in a run, as typed events, and the streams that yield them."""
