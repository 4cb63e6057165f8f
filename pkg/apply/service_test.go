package apply

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"

	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/rpc"
)

// shelf is an AWS Batch that keeps service environments, queues for service jobs and quota shares, by ARN. The engine
// and moto do not have these. A new service environment and a changed queue become VALID after a while.
type shelf struct {
	t    *testing.T
	kept map[string]object
	// valid is when a resource becomes VALID.
	valid map[string]time.Time
}

func (s *shelf) Do(r *http.Request) (*http.Response, error) {
	answer := httptest.NewRecorder()
	s.serve(answer, r)
	return answer.Result(), nil
}

// serve answers as the API reference describes.
func (s *shelf) serve(w http.ResponseWriter, r *http.Request) {
	var in object
	if r.Body != nil {
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil && !errors.Is(err, io.EOF) {
			s.t.Error(err)
		}
	}
	reply := func(out object) {
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(out); err != nil {
			s.t.Error(err)
		}
	}
	if arn, ok := strings.CutPrefix(r.URL.Path, "/v1/tags/"); ok {
		tags, _ := s.kept[arn]["tags"].(object)
		tags = maps.Clone(tags)
		if tags == nil {
			tags = object{}
		}
		set, _ := in["tags"].(object)
		maps.Copy(tags, set)
		for _, key := range r.URL.Query()["tagKeys"] {
			delete(tags, key)
		}
		s.kept[arn]["tags"] = tags
		reply(object{})
		return
	}
	operation := strings.TrimPrefix(r.URL.Path, "/v1/")
	for _, k := range []*kind{kindOf(document.KindServiceEnvironment), kindOf(document.KindJobQueue), kindOf(document.KindQuotaShare)} {
		prefix := "arn:aws:batch:us-east-1:123456789012:" + strings.ReplaceAll(k.title, " ", "-") + "/"
		find := func() string {
			text, _ := in[k.reference].(string)
			for _, arn := range []string{text, prefix + text} {
				if s.kept[arn] != nil {
					return arn
				}
			}
			return ""
		}
		switch operation {
		case strings.ToLower(string(k.Kind)):
			arn := prefix + in[k.name].(string)
			if s.kept[arn] != nil {
				w.Header().Set("X-Amzn-ErrorType", "ClientException")
				w.WriteHeader(http.StatusBadRequest)
				reply(object{"message": "Object already exists"})
				return
			}
			in[k.arn] = arn
			s.kept[arn], s.valid[arn] = in, time.Now().Add(20*time.Second)
			reply(object{k.arn: arn})
			return
		case strings.ToLower(k.update):
			arn := find()
			if arn == "" {
				s.t.Errorf("%s of %v", k.update, in)
			}
			delete(in, k.reference)
			maps.Copy(s.kept[arn], in)
			s.valid[arn] = time.Now().Add(10 * time.Second)
			reply(object{})
			return
		case strings.ToLower(k.remove):
			delete(s.kept, find())
			reply(object{})
			return
		case "describequotashare":
			if k.Kind == document.KindQuotaShare {
				reply(s.kept[find()])
				return
			}
		case strings.ToLower(k.describe), "listquotashares":
			if operation == "listquotashares" && k.Kind != document.KindQuotaShare {
				continue
			}
			reply(object{k.list: s.list(k, prefix), "quotaShares": s.list(k, prefix)})
			return
		}
	}
	reply(object{}) // nothing else exists here
}

// list returns the resources of a kind with their status.
func (s *shelf) list(k *kind, prefix string) (all []object) {
	for _, arn := range slices.Sorted(maps.Keys(s.kept)) {
		if !strings.HasPrefix(arn, prefix) {
			continue
		}
		d := maps.Clone(s.kept[arn])
		d["status"] = "VALID"
		if time.Now().Before(s.valid[arn]) {
			d["status"] = "UPDATING"
		}
		all = append(all, d)
	}
	return all
}

