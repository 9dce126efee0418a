"""Which run is worked on where, and when: in this process, or by any number of processes on one PostgreSQL."""
