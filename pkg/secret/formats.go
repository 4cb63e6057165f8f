package secret

// format is the form of a vendor's credentials, which a text shows without a name.
type format struct {
	vendor string
	// what describes such a credential in a message.
	what string
	// marks are literal texts, separated by blanks; each match contains one. "_" at the
	// end of a mark is literal, "␣" is a blank.
	marks string
	// body is the regular expression of the text after the mark.
	body string
	// back is the regular expression of the text before the mark, if the mark is not
	// the beginning.
	back string
	need need
}

// need is a condition for a match in addition to its pattern.
type need uint16

const (
	// digits: the mark could begin an ordinary word, so the body needs a digit and a letter.
	digits need = 1 << iota
	// cases: the body needs a digit, an upper-case and a lower-case letter.
	cases
	// opens: the match is only the beginning; the credential continues until its END line or
	// the end of the text.
	opens
	// anywhere: the mark may follow a letter or a digit.
	anywhere
	// bounded: the text before the mark begins a word.
	bounded
	// pem: the body is the label of PEM (RFC 7468), which names a private key.
	pem
	// after: only the body is the credential, the mark is its name.
	after
)

const (
	// The first letters of a body, and the alphabets of most bodies.
	hexDigits = "0 1 2 3 4 5 6 7 8 9 a b c d e f"
	word      = `[A-Za-z0-9_-]`
	plain     = `[A-Za-z0-9]`
	base64s   = `[A-Za-z0-9+/]`
)

