package hostfuncs

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"unicode/utf8"

	"sallyport/compartment"
	"sallyport/fs"
)

// readFileBytes is the longest file readFile returns unless the power's own limit says less. It is a little below
// what may cross in one call, which counts the value's frame too.
const readFileBytes = 999_000

// readFilePath is the longest path: what Linux takes.
const readFilePath = 4096

// ReadFile is the power readFile(path): the text of one regular file below dir. The path is a string primitive,
// counted from the directory, which "/" means too. The file must be UTF-8 and is never cut; one that is longer than
// Limits.ResultBytes allows (999,000 bytes by default) is refused. A path that leads out, a link, a file that is not
// there and one that may not be read are refusals that the guest can catch; the last three read the same.
//
// It is not gated by itself: see Gated. The directory must stay open while the power is in use.
func ReadFile(dir *fs.Dir) compartment.Power {
	return compartment.Power{
		Name:       "readFile",
		Summary:    "Reads one text file of the workspace, whole.",
		TypeScript: "readFile(path: string): Promise<string>",
		Params:     []compartment.Param{{Name: "path", Types: []compartment.Type{compartment.TypeString}, MaxBytes: readFilePath}},
		Returns:    compartment.Param{Types: []compartment.Type{compartment.TypeString}},
		Limits:     compartment.PowerLimits{ResultBytes: readFileBytes + 1000},
		OnCancel:   compartment.CancelDiscards, // a read has no effect to wonder about
		Do: func(_ context.Context, c *compartment.Call) (compartment.Value, error) {
			path, _ := c.Arg(0).AsString()
			text, err := dir.ReadFile(path, readFileBytes)
			if err != nil {
				return compartment.Value{}, readRefusal(path, err)
			}
			if !utf8.Valid(text) {
				return compartment.Value{}, compartment.Refuse("not_text", strconv.QuoteToASCII(path)+": is not UTF-8 text")
			}
			return compartment.OfString(string(text)), nil
		},
	}
}

// readCodes are the codes the guest reads for each way a file is not had.
var readCodes = []struct {
	kind error
	code string
}{
	{fs.ErrPath, "path_refused"},
	{fs.ErrNotFound, "not_found_or_denied"},
	{fs.ErrIsDirectory, "is_a_directory"},
	{fs.ErrNotRegular, "not_a_regular_file"},
	{fs.ErrTooLarge, "too_large"},
	{fs.ErrNotDirectory, "not_a_directory"},
	{fs.ErrTooMany, "too_many"},
}

// readRefusal turns an error of fs into a refusal the guest reads. Trouble of the disk is no refusal, but a failure
// of the host.
func readRefusal(path string, err error) error {
	var e *fs.Error
	if !errors.As(err, &e) {
		return fmt.Errorf("read %q: %w", path, err)
	}
	for _, r := range readCodes {
		if errors.Is(e, r.kind) {
			return &compartment.Refusal{Code: r.code, Text: e.Error(), Err: err}
		}
	}
	return fmt.Errorf("read %q: %w", path, errors.Join(e, e.Err))
}
