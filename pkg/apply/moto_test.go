package apply

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/credentials"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"

	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/rpc"
	"github.com/batchctl/batchctl/pkg/testtool"
)

func TestMain(m *testing.M) { testtool.Main(m) }

// TestMoto is TestInterrupted on moto, with what moto keeps: it changes no computeResources, has no consumable
// resources and no two policies of one name.
func TestMoto(t *testing.T) {
	endpoint := testtool.Moto(t)
	seed := uint64(time.Now().UnixNano())
	if text := os.Getenv("BATCHCTL_SEED"); text != "" {
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		seed = n
	}
	t.Logf("BATCHCTL_SEED=%d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	cut := &cutting{HTTPClient: awshttp.NewBuildableClient()}
	cfg := aws.Config{Region: "us-east-1", BaseEndpoint: &endpoint, Credentials: credentials.NewStaticCredentialsProvider("a", "b", ""), HTTPClient: cut,
		Retryer: func() aws.Retryer { return aws.NopRetryer{} }}
	a := &Account{RPC: rpc.New(cfg), API: awsbatch.NewFromConfig(cfg)}
	role := network(t, endpoint)
	o := Options{Owner: "test", Prune: true}
	for round := range 12 {
		text := motoWorld(random, role)
		for try := 0; ; try++ {
			cut.in, cut.after = 1+random.IntN(30), random.IntN(2) == 0
			if try == 5 {
				cut.in = 0
			}
			err := apply(t.Context(), a, o, text)
			if err == nil {
				break
			}
			if !errors.Is(err, errCut) {
				t.Fatalf("round %d: %s\n%v", round, text, err)
			}
			cut.in = 0
			forgetLock(t, a)
		}
		cut.in = 0
		state, err := a.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		f := file(t, text)
		plan, problems := NewPlan([]*document.File{f}, state, o)
		if len(plan.Steps) > 0 || len(problems) > 0 || state.Count() != len(f.Requests) {
			t.Fatalf("round %d: %s\nagain: %s%v, %d resources", round, text, plan.text(), problems, state.Count())
		}
		exported, err := state.Export("resources.schema.json")
		if err != nil {
			t.Fatal(err)
		}
		if plan, problems := NewPlan([]*document.File{file(t, string(exported))}, state, Options{}); len(plan.Steps) > 0 || len(problems) > 0 {
			t.Fatalf("round %d: the export %s\n%s%v", round, exported, plan.text(), problems)
		}
	}
}

// forgetLock deletes the lock of an apply that was cut off, whose time has not passed.
func forgetLock(t *testing.T, a *Account) {
	t.Helper()
	h, err := a.holder(t.Context())
	if err == nil && h.arn != "" {
		err = a.call(t.Context(), "DeleteSchedulingPolicy", object{"arn": h.arn}, &object{})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// network creates a service role in moto, and returns its ARN. UNMANAGED environments need no more.
func network(t *testing.T, endpoint string) (role string) {
	t.Helper()
	form := "Action=CreateRole&Version=2010-05-08&RoleName=batch&AssumeRolePolicyDocument=%7B%7D"
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, endpoint, strings.NewReader(form))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=a/20260101/us-east-1/iam/aws4_request, SignedHeaders=host, Signature=b")
	answer, err := http.DefaultClient.Do(r)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("create a role: %v %v", answer, err)
	}
	answer.Body.Close()
	return "arn:aws:iam::123456789012:role/batch"
}

// motoWorld returns a random document of what moto keeps.
func motoWorld(random *rand.Rand, role string) string {
	some := func(names ...string) []string {
		return slices.DeleteFunc(names, func(string) bool { return random.IntN(2) == 0 })
	}
	names := append(some("one", "two"), "three")
	var environments, queues, policies []string
	for _, name := range names {
		environments = append(environments, fmt.Sprintf(`{"computeEnvironmentName": %q, "type": "UNMANAGED", "state": "ENABLED", "serviceRole": %q}`, name, role))
	}
	for _, name := range some("q1", "q2", "q3") {
		random.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
		queues = append(queues, queue(name, 1+random.IntN(3), names[:1+random.IntN(len(names))]...))
	}
	for _, name := range some("fair", "other") {
		policies = append(policies, fmt.Sprintf(`{"name": %q, "fairsharePolicy": {"shareDecaySeconds": %d}}`, name, random.IntN(3)))
	}
	return resources(environments, queues, `"schedulingPolicies": [`+strings.Join(policies, ", ")+`]`)
}
