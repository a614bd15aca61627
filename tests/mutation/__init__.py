"""Plants errors in kernels: the tests must catch each of them."""
