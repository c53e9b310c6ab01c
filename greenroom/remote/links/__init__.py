"""Links between two nodes: connections that come and go, references to actors of another process, and what peers may ask of ours."""
