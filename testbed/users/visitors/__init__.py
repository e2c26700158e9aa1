"""Who the probe users of each application are: what they have, and what they therefore must see."""
