"""What a leader of the quorum does: proposals and the high watermark, its log for the others, who votes."""
