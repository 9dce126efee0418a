"""Reading what organisers have: schedules, and tables of exhibitors and attendees."""
