"""The congestion model: from a typed scenario to records, with NumPy, Numba and pydantic only.

Data flows one way: YAML, scenario, flat parameters, batch run, records.
"""
