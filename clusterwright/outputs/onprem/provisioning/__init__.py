"""From bare metal to the first job: machines, images, settings, switches and services. Start with `documents`."""