// TestServiceEnvironments applies service environments, a queue for service jobs and its quota shares.
func TestServiceEnvironments(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &shelf{t, map[string]object{}, map[string]time.Time{}}
		cfg := aws.Config{Region: "us-east-1", HTTPClient: s, BaseEndpoint: aws.String("http://localhost"), Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "a", SecretAccessKey: "b"}, nil
		})}
		a := &Account{RPC: rpc.New(cfg), API: awsbatch.NewFromConfig(cfg)}
		const environment = `"serviceEnvironments": [{"serviceEnvironmentName": "training", "serviceEnvironmentType": "SAGEMAKER_TRAINING", "capacityLimits": [{"maxCapacity": 8, "capacityUnit": "NUM_INSTANCES"}]}]`
		const queue = `"jobQueues": [{"jobQueueName": "train", "state": "ENABLED", "priority": 1, "jobQueueType": "SAGEMAKER_TRAINING", "serviceEnvironmentOrder": [{"order": 1, "serviceEnvironment": "training"}]}]`
		const share = `"quotaShares": [{"quotaShareName": "research", "jobQueue": "train", "capacityLimits": [{"maxCapacity": 4, "capacityUnit": "NUM_INSTANCES"}], "preemptionConfiguration": {"inSharePreemption": "ENABLED"}, "resourceSharingConfiguration": {"strategy": "LEND"}, "tags": {"Team": "research"}}]`
		o := Options{Owner: "test", Prune: true}
		for _, step := range []struct{ text, want string }{
			{`{` + share + `, ` + queue + `, ` + environment + `}`, "create service environment training\ncreate job queue train\ncreate quota share research\n"},
			{`{` + strings.Replace(share, `"maxCapacity": 4`, `"maxCapacity": 6`, 1) + `, ` + queue + `, ` + strings.Replace(environment, `"maxCapacity": 8`, `"maxCapacity": 9`, 1) + `}`,
				"update service environment training capacityLimits[0].maxCapacity 8->9\nupdate quota share research capacityLimits[0].maxCapacity 4->6\n"},
			{`{` + strings.Replace(share, `, "tags": {"Team": "research"}`, "", 1) + `, ` + queue + `, ` + environment + `}`,
				"update service environment training capacityLimits[0].maxCapacity 9->8\nupdate quota share research capacityLimits[0].maxCapacity 6->4 tags.Team \"research\"->nothing\n"},
			{`{` + queue + `, ` + environment + `}`, "delete quota share research (no file mentions it)\n"},
			{`{"$schema": "resources.schema.json", "jobQueues": []}`, "delete job queue train (no file mentions it)\ndelete service environment training (no file mentions it)\n"},
		} {
			if got := applied(t, a, o, step.text).text(); got != step.want {
				t.Errorf("%s\nsteps:\n%s\nwant:\n%s", step.text, got, step.want)
			}
			if again := applied(t, a, o, step.text); len(again.Steps) > 0 {
				t.Errorf("again:\n%s", again.text())
			}
		}
	})
}

// TestTogether lets two people apply the same files at the same time: every resource is created once.
func TestTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, cut := engine(t)
		text := resources([]string{environment("cpu", nil), environment("big", nil)}, []string{queue("q", 1, "cpu", "big")})
		done := make(chan bool)
		for range 2 {
			go func() {
				for {
					err := apply(t.Context(), a, Options{Owner: "test"}, text)
					if err == nil {
						break
					}
					if _, locked := err.(*LockedError); !locked {
						t.Error(err)
						break
					}
					time.Sleep(5 * time.Second)
				}
				done <- true
			}()
		}
		<-done
		<-done
		created := 0
		for _, call := range cut.calls {
			if call == "createcomputeenvironment" || call == "createjobqueue" {
				created++
			}
		}
		if created != 3 {
			t.Errorf("%d creations of 3 resources: %v", created, cut.calls)
		}
	})
}
