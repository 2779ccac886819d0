"""HTTP parts that know nothing of the radio: errors, JSON, ranges, timeouts, thread pools."""
