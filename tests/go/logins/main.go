// One action of franz-go on a listener with security: a job in JSON on standard input, what came of it in JSON on standard
// output. Any error ends it, with exit code 1.
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/oauth"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"
)

type job struct {
	Action, Bootstrap, Topic, Group, ID, Value string
	CA, Certificate, Key                       string // files; no CA: no TLS
	Mechanism, User, Password                  string
	TokenURL, Scope                            string
}

func main() {
	var told job
	err := json.NewDecoder(os.Stdin).Decode(&told)
	var said any
	if err == nil {
		said, err = run(told)
	}
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(said)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(told job) (any, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	options := []kgo.Opt{kgo.SeedBrokers(told.Bootstrap), kgo.RequestRetries(2), kgo.RetryTimeout(10 * time.Second)}
	options = append(options, kgo.RecordDeliveryTimeout(10*time.Second))
	if told.CA != "" {
		config, err := tlsConfig(told)
		if err != nil {
			return nil, err
		}
		options = append(options, kgo.DialTLSConfig(config))
	}
	if told.Mechanism != "" {
		options = append(options, kgo.SASL(login(told)))
	}
	switch told.Action {
	case "consume":
		options = append(options, kgo.ConsumerGroup(told.Group), kgo.ConsumeTopics(told.Topic),
			kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.FetchIsolationLevel(kgo.ReadCommitted()))
	case "transaction":
		options = append(options, kgo.TransactionalID(told.ID))
	}
	client, err := kgo.NewClient(options...)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	if err := client.Ping(ctx); err != nil { // which says why it cannot log in; a fetch would go on trying
		return nil, err
	}
	record := &kgo.Record{Topic: told.Topic, Value: []byte(told.Value)}
	switch told.Action {
	case "produce":
		return told.Value, client.ProduceSync(ctx, record).FirstErr()
	case "transaction":
		if err := client.BeginTransaction(); err != nil {
			return nil, err
		}
		if err := client.ProduceSync(ctx, record).FirstErr(); err != nil {
			return nil, err
		}
		return told.Value, client.EndTransaction(ctx, kgo.TryCommit)
	case "consume":
		for {
			fetches := client.PollFetches(ctx)
			if err := fetches.Err(); err != nil {
				return nil, err
			}
			if found := fetches.Records(); len(found) > 0 {
				return string(found[0].Value), client.CommitRecords(ctx, found...)
			}
		}
	case "admin":
		return admin(ctx, client, told.Topic)
	}
	return nil, fmt.Errorf("no action %q", told.Action)
}

// Creates a topic, lists it and deletes it.
func admin(ctx context.Context, client *kgo.Client, name string) (any, error) {
	create := kmsg.NewPtrCreateTopicsRequest()
	topic := kmsg.NewCreateTopicsRequestTopic()
	topic.Topic, topic.NumPartitions, topic.ReplicationFactor = name, 1, 1
	create.Topics = append(create.Topics, topic)
	created, err := create.RequestWith(ctx, client)
	if err == nil {
		err = kerr.ErrorForCode(created.Topics[0].ErrorCode)
	}
	if err != nil {
		return nil, err
	}
	list := kmsg.NewPtrMetadataRequest()
	list.Topics = nil
	listed, err := list.RequestWith(ctx, client)
	if err != nil {
		return nil, err
	}
	seen := false
	for _, each := range listed.Topics {
		seen = seen || *each.Topic == name
	}
	if !seen {
		return nil, fmt.Errorf("%s is not listed", name)
	}
	remove := kmsg.NewPtrDeleteTopicsRequest()
	gone := kmsg.NewDeleteTopicsRequestTopic()
	gone.Topic = &name
	remove.Topics, remove.TopicNames = append(remove.Topics, gone), []string{name}
	removed, err := remove.RequestWith(ctx, client)
	if err == nil {
		err = kerr.ErrorForCode(removed.Topics[0].ErrorCode)
	}
	return name, err
}

func tlsConfig(told job) (*tls.Config, error) {
	ca, err := os.ReadFile(told.CA)
	if err != nil {
		return nil, err
	}
	config := &tls.Config{RootCAs: x509.NewCertPool()}
	config.RootCAs.AppendCertsFromPEM(ca)
	if told.Certificate != "" {
		pair, err := tls.LoadX509KeyPair(told.Certificate, told.Key)
		if err != nil {
			return nil, err
		}
		// By itself Go sends no certificate that the server's authorities have not signed.
		config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &pair, nil }
	}
	return config, nil
}

func login(told job) sasl.Mechanism {
	switch told.Mechanism {
	case "PLAIN":
		return plain.Auth{User: told.User, Pass: told.Password}.AsMechanism()
	case "SCRAM-SHA-256":
		return scram.Auth{User: told.User, Pass: told.Password}.AsSha256Mechanism()
	case "SCRAM-SHA-512":
		return scram.Auth{User: told.User, Pass: told.Password}.AsSha512Mechanism()
	}
	return oauth.Oauth(func(ctx context.Context) (oauth.Auth, error) {
		form := url.Values{"grant_type": {"client_credentials"}, "client_id": {told.User}, "client_secret": {told.Password}}
		if told.Scope != "" {
			form.Set("scope", told.Scope)
		}
		answer, err := http.PostForm(told.TokenURL, form)
		if err != nil {
			return oauth.Auth{}, err
		}
		defer answer.Body.Close()
		var token struct {
			Access string `json:"access_token"`
		}
		err = json.NewDecoder(answer.Body).Decode(&token)
		return oauth.Auth{Token: token.Access}, err
	})
}
