package rpc

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/ecr"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"

	"github.com/batchctl/batchctl/pkg/testtool"
)

// moto starts moto_server, an independent implementation of the AWS API, and returns a client for
// it. Where tools are required, the test fails without it.
func moto(t *testing.T) *Client {
	t.Helper()
	address := testtool.Moto(t, "MOTO_EC2_LOAD_DEFAULT_AMIS=true")
	return New(aws.Config{Region: "eu-central-1", BaseEndpoint: aws.String(address), Credentials: credentials.NewStaticCredentialsProvider("a", "b", "")})
}

func (c *Client) json(t *testing.T, s Service, operation string, in, out any) {
	t.Helper()
	if out == nil {
		out = &struct{}{}
	}
	if err := c.JSON(t.Context(), s, operation, in, out); err != nil {
		t.Fatal(err)
	}
}

func (c *Client) query(t *testing.T, s Service, operation string, out any, pairs ...string) {
	t.Helper()
	in := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		in.Set(pairs[i], pairs[i+1])
	}
	if out == nil {
		out = &struct{}{}
	}
	if err := c.Query(t.Context(), s, operation, in, out); err != nil {
		t.Fatal(err)
	}
}

// the returns a result that must not fail.
func the[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

const manifest = `{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json","config":{"mediaType":"application/vnd.oci.image.config.v1+json","size":2,"digest":"sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"},"layers":[]}`

// repository creates a repository of ECR.
func (c *Client) repository(t *testing.T, name string) {
	t.Helper()
	the[*ecr.CreateRepositoryOutput](t)(ecr.NewFromConfig(c.cfg).CreateRepository(t.Context(), &ecr.CreateRepositoryInput{RepositoryName: &name}))
}

// image puts an image with a tag into a repository.
func (c *Client) image(t *testing.T, repository, tag string) {
	t.Helper()
	the[*ecr.PutImageOutput](t)(ecr.NewFromConfig(c.cfg).PutImage(t.Context(), &ecr.PutImageInput{RepositoryName: &repository, ImageTag: &tag, ImageManifest: aws.String(manifest)}))
}

func TestMotoImages(t *testing.T) {
	c := moto(t)
	c.repository(t, "team/train")
	c.image(t, "team/train", "1")
	find := func(name string) Image {
		t.Helper()
		i, ok := ParseImage(name)
		if !ok {
			t.Fatalf("%s is not read", name)
		}
		return the[Image](t)(c.FindImage(t.Context(), i))
	}
	const registry = "123456789012.dkr.ecr.eu-central-1.amazonaws.com/"
	if i := find(registry + "team/train:1"); !i.Found {
		t.Errorf("%+v", i)
	}
	if i := find(registry + "team/train:2"); i.Found || i.NoRepository {
		t.Errorf("%+v", i)
	}
	if i := find(registry + "team/train"); i.Found || i.Tag != "latest" {
		t.Errorf("%+v", i)
	}
	if i := find(registry + "team/trane:1"); i.Found || !i.NoRepository {
		t.Errorf("%+v", i)
	}
}

func TestMotoRoles(t *testing.T) {
	c := moto(t)
	trust := func(service string) string {
		return `{"Version":"2012-10-17","Statement":{"Effect":"Allow","Action":["sts:AssumeRole"],"Principal":{"Service":"` + service + `"}}}`
	}
	c.query(t, IAM, "CreateRole", nil, "RoleName", "task", "AssumeRolePolicyDocument", trust("ecs-tasks.amazonaws.com"))
	c.query(t, IAM, "CreateRole", nil, "RoleName", "ec2", "AssumeRolePolicyDocument", trust("ec2.amazonaws.com"))
	c.query(t, IAM, "CreateInstanceProfile", nil, "InstanceProfileName", "ecsInstanceRole")
	for name, want := range map[string][2]bool{"arn:aws:iam::123456789012:role/task": {true, true}, "ec2": {true, false}, "gone": {}} {
		if r := the[Role](t)(c.FindRole(t.Context(), name)); r.Found != want[0] || r.Trusts("ecs-tasks.amazonaws.com") != want[1] {
			t.Errorf("%s: %+v", name, r)
		}
	}
	if found, roles, err := c.FindProfile(t.Context(), "ecsInstanceRole"); !found || len(roles) != 0 || err != nil {
		t.Errorf("empty profile: %v %v %v", found, roles, err)
	}
	c.query(t, IAM, "AddRoleToInstanceProfile", nil, "InstanceProfileName", "ecsInstanceRole", "RoleName", "ec2")
	if found, roles, err := c.FindProfile(t.Context(), "arn:aws:iam::123456789012:instance-profile/ecsInstanceRole"); !found || !slices.Equal(roles, []string{"ec2"}) || err != nil {
		t.Errorf("profile: %v %v %v", found, roles, err)
	}
	if found, _, err := c.FindProfile(t.Context(), "gone"); found || err != nil {
		t.Errorf("no profile: %v %v", found, err)
	}
}

func TestMotoSecrets(t *testing.T) {
	c := moto(t)
	testtool.MotoLoads(t, *c.cfg.BaseEndpoint, c.cfg.Region, "ssm")
	secrets := secretsmanager.NewFromConfig(c.cfg)
	arn := *the[*secretsmanager.CreateSecretOutput](t)(secrets.CreateSecret(t.Context(), &secretsmanager.CreateSecretInput{Name: aws.String("db"), SecretString: aws.String("x"), ClientRequestToken: aws.String("d0b5a1c2-0000-4000-8000-000000000000")})).ARN
	c.json(t, SSM, "PutParameter", map[string]string{"Name": "/prod/key", "Value": "x", "Type": "SecureString"}, nil)
	c.json(t, SSM, "PutParameter", map[string]string{"Name": "plain", "Value": "x", "Type": "String"}, nil)
	for from, want := range map[string]bool{
		arn: true, arn + ":password::": true, arn[:len(arn)-6] + "gone-AbCdEf": false,
		"/prod/key": true, "plain": true, "gone": false, "arn:aws:ssm:eu-central-1:123456789012:parameter/prod/key": true,
		"arn:aws:ssm:eu-central-1:123456789012:parameter/plain": true, "arn:aws:ssm:eu-central-1:123456789012:parameter/gone": false,
	} {
		if s := the[SecretState](t)(c.FindSecret(t.Context(), from)); s.Found != want {
			t.Errorf("%s: %+v", from, s)
		}
	}
	the[*secretsmanager.DeleteSecretOutput](t)(secrets.DeleteSecret(t.Context(), &secretsmanager.DeleteSecretInput{SecretId: aws.String("db")}))
	if s := the[SecretState](t)(c.FindSecret(t.Context(), arn)); !s.Deleted {
		t.Errorf("deleted: %+v", s)
	}
}

func TestMotoFleet(t *testing.T) {
	c := moto(t)
	scaling := autoscaling.NewFromConfig(c.cfg)
	the[*autoscaling.CreateLaunchConfigurationOutput](t)(scaling.CreateLaunchConfiguration(t.Context(), &autoscaling.CreateLaunchConfigurationInput{
		LaunchConfigurationName: aws.String("l"), ImageId: aws.String(testtool.MotoImage), InstanceType: aws.String("t3.large")}))
	the[*autoscaling.CreateAutoScalingGroupOutput](t)(scaling.CreateAutoScalingGroup(t.Context(), &autoscaling.CreateAutoScalingGroupInput{
		AutoScalingGroupName: aws.String("g5-asg-1"), LaunchConfigurationName: aws.String("l"), MinSize: aws.Int32(2), MaxSize: aws.Int32(2), AvailabilityZones: []string{"eu-central-1a"}}))
	groups := the[[]ScalingGroup](t)(c.ScalingGroups(t.Context(), func(name string) bool { return strings.HasPrefix(name, "g5-") }))
	if len(groups) != 1 || len(groups[0].Instances) != 2 || groups[0].Desired != 2 {
		t.Fatalf("groups %+v", groups)
	}
	instances := the[[]Instance](t)(c.Instances(t.Context(), groups[0].Instances))
	if len(instances) != 2 || instances[0].Type != "t3.large" || instances[0].State != "running" || instances[0].LaunchedAt == 0 {
		t.Errorf("instances %+v", instances)
	}
	if _, err := c.Instances(t.Context(), []string{"i-0123456789abcdef0"}); !Missing(err) {
		t.Errorf("no such instance: %v", err)
	}
	if r, err := c.SpotRequest(t.Context(), "sir-08b93456"); r != nil || err != nil {
		t.Errorf("no such spot request: %+v %v", r, err)
	}
	if list, err := c.ContainerInstances(t.Context(), "gone"); list != nil || err != nil {
		t.Errorf("no such cluster: %v %v", list, err)
	}
	clusters := awsecs.NewFromConfig(c.cfg)
	the[*awsecs.CreateClusterOutput](t)(clusters.CreateCluster(t.Context(), &awsecs.CreateClusterInput{ClusterName: aws.String("batch")}))
	if list, err := c.ContainerInstances(t.Context(), "batch"); list != nil || err != nil {
		t.Errorf("an empty cluster: %v %v", list, err)
	}
	document, err := json.Marshal(map[string]string{"instanceId": instances[0].Id, "accountId": "123456789012", "region": "eu-central-1"})
	if err != nil {
		t.Fatal(err)
	}
	the[*awsecs.RegisterContainerInstanceOutput](t)(clusters.RegisterContainerInstance(t.Context(), &awsecs.RegisterContainerInstanceInput{
		Cluster: aws.String("batch"), InstanceIdentityDocument: aws.String(string(document))}))
	list := the[[]ContainerInstance](t)(c.ContainerInstances(t.Context(), "batch"))
	if len(list) != 1 || list[0].Instance != instances[0].Id || list[0].Status != "ACTIVE" {
		t.Errorf("registered %+v", list)
	}
	// Neither an instance nor a cluster that is gone hides what is known of another.
	arns := the[*awsecs.ListContainerInstancesOutput](t)(clusters.ListContainerInstances(t.Context(), &awsecs.ListContainerInstancesInput{Cluster: aws.String("batch")})).ContainerInstanceArns
	const prefix = "arn:aws:ecs:eu-central-1:123456789012:container-instance/"
	machines := the[map[string]Machine](t)(c.Machines(t.Context(), append(arns, prefix+"gone/1", prefix+"without-cluster")))
	if m := machines[arns[0]]; len(machines) != 1 || m.Spot == nil || *m.Spot {
		t.Errorf("machines %+v", machines)
	}
	const tasks = "arn:aws:ecs:eu-central-1:123456789012:task/"
	if digests := the[map[string]map[string]string](t)(c.ImageDigests(t.Context(), []string{tasks + "gone/1", tasks + "batch/gone", tasks + "1"})); len(digests) != 0 {
		t.Errorf("digests of tasks that are gone: %v", digests)
	}
}

func TestMotoQuota(t *testing.T) {
	c := moto(t)
	value, known, err := c.Quota(t.Context(), "vpc", "L-F678F1CE")
	if err != nil || !known || value != 5 {
		t.Errorf("%v %v %v", value, known, err)
	}
	if _, known, err := c.Quota(t.Context(), "vpc", "L-00000000"); known || err != nil {
		t.Errorf("unknown: %v %v", known, err)
	}
}
