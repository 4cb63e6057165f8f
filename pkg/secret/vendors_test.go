package secret_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/batchctl/batchctl/pkg/secret"
	"github.com/batchctl/batchctl/pkg/secret/secrettest"
)

// contexts are texts with a credential. %[1]s is a name and %[2]s the credential; "named"
// contexts show that it is one.
var contexts = []struct {
	name, text string
	named      bool
}{
	{"alone", "%[2]s", false},
	{"shell assignment", "export %[1]s='%[2]s' && run", true},
	{"flag", "run --mode fast --token '%[2]s' --steps 3", true},
	{"flag with equals sign", "run --token=%[2]s --steps 3", true},
	{"header", `curl -sS -H "Authorization: Bearer %[2]s" https://api.example.com/v1`, true},
	{"header in single quotes", `curl -sS -H 'X-Api-Key: %[2]s' https://api.example.com/v1`, true},
	{"query", "https://api.example.com/v1?limit=10&token=%[2]s&x=1", true},
	{"log line", "2026-11-25T04:00:00Z level=info msg=started %[1]s=%[2]s", true},
	{"sentence", "request failed: the server said no to (%[2]s), retrying", false},
	{"colours", "\x1b[31m%[2]s\x1b[0m", false},
	{"JSON", `{"level":"info","%[1]s":"%[2]s","msg":"x"}`, true},
	{"YAML", "env:\n- name: %[1]s\n  value: %[2]s\n- name: B\n  value: plain\n", true},
}

func TestVendors(t *testing.T) {
	seed := rand.Uint64()
	vendors := map[string]bool{}
	for range 5 {
		for _, c := range secrettest.New(seed).All() {
			vendors[c.Vendor] = true
			if len(secret.Find(c.Name, c.Value)) == 0 {
				t.Errorf("%s: %s=%s is not found", c.Vendor, c.Name, c.Value)
			}
			for _, context := range contexts {
				if c.Named && !context.named || strings.ContainsAny(c.Value, "\n\"") && context.name != "alone" || strings.ContainsAny(c.Value, "&#; ") && context.name != "alone" {
					continue
				}
				text := fmt.Sprintf(context.text, c.Name, c.Value)
				if got := secret.Mask("", text); strings.Contains(got, c.Secret) {
					t.Errorf("%s: %s shows %s:\n%s", c.Vendor, context.name, c.Secret, got)
				}
				quoted, _ := json.Marshal(map[string]any{"command": []string{"sh", "-c", text}})
				if !secret.MayHold(string(quoted)) {
					t.Errorf("%s: %s in a command is not searched", c.Vendor, context.name)
				}
				if got := secret.Mask("", string(quoted)); strings.Contains(got, c.Secret) {
					t.Errorf("%s: %s in a command shows %s:\n%s", c.Vendor, context.name, c.Secret, got)
				}
			}
			for _, args := range [][]string{{"run", "--token", c.Value}, {"run", c.Value}} {
				if c.Named && len(args) == 2 {
					continue
				}
				if found := secret.FindArgs(args); len(found) == 0 || found[0].Index != len(args)-1 {
					t.Errorf("%s: %q: found %v", c.Vendor, args, found)
				}
			}
		}
		seed++
	}
	if len(vendors) < 60 {
		t.Errorf("%d vendors", len(vendors))
	}
}

// Ordinary values stay visible: false alarms teach users to ignore the others.
func TestNoFalseAlarms(t *testing.T) {
	m := secrettest.New(rand.Uint64())
	for range 3000 {
		name, value := m.Plain()
		if found := secret.Find(name, value); len(found) > 0 {
			t.Errorf("%s=%s: %+v", name, value, found)
		}
		for _, text := range []string{value, `{"` + name + `": "x", "command": ["run", "--name", "y"]}`, name + "=" + value, "the value is " + value + "."} {
			if got := secret.Mask("", text); got != text {
				t.Errorf("%s\nis masked as\n%s", text, got)
			}
		}
	}
}

