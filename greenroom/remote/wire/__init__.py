"""The protocol of two nodes: numbered frames on two channels, batches, acknowledgements, resumption. Pure: no Trio, no clock."""
