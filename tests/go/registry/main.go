// Every call of franz-go's registry client on one subject: `URL SUBJECT TYPE FIRST SECOND WRONG`. WRONG cannot be read with
// FIRST. What was answered is printed as one line of JSON; an error that is not expected ends it, with exit code 1.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/sr"
)

type order struct {
	ID string `json:"id"`
}

func main() {
	said, err := tour(os.Args[1:])
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(said)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func tour(words []string) (map[string]any, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	client, err := sr.NewClient(sr.URLs(words[0]))
	if err != nil {
		return nil, err
	}
	subject := words[1]
	var kind sr.SchemaType
	if err := kind.UnmarshalText([]byte(words[2])); err != nil {
		return nil, err
	}
	schema := func(text string) sr.Schema { return sr.Schema{Schema: text, Type: kind} }
	first, second, wrong := schema(words[3]), schema(words[4]), schema(words[5])
	said := map[string]any{}

	types, err := client.SupportedTypes(ctx)
	if err != nil {
		return nil, err
	}
	said["types"] = len(types)
	one, err := client.CreateSchema(ctx, subject, first)
	if err != nil {
		return nil, err
	}
	two, err := client.CreateSchema(ctx, subject, second)
	if err != nil {
		return nil, err
	}
	said["ids"] = []int{one.ID, two.ID}
	said["versions"] = []int{one.Version, two.Version}
	found, err := client.LookupSchema(ctx, subject, second)
	if err != nil {
		return nil, err
	}
	said["found"] = found.Version
	byID, err := client.SchemaByID(ctx, one.ID)
	if err != nil {
		return nil, err
	}
	said["text"] = byID.Schema
	usages, err := client.SchemaUsagesByID(ctx, one.ID)
	if err != nil {
		return nil, err
	}
	said["usages"] = len(usages)
	subjects, err := client.Subjects(ctx)
	if err != nil {
		return nil, err
	}
	said["listed"] = slices.Contains(subjects, subject)
	all, err := client.Schemas(ctx, subject)
	if err != nil {
		return nil, err
	}
	said["all"] = len(all)
	_, err = client.CreateSchema(ctx, subject, wrong)
	said["refused"] = codeOf(err)
	checked, err := client.CheckCompatibility(ctx, subject, -1, wrong)
	if err != nil {
		return nil, err
	}
	said["incompatible"] = !checked.Is
	for _, each := range client.SetCompatibility(ctx, sr.SetCompatibility{Level: sr.CompatFullTransitive}, subject) {
		if each.Err != nil {
			return nil, each.Err
		}
	}
	level := client.Compatibility(ctx, subject)[0]
	if level.Err != nil {
		return nil, level.Err
	}
	said["level"] = level.Level.String()
	for _, each := range client.ResetCompatibility(ctx, subject) {
		if each.Err != nil {
			return nil, each.Err
		}
	}
	if err := exchange(said, two.ID); err != nil {
		return nil, err
	}
	return said, remove(ctx, client, subject, said)
}

// A value with the header that all clients share: a zero, the id, and for Protobuf which message it is.
func exchange(said map[string]any, id int) error {
	var serde sr.Serde
	serde.Register(id, order{}, sr.EncodeFn(json.Marshal), sr.DecodeFn(json.Unmarshal))
	data, err := serde.Encode(order{"o-1"})
	if err != nil {
		return err
	}
	var back order
	if err := serde.Decode(data, &back); err != nil {
		return err
	}
	said["back"], said["bytes"] = back.ID, data
	return nil
}

func remove(ctx context.Context, client *sr.Client, subject string, said map[string]any) error {
	if err := client.DeleteSchema(ctx, subject, 1, sr.SoftDelete); err != nil {
		return err
	}
	left, err := client.SubjectVersions(ctx, subject)
	if err != nil {
		return err
	}
	said["left"] = left
	soft, err := client.DeleteSubject(ctx, subject, sr.SoftDelete)
	if err != nil {
		return err
	}
	hard, err := client.DeleteSubject(ctx, subject, sr.HardDelete)
	if err != nil {
		return err
	}
	said["soft"], said["hard"] = soft, hard
	_, err = client.SchemaByVersion(ctx, subject, -1)
	said["gone"] = codeOf(err)
	return nil
}

func codeOf(err error) int {
	var answer *sr.ResponseError
	if errors.As(err, &answer) {
		return answer.ErrorCode
	}
	return 0
}
