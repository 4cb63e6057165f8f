package secret

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"testing"
)

// The seeded set: variables with credentials and without, made by rules other
// than those that find them.

type variable struct{ name, value string }

type maker struct{ *rand.Rand }

func (m maker) of(alphabet string, n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = alphabet[m.IntN(len(alphabet))]
	}
	return string(b)
}

func (m maker) pick(list ...string) string { return list[m.IntN(len(list))] }

const (
	upper      = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	lower      = "abcdefghijklmnopqrstuvwxyz"
	digitChars = "0123456789"
	alnum      = upper + lower + digitChars
)

func (m maker) bytes(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(m.IntN(256))
	}
	return b
}

func (m maker) app() string {
	return m.pick("DB", "APP", "MYSQL_ROOT", "REDIS", "WANDB", "SERVICE", "X", "JIRA", "prod_db", "BILLING")
}

// neutral returns a name without a meaning.
func (m maker) neutral() string {
	return m.pick("VALUE", "CONFIG", "SETTING", "EXTRA", "OPTION_A", "DATA")
}

func (m maker) positive() variable {
	secrets := []func() variable{
		func() variable {
			return variable{m.pick("AWS_ACCESS_KEY_ID", "KEY_ID", m.neutral()), m.pick("AKIA", "ASIA") + m.of(upper+"234567", 16)}
		},
		func() variable { return variable{"AWS_SECRET_ACCESS_KEY", m.of(alnum+"/+", 40)} },
		func() variable {
			return variable{m.pick("AWS_SESSION_TOKEN", "aws_session_token"), base64.StdEncoding.EncodeToString(m.bytes(200))}
		},
		func() variable {
			return variable{m.pick("GITHUB_TOKEN", "GH", m.neutral()), m.pick("ghp_", "gho_", "ghs_") + m.of(alnum, 36)}
		},
		func() variable { return variable{m.neutral(), "github_pat_" + m.of(alnum, 22) + "_" + m.of(alnum, 59)} },
		func() variable { return variable{m.neutral(), "glpat-" + m.of(alnum+"-_", 20)} },
		func() variable { return variable{m.pick("NGC_API_KEY", m.neutral()), "nvapi-" + m.of(alnum+"-_", 64)} },
		func() variable { return variable{m.neutral(), m.pick("dckr_pat_", "dckr_oat_") + m.of(alnum+"-_", 27)} },
		func() variable {
			return variable{m.neutral(), "curl -H 'Authorization: Bearer " + m.of(lower, 4) + m.of(digitChars, 2) + m.of(alnum, 34) + "' https://example.com"}
		},
		func() variable {
			return variable{m.neutral(), m.pick("xoxb-", "xoxp-") + m.of(digitChars, 12) + "-" + m.of(alnum, 24)}
		},
		func() variable { return variable{m.neutral(), m.pick("sk_live_", "rk_live_") + m.of(alnum, 24)} },
		func() variable { return variable{m.neutral(), m.pick("sk-", "sk-proj-") + m.of(alnum, 48)} },
		func() variable { return variable{m.neutral(), "AIza" + m.of(alnum+"-_", 35)} },
		func() variable {
			return variable{m.pick("SSH_KEY", m.neutral()), "-----BEGIN " + m.pick("RSA ", "EC ", "", "OPENSSH ") + "PRIVATE KEY-----\n" + m.of(alnum+"/+", 64)}
		},
		func() variable {
			part := func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }
			return variable{m.neutral(), part(`{"alg":"HS256","typ":"JWT"}`) + "." + part(fmt.Sprintf(`{"sub":"%d"}`, m.IntN(1e6))) + "." + base64.RawURLEncoding.EncodeToString(m.bytes(32))}
		},
		func() variable {
			return variable{m.pick("DATABASE_URL", "BROKER", m.neutral()), m.pick("postgres", "mysql", "redis", "amqp", "mongodb+srv", "postgresql+psycopg2") + "://" + m.pick("app", "root", "") + ":" + m.of(alnum, 12) + "@db." + m.pick("internal", "example.com:5432") + "/app"}
		},
		func() variable {
			return variable{m.neutral(), "Server=db;User Id=app;Password=" + m.of(alnum+"!#", 12) + ";"}
		},
		func() variable {
			return variable{m.app() + m.pick("_PASSWORD", "_PASS", "_PASSWD", "_PASSPHRASE"), m.of(alnum+"!@#%-_", 8+m.IntN(16))}
		},
		func() variable {
			return variable{m.pick("PGPASSWORD", "dbPassword", "Password"), m.pick("hunter2", "correcthorse9", "Winter2026!", "letmein-please", "P4ssw0rd")}
		},
		func() variable {
			return variable{m.app() + m.pick("_TOKEN", "_API_TOKEN", "_AUTH_TOKEN"), m.of(lower+digitChars, 20+m.IntN(30))}
		},
		func() variable {
			return variable{m.app() + m.pick("_SECRET", "_CLIENT_SECRET"), hex.EncodeToString(m.bytes(16))}
		},
		func() variable {
			return variable{m.app() + m.pick("_API_KEY", "_ACCESS_KEY", "_PRIVATE_KEY", "_ENCRYPTION_KEY"), hex.EncodeToString(m.bytes(20))}
		},
		func() variable { return variable{m.app() + "_KEY", base64.StdEncoding.EncodeToString(m.bytes(32))} },
		func() variable { return variable{"SECRET_KEY_BASE", hex.EncodeToString(m.bytes(64))} },
	}
	return secrets[m.IntN(len(secrets))]()
}

