"""What the pixels show: features, distortions and how severe they are."""
