"""What is done with model and controllers: simulate, tune, train, calibrate, compare, export, report."""
