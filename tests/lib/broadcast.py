# Broadcasting, for the tests of the glass box.
def stretched(shape, to, at):
    """Where element `at` of shape `to` is in what is broadcast to it."""
    place, step = 0, 1
    for d in range(1, len(to) + 1):
        if d <= len(shape) and shape[-d] > 1:
            place += at % to[-d] * step
            step *= shape[-d]
        at //= to[-d]
    return place