// formats lists the credentials that batchctl recognises without a name. Lengths are lower
// bounds for vendors that have changed them before.
var formats = []format{
	{"AWS", "an AWS access key", "AKIA ASIA ABIA ACCA", `[A-Z0-9]{16}\b`, "", 0},
	{"AWS", "an AWS session token", "IQoJb3JpZ2lu FwoGZXIvYXdz FQoGZXIvYXdz AQoDYXdz", `[A-Za-z0-9/+=_%-]{60,}`, "",
		anywhere},
	{"AWS", "an Amazon Bedrock key", "ABSK", `[A-Za-z0-9+/]{100,}={0,2}`, "", 0},
	{"AWS", "an Amazon Bedrock key", "bedrock-api-key-", `[A-Za-z0-9+/]{40,}={0,2}`, "", 0},
	{"AWS", "the signature of a presigned URL", "Signature= signature=", `[A-Za-z0-9%+/~_-]{40,}={0,2}`, "",
		after | anywhere},
	{"Alibaba Cloud", "an Alibaba Cloud access key", "LTAI", plain + `{16,}\b`, "", digits},
	{"Tencent Cloud", "a Tencent Cloud access key", "AKID", plain + `{32}\b`, "", digits},
	{"Yandex Cloud", "a Yandex Cloud token", "AQVN t1.9eu y0_AgA", `[A-Za-z0-9._-]{30,}=*`, "", 0},
	{"GitHub", "a GitHub token", "ghp_ gho_ ghu_ ghs_ ghr_", plain + `{30,}`, "", 0},
	{"GitHub", "a GitHub token", "github_pat_", `[A-Za-z0-9_]{30,}`, "", 0},
	{"GitLab", "a GitLab token",
		"glpat- gldt- glrt- glrtr- glptt- glcbt- glsoat- glft- glimt- glagent- gloas- glffct- GR1348941",
		`[A-Za-z0-9_.-]{16,}`, "", 0},
	{"GitLab", "a GitLab session", "_gitlab_session=", `[0-9a-z]{32}`, "", after},
	{"Bitbucket", "a Bitbucket token", "ATBB", plain + `{24,}`, "", digits},
	{"Atlassian", "an Atlassian token", "ATATT3x ATCTT3x ATSTT3x", `[A-Za-z0-9_=-]{30,}`, "", 0},
	{"Slack", "a Slack token", "xoxa- xoxb- xoxc- xoxd- xoxe- xoxe. xoxo- xoxp- xoxr- xoxs- xapp- xwfp-",
		`[A-Za-z0-9%.-]{10,}`, "", 0},
	{"Slack", "a Slack webhook", "hooks.slack.com/", `(services|workflows|triggers)/[A-Za-z0-9/_-]{16,}`, "", anywhere},
	{"Stripe", "a Stripe key", "sk_live_ sk_test_ rk_live_ rk_test_ sk_prod_ whsec_", `[A-Za-z0-9+/=]{16,}`, "", 0},
	{"OpenAI", "an OpenAI key", "sk-proj- sk-svcacct- sk-admin- sk-None-", word + `{20,}`, "", 0},
	{"OpenAI", "an OpenAI key", "sk-", plain + `{20,}`, "", digits},
	{"Anthropic", "an Anthropic key", "sk-ant-", word + `{20,}`, "", 0},
	{"OpenRouter", "an OpenRouter key", "sk-or-", word + `{20,}`, "", 0},
	{"Langfuse", "a Langfuse key", "sk-lf-", word + `{20,}`, "", 0},
	{"LangSmith", "a LangSmith key", "lsv2_pt_ lsv2_sk_ ls__", `[A-Za-z0-9_]{24,}`, "", 0},
	{"Google", "a Google API key", "AIza", word + `{35}`, "", 0},
	{"Google", "a Google access token", "ya29.", `[A-Za-z0-9._-]{20,}`, "", 0},
	{"Google", "a Google client secret", "GOCSPX-", word + `{20,}`, "", 0},
	{"Google", "a Google refresh token", "1//0", word + `{30,}`, "", 0},
	{"Hugging Face", "a Hugging Face token", "hf_ api_org_", plain + `{28,}`, "", 0},
	{"NVIDIA", "an NVIDIA key", "nvapi-", word + `{30,}`, "", 0},
	{"Docker", "a Docker token", "dckr_pat_ dckr_oat_", word + `{20,}`, "", 0},
	{"npm", "an npm token", "npm_", plain + `{30,}`, "", 0},
	{"PyPI", "a PyPI token", "pypi-", word + `{50,}`, "", digits},
	{"RubyGems", "a RubyGems key", "rubygems_", plain + `{32,}`, "", 0},
	{"crates.io", "a crates.io token", "cio", plain + `{32}\b`, "", cases},
	{"Clojars", "a Clojars token", "CLOJARS_", plain + `{40,}`, "", digits},
	{"Artifactory", "an Artifactory key", "AKCp", plain + `{40,}`, "", 0},
	{"Artifactory", "an Artifactory token", "cmVmdGtu", plain + `{40,}`, "", 0},
	{"SendGrid", "a SendGrid key", "SG.", word + `{16,}\.` + word + `{16,}`, "", 0},
	{"Mailgun", "a Mailgun key", "key-", `[0-9a-z]{32}\b`, "", digits},
	{"Mailchimp", "a Mailchimp key", "-us", `[0-9]{1,2}\b`, `[0-9a-f]{32}`, anywhere | bounded},
	{"Brevo", "a Brevo key", "xkeysib- xsmtpsib-", `[A-Za-z0-9-]{40,}`, "", 0},
	{"Resend", "a Resend key", "re_", plain + `{8}_` + plain + `{16,}`, "", digits},
	{"DigitalOcean", "a DigitalOcean token", "dop_v1_ doo_v1_ dor_v1_", plain + `{32,}`, "", 0},
	{"Databricks", "a Databricks token", "dapi dkea dose dsapi", `[0-9a-f]{32}(-[0-9]+\b)?\b`, "", 0},
	{"Azure", "an Azure key", "AccountKey= accountkey= SharedAccessKey= sharedaccesskey= ACCOUNTKEY=",
		base64s + `{30,}={0,2}`, "", after | anywhere},
	{"Azure", "an Azure key", "JQQJ99 ACDbM", plain + `{10,}`, plain + `{20,60}`, anywhere},
	{"Azure", "an Azure storage key", "+AStA ", base64s + `{4,}={0,2}`, base64s + `{40,90}`, anywhere},
	{"Azure", "an Azure shared access signature", "sig=", `[A-Za-z0-9%+/_-]{30,}={0,2}`, "", after},
	{"Azure", "an Azure client secret", "0Q~ 1Q~ 2Q~ 3Q~ 4Q~ 5Q~ 6Q~ 7Q~ 8Q~ 9Q~", `[A-Za-z0-9_~.-]{30,34}`,
		`[A-Za-z0-9_~.]{3}`, anywhere},
	{"Azure DevOps", "an Azure DevOps token", "AZDO", plain + `{4}\b`, plain + `{76}`, anywhere},
	{"Microsoft Teams", "a Microsoft Teams webhook", "webhook.office.com/", `webhookb2/[A-Za-z0-9@/_-]{40,}`, "",
		anywhere},
	{"private keys", "a private key", "-----BEGIN␣ ----␣BEGIN␣", `[A-Z0-9 ]*-----`, "", opens | pem | anywhere},
	{"private keys", "a private key", "----␣BEGIN␣", `SSH2 ENCRYPTED PRIVATE KEY ----`, "", opens | anywhere},
	{"private keys", "a private key", "PuTTY-User-Key-File-", `[23]:`, "", opens | anywhere},
	{"JWT", "a JSON Web Token", "eyJ", word + `{8,}\.` + word + `{8,}\.` + word + `{8,}(\.[A-Za-z0-9_.-]*)?`, "", 0},
	{"JWT", "a JSON Web Token", "eyJ", word + `{8,}\.\.` + word + `{8,}(\.[A-Za-z0-9_.-]*)?`, "", 0},
	{"Grafana", "a Grafana key", "eyJrIjoi", base64s + `{30,}={0,2}`, "", 0},
	{"Grafana", "a Grafana token", "glsa_ glc_", `[A-Za-z0-9_+/=]{20,}`, "", 0},
	{"1Password", "a 1Password service account token", "ops_eyJ", `[A-Za-z0-9+/=_-]{40,}`, "", 0},
	{"Vault", "a Vault token", "hvs. hvb. hvr.", word + `{20,}`, "", 0},
	{"Vault", "a Vault token", "s.* b.* r.*", plain + `{23}\b`, "", cases},
	{"Terraform", "a Terraform token", ".atlasv1.", `[A-Za-z0-9_=-]{40,}`, plain + `{10,20}`, anywhere},
	{"New Relic", "a New Relic key", "NRAK- NRJS- NRII- NRIQ- NRRA- NRSP- NRAA-", `[A-Za-z0-9-]{16,}`, "", 0},
	{"New Relic", "a New Relic license key", "NRAL", ``, plain + `{36}`, anywhere | bounded},
	{"Shopify", "a Shopify token", "shpat_ shpss_ shpca_ shppa_ shpua_ shpit_", plain + `{24,}`, "", 0},
	{"Square", "a Square token", "EAAA", word + `{40,}`, "", cases},
	{"Square", "a Square token", "sq0atp- sq0csp- sq0idp-", word + `{20,}`, "", 0},
	{"Facebook", "a Facebook token", "EAACEdEose0cBA EAAB EAAC EAAD EAAE EAAF EAAG EAAH EAAI EAAJ EAAK EAAL EAAM",
		plain + `{60,}`, "", cases},
	{"PlanetScale", "a PlanetScale token", "pscale_tkn_ pscale_pw_ pscale_oauth_", `[A-Za-z0-9_.=-]{20,}`, "", 0},
	{"Doppler", "a Doppler token", "dp.pt. dp.st. dp.ct. dp.sa. dp.scim. dp.audit. dp.said.", `[A-Za-z0-9._-]{20,}`, "",
		0},
	{"Linear", "a Linear key", "lin_api_ lin_oauth_ lin_wh_", plain + `{24,}`, "", 0},
	{"Notion", "a Notion token", "ntn_", plain + `{30,}`, "", 0},
	{"Notion", "a Notion token", "secret_", plain + `{40,}`, "", cases},
	{"Postman", "a Postman key", "PMAK- PMAT-", `[A-Za-z0-9-]{24,}`, "", 0},
	{"CircleCI", "a CircleCI token", "CCIPAT_ CCIPRJ_", word + `{24,}`, "", 0},
	{"Groq", "a Groq key", "gsk_", plain + `{30,}`, "", 0},
	{"Replicate", "a Replicate token", "r8_", plain + `{30,}`, "", 0},
	{"Perplexity", "a Perplexity key", "pplx-", plain + `{30,}`, "", 0},
	{"xAI", "an xAI key", "xai-", plain + `{40,}`, "", digits},
	{"Cerebras", "a Cerebras key", "csk-", plain + `{30,}`, "", digits},
	{"Fireworks", "a Fireworks key", "fw_", plain + `{22,}\b`, "", digits},
	{"Together", "a Together key", "tgp_v1_", word + `{30,}`, "", 0},
	{"Tavily", "a Tavily key", "tvly-", `(dev-|prod-)?` + plain + `{24,}`, "", digits},
	{"ElevenLabs", "an ElevenLabs key", "sk_", `[0-9a-f]{48}\b`, "", digits},
	{"Pinecone", "a Pinecone key", "pcsk_", `[A-Za-z0-9_]{40,}`, "", 0},
	{"LlamaCloud", "a LlamaCloud key", "llx-", plain + `{40,}`, "", 0},
	{"RunPod", "a RunPod key", "rpa_", plain + `{30,}`, "", digits},
	{"Weights & Biases", "a Weights & Biases key", "wandb_v1_", `[A-Za-z0-9_]{30,}`, "", 0},
	{"Tailscale", "a Tailscale key", "tskey-", `[A-Za-z0-9-]{16,}`, "", 0},
	{"Sentry", "a Sentry token", "sntrys_ sntryu_ sntryi_ sntrya_", `[A-Za-z0-9_=+/-]{24,}`, "", 0},
	{"Heroku", "a Heroku key", "HRKU-", word + `{30,}`, "", 0},
	{"age", "an age key", "AGE-SECRET-KEY-1 AGE-SECRET-KEY-PQ-1 age-secret-key-1", plain + `{40,}`, "", 0},
	{"Discord", "a Discord token", discordMarks, plain + `{20,26}\.` + word + `{6}\.` + word + `{25,110}`, "", 0},
	{"Discord", "a Discord webhook", "/webhooks/", `[0-9]{10,}/` + word + `{30,}`, `discord(app)?\.com/api(/v[0-9]+)?`,
		anywhere},
	{"LaunchDarkly", "a LaunchDarkly key", "sdk- api-",
		`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b`, "", digits},
	{"Zapier", "a Zapier webhook", "hooks.zapier.com/hooks/", `catch/[0-9]+/[A-Za-z0-9/]{5,}`, "", anywhere},
	{"Telegram", "a Telegram bot token", ":AA", word + `{30,40}`, `(bot)?[0-9]{8,10}`, anywhere | bounded},
	{"Twilio", "a Twilio key", "SK*", `[0-9a-f]{31}\b`, "", 0},
	{"Twilio", "a Twilio account", "AC*", `[0-9a-f]{31}\b`, "", 0},
	{"Supabase", "a Supabase token", "sbp_ sb_secret_", word + `{20,}`, "", digits},
	{"Cloudflare", "a Cloudflare origin key", "v1.0-", `[A-Za-z0-9]{16,}-[A-Za-z0-9]{32,}`, "", 0},
	{"Cloudflare", "a Cloudflare token", "cfut_ cfat_ cfk_", word + `{30,}`, "", 0},
	{"Sonar", "a Sonar token", "squ_ sqp_ sqa_", plain + `{32,}`, "", 0},
	{"Dynatrace", "a Dynatrace token", "dt0c01. dt0s01. dt0s02. dt0s03. dt0s04. dt0s08. dt0s16. dt0e01.",
		`[A-Za-z0-9-]{8,}\.[A-Za-z0-9]{40,}`, "", 0},
	{"Datadog", "a Datadog application key", "ddapp_ ddpat_", plain + `{30,}`, "", 0},
	{"Netlify", "a Netlify token", "nfp_ nfc_ nfo_ nfb_ nfu_", plain + `{30,}`, "", 0},
	{"Vercel", "a Vercel token", "vcp_ vck_ vci_ vca_ vcr_ vercel_blob_rw_", `[A-Za-z0-9_]{20,}`, "", digits},
	{"Render", "a Render key", "rnd_", plain + `{24,}`, "", digits},
	{"Fly.io", "a Fly.io token", "FlyV1␣ fm1r_ fm1a_ fm2_ fo1_", `[A-Za-z0-9+/=_,-]{24,}`, "", 0},
	{"Pulumi", "a Pulumi token", "pul-", plain + `{32,}`, "", digits},
	{"Airtable", "an Airtable token", "pat", plain + `{14}\.[A-Za-z0-9]{50,}`, "", digits},
	{"Asana", "an Asana token", asanaMarks, `[0-9]{9,20}(/[0-9]+)?:[0-9a-f]{32}\b`, "", 0},
	{"Contentful", "a Contentful token", "CFPAT-", word + `{30,}`, "", 0},
	{"Figma", "a Figma token", "figd_ figu_ figo_ figdr_", word + `{30,}`, "", 0},
	{"Frame.io", "a Frame.io token", "fio-u-", `[A-Za-z0-9_=-]{40,}`, "", 0},
	{"HubSpot", "a HubSpot token", "pat-na1- pat-na2- pat-eu1- pat-ap1-", `[A-Za-z0-9-]{30,}`, "", 0},
	{"Intercom", "an Intercom token", "dG9rO", `[A-Za-z0-9+/]{40,}={0,2}`, "", 0},
	{"Lob", "a Lob key", "live_ test_", `[0-9a-f]{35}\b`, "", digits},
	{"Okta", "an Okta token", "SSWS␣", word + `{30,}`, "", after},
	{"Typeform", "a Typeform token", "tfp_", `[A-Za-z0-9_.=-]{40,}`, "", 0},
	{"EasyPost", "an EasyPost key", "EZAK EZTK", plain + `{40,}`, "", 0},
	{"Duffel", "a Duffel token", "duffel_live_ duffel_test_", `[A-Za-z0-9_=-]{30,}`, "", 0},
	{"Adafruit", "an Adafruit key", "aio_", plain + `{24,}`, "", digits},
	{"Prefect", "a Prefect key", "pnu_ pnb_", plain + `{30,}`, "", 0},
	{"ReadMe", "a ReadMe key", "rdme_", plain + `{40,}`, "", 0},
	{"Shippo", "a Shippo token", "shippo_live_ shippo_test_", plain + `{30,}`, "", 0},
	{"Buildkite", "a Buildkite token", "bkua_ bkaj_ bkct_ bkpt_", plain + `{30,}`, "", 0},
	{"Flutterwave", "a Flutterwave key", "FLWSECK- FLWSECK_TEST-", `[A-Za-z0-9-]{20,}`, "", 0},
	{"Mapbox", "a Mapbox secret token", "sk.eyJ tk.eyJ", word + `{20,}\.` + word + `{16,}`, "", 0},
	{"Sourcegraph", "a Sourcegraph token", "sgp_ sgd_ slk_", `[A-Za-z0-9_]{40,}`, "", digits},
	{"Octopus Deploy", "an Octopus Deploy key", "API-", `[A-Z0-9]{25,}\b`, "", digits},
	{"Infracost", "an Infracost key", "ico-", plain + `{32}\b`, "", digits},
	{"PostHog", "a PostHog personal key", "phx_", plain + `{30,}`, "", 0},
	{"Neon", "a Neon key", "napi_", plain + `{40,}`, "", 0},
	{"Snyk", "a Snyk token", "snyk_uat. snyk_sat.", `[A-Za-z0-9._-]{30,}`, "", 0},
	{"Plaid", "a Plaid token", "access-production- access-sandbox- access-development-", `[0-9a-f-]{36}`, "", 0},
	{"Dropbox", "a Dropbox token", "sl.u. sl.B sl.A", `[A-Za-z0-9_=-]{100,}`, "", 0},
	{"Harness", "a Harness token", "pat. sat.", `[A-Za-z0-9_-]{22}\.[0-9a-f]{24}\.[A-Za-z0-9]{20}`, "", 0},
	{"Scaleway", "a Scaleway access key", "SCW", `[A-Z0-9]{17}\b`, "", digits},
	{"Ubidots", "a Ubidots token", "BBFF-", plain + `{30}\b`, "", 0},
	{"WakaTime", "a WakaTime key", "waka_", `[0-9a-f-]{36}`, "", 0},
	{"Chromatic", "a Chromatic token", "chpt_", plain + `{12,}`, "", digits},
	{"Inngest", "an Inngest signing key", "signkey-prod- signkey-test- signkey-branch-", plain + `{30,}`, "", 0},
	{"Bitwarden", "a Bitwarden access token", "0.*", `[0-9a-f]{7}-[0-9a-f-]{27}\.[A-Za-z0-9]{30}:[A-Za-z0-9+/=]{24}`,
		"", 0},
	{"MaxMind", "a MaxMind key", "_mmk", ``, plain + `{6}_` + plain + `{29}`, anywhere | bounded},
	{"NuGet", "a NuGet key", "oy2", `[a-z0-9]{43}\b`, "", digits},
	{"OpenShift", "an OpenShift token", "sha256~", word + `{43}`, "", 0},
	{"Rancher", "a Rancher token", "token-", `[a-z0-9]{5}:[a-z0-9]{54}\b`, "", 0},
	{"Defined Networking", "a Defined Networking key", "dnkey-", `[A-Za-z0-9=_-]{60,}`, "", 0},
	{"Scalingo", "a Scalingo token", "tk-us-", plain + `{40,}`, "", 0},
	{"42", "a token of 42", "s-s4t2ud- u-s4t2ud-", `[0-9a-f]{64}`, "", 0},
	{"Authress", "an Authress key", "sc_ ext_ scauth_ authress_",
		`[A-Za-z0-9]{5,30}\.[A-Za-z0-9]{4,6}\.acc[_-][A-Za-z0-9-]{10,32}\.[A-Za-z0-9+/_=-]{30,120}`, "", 0},
	{"Adobe", "an Adobe client secret", "p8e-", plain + `{32}\b`, "", digits},
	{"SettleMint", "a SettleMint token", "sm_aat_ sm_pat_ sm_sat_", plain + `{16,}`, "", digits},
	{"1Password", "a 1Password secret key", "A3-",
		`[A-Z0-9]{6}-([A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})(-[A-Z0-9]{5}){3}\b`, "", digits},
	{"Elastic", "an Elastic Cloud key", "essu_", `[A-Za-z0-9+/_-]{40,}={0,2}`, "", 0},
	{"Anyscale", "an Anyscale token", "esecret_", plain + `{20,}`, "", digits},
	{"Modal", "a Modal token", "ak- as-", plain + `{22}\b`, "", cases},
	{"Jina", "a Jina key", "jina_", plain + `{40,}`, "", digits},
	{"E2B", "an E2B key", "e2b_", `[0-9a-f]{40}\b`, "", 0},
	{"Browserbase", "a Browserbase key", "bb_live_ bb_test_", word + `{20,}`, "", digits},
	{"Polar", "a Polar token", "polar_oat_ polar_pat_ polar_rst_ polar_cst_ polar_whs_", plain + `{24,}`, "", 0},
	{"Val Town", "a Val Town token", "vtwn_", plain + `{20,}`, "", digits},
	{"Voyage", "a Voyage key", "pa-", word + `{43,}`, "", cases},
	{"Dropbox", "a Dropbox token", "sl.", word + `{130,}`, "", cases},
	{"Gitea", "a Gitea token", "gta_", `[0-9a-f]{40}\b`, "", 0},
	{"Confluent", "a Confluent secret", "cflt", base64s + `{50,}={0,2}`, "", cases},
	{"X", "a bearer token of X", "AAAAAAAAAAAAAAAAAAAAA", `[A-Za-z0-9]{5,}%[A-Za-z0-9%]{30,}`, "", cases},
	{"Instagram", "an Instagram token", "IGQVJ IGQWR IGAA", word + `{60,}`, "", cases},
	{"Helicone", "a Helicone key", "sk-helicone- pk-helicone-", word + `{20,}`, "", 0},
	{"Amazon", "an Amazon Marketplace token", "amzn.mws.", `[0-9a-f-]{36}`, "", 0},
	{"Amazon", "a Login with Amazon secret", "amzn1.oa2-cs.v1.", `[0-9a-f]{40,}`, "", 0},
	{"Salesforce", "a Salesforce session", "00D", plain + `{12}![A-Za-z0-9._]{60,}`, "", 0},
	{"Kaggle", "a Kaggle token", "KGAT_", `[0-9a-f]{32}`, "", 0},
	{"Depot", "a Depot token", "depot_org_ depot_project_ depot_user_", `[0-9a-f]{40,}`, "", 0},
	{"Persona", "a Persona key", "persona_production_ persona_sandbox_", word + `{20,}`, "", digits},
	{"Braintree", "a Braintree token", "access_token$production$ access_token$sandbox$", `[a-z0-9]{16}\$[0-9a-f]{32}`,
		"", 0},
	{"ZenML", "a ZenML key", "ZENPROKEY_ ZENKEY_", plain + `{40,}`, "", 0},
	{"MongoDB", "a MongoDB Atlas secret", "mdb_sa_sk_", word + `{30,}`, "", 0},
	{"DVC Studio", "a DVC Studio token", "isat_", plain + `{40,}`, "", 0},
	{"Endor Labs", "an Endor Labs token", "endr+", plain + `{20,}`, "", 0},
	{"ClickHouse", "a ClickHouse Cloud secret", "4b1d", plain + `{38}\b`, "", cases},
	{"Zuplo", "a Zuplo key", "zpka_", `[0-9a-f]{32}_[0-9a-f]{8}`, "", 0},
	{"Shopify", "a Shopify token", "atkn_", `[0-9a-f]{64}`, "", 0},
	{"Neptune", "a Neptune token", "eyJhcGlfYWRkcmVzcyI6", base64s + `{40,}={0,2}`, "", 0},
	{"Honeycomb", "a Honeycomb key", "hcaik_ hcxik_ hcamk_ hcxmk_ hcalk_", plain + `{30,}`, "", 0},
	{"Axiom", "an Axiom token", "xaat- xapt-", `[0-9a-f-]{36}`, "", 0},
	{"Logfire", "a Logfire token", "pylf_v1_us_ pylf_v1_eu_", word + `{30,}`, "", 0},
	{"Xata", "a Xata key", "xau_", plain + `{30,}`, "", 0},
	{"Paddle", "a Paddle key", "pdl_live_ pdl_sdbx_", `[A-Za-z0-9_]{30,}`, "", digits},
	{"Mollie", "a Mollie key", "live_ test_", plain + `{30}\b`, "", cases},
	{"GoCardless", "a GoCardless token", "live_ sandbox_", word + `{40,}`, "", cases},
	{"Matrix", "a Matrix token", "syt_", `[A-Za-z0-9+/=]+_` + plain + `{20}_` + plain + `{6}\b`, "", 0},
	{"ClickUp", "a ClickUp token", "pk_", `[0-9]{5,12}_[A-Z0-9]{32}\b`, "", 0},
	{"Aiven", "an Aiven password", "AVNS_", word + `{16,}`, "", digits},
	{"CockroachDB", "a CockroachDB key", "CCDB1_", plain + `{22}_` + plain + `{40}`, "", 0},
	{"Neon", "a Neon password", "npg_", plain + `{12,}\b`, "", cases},
	{"Deno", "a Deno Deploy token", "ddp_ ddo_", plain + `{36}\b`, "", 0},
	{"Akamai", "an Akamai token", "akab-", `[a-z0-9]{16}-[a-z0-9]{16}\b`, "", digits},
	{"DNSimple", "a DNSimple token", "dnsimple_a_ dnsimple_u_", plain + `{20,}`, "", 0},
	{"Packagist", "a Packagist token", "packagist_", `[a-z]{3}_[0-9a-f]{40,}`, "", 0},
	{"Gitpod", "a Gitpod token", "gitpod_pat_", `[A-Za-z0-9_.-]{24,}`, "", 0},
	{"headers", "a bearer token", "Bearer␣ bearer␣ BEARER␣", `[A-Za-z._~+/-]*[0-9][A-Za-z0-9._~+/-]{19,}=*`, "", after},
}

// discordMarks are the first three letters of numbers in base64: a bot's token
// begins with its number.
var discordMarks = product("MT Mj Mz ND NT Nj Nz OD OT", "A E I M Q U Y c g k")

// asanaMarks begin the tokens of Asana: a version, a slash and a number.
var asanaMarks = product("1/ 2/", "0 1 2 3 4 5 6 7 8 9")
