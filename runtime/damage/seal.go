package damage

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
)

// checksum names the last member of a sealed object: the SHA-256 of the object without that
// member and without white space.
const checksum = "sha256"

// Seal adds the checksum to a JSON object, which must have members.
func Seal(object []byte) []byte {
	sum, err := sumOf(object)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	rest := bytes.TrimSpace(bytes.TrimSuffix(bytes.TrimSpace(object), []byte("}")))
	return fmt.Appendf(nil, "%s,%q:%q}", rest, checksum, sum)
}

// SealIndented is Seal for people to read, with a line for each member.
func SealIndented(object []byte) []byte {
	var b bytes.Buffer
	if err := json.Indent(&b, Seal(object), "", "  "); err != nil {
		panic("BUG: " + err.Error())
	}
	b.WriteByte('\n')
	return b.Bytes()
}

// Unseal decodes an object. It returns an Error if the object has a checksum that does not
// match.
func Unseal(text []byte, to any) error {
	var sealed struct {
		Sum *string `json:"sha256"`
	}
	if err := JSON(text, &sealed); err != nil {
		return err
	}
	if sealed.Sum == nil {
		return JSON(text, to)
	}
	at := bytes.LastIndex(text, []byte(","))
	if at < 0 {
		return altered()
	}
	sum, err := sumOf(append(bytes.Clone(text[:at]), '}'))
	if err != nil || sum != *sealed.Sum {
		return altered()
	}
	return JSON(text, to)
}

func altered() error { return Errorf("altered: its contents do not match its checksum") }

func sumOf(object []byte) (string, error) {
	var b bytes.Buffer
	if err := json.Compact(&b, object); err != nil {
		return "", err
	}
	sum := sha256.Sum256(b.Bytes())
	return hex.EncodeToString(sum[:]), nil
}
