"""What is known of a picture: its pixels, read from any file, and what a file is that holds none."""
