"""What recipes share: flags, training, reports and the folder of a run."""