// Command lines with credentials, and similar ones without.
func TestCommandLines(t *testing.T) {
	for _, marked := range []string{
		"mysql -h db -u app -p«hunter2x» app", "docker login -u ci -p «hunter2x» registry", "sshpass -p «hunter2x» ssh host", "curl -u ci:«hunter2x» https://x", "redis-cli -a «hunter2x» ping",
		"curl -H 'Authorization: Bearer «a1b2c3d4e5»' https://x", "curl -H \"X-Vault-Token: «a1b2c3d4e5»\" https://x", "curl -H 'Authorization: Basic «dXNlcjpwYXNz»' https://x",
		"PGPASSWORD='«hunter 2»' psql", "run --password \"«two words9»\"", "run --password=«hunter2» --mode=fast", "kubectl create secret generic x --from-literal=password=«hunter2»",
		"wget 'https://x/y?a=b&access_token=«a1b2c3d4»&c=d'", "sh -c \"export API_TOKEN=«a1b2c3d4»; run\"", "bash -c 'run --api-key «0123456789abcdef0123456789abcdef»'",
		"machine x.example.com login me password «hunter2x»", "machine x\n  login me\n  password «hunter2x»\n", "echo '{\"auths\":{\"r\":{\"auth\":\"«dXNlcjpwYXNz»\"}}}' > config.json",
		"Server=tcp:db;User ID=app;Password=«a1!b2»;Encrypt=true", "BlobEndpoint=https://x/;SharedAccessSignature=sv=1&sig=«abcDEFghiJKLmnoPQRstuVWXyz0123456789%2Bab%3D»",
		"aws configure set aws_secret_access_key «wJalrXUtnFEMI/K7MDENG/bPxRfiCYzzzzzzzKEY»",
		"curl -uci:«hunter2x» https://x", "curl --user=ci:«hunter2x» https://x", "sshpass -p'«hunter2x»' ssh host", "zip -P «hunter2x» a.zip b", "7z x -p«hunter2x» a.7z",
		"setx DB_PASSWORD «hunter2x»", "ENV DB_PASSWORD «hunter2x»", "npm config set //registry.npmjs.org/:_authToken «a1b2c3d4e5»", "vault login «a1b2c3d4e5f6g7h8i9»",
		"os.environ['DB_PASSWORD']='«hunter2x»'", "<server><password>«hunter2x»</password></server>", "rclone --s3-secret-access-key «a1b2c3d4e5F6G7H8» ls", "export API_KEY='«Tr0ub4dor&3x!»'",
		"docker login -u ci --password-stdin && mkdir -p results", "curl -u ci:$TOKEN https://x && mkdir -p build2024/out", "ROUTE_BYPASS=corridor9 run", "mysql -h db app; cp -p notes.md2 x", "zip -r a.zip data1",
		"python -c \"import os; token=os.environ['HF_TOKEN']; run(token=get())\"", "token = os.getenv(\"API_TOKEN\")", "SAMPLE_KEY=ERR000589/reads_1.fastq.gz", "API_KEY=reads/2024-01-01/part-0001.parquet",
		"NEXT_TOKEN=7c9e6679-7425-40de-944b-e07fc1f90ae7", "IDEMPOTENCY_KEY=7c9e6679-7425-40de-944b-e07fc1f90ae7", "KEY=7c9e6679-7425-40de-944b-e07fc1f90ae7", "7z x -p archive2024.7z", "wandb login --relogin",
		"run --token-limit 4096 --tokens 12 --password-file /run/x --secret-arn arn:aws:x --password $PASSWORD --token ${TOKEN} --passphrase-env X",
		"docker run -p 8080:80 -u 1000:1000 x", "ssh -p 2222 host", "tar -p -u x", "docker login --password-stdin", "docker build --secret id=npmrc,src=.npmrc .", "sbatch -p gpu-large",
		"error: access denied for user 'app': the password is wrong", "credentials: no role found for EC2 at 12:30", "token: expired", "read key: unexpected end of file after 12 bytes",
		"sha256-N//3DjJzVAqZaMOEBrvTbeVtA11qW1SRbY0q5NHDQX4=", "sha256-+p3tsYdq4VEOBpEk2Sp8IHikwfrMtU2sxawPyEBYu/A=", "aws secretsmanager get-secret-value --secret-id prod/db-password --query SecretString", "echo $((1+1)) ${API_TOKEN:?missing}", "git clone https://x-access-token:${TOKEN}@github.com/a/b",
	} {
		text := strings.NewReplacer("«", "", "»", "").Replace(marked)
		var want strings.Builder
		hidden := false
		for _, r := range marked {
			switch {
			case r == '«' || r == '»':
				hidden = r == '«'
			case hidden:
				want.WriteByte('*')
			default:
				want.WriteRune(r)
			}
		}
		if got := secret.Mask("", text); got != want.String() {
			t.Errorf("%s\nis masked as\n%s", marked, got)
		}
		if quoted, _ := json.Marshal(strings.Fields(text)); strings.Contains(marked, "«") && !secret.MayHold(string(quoted)) {
			t.Errorf("%s is not searched", quoted)
		}
		if found := secret.Find("", text); len(found) > 0 != strings.Contains(marked, "«") {
			t.Errorf("%s: found %v", marked, found)
		}
	}
}
