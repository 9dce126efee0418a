"""One relational database behind everything that lasts: connections, transactions, and what can go wrong with them."""
