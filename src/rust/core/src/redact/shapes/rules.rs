//! The table of shapes: what a credential begins with, its alphabet and its length.
//!
//! `source` names the rule of a public rule set in which the format was looked up:
//! gitleaks (<https://github.com/gitleaks/gitleaks>, `config/gitleaks.toml`),
//! noseyparker (<https://github.com/praetorian-inc/noseyparker>, `crates/noseyparker/data/default/builtin/rules`),
//! trufflehog (<https://github.com/trufflesecurity/trufflehog>, `pkg/detectors`), or a standard.

use super::grammar::Class;

/// How a credential of one kind is written: `before`, one of `anchors`, then `parts`.
#[derive(Debug)]
pub(super) struct Rule {
    /// What it is.
    #[cfg_attr(not(test), allow(dead_code))]
    pub(super) name: &'static str,
    /// Where the format was looked up.
    #[allow(dead_code)]
    pub(super) source: &'static str,
    /// What stands before the anchor: a run of this class, of at least and at most so many bytes.
    pub(super) before: Option<(Class, usize, usize)>,
    /// One of these is in each credential of the kind.
    pub(super) anchors: &'static [&'static str],
    /// What follows the anchor.
    pub(super) parts: &'static [Part],
    /// Whether the anchor says only where the credential is, and stays.
    pub(super) anchor_stays: bool,
}

/// A part of a credential.
#[derive(Debug)]
pub(super) enum Part {
    /// These bytes.
    Is(&'static str),
    /// At least and at most so many bytes of the class.
    Run(Class, usize, usize),
}

/// The longest part that is accepted where no standard says how long it may be; servers accept no headers of this
/// length.
pub(super) const LONGEST: usize = 16 << 10;

/// Up to this many `=` end what is base64.
const PADDING: Part = Part::Run(Class::EQUALS, 0, 3);

use Part::{Is, Run};

const fn rule(
    name: &'static str,
    source: &'static str,
    anchors: &'static [&'static str],
    parts: &'static [Part],
) -> Rule {
    Rule {
        name,
        source,
        before: None,
        anchors,
        parts,
        anchor_stays: false,
    }
}

const fn exactly(class: Class, length: usize) -> Part {
    Run(class, length, length)
}

