"""What two nodes say to each other: numbered frames on two channels, batches, acknowledgements, resumption. Pure: no Trio, no clock."""
