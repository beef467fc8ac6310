package shell

import (
	"context"
	"log/slog"
	"strings"
	"time"
)

// EventKind says what an [Event] is about.
type EventKind string

// The kinds of events.
const (
	// EventBypass: a command was run by the caller's own executor, outside of every jail, or was refused that. Loud.
	EventBypass EventKind = "bypass"
	// EventFallback: a command was started in a session that was opened although a condition for containment was not met.
	// Once for each command. Loud.
	EventFallback EventKind = "unsandboxed-fallback"
	// EventDrift: what is in force was compared with what was admitted, before a command: passed, failed, or skipped in part.
	EventDrift EventKind = "drift-check"
	// EventPlatform: what the rules about files depend on. The name is that of the contract, which speaks of another platform.
	EventPlatform EventKind = "fs-node-version"
	// EventWarnings: something on this machine makes the boundary less than it could be. Once for each warning.
	EventWarnings EventKind = "dependency-warnings"
	// EventAdoption: something else's sandbox was adopted, or left as it is.
	EventAdoption EventKind = "adoption"
)

// Outcomes of an event of the kind [EventDrift].
const (
	Passed  = "passed"
	Failed  = "failed"
	Skipped = "skipped"
)

// Event is one thing that somebody watching wants to know. It is a value without references, and no path of the host's is
// in it.
type Event struct {
	Time time.Time
	Kind EventKind
	// Loud events say that a command was, or may have been, less confined than usual.
	Loud bool
	// Session and Command are their ids, when it is about one.
	Session, Command string
	// Outcome is that of a check, or "".
	Outcome string
	// Subject is what it is about: an axis of a policy, the name of a program.
	Subject string
	// Detail is a phrase for people.
	Detail string
}

// LogEvents makes a sink for [ManagerOptions.OnEvent] that logs: loud events as warnings, the rest as information, and
// checks that passed for debugging.
func LogEvents(l *slog.Logger) func(Event) {
	return func(e Event) {
		level := slog.LevelInfo
		switch {
		case e.Loud || e.Outcome == Failed:
			level = slog.LevelWarn
		case e.Outcome == Passed:
			level = slog.LevelDebug
		}
		attrs := []slog.Attr{slog.String("kind", string(e.Kind)), slog.Bool("loud", e.Loud)}
		for _, a := range []slog.Attr{
			slog.String("session", e.Session), slog.String("command", e.Command), slog.String("outcome", e.Outcome),
			slog.String("subject", e.Subject), slog.String("detail", e.Detail),
		} {
			if a.Value.String() != "" {
				attrs = append(attrs, a)
			}
		}
		l.LogAttrs(context.Background(), level, "sandbox "+string(e.Kind), attrs...)
	}
}

// hidden stands where a path of the host's was.
const hidden = "[path]"

// withoutPaths takes absolute paths out of a text, and what could break it into lines. A path can hold spaces, so it ends
// where a text goes on for sure: at a quote, or at a colon or comma with a space. It errs towards taking out too much.
func withoutPaths(text string) string {
	text = plain(text)
	var b strings.Builder
	for text != "" {
		start := pathStart(text)
		if start < 0 {
			b.WriteString(text)
			break
		}
		b.WriteString(text[:start] + hidden)
		text = text[start+pathLength(text[start:]):]
	}
	return b.String()
}

// pathStart is where the first absolute path begins: a slash, or a tilde before one, that does not follow a part of a word.
func pathStart(text string) int {
	for i := range len(text) {
		inWord := i > 0 && strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-*~", rune(text[i-1]))
		if !inWord && (text[i] == '/' || strings.HasPrefix(text[i:], "~/")) {
			return i
		}
	}
	return -1
}

func pathLength(text string) int {
	end := len(text)
	for _, stop := range []string{`"`, "'", "`", ": ", ", ", "; ", ")"} {
		if i := strings.Index(text, stop); i >= 0 && i < end {
			end = i
		}
	}
	return end
}