/// The shapes.
pub(super) const RULES: &[Rule] = &[
    rule(
        "AWS access key id",
        "gitleaks aws-access-token",
        &["AKIA", "ASIA", "ABIA", "ACCA"],
        &[exactly(Class::BASE32, 16)],
    ),
    rule(
        "AWS Bedrock key",
        "gitleaks aws-amazon-bedrock-api-key-long-lived",
        &["ABSK"],
        &[Run(Class::BASE64, 109, 269), PADDING],
    ),
    // GitHub says that the length may change up to 255.
    rule(
        "GitHub token",
        "gitleaks github-pat, github-oauth, github-app-token, github-refresh-token",
        &["ghp_", "gho_", "ghu_", "ghs_", "ghr_"],
        &[Run(Class::ALNUM, 36, 251)],
    ),
    rule(
        "GitHub fine-grained token",
        "gitleaks github-fine-grained-pat",
        &["github_pat_"],
        &[exactly(Class::WORD, 82)],
    ),
    rule(
        "GitLab token",
        "gitleaks gitlab-pat, gitlab-pat-routable, gitlab-deploy-token, gitlab-cicd-job-token and siblings",
        &[
            "glpat-",
            "gldt-",
            "glrt-",
            "glft-",
            "glsoat-",
            "glffct-",
            "glcbt-",
            "glimt-",
            "GR1348941",
        ],
        &[Run(Class::BASE64URL.or(Class::DOT), 20, 310)],
    ),
    rule(
        "GitLab trigger token",
        "gitleaks gitlab-ptt",
        &["glptt-"],
        &[exactly(Class::HEX, 40)],
    ),
    rule(
        "GitLab agent token",
        "gitleaks gitlab-kubernetes-agent-token, gitlab-oauth-app-secret",
        &["glagent-", "gloas-"],
        &[Run(Class::BASE64URL, 50, 64)],
    ),
    rule(
        "Slack token",
        "gitleaks slack-bot-token, slack-user-token, slack-legacy-token, slack-config-access-token",
        &["xoxb-", "xoxp-", "xoxe-", "xoxa-", "xoxr-", "xoxs-", "xoxo-"],
        &[Run(Class::ALNUM_DASH, 20, 250)],
    ),
    rule(
        "Slack app token",
        "gitleaks slack-app-token",
        &["xapp-"],
        &[
            exactly(Class::DIGIT, 1),
            Is("-"),
            Run(Class::ALNUM, 6, 20),
            Is("-"),
            Run(Class::DIGIT, 6, 20),
            Is("-"),
            Run(Class::ALNUM, 20, 128),
        ],
    ),
    Rule {
        anchor_stays: true,
        ..rule(
            "Slack webhook",
            "gitleaks slack-webhook-url",
            &[
                "hooks.slack.com/services/",
                "hooks.slack.com/workflows/",
                "hooks.slack.com/triggers/",
            ],
            &[Run(Class::BASE64, 43, 80)],
        )
    },
    rule(
        "OpenAI project or service key",
        "gitleaks openai-api-key",
        &["sk-proj-", "sk-svcacct-", "sk-admin-", "sk-service-"],
        &[Run(Class::BASE64URL, 40, 260)],
    ),
    rule(
        "key of OpenAI's first form, which others took over",
        "gitleaks openai-api-key; trufflehog deepseek",
        &["sk-"],
        &[Run(Class::ALNUM, 32, 64)],
    ),
    rule(
        "Anthropic key",
        "gitleaks anthropic-api-key, anthropic-admin-api-key",
        &["sk-ant-api03-", "sk-ant-admin01-", "sk-ant-oat01-", "sk-ant-ort01-"],
        &[Run(Class::BASE64URL, 80, 128)],
    ),
    rule(
        "OpenRouter key",
        "trufflehog openrouter",
        &["sk-or-v1-"],
        &[exactly(Class::HEX, 64)],
    ),
    rule(
        "Google API key",
        "gitleaks gcp-api-key",
        &["AIza"],
        &[exactly(Class::BASE64URL, 35)],
    ),
    rule(
        "Google OAuth access token",
        "noseyparker np.google.4",
        &["ya29."],
        &[Run(Class::BASE64URL, 20, 2048)],
    ),
    rule(
        "Google OAuth client secret",
        "noseyparker np.google.2",
        &["GOCSPX-"],
        &[exactly(Class::BASE64URL, 28)],
    ),
    rule(
        "Stripe key",
        "gitleaks stripe-access-token; trufflehog stripe",
        &["sk_live_", "sk_test_", "sk_prod_", "rk_live_", "rk_test_", "rk_prod_"],
        &[Run(Class::ALNUM, 16, 247)],
    ),
    rule(
        "Stripe webhook secret",
        "https://docs.stripe.com/webhooks",
        &["whsec_"],
        &[Run(Class::BASE64, 32, 64), PADDING],
    ),
    rule(
        "Twilio key",
        "gitleaks twilio-api-key",
        &["SK"],
        &[exactly(Class::HEX, 32)],
    ),
    rule(
        "SendGrid key",
        "noseyparker np.sendgrid.1",
        &["SG."],
        &[exactly(Class::BASE64URL, 22), Is("."), exactly(Class::BASE64URL, 43)],
    ),
    rule(
        "npm token",
        "gitleaks npm-access-token",
        &["npm_"],
        &[exactly(Class::ALNUM, 36)],
    ),
    rule(
        "PyPI token",
        "gitleaks pypi-upload-token",
        &["pypi-AgE"],
        &[Run(Class::BASE64URL, 50, 1000)],
    ),
    rule(
        "Hugging Face token",
        "trufflehog huggingface",
        &["hf_", "api_org_"],
        &[exactly(Class::ALNUM, 34)],
    ),
    rule(
        "Replicate token",
        "trufflehog replicate",
        &["r8_"],
        &[exactly(Class::BASE64URL, 37)],
    ),
    rule("Groq key", "trufflehog groq", &["gsk_"], &[exactly(Class::ALNUM, 52)]),
    rule("xAI key", "trufflehog xai", &["xai-"], &[exactly(Class::WORD, 80)]),
    rule(
        "Perplexity key",
        "gitleaks perplexity-api-key",
        &["pplx-"],
        &[exactly(Class::ALNUM, 48)],
    ),
    rule(
        "Tavily key",
        "noseyparker tavily",
        &["tvly-"],
        &[exactly(Class::ALNUM, 32)],
    ),
    rule("Jina key", "noseyparker jina", &["jina_"], &[exactly(Class::ALNUM, 60)]),
    rule(
        "Firecrawl key",
        "noseyparker firecrawl",
        &["fc-"],
        &[exactly(Class::HEX, 32)],
    ),
    rule(
        "LangSmith key",
        "trufflehog langsmith",
        &["lsv2_pt_", "lsv2_sk_"],
        &[exactly(Class::HEX, 32), Is("_"), exactly(Class::HEX, 10)],
    ),
    rule(
        "DigitalOcean token",
        "gitleaks digitalocean-pat, digitalocean-access-token, digitalocean-refresh-token",
        &["dop_v1_", "doo_v1_", "dor_v1_"],
        &[exactly(Class::HEX, 64)],
    ),
    rule(
        "Databricks token",
        "gitleaks databricks-api-token",
        &["dapi"],
        &[exactly(Class::HEX, 32)],
    ),
    rule(
        "Doppler token",
        "trufflehog doppler; https://docs.doppler.com/reference/auth-token-formats",
        &["dp.pt.", "dp.ct.", "dp.st.", "dp.sa.", "dp.scim.", "dp.audit."],
        &[Run(Class::ALNUM, 40, 44)],
    ),
    rule(
        "Doppler service token of a configuration",
        "trufflehog doppler",
        &["dp.st."],
        &[
            Run(Class::LOWER_DIGIT.or(Class::DASH).or(Class::UNDERSCORE), 2, 35),
            Is("."),
            Run(Class::ALNUM, 40, 44),
        ],
    ),
    rule(
        "Fly token",
        "gitleaks flyio-access-token",
        &["fo1_"],
        &[exactly(Class::BASE64URL, 43)],
    ),
    rule(
        "Fly macaroon",
        "gitleaks flyio-access-token; trufflehog flyio",
        &["fm1a_", "fm1r_", "fm2_"],
        &[Run(Class::BASE64.or(Class::BASE64URL), 100, 2048), PADDING],
    ),
    rule(
        "Grafana service account token",
        "gitleaks grafana-service-account-token",
        &["glsa_"],
        &[exactly(Class::ALNUM, 32), Is("_"), exactly(Class::ANY_HEX, 8)],
    ),
    rule(
        "Grafana cloud token",
        "gitleaks grafana-cloud-api-token",
        &["glc_"],
        &[Run(Class::BASE64, 32, 400), PADDING],
    ),
    rule(
        "HashiCorp Vault token",
        "gitleaks vault-service-token, vault-batch-token; noseyparker hashicorp",
        &["hvs.", "hvb.", "hvr."],
        &[Run(Class::BASE64URL, 24, 500)],
    ),
    Rule {
        before: Some((Class::ALNUM, 14, 14)),
        ..rule(
            "HashiCorp Terraform token",
            "gitleaks hashicorp-tf-api-token",
            &[".atlasv1."],
            &[Run(Class::BASE64URL.or(Class::EQUALS), 60, 70)],
        )
    },
    rule(
        "Linear key",
        "gitleaks linear-api-key",
        &["lin_api_"],
        &[exactly(Class::ALNUM, 40)],
    ),
    Rule {
        before: Some((Class::HEX, 32, 32)),
        ..rule(
            "Mailchimp key",
            "trufflehog mailchimp",
            &["-us"],
            &[Run(Class::DIGIT, 1, 2)],
        )
    },
    rule(
        "Mailgun key",
        "trufflehog mailgun",
        &["key-"],
        &[exactly(Class::LOWER_DIGIT, 32)],
    ),
    rule(
        "New Relic user key",
        "gitleaks new-relic-user-api-key",
        &["NRAK-"],
        &[exactly(Class::ALNUM, 27)],
    ),
    rule(
        "Notion token",
        "gitleaks notion-api-token",
        &["ntn_"],
        &[exactly(Class::DIGIT, 11), exactly(Class::ALNUM, 35)],
    ),
    rule(
        "Notion secret",
        "trufflehog notion",
        &["secret_"],
        &[exactly(Class::ALNUM, 43)],
    ),
    rule(
        "Postman key",
        "gitleaks postman-api-token",
        &["PMAK-"],
        &[exactly(Class::ANY_HEX, 24), Is("-"), exactly(Class::ANY_HEX, 34)],
    ),
    rule(
        "PlanetScale secret",
        "gitleaks planetscale-api-token, planetscale-oauth-token, planetscale-password",
        &["pscale_tkn_", "pscale_oauth_", "pscale_pw_"],
        &[Run(Class::BASE64URL.or(Class::DOT).or(Class::EQUALS), 32, 64)],
    ),
    rule(
        "Pulumi token",
        "gitleaks pulumi-api-token",
        &["pul-"],
        &[exactly(Class::HEX, 40)],
    ),
    rule(
        "Shopify secret",
        "gitleaks shopify-access-token, shopify-custom-access-token and siblings",
        &["shpat_", "shpca_", "shppa_", "shpss_"],
        &[exactly(Class::ANY_HEX, 32)],
    ),
    rule(
        "Square access token",
        "noseyparker np.square.1",
        &["sq0atp-"],
        &[exactly(Class::BASE64URL, 22)],
    ),
    rule(
        "Square secret",
        "noseyparker np.square.2",
        &["sq0csp-"],
        &[exactly(Class::BASE64URL, 43)],
    ),
    rule(
        "Square token",
        "trufflehog square",
        &["EAAA"],
        &[exactly(Class::BASE64URL.or(Class::PLUS_SLASH), 60)],
    ),
    rule(
        "Facebook page token",
        "gitleaks facebook-page-access-token",
        &["EAAM", "EAAC"],
        &[Run(Class::ALNUM, 100, 400)],
    ),
    Rule {
        before: Some((Class::DIGIT, 8, 10)),
        ..rule(
            "Telegram bot token",
            "noseyparker np.telegram.1; trufflehog telegrambottoken",
            &[":AA"],
            &[Run(Class::BASE64URL, 32, 33)],
        )
    },
    Rule {
        before: Some((Class::BASE64URL.or(Class::TILDE).or(Class::DOT), 3, 3)),
        ..rule(
            "Azure client secret",
            "gitleaks azure-ad-client-secret",
            &["7Q~", "8Q~"],
            &[Run(Class::BASE64URL.or(Class::TILDE).or(Class::DOT), 31, 34)],
        )
    },
    Rule {
        anchor_stays: true,
        ..rule(
            "key of an Azure connection string",
            "noseyparker np.azure.1; trufflehog azure_storage",
            &["AccountKey=", "SharedAccessKey=", "SharedSecretValue="],
            &[Run(Class::BASE64, 38, 100), PADDING],
        )
    },
    Rule {
        before: Some((Class::ALNUM, 76, 76)),
        ..rule(
            "Azure DevOps token",
            "noseyparker np.azure.4",
            &["AZDO"],
            &[exactly(Class::ALNUM, 4)],
        )
    },
    rule(
        "Cloudflare token",
        "trufflehog cloudflareapitoken",
        &["cfut_", "cfat_"],
        &[exactly(Class::ALNUM, 48)],
    ),
    rule(
        "Cloudflare origin key",
        "gitleaks cloudflare-origin-ca-key",
        &["v1.0-"],
        &[exactly(Class::HEX, 24), Is("-"), exactly(Class::HEX, 146)],
    ),
    rule(
        "Sentry organization token",
        "gitleaks sentry-org-token",
        &["sntrys_eyJ"],
        &[Run(Class::BASE64.or(Class::UNDERSCORE).or(Class::EQUALS), 60, 500)],
    ),
    rule(
        "Sentry user token",
        "gitleaks sentry-user-token",
        &["sntryu_"],
        &[exactly(Class::HEX, 64)],
    ),
    rule(
        "Tailscale key",
        "trufflehog tailscale",
        &["tskey-"],
        &[
            Run(Class::LOWER_DIGIT, 3, 12),
            Is("-"),
            Run(Class::WORD, 8, 64),
            Is("-"),
            Run(Class::WORD, 16, 64),
        ],
    ),
    rule(
        "age secret key",
        "https://github.com/C2SP/C2SP/blob/main/age.md; noseyparker age",
        &["AGE-SECRET-KEY-1"],
        &[exactly(Class::UPPER_DIGIT, 58)],
    ),
    // RFC 7519 and RFC 7515, section 3: a header that begins with `{"`, a payload that does so too, a signature.
    rule(
        "JSON web token",
        "RFC 7519; gitleaks jwt; noseyparker np.jwt.1",
        &["eyJ"],
        &[
            Run(Class::BASE64URL, 9, LONGEST),
            Is(".eyJ"),
            Run(Class::BASE64URL, 6, LONGEST),
            Is("."),
            Run(Class::BASE64URL, 10, LONGEST),
        ],
    ),
    // RFC 7516, section 3.1: a header, an encrypted key that may be empty, a vector, what is encrypted, a tag.
    rule(
        "encrypted JSON web token",
        "RFC 7516",
        &["eyJ"],
        &[
            Run(Class::BASE64URL, 16, LONGEST),
            Is("."),
            Run(Class::BASE64URL, 0, LONGEST),
            Is("."),
            Run(Class::BASE64URL, 10, 64),
            Is("."),
            Run(Class::BASE64URL, 2, LONGEST),
            Is("."),
            Run(Class::BASE64URL, 10, 64),
        ],
    ),
    // `-----BEGIN ... PRIV`, as Kubernetes and CI variables hold keys.
    rule(
        "private key in base64",
        "RFC 7468 in RFC 4648; noseyparker pem",
        &[
            "LS0tLS1CRUdJTiBQUklW",
            "LS0tLS1CRUdJTiBSU0EgUFJJ",
            "LS0tLS1CRUdJTiBFQyBQUklW",
            "LS0tLS1CRUdJTiBEU0EgUFJJ",
            "LS0tLS1CRUdJTiBPUEVOU1NIIFBS",
            "LS0tLS1CRUdJTiBFTkNSWVBURUQgUFJJ",
        ],
        &[Run(Class::BASE64, 50, LONGEST), PADDING],
    ),
    rule(
        "Docker Hub token",
        "trufflehog dockerhub",
        &["dckr_pat_"],
        &[exactly(Class::BASE64URL, 27)],
    ),
    rule(
        "Docker Hub organization token",
        "trufflehog dockerhub",
        &["dckr_oat_"],
        &[exactly(Class::BASE64URL, 32)],
    ),
    rule(
        "crates.io token",
        "noseyparker np.cratesio.1",
        &["cio"],
        &[exactly(Class::ALNUM, 32)],
    ),
    rule(
        "RubyGems token",
        "gitleaks rubygems-api-token",
        &["rubygems_"],
        &[exactly(Class::HEX, 48)],
    ),
    rule(
        "Figma token",
        "trufflehog figmapersonalaccesstoken",
        &["figd_"],
        &[exactly(Class::BASE64URL, 40)],
    ),
    rule(
        "Supabase token",
        "trufflehog supabasetoken",
        &["sbp_"],
        &[exactly(Class::LOWER_DIGIT, 40)],
    ),
    rule(
        "HubSpot token",
        "trufflehog hubspot_apikey",
        &["pat-na1-", "pat-eu1-"],
        &[exactly(Class::ALNUM_DASH, 36)],
    ),
    rule(
        "Atlassian token",
        "gitleaks atlassian-api-token",
        &["ATATT3"],
        &[exactly(Class::BASE64URL.or(Class::EQUALS), 186)],
    ),
    rule(
        "Heroku key",
        "gitleaks heroku-api-key-v2",
        &["HRKU-AA"],
        &[exactly(Class::BASE64URL, 58)],
    ),
    rule(
        "1Password service account token",
        "gitleaks 1password-service-account-token",
        &["ops_eyJ"],
        &[Run(Class::BASE64, 247, 4096), PADDING],
    ),
    rule(
        "Dynatrace token",
        "gitleaks dynatrace-api-token",
        &["dt0c01."],
        &[exactly(Class::ALNUM, 24), Is("."), exactly(Class::ALNUM, 64)],
    ),
    rule(
        "Prefect key",
        "gitleaks prefect-api-token",
        &["pnu_"],
        &[exactly(Class::ALNUM, 36)],
    ),
    rule(
        "ReadMe key",
        "gitleaks readme-api-token",
        &["rdme_"],
        &[exactly(Class::LOWER_DIGIT, 70)],
    ),
    rule(
        "Brevo key",
        "gitleaks sendinblue-api-token",
        &["xkeysib-"],
        &[exactly(Class::HEX, 64), Is("-"), exactly(Class::ALNUM, 16)],
    ),
    rule(
        "OpenShift token",
        "gitleaks openshift-user-token",
        &["sha256~"],
        &[exactly(Class::BASE64URL, 43)],
    ),
];
