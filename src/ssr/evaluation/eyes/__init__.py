"""What a policy sees: edges in its decoded height maps, feet that follow a phantom, life without a camera."""
