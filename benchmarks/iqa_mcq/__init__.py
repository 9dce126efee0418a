"""Making questions about image quality with known answers."""
