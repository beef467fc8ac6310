package tools

// jsonQueries look into JSON.
func jsonQueries() []query { return nil }

// markdownQueries look into Markdown.
func markdownQueries() []query { return nil }