func (m maker) negative() variable {
	word := func() string {
		return m.pick("train", "model", "batch", "eu-west-1", "fast", "production", "experiment", "resnet")
	}
	plain := []func() variable{
		func() variable { return variable{"TOKENIZERS_PARALLELISM", m.pick("true", "false")} },
		func() variable {
			return variable{m.pick("MAX_TOKENS", "TOKEN_LIMIT", "NUM_TOKENS", "TOKENS_PER_BATCH"), fmt.Sprint(m.IntN(1e6))}
		},
		func() variable {
			return variable{m.app() + "_PASSWORD", m.pick("${DB_PASSWORD}", "<password>", "changeme", "Ref::password", "{{ password }}", "$DB_PASSWORD", "xxxxxxxx", "your-password-here", "********")}
		},
		func() variable {
			return variable{m.app() + m.pick("_SECRET", "_TOKEN", "_PASSWORD"), "arn:aws:secretsmanager:us-east-1:123456789012:secret:" + word() + "-" + m.of(alnum, 6)}
		},
		func() variable {
			return variable{m.app() + m.pick("_SECRET_NAME", "_SECRET_ID", "_PASSWORD_FILE", "_TOKEN_PATH", "_SECRET_ARN", "_KEY_FILE"), m.pick("prod/db/password", "/run/secrets/db", "my-secret", "/etc/tokens/a1b2c3")}
		},
		func() variable {
			return variable{m.app() + m.pick("_SECRET", "_TOKEN"), m.pick("prod/db/password", "/run/secrets/token", "ssm:/app/token", "vault:secret/data/app#token")}
		},
		func() variable {
			return variable{m.pick("S3_KEY", "OBJECT_KEY", "INPUT_KEY", "OUTPUT_KEY"), "data/" + word() + "/" + fmt.Sprint(m.IntN(1e8)) + ".parquet"}
		},
		func() variable {
			return variable{m.pick("PARTITION_KEY", "SORT_KEY", "PRIMARY_KEY", "CACHE_KEY"), m.pick("customer_id", "createdAt2026", "user-0001-profile-v2")}
		},
		func() variable {
			return variable{m.pick("PAD_TOKEN", "EOS_TOKEN", "BOS_TOKEN"), m.pick("<pad>", "</s>", "[MASK]", "<|endoftext|>")}
		},
		func() variable {
			return variable{m.pick("DATASET", "INPUT", "OUTPUT", "MODEL_URI"), "s3://" + word() + "-bucket/" + word() + "/" + m.of(alnum, 20)}
		},
		func() variable {
			return variable{m.pick("IMAGE", "BASE_IMAGE"), "123456789012.dkr.ecr.us-east-1.amazonaws.com/" + word() + "@sha256:" + hex.EncodeToString(m.bytes(32))}
		},
		func() variable {
			return variable{m.pick("GIT_SHA", "COMMIT", "BUILD_ID", "RUN_ID", "CHECKSUM"), hex.EncodeToString(m.bytes(20))}
		},
		func() variable {
			b := hex.EncodeToString(m.bytes(16))
			return variable{m.pick("JOB_ID", "RUN_ID", "EXPERIMENT_ID", "API_KEY_ID"), b[:8] + "-" + b[8:12] + "-" + b[12:16] + "-" + b[16:20] + "-" + b[20:]}
		},
		func() variable {
			return variable{m.pick("EPOCHS", "LR", "SEED", "THREADS", "PASSES", "KEY_SIZE"), fmt.Sprintf("%g", m.Float64()*100)}
		},
		func() variable {
			return variable{m.pick("PATH", "PYTHONPATH", "LD_LIBRARY_PATH", "HOME"), "/opt/" + word() + "/bin:/usr/bin"}
		},
		func() variable {
			return variable{m.pick("ENDPOINT", "DATABASE_URL", "API_URL"), m.pick("https", "postgres", "redis") + "://" + m.pick("", "app@") + word() + ".example.com:5432/" + word()}
		},
		func() variable { return variable{"DATABASE_URL", "postgres://app:${DB_PASSWORD}@db.internal:5432/app"} },
		func() variable {
			return variable{m.pick("PUBLIC_KEY", "SSH_PUBLIC_KEY"), "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI" + m.of(alnum, 43)}
		},
		func() variable {
			return variable{m.pick("TOKEN_TYPE", "AUTH_MODE", "SECRET_STORE", "KEY_ALGORITHM", "TOKENIZER", "KEYCLOAK_REALM", "PASSTHROUGH"), m.pick("Bearer", "iam", "aws-secrets-manager", "RS256", "bert-base-uncased", "master")}
		},
		func() variable { return variable{m.pick("MODE", "STAGE", "AWS_REGION", "LOG_LEVEL", "NAME"), word()} },
		func() variable {
			return variable{m.pick("MONKEY", "KEYBOARD", "TURKEY", "KEY_FRAMES"), m.pick("capuchin-house-17", "qwerty-layout-2", "every-10th-frame-16")}
		},
		func() variable {
			return variable{m.pick("USE_TOKEN", "DB_PASSWORD", "REQUIRE_AUTH"), m.pick("true", "false", "1", "0", "none")}
		},
		func() variable {
			return variable{m.pick("ARGS", "COMMENT"), "--lr 0.01 --epochs " + fmt.Sprint(m.IntN(100)) + " --name " + word() + "-" + m.of(alnum, 8)}
		},
		func() variable {
			return variable{"KMS_KEY", m.pick("alias/batch", "1234abcd-12ab-34cd-56ef-1234567890ab")}
		},
		func() variable { return variable{"SECRET_NAME", word() + "-" + m.of(lower, 6)} },
	}
	return plain[m.IntN(len(plain))]()
}

func TestCredentials(t *testing.T) {
	m := maker{rand.New(rand.NewPCG(20261120, 1))}
	const positives, negatives = 1000, 2500
	missed, alarms := map[variable]bool{}, map[variable]bool{}
	found, wrong := 0, 0
	for range positives {
		if v := m.positive(); len(Find(v.name, v.value)) > 0 {
			found++
		} else {
			missed[v] = true
		}
	}
	for range negatives {
		if v := m.negative(); len(Find(v.name, v.value)) > 0 {
			wrong++
			alarms[v] = true
		}
	}
	t.Logf("found %d of %d, %d false alarms in %d", found, positives, wrong, negatives)
	if found*100 < positives*95 {
		t.Errorf("found %d of %d; missed %v", found, positives, missed)
	}
	if wrong*100 > negatives*2 {
		t.Errorf("%d false alarms in %d: %v", wrong, negatives, alarms)
	}
}
