"""The simulator beside a real kernel, over a matrix of cases: `make agreement`."""
