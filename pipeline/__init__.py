"""Documents in, chunk rows out, on Apache Beam."""
