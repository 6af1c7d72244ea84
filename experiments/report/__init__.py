"""Numbers, drawings and the page made of them; each reads plain records and never a kernel."""
