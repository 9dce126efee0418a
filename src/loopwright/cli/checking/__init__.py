"""What ``loopwright check`` does: finding the files, importing where asked to, and the ways to report."""
