"""How good a policy is: trials on strips, the paper's measures and figures, a report, a film."""
