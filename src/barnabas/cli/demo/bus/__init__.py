"""`barnabas demo bus`: the story of a company's data bus, with real servers."""
