"""The story of a lost cluster: a link, the loss, the takeover, the way back. `barnabas demo disaster`"""
