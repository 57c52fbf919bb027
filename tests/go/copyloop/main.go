// Consume, transform, produce with franz-go: `BOOTSTRAP SOURCE TARGET ID RECORDS SIZE`. Every transaction takes at most
// SIZE records, and the next one begins as soon as the commit of the one before is answered. Any error ends it, with
// exit code 1. It ends when so many records are copied and prints one line of JSON.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

func main() {
	if err := copyAll(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func copyAll(words []string) error {
	bootstrap, source, target, id := words[0], words[1], words[2], words[3]
	records, err := strconv.Atoi(words[4])
	if err != nil {
		return err
	}
	size, err := strconv.Atoi(words[5])
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 90*time.Second)
	defer cancel()
	session, err := kgo.NewGroupTransactSession(
		kgo.SeedBrokers(strings.Split(bootstrap, ",")...),
		kgo.TransactionalID(id),
		kgo.ConsumerGroup(id),
		kgo.ConsumeTopics(source),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.RequireStableFetchOffsets(),
	)
	if err != nil {
		return err
	}
	defer session.Close()
	var commits []float64
	begun := time.Now()
	for copied := 0; copied < records; {
		fetches := session.PollRecords(ctx, size)
		if err := fetches.Err(); err != nil {
			return fmt.Errorf("fetch: %w", err)
		}
		if fetches.NumRecords() == 0 {
			continue
		}
		if err := session.Begin(); err != nil {
			return fmt.Errorf("begin: %w", err)
		}
		var failed error
		fetches.EachRecord(func(record *kgo.Record) {
			record = &kgo.Record{Topic: target, Partition: record.Partition, Key: record.Key, Value: record.Value}
			session.Produce(ctx, record, func(_ *kgo.Record, err error) {
				if err != nil {
					failed = err
				}
			})
		})
		if err := session.Client().Flush(ctx); err != nil {
			return fmt.Errorf("flush: %w", err)
		}
		if failed != nil {
			return fmt.Errorf("produce: %w", failed)
		}
		before := time.Now()
		committed, err := session.End(ctx, kgo.TryCommit)
		if err != nil {
			return fmt.Errorf("commit: %w", err)
		}
		if !committed { // a rebalance came between: the records are polled again
			continue
		}
		commits = append(commits, time.Since(before).Seconds()*1e3)
		copied += fetches.NumRecords()
	}
	rate := float64(len(commits)) / time.Since(begun).Seconds()
	slices.Sort(commits)
	return json.NewEncoder(os.Stdout).Encode(map[string]float64{
		"transactions":       float64(len(commits)),
		"transactions_per_s": rate,
		"commit_p50_ms":      commits[len(commits)/2],
		"commit_p99_ms":      commits[len(commits)*99/100],
	})
}
