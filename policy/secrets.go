package policy

import "strings"

// Secret is a place in a home directory where programs keep what opens doors elsewhere.
type Secret struct {
	// Path begins with "~/", for the home directory.
	Path string `json:"path"`
	Why  string `json:"why"`
}

var secretPlaces = []Secret{
	{"~/.ssh", "private keys, and the hosts they open"},
	{"~/.gnupg", "private keys"},
	{"~/.aws", "keys and cached sessions of AWS"},
	{"~/.azure", "cached sessions of Azure"},
	{"~/.config/gcloud", "keys and cached sessions of Google Cloud"},
	{"~/.boto", "keys of Google Cloud Storage and AWS"},
	{"~/.s3cfg", "keys of S3 stores"},
	{"~/.config/rclone", "keys of every store that rclone reaches"},
	{"~/.config/doctl", "the token of DigitalOcean"},
	{"~/.fly", "the token of Fly.io"},
	{"~/.kube", "certificates and tokens of clusters"},
	{"~/.docker", "passwords of image registries"},
	{"~/.config/containers", "passwords of image registries"},
	{"~/.terraform.d", "tokens of Terraform's backends"},
	{"~/.vault-token", "the token of a Vault"},
	{"~/.netrc", "passwords that curl, git and others send by themselves"},
	{"~/.git-credentials", "passwords of git hosts in clear"},
	{"~/.config/git/credentials", "passwords of git hosts in clear"},
	{"~/.config/gh", "the token of GitHub"},
	{"~/.config/hub", "the token of GitHub"},
	{"~/.config/glab-cli", "the token of GitLab"},
	{"~/.npmrc", "the token that publishes packages"},
	{"~/.yarnrc.yml", "the token that publishes packages"},
	{"~/.pypirc", "the token that publishes packages"},
	{"~/.cargo/credentials", "the token that publishes crates"},
	{"~/.cargo/credentials.toml", "the token that publishes crates"},
	{"~/.gem/credentials", "the token that publishes gems"},
	{"~/.m2/settings.xml", "passwords of Maven repositories"},
	{"~/.gradle/gradle.properties", "passwords of Gradle repositories and signing keys"},
	{"~/.composer/auth.json", "tokens of PHP package hosts"},
	{"~/.config/composer/auth.json", "tokens of PHP package hosts"},
	{"~/.nuget/NuGet/NuGet.Config", "passwords of NuGet feeds"},
	{"~/.pgpass", "passwords of databases"},
	{"~/.my.cnf", "passwords of databases"},
	{"~/.databrickscfg", "the token of Databricks"},
	{"~/.password-store", "every password of pass"},
	{"~/.local/share/keyrings", "the desktop's keyring"},
	{"~/.local/share/kwalletd", "the desktop's keyring"},
	{"~/.config/op", "sessions of 1Password"},
	{"~/.config/Bitwarden CLI", "the vault of Bitwarden"},
	{"~/.mozilla", "a browser's passwords and cookies"},
	{"~/.thunderbird", "mail and its passwords"},
	{"~/.config/google-chrome", "a browser's passwords and cookies"},
	{"~/.config/chromium", "a browser's passwords and cookies"},
	{"~/.config/BraveSoftware", "a browser's passwords and cookies"},
	{"~/.config/microsoft-edge", "a browser's passwords and cookies"},
	{"~/Library/Keychains", "the keychain of macOS"},
	{"~/Library/Cookies", "cookies of macOS programs"},
	{"~/Library/Application Support/Google/Chrome", "a browser's passwords and cookies"},
	{"~/Library/Application Support/Firefox", "a browser's passwords and cookies"},
	{"~/.claude/.credentials.json", "the session of a coding agent"},
	{"~/.codex/auth.json", "the session of a coding agent"},
	{"~/.gemini", "the session of a coding agent"},
	{"~/.config/github-copilot", "the session of a coding agent"},
	{"~/.bash_history", "passwords typed on a command line"},
	{"~/.zsh_history", "passwords typed on a command line"},
	{"~/.local/share/fish/fish_history", "passwords typed on a command line"},
	{"~/.python_history", "passwords typed at a prompt"},
	{"~/.node_repl_history", "passwords typed at a prompt"},
	{"~/.psql_history", "passwords typed at a prompt"},
	{"~/.mysql_history", "passwords typed at a prompt"},
	{"~/.bitcoin", "a wallet"},
	{"~/.ethereum", "a wallet"},
}

// SecretPlaces lists the places in a home directory that a program should deny reading when its user gave no policy.
// Nothing in this package applies the list: reads default to allow (R31).
func SecretPlaces() []Secret { return append([]Secret(nil), secretPlaces...) }

// DenySecrets makes denyRead entries of SecretPlaces for one home directory, which is an absolute path.
func DenySecrets(home string) ([]PathEntry, error) {
	if err := checkPath("home", home); err != nil {
		return nil, err
	}
	entries := make([]PathEntry, len(secretPlaces))
	for i, s := range secretPlaces {
		entries[i].Path = under(root(strings.TrimSuffix(home, "/")), strings.TrimPrefix(s.Path, "~/"))
	}
	return entries, nil
}
