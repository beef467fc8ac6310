package tools

import (
	"fmt"
	"strings"

	"sallyport/compartment"
	"sallyport/shell"
)

// Result is what became of a call that was done. Every tool gives one of these and nothing else (R197).
type Result struct {
	// ID names the call, and the artifact or media that came of it.
	ID, Tool string
	// Tier is what enforced the rules for it.
	Tier Tier
	// Text is an answer in our own words, such as that a file was saved.
	Text string
	// Content is what a query found in an artifact. It is text of whoever made the artifact, and no handle to query again (R272).
	Content string
	// Artifact is a handle of the output, which is queried and never part of the result (R196).
	Artifact *Handle
	// Media is a handle of a staged file.
	Media *MediaHandle
	// Notes are lines of ours about the result, narrated: how a command ended, what was left out. What a command prints can look like
	// one in the artifact; these are the real ones.
	Notes []string
	// Violations are what the command was denied, for the host; the model reads them as notes.
	Violations []shell.Violation
	// Exit says how a command ended.
	Exit *shell.Completion
	// Report is what was in force for it. For a tool of the tier evaluator it is empty.
	Report shell.Report
	// Untrusted is always true: whatever is in a result may have been written by anybody (R189).
	Untrusted bool

	fence string // ends Content where it is shown; empty when there is none
}

// Handle is what is known of an artifact.
type Handle struct {
	ID string `json:"id"`
	// Format is "text", "json", "jsonl" or "markdown".
	Format string `json:"format"`
	Bytes  int64  `json:"bytes"`
	Lines  int64  `json:"lines"`
	// Queries are the tools that it can be queried with.
	Queries []string `json:"queries"`
}

// MediaHandle is what is known of media.
type MediaHandle struct {
	ID    string `json:"id"`
	Path  string `json:"path"`
	MIME  string `json:"mime"`
	Bytes int64  `json:"bytes"`
	Trust Trust  `json:"trust"`
}

// Model is what a model reads of the result: handles, our own lines, and content between two lines of which the second cannot be
// known to whoever made the content (R189).
func (r Result) Model() string {
	var b strings.Builder
	if a := r.Artifact; a != nil {
		fmt.Fprintf(&b, "artifact %s: %s, %d bytes, %d lines\n", a.ID, a.Format, a.Bytes, a.Lines)
	}
	if m := r.Media; m != nil {
		fmt.Fprintf(&b, "media %s: %s, %s, %d bytes, %s\n", m.ID, quoted(m.Path), compartment.Escape(m.MIME), m.Bytes, m.Trust)
	}
	if r.Text != "" {
		b.WriteString(compartment.Escape(r.Text) + "\n")
	}
	if r.fence != "" {
		b.WriteString("untrusted content, up to the line \"end " + r.fence + "\":\n" + r.Content)
		if !strings.HasSuffix(r.Content, "\n") {
			b.WriteString("\n")
		}
		b.WriteString("end " + r.fence + "\n")
	}
	for _, n := range r.Notes {
		b.WriteString("note: " + compartment.Escape(n) + "\n")
	}
	return b.String()
}
