"""From evidence to answers: claims held against measurements, and whether the evidence is enough."""
